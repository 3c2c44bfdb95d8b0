//! Keys: signatures that a purpose bounds, key agreement, and a machine's identity.
//! Spec: §2 "Signatures", §3, W4.2

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ed25519_dalek::Signer as _;
use serde_json::Value;
use x25519_dalek::{PublicKey as X25519Public, StaticSecret};
use zeroize::{Zeroize as _, Zeroizing};

use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{EncKey, MachineId, Sig};
use crate::jcs::{self, Canonical};

/// A private signing key. Its `Debug` shows the public half only.
#[derive(Clone)]
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    machine: MachineId,
}

impl SigningKey {
    /// The key of a 32-byte seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        let machine = MachineId::from_bytes(key.verifying_key().as_bytes());
        Self { key, machine }
    }

    /// The seed. It leaves this process only into the identity's own file or an invite's ticket.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.key.to_bytes())
    }

    /// The public half, as the id it is.
    #[must_use]
    pub fn machine(&self) -> &MachineId {
        &self.machine
    }

    /// Signs canonical text for a purpose.
    #[must_use]
    pub fn sign(&self, domain: Domain, text: &Canonical) -> Sig {
        Sig::from_bytes(&self.key.sign(&signed_text(domain, text)).to_bytes())
    }

    /// Signs a value that holds no signature yet.
    ///
    /// Errors: `invalid_request` for a value that does not canonicalize.
    pub fn sign_value(&self, domain: Domain, value: &Value) -> Result<Sig, Failure> {
        Ok(self.sign(domain, &jcs::canonical(value)?))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.machine)
    }
}

/// A *usable* Ed25519 public key: canonical, on the curve, not of small order. Spec: W4.2
///
/// It is held decoded, since decoding costs a tenth of a verification.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// The key of an id, when it is usable.
    #[must_use]
    pub fn of(id: &MachineId) -> Option<Self> {
        let bytes = id.to_bytes();
        if !is_canonical(&bytes) {
            return None;
        }
        let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes).ok()?;
        // Under a key of small order one signature verifies for every message.
        (!key.is_weak()).then_some(Self(key))
    }

    /// The id of this key.
    #[must_use]
    pub fn id(&self) -> MachineId {
        MachineId::from_bytes(self.0.as_bytes())
    }

    /// Whether `sig` is this key's signature of `text` for a purpose. Never fails otherwise than false.
    ///
    /// Cost: one strict Ed25519 verification (S < L, canonical A, no small-order A or R, no cofactor).
    #[must_use]
    pub fn verify(&self, domain: Domain, text: &Canonical, sig: &Sig) -> bool {
        self.verify_bytes(&signed_text(domain, text), sig)
    }

    /// Whether `sig` is this key's signature of raw bytes. Only formats that are not ours (compact JWS) need it.
    #[must_use]
    pub fn verify_bytes(&self, bytes: &[u8], sig: &Sig) -> bool {
        let sig = ed25519_dalek::Signature::from_bytes(&sig.to_bytes());
        self.0.verify_strict(bytes, &sig).is_ok()
    }

    /// Whether the member `sig` of `value` signs the rest of it for a purpose.
    #[must_use]
    pub fn verify_value(&self, domain: Domain, value: &Value) -> bool {
        let sig = value.get("sig").and_then(Value::as_str).and_then(|text| Sig::parse(text).ok());
        match (sig, jcs::canonical_without(value, "sig")) {
            (Some(sig), Ok(text)) => self.verify(domain, &text, &sig),
            _ => false,
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

/// A key in a form that two people can compare: twelve hex digits in three groups.
///
/// Spec: W3 "key fingerprint", R13
#[must_use]
pub fn fingerprint(key: &MachineId) -> String {
    let jwk = serde_json::json!({"crv": "Ed25519", "kty": "OKP", "x": key});
    // A key's text is canonical: it always canonicalizes.
    let digest = jcs::canonical(&jwk).map(|text| text.digest()).unwrap_or_default();
    let [a, b, c, d, e, f, ..] = digest;
    format!("{a:02x}{b:02x}-{c:02x}{d:02x}-{e:02x}{f:02x}")
}

/// The text a signature covers: the prefix of its purpose, then the canonical text.
#[must_use]
pub fn signed_text(domain: Domain, text: &Canonical) -> Vec<u8> {
    let prefix = domain.prefix().as_bytes();
    let mut out = Vec::with_capacity(prefix.len().saturating_add(text.len()));
    out.extend_from_slice(prefix);
    out.extend_from_slice(text.as_bytes());
    out
}

/// y < 2^255 − 19, the sign bit cleared.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    const P: [u8; 32] = {
        let mut p = [0xff; 32];
        p[0] = 0xed;
        p[31] = 0x7f;
        p
    };
    let mut y = *bytes;
    if let Some(top) = y.last_mut() {
        *top &= 0x7f;
    }
    y.iter().rev().lt(P.iter().rev())
}

/// A private X25519 key, erased when dropped.
#[derive(Clone)]
pub struct EncSecret {
    secret: StaticSecret,
    public: EncKey,
}

impl EncSecret {
    /// The key of 32 private bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let secret = StaticSecret::from(bytes);
        let public = EncKey::from_bytes(X25519Public::from(&secret).as_bytes());
        Self { secret, public }
    }

    /// The private bytes. They leave this process only into the identity's own file.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.secret.to_bytes())
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &EncKey {
        &self.public
    }

    /// The secret shared with `other`; `None` when `other` is a low-order point, which would share zero with anyone.
    #[must_use]
    pub fn agree(&self, other: &EncKey) -> Option<Zeroizing<[u8; 32]>> {
        let shared = self.secret.diffie_hellman(&X25519Public::from(other.to_bytes()));
        shared.was_contributory().then(|| Zeroizing::new(shared.to_bytes()))
    }
}

