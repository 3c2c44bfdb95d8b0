//! Compact JWS with Ed25519: the format of the account service's tokens.
//! Spec: §15.2, §8.11, W3 "Jelly JWS"
//!
//! Such a token signs its own base64url text, not canonical JSON under a prefix. What the header and the claims must
//! be is the business of whoever reads the token.

use alloc::vec::Vec;

use serde_json::Value;

use crate::b64;
use crate::ids::Sig;
use crate::json;
use crate::keys::PublicKey;

/// A token's three segments, decoded. Nothing is said yet about its signature.
#[derive(Clone)]
pub struct Jws<'a> {
    /// The header.
    pub header: Value,
    /// The claims.
    pub claims: Value,
    signed: &'a str,
    sig: Sig,
}

impl<'a> Jws<'a> {
    /// Reads a token of at most `max_bytes`.
    ///
    /// `None` for other than three segments of canonical base64url, a header or claims that are no strict JSON
    /// objects, or a signature of another size.
    #[must_use]
    pub fn read(text: &'a str, max_bytes: usize) -> Option<Self> {
        if text.len() > max_bytes {
            return None;
        }
        let (signed, sig) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let object = |segment: &str| -> Option<Value> {
            let bytes: Vec<u8> = b64::decode(segment).ok()?;
            json::parse(&bytes, max_bytes).ok().filter(Value::is_object)
        };
        Some(Self {
            header: object(header)?,
            claims: object(claims)?,
            signed,
            sig: Sig::parse(sig).ok()?,
        })
    }

    /// Whether `key` signed the header and the claims. Cost: one signature check.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.verify_bytes(self.signed.as_bytes(), &self.sig)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn three_canonical_segments_of_objects_and_nothing_else() {
        let object = b64::encode(b"{}");
        let sig = Sig::from_bytes(&[1; 64]);
        let good = format!("{object}.{object}.{sig}");
        assert!(Jws::read(&good, 1_000).is_some());
        assert!(Jws::read(&good, good.len() - 1).is_none(), "over the limit");
        for bad in [
            format!("{object}.{object}"),
            format!("{object}.{object}.{object}.{sig}"),
            format!("{object}.{}.{sig}", b64::encode(b"[]")),
            format!("{}.{object}.{sig}", b64::encode(b"{\"a\":1,\"a\":1}")),
            format!("{object}=.{object}.{sig}"),
            format!("{object}.{object}."),
            format!("..{sig}"),
        ] {
            assert!(Jws::read(&bad, 1_000).is_none(), "{bad}");
        }
    }
}
