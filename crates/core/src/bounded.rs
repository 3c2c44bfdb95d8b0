//! Text and lists whose length the protocol bounds.
//! Spec: W0 "Scalars" (`str(a..b)`, `[a..b]`)
//!
//! Lengths of text are in UTF-16 code units. A JSON Schema counts code points instead, so a schema made from these
//! types is a little laxer than the types.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::code::Failure;
use crate::json::utf16_len;

/// Text of `MIN` to `MAX` UTF-16 code units, any characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Str<MIN, MAX> {
    /// Takes a text of the right length.
    ///
    /// Errors: `invalid_request`.
    pub fn new(text: impl Into<String>) -> Result<Self, Failure> {
        let text = text.into();
        if Self::fits(&text) { Ok(Self(text)) } else { Err(Failure::invalid("text length")) }
    }

    /// The start of a text that fits, cut between characters; `None` when the text is too short.
    #[must_use]
    pub fn cut(text: &str) -> Option<Self> {
        Self::new(crate::json::utf16_cut(text, MAX)).ok()
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

    fn fits(text: &str) -> bool {
        // A UTF-8 byte is at most one unit and a unit at most three bytes: most texts are judged without counting.
        if text.len() <= MAX && text.len() >= MIN.saturating_mul(3) {
            return true;
        }
        (MIN..=MAX).contains(&utf16_len(text))
    }
}

impl<const MIN: usize, const MAX: usize> Deref for Str<MIN, MAX> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> AsRef<str> for Str<MIN, MAX> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> Serialize for Str<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Str<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Str<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        alloc::format!("Str_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX })
    }
}

/// A list of `MIN` to `MAX` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> List<T, MIN, MAX> {
    /// Takes a list of the right length.
    ///
    /// Errors: `invalid_request`.
    pub fn new(items: Vec<T>) -> Result<Self, Failure> {
        if (MIN..=MAX).contains(&items.len()) {
            Ok(Self(items))
        } else {
            Err(Failure::invalid("list length"))
        }
    }

    /// The items.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize> Default for List<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> List<T, 0, MAX> {
    /// The first `MAX` of these items.
    #[must_use]
    pub fn first(mut items: Vec<T>) -> Self {
        items.truncate(MAX);
        Self(items)
    }
}

impl<T, const MIN: usize, const MAX: usize> Deref for List<T, MIN, MAX> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'a, T, const MIN: usize, const MAX: usize> IntoIterator for &'a List<T, MIN, MAX> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize, const MIN: usize, const MAX: usize> Serialize for List<T, MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de>
    for List<T, MIN, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T, const MIN: usize, const MAX: usize>(core::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Visitor<'de>
            for Items<T, MIN, MAX>
        {
            type Value = List<T, MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{MIN} to {MAX} items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    // A longer list is refused before its tail is built.
                    if items.len() == MAX {
                        return Err(de::Error::custom("list length"));
                    }
                    items.push(item);
                }
                List::new(items).map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_seq(Items::<T, MIN, MAX>(core::marker::PhantomData))
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        alloc::format!("List_{MIN}_{MAX}_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array", "minItems": MIN, "maxItems": MAX, "items": generator.subschema_for::<T>()
        })
    }
}

/// A member that is `true` or absent, never `false`: for use with serde's `with` on a `bool`.
pub mod only_true {
    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Reads `true`; anything else is a misshape.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        if bool::deserialize(deserializer)? { Ok(true) } else { Err(de::Error::custom("false")) }
    }

    /// Writes the flag; an absent member is the field's `skip_serializing_if`.
    pub fn serialize<S: Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*flag)
    }
}

/// Whether a flag is unset; for serde's `skip_serializing_if`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn unset(flag: &bool) -> bool {
    !*flag
}

/// The JSON Schema of a member that can only be `true`.
pub(crate) fn true_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "const": true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde_json::json;

    #[test]
    fn text_is_counted_in_utf16_units() {
        for (text, fits) in [
            ("", false),
            ("a", true),
            ("abcd", true),
            ("abcde", false),
            ("😀😀", true),
            ("😀😀a", false),
            ("€€€€", true),
        ] {
            assert_eq!(Str::<1, 4>::new(text).is_ok(), fits, "{text}");
            assert_eq!(decode::<Str<1, 4>>(&json!(text)).is_ok(), fits, "{text}");
        }
        assert!(Str::<4, 9>::new("€€€").is_err(), "nine bytes, three units");
        assert!(Str::<0, 2>::new("").is_ok());
        assert!(decode::<Str<0, 2>>(&json!(1)).is_err());
        assert_eq!(Str::<1, 3>::cut("a😀😀").unwrap().as_str(), "a😀");
    }

    #[test]
    fn lists_are_counted() {
        assert!(decode::<List<u8, 1, 2>>(&json!([])).is_err());
        assert_eq!(&*decode::<List<u8, 1, 2>>(&json!([1, 2])).unwrap(), [1, 2]);
        assert!(decode::<List<u8, 1, 2>>(&json!([1, 2, 3])).is_err());
        assert!(decode::<List<u8, 1, 2>>(&json!({"0": 1})).is_err());
    }
}