impl fmt::Debug for EncSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncSecret({})", self.public)
    }
}

/// A machine's private keys: one to sign, one to open what was sealed to it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The signing key, whose public half is the machine's id.
    pub signing: SigningKey,
    /// The current encryption key.
    pub enc: EncSecret,
}

impl Identity {
    /// The identity of two private keys of 32 bytes each.
    #[must_use]
    pub fn from_secrets(mut signing: [u8; 32], mut enc: [u8; 32]) -> Self {
        let identity =
            Self { signing: SigningKey::from_seed(&signing), enc: EncSecret::from_bytes(enc) };
        signing.zeroize();
        enc.zeroize();
        identity
    }

    /// The identity of two private keys that were stored beside their public halves.
    ///
    /// Errors: `invalid_request` when a public half is another key's.
    pub fn import(
        machine: &MachineId,
        enc: &EncKey,
        signing_key: [u8; 32],
        enc_key: [u8; 32],
    ) -> Result<Self, Failure> {
        let identity = Self::from_secrets(signing_key, enc_key);
        if identity.machine() != machine {
            return Err(Failure::invalid("machine"));
        }
        if identity.enc.public() != enc {
            return Err(Failure::invalid("enc"));
        }
        Ok(identity)
    }

    /// A fresh identity.
    #[must_use]
    pub fn generate(rng: &mut (impl crate::random::Random + ?Sized)) -> Self {
        Self::from_secrets(crate::random::bytes(rng), crate::random::bytes(rng))
    }

    /// The machine's id.
    #[must_use]
    pub fn machine(&self) -> &MachineId {
        self.signing.machine()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn point(hex: &str) -> MachineId {
        let bytes: Vec<u8> =
            (0..64).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        MachineId::from_bytes(&bytes.try_into().unwrap())
    }

    #[test]
    fn check_values_of_the_atlas() {
        let a = SigningKey::from_seed(&[1; 32]);
        assert_eq!(a.machine().as_str(), "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w");
        assert_eq!(fingerprint(a.machine()), "5030-d178-e665");
        let enc = EncSecret::from_bytes([0x11; 32]);
        assert_eq!(enc.public().as_str(), "e06Qm75__kTEZaIgA31gjuNYl9Me-XLwf3SJLLD3PxM");
    }

    #[test]
    fn small_order_and_non_canonical_keys_are_not_usable() {
        let low = [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ];
        for hex in low {
            let id = point(hex);
            assert_eq!(PublicKey::of(&id), None, "{hex}");
            let mut flipped = id.to_bytes();
            flipped[31] |= 0x80;
            assert_eq!(
                PublicKey::of(&MachineId::from_bytes(&flipped)),
                None,
                "{hex} with the sign bit"
            );
        }
        for low_byte in 0xed..=0xff {
            for top in [0x7f, 0xff] {
                let mut bytes = [0xff; 32];
                (bytes[0], bytes[31]) = (low_byte, top);
                assert_eq!(PublicKey::of(&MachineId::from_bytes(&bytes)), None);
            }
        }
    }

    #[test]
    fn a_signature_holds_for_one_key_one_purpose_and_one_text() {
        let key = SigningKey::from_seed(&[3; 32]);
        let public = PublicKey::of(key.machine()).unwrap();
        let mut value = json!({"a": 1, "unknown": {"x": [2.5]}});
        let sig = key.sign_value(Domain::Roster, &value).unwrap();
        value["sig"] = json!(sig);
        assert!(public.verify_value(Domain::Roster, &value));
        for domain in Domain::ALL {
            assert_eq!(public.verify_value(*domain, &value), *domain == Domain::Roster);
        }
        value["unknown"]["x"] = json!([2.25]);
        assert!(!public.verify_value(Domain::Roster, &value));
        assert!(!public.verify_value(Domain::Roster, &json!("no object")));
    }

    #[test]
    fn agreement_refuses_low_order_points() {
        let secret = EncSecret::from_bytes([9; 32]);
        assert!(secret.agree(&EncKey::from_bytes(&[0; 32])).is_none());
        let other = EncSecret::from_bytes([8; 32]);
        assert_eq!(secret.agree(other.public()).unwrap(), other.agree(secret.public()).unwrap());
    }

    #[test]
    fn an_import_refuses_a_public_half_of_another_key() {
        let own = Identity::from_secrets([1; 32], [0x11; 32]);
        let other = Identity::from_secrets([2; 32], [0x12; 32]);
        let import = |machine: &Identity, enc: &Identity| {
            Identity::import(machine.machine(), enc.enc.public(), [1; 32], [0x11; 32])
        };
        assert_eq!(import(&own, &own).unwrap().machine(), own.machine());
        assert_eq!(import(&other, &own).unwrap_err(), Failure::invalid("machine"));
        assert_eq!(import(&own, &other).unwrap_err(), Failure::invalid("enc"));
    }

    #[test]
    fn secrets_print_their_public_half_only() {
        let identity = Identity::from_secrets([1; 32], [0x11; 32]);
        let text = format!("{identity:?}");
        assert!(text.contains("iojj3XQJ8ZX9") && text.contains("e06Qm75"), "{text}");
        assert!(!text.contains("AQEBAQEB"), "{text}");
    }
}
