//! Canonical JSON: the bytes that are signed, hashed and authenticated.
//! Spec: §2 "JCS", W0 "JCS"

mod write;

use alloc::string::String;
use core::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::code::Failure;
use crate::ids::Hash;

/// Text made by canonicalization (RFC 8785), and nothing else: signing and hashing accept no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical(String);

impl Canonical {
    /// The UTF-8 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }

    /// Its length in bytes, the "bytes of JCS" of every size limit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: canonical text holds at least one character.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of an object without the members at `spans`, which are in order and each followed by another member.
    #[must_use]
    pub(crate) fn cut(&self, spans: &[Range<usize>]) -> Self {
        let mut text = String::with_capacity(self.len());
        let mut from = 0;
        for span in spans {
            text.push_str(self.0.get(from..span.start).unwrap_or_default());
            // The comma that follows the member goes with it.
            from = span.end.saturating_add(1);
        }
        text.push_str(self.0.get(from..).unwrap_or_default());
        Self(text)
    }

    /// Canonical text that was put together from canonical pieces.
    pub(crate) fn assembled(text: String) -> Self {
        Self(text)
    }

    /// SHA-256 of the bytes. Spec: §2 "Hash"
    #[must_use]
    pub fn hash(&self) -> Hash {
        Hash::from_bytes(&self.digest())
    }

    /// SHA-256 of the bytes, raw.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.as_bytes()).into()
    }
}

/// Canonicalizes a value.
///
/// Cost: linear, but for sorting member names. Errors: `invalid_request` for a value nested more than 32 deep or with a
/// whole number outside ±(2^53 − 1).
pub fn canonical(value: &Value) -> Result<Canonical, Failure> {
    let mut text = String::new();
    write::value(value, &mut text)?;
    Ok(Canonical(text))
}

/// Canonicalizes an object without one of its members.
///
/// This is what a signature covers: unknown members stay in. Errors: as [`canonical`], and for a value that is no object.
pub fn canonical_without(value: &Value, member: &str) -> Result<Canonical, Failure> {
    let members = value.as_object().ok_or(Failure::invalid("object"))?;
    let mut text = String::new();
    write::object_without(members, member, &mut text)?;
    Ok(Canonical(text))
}

/// Canonicalizes an object and tells where each of `names` stands in the text: `"name":value`, without a comma.
///
/// A member that is not there stands nowhere, `0..0`. Errors: as [`canonical`].
pub fn canonical_spans<const N: usize>(
    members: &Map<String, Value>,
    names: [&str; N],
) -> Result<(Canonical, [Range<usize>; N]), Failure> {
    let mut text = String::new();
    let spans = write::object_with_spans(members, names, &mut text)?;
    Ok((Canonical(text), spans))
}

/// A value of our own as JSON, absent members left out.
///
/// Errors: `internal` for a type that JSON cannot hold; wire types hold no floating point numbers, so none is such.
pub fn to_value(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|_| Failure::new(crate::code::Code::Internal, "json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use serde_json::json;

    /// The samples of RFC 8785, sections 3.2.2 and 3.2.3.
    #[test]
    fn rfc_8785_samples() {
        let text = br#"{"numbers": [333333333.33333329, 1E20, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#;
        // 1E20 is a whole number past the safe range: the protocol refuses it.
        assert!(json::parse(text, 1_000).is_err());
        let text = core::str::from_utf8(text).unwrap().replace("1E20, ", "");
        let value = json::parse(text.as_bytes(), 1_000).unwrap();
        assert_eq!(
            canonical(&value).unwrap().as_str(),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        let keys = json!({"\u{20ac}": "Euro", "\r": "CR", "\u{fb33}": "Dalet", "1": "One", "\u{1f600}": "Smile",
            "\u{80}": "Control", "\u{f6}": "o"});
        let order: Vec<char> = canonical(&keys)
            .unwrap()
            .as_str()
            .split(":\"")
            .filter_map(|part| part.rsplit('"').nth(1).and_then(|key| key.chars().last()))
            .take(7)
            .collect();
        assert_eq!(
            order[..],
            ['r', '1', '\u{80}', '\u{f6}', '\u{20ac}', '\u{1f600}', '\u{fb33}'][..]
        );
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (text, expected) in [
            ("-0", "0"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("5e-324", "5e-324"),
        ] {
            let value = json::parse(text.as_bytes(), 100).unwrap();
            assert_eq!(canonical(&value).unwrap().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn deep_or_large_values_are_refused_before_the_stack_or_the_digits_suffer() {
        let mut deep = json!(1);
        for _ in 0..33 {
            deep = Value::Array(vec![deep]);
        }
        assert!(canonical(&deep).is_err());
        assert!(canonical(&json!([u64::MAX])).is_err());
        assert!(canonical(&json!({"a": 1e21})).is_err());
    }

    proptest! {
        #[test]
        fn canonical_text_is_a_fixed_point(keys in prop::collection::btree_map(".*", ".*", 0..8)) {
            let value = json!(keys);
            let text = canonical(&value).unwrap();
            let again = json::parse(text.as_bytes(), 1 << 20).unwrap();
            prop_assert_eq!(canonical(&again).unwrap(), text);
            prop_assert_eq!(again, value);
        }
    }
}
