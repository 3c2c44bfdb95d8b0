//! The seal itself: X25519, HKDF-SHA256 and AES-256-GCM.
//! Spec: §5 "Sealing" 1–4, W3 "seal key", "X25519"

use alloc::vec::Vec;

use aes_gcm::aead::{AeadInOut as _, KeyInit as _};
use aes_gcm::{Aes256Gcm, Nonce};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::code::{Code, Failure};
use crate::ids::EncKey;
use crate::keys::EncSecret;

/// The bytes that authenticate a ciphertext, appended to it.
const TAG: usize = 16;

/// The one key of one seal.
pub(super) type SealKey = Zeroizing<[u8; 32]>;

/// The key under which a fresh `ephemeral` seals to `recipient`.
///
/// Errors: `invalid_request` for a recipient key of low order: it would share zero with everybody.
pub(super) fn sealing_key(ephemeral: &EncSecret, recipient: &EncKey) -> Result<SealKey, Failure> {
    let shared = ephemeral.agree(recipient).ok_or(Failure::invalid("recipient key"))?;
    derive(&shared, ephemeral.public(), recipient)
}

/// The key under which what was sealed with `epk` to `own` opens; `None` for an `epk` of low order.
pub(super) fn opening_key(own: &EncSecret, epk: &EncKey) -> Option<SealKey> {
    derive(&*own.agree(epk)?, epk, own.public()).ok()
}

fn derive(shared: &[u8; 32], epk: &EncKey, recipient: &EncKey) -> Result<SealKey, Failure> {
    let mut salt = [0; 64];
    let (first, second) = salt.split_at_mut(32);
    first.copy_from_slice(&epk.to_bytes());
    second.copy_from_slice(&recipient.to_bytes());
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(&salt), shared)
        .expand(b"messaging/1/seal", &mut *key)
        .map_err(|_| Failure::new(Code::Internal, "hkdf"))?;
    Ok(key)
}

/// Encrypts in place; the result is the ciphertext and its tag.
pub(super) fn encrypt(
    key: &SealKey,
    nonce: &[u8; 12],
    aad: &[u8],
    plaintext: Vec<u8>,
) -> Result<Vec<u8>, Failure> {
    let mut buffer = plaintext;
    Aes256Gcm::new((&**key).into())
        .encrypt_in_place(&Nonce::from(*nonce), aad, &mut buffer)
        .map_err(|_| Failure::new(Code::TooLarge, "payload"))?;
    Ok(buffer)
}

/// Decrypts in place; the plaintext is what is left. A `sealed` that does not authenticate stays as it is.
pub(super) fn decrypt(
    key: &SealKey,
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &mut Zeroizing<Vec<u8>>,
) -> bool {
    if sealed.len() < TAG {
        return false;
    }
    // The tag is checked before a byte is decrypted, so the next key finds the ciphertext unchanged.
    Aes256Gcm::new((&**key).into())
        .decrypt_in_place(&Nonce::from(*nonce), aad, &mut **sealed)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_open_stays_sealed() {
        let (right, wrong) = (Zeroizing::new([1; 32]), Zeroizing::new([2; 32]));
        let sealed = encrypt(&right, &[3; 12], b"header", b"text".to_vec()).unwrap();
        assert_eq!(sealed.len(), 4 + TAG);
        let mut buffer = Zeroizing::new(sealed.clone());
        assert!(!decrypt(&wrong, &[3; 12], b"header", &mut buffer));
        assert!(!decrypt(&right, &[4; 12], b"header", &mut buffer));
        assert!(!decrypt(&right, &[3; 12], b"Header", &mut buffer));
        assert_eq!(*buffer, sealed);
        assert!(decrypt(&right, &[3; 12], b"header", &mut buffer));
        assert_eq!(**buffer, *b"text");
        for len in 0..TAG {
            assert!(!decrypt(&right, &[3; 12], b"", &mut Zeroizing::new(sealed[..len].to_vec())));
        }
    }

    #[test]
    fn low_order_keys_share_nothing() {
        let own = EncSecret::from_bytes([5; 32]);
        let low = EncKey::from_bytes(&[0; 32]);
        assert_eq!(sealing_key(&own, &low).unwrap_err().code, Code::InvalidRequest);
        assert!(opening_key(&own, &low).is_none());
        let other = EncSecret::from_bytes([6; 32]);
        assert_eq!(
            sealing_key(&own, other.public()).unwrap(),
            opening_key(&other, own.public()).unwrap()
        );
    }

    /// The check value of the atlas: the key of a direct line from bob to alice.
    #[test]
    fn the_key_of_the_atlas() {
        let key = sealing_key(
            &EncSecret::from_bytes([0x13; 32]),
            EncSecret::from_bytes([0x11; 32]).public(),
        );
        assert_eq!(
            crate::b64::encode(&*key.unwrap()),
            "RbiCPAY7EAOi9iUiXshIiseyz4UZEvGh-zPf3gRCt0A"
        );
    }
}
