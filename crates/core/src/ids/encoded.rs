//! Keys, hashes and signatures: a fixed number of bytes, held as their canonical base64url text.
//! Spec: §2, W0 `B64u(n)`

use core::fmt;

use data_encoding::BASE64URL_NOPAD;

use super::text_id_traits;
use crate::b64;
use crate::code::Failure;

macro_rules! encoded_id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal bytes, $chars:literal chars, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $chars]);

        impl $name {
            /// Reads the canonical base64url text.
            ///
            /// Errors: `invalid_request` for another size, padding, or unused bits that are set.
            pub fn parse(text: &str) -> Result<Self, Failure> {
                let bytes: [u8; $bytes] =
                    b64::decode_array(text).map_err(|_| Failure::invalid(stringify!($name)))?;
                Ok(Self::from_bytes(&bytes))
            }

            /// The id of these bytes.
            #[must_use]
            pub fn from_bytes(bytes: &[u8; $bytes]) -> Self {
                let mut text = [0; $chars];
                BASE64URL_NOPAD.encode_mut(bytes, &mut text);
                Self(text)
            }

            /// The bytes.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; $bytes] {
                let mut bytes = [0; $bytes];
                // The text was made by the encoder: it decodes.
                let _ = BASE64URL_NOPAD.decode_mut(&self.0, &mut bytes);
                bytes
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                core::str::from_utf8(&self.0).unwrap_or_default()
            }
        }

        text_id_traits!($name, schemars::json_schema!({ "type": "string", "pattern": $pattern }));
    };
}

macro_rules! shown {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.as_str())
            }
        }
    };
}

encoded_id! {
    /// A machine's (a device's) id: its raw Ed25519 public key.
    ///
    /// Whether the key is *usable* is a separate question: see [`PublicKey::of`](crate::keys::PublicKey::of).
    MachineId, 32 bytes, 43 chars, "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
}
shown!(MachineId);

encoded_id! {
    /// A raw X25519 public key, to which envelopes are sealed.
    EncKey, 32 bytes, 43 chars, "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
}
shown!(EncKey);

encoded_id! {
    /// A SHA-256 hash; also a realm's id.
    Hash, 32 bytes, 43 chars, "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
}
shown!(Hash);

encoded_id! {
    /// An Ed25519 signature.
    Sig, 64 bytes, 86 chars, "^[A-Za-z0-9_-]{85}[AQgw]$"
}
shown!(Sig);

encoded_id! {
    /// A relay's challenge: 32 random bytes, used once.
    Nonce32, 32 bytes, 43 chars, "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
}
shown!(Nonce32);

encoded_id! {
    /// The nonce of a sealed body: 12 random bytes.
    Nonce12, 12 bytes, 16 chars, "^[A-Za-z0-9_-]{16}$"
}
shown!(Nonce12);

encoded_id! {
    /// The nonce of a link request: 16 random bytes.
    Nonce16, 16 bytes, 22 chars, "^[A-Za-z0-9_-]{21}[AQgw]$"
}
shown!(Nonce16);

encoded_id! {
    /// A secret of 32 bytes in a text that people carry, such as an invite's seed.
    Secret32Text, 32 bytes, 43 chars, "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
}

impl fmt::Debug for Secret32Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret32Text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn text_and_bytes_are_one_to_one() {
        let id = MachineId::from_bytes(&[7; 32]);
        assert_eq!(MachineId::parse(id.as_str()), Ok(id));
        assert_eq!(id.to_bytes(), [7; 32]);
        for bad in ["", "AAAA", &"A".repeat(44), &format!("{}B", "A".repeat(42)), &"=".repeat(43)] {
            assert!(MachineId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn order_is_that_of_the_text() {
        let (low, high) = (Hash::from_bytes(&[0xff; 32]), Hash::from_bytes(&[0x69; 32]));
        assert_eq!(low < high, low.as_str() < high.as_str());
        assert!(low < high, "'_' sorts before 'a' whatever the bytes say");
    }

    #[test]
    fn a_secret_does_not_print() {
        assert_eq!(format!("{:?}", Secret32Text::from_bytes(&[1; 32])), "Secret32Text");
    }
}
