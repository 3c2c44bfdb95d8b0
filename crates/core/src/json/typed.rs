//! The typed step: from a value to a Rust type, more strictly than serde's own readers.
//! Spec: W0 "Notation", D1.4 step 6
//!
//! An object is due where a struct is; `null` is not an absent member; an integer may be written `1.0`; an enum is
//! a string. What went wrong is told by a path of declared member names.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess,
    SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::code::Failure;

/// Reads a type from a value.
///
/// Errors: a [`Misshape`] that names the member at fault.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, Misshape> {
    T::deserialize(Reader { value, fields: &[] })
}

/// A value does not have the shape of the type it should become. It is `invalid_request` everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misshape {
    /// The member at fault, for example `parts[1].text`: declared names and indices only, never a name or a value
    /// from the input. Empty for the value itself, and for an unknown member of the outermost object.
    pub path: String,
}

impl Misshape {
    fn at(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Misshape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid_request: ")?;
        f.write_str(if self.path.is_empty() { "shape" } else { &self.path })
    }
}

impl de::StdError for Misshape {}

impl de::Error for Misshape {
    // Messages of serde and of the types quote values: they are dropped here, once for all.
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::default()
    }
    fn missing_field(field: &'static str) -> Self {
        Self { path: field.to_owned() }
    }
    fn duplicate_field(field: &'static str) -> Self {
        Self { path: field.to_owned() }
    }
}

impl From<Misshape> for Failure {
    fn from(_: Misshape) -> Self {
        Failure::invalid("shape")
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    value: &'a Value,
    /// The declared names of the struct being read, for paths.
    fields: &'static [&'static str],
}

impl<'a> Reader<'a> {
    fn object(self) -> Result<&'a Map<String, Value>, Misshape> {
        self.value.as_object().ok_or_else(Misshape::default)
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Misshape;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Number(n) => match (n.as_u64(), n.as_i64(), n.as_f64()) {
                (Some(n), _, _) => visitor.visit_u64(n),
                (None, Some(n), _) => visitor.visit_i64(n),
                (None, None, Some(n)) => visitor.visit_f64(n),
                (None, None, None) => Err(Misshape::default()),
            },
            Value::String(s) => visitor.visit_borrowed_str(s),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter(), at: 0 }),
            Value::Object(members) => visitor.visit_map(Members {
                rest: members.iter(),
                value: None,
                fields: self.fields,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        if self.value.is_null() { Err(Misshape::default()) } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misshape> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misshape> {
        self.object()?;
        Reader { fields, ..self }.deserialize_any(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.object()?;
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misshape> {
        let text = self.value.as_str().ok_or_else(Misshape::default)?;
        let text: StrDeserializer<'_, Misshape> = text.into_deserializer();
        visitor.visit_enum(text)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        match whole(self.value) {
            Some(n) => match u64::try_from(n) {
                Ok(n) => visitor.visit_u64(n),
                Err(_) => visitor.visit_i64(n),
            },
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misshape> {
        self.deserialize_u64(visitor)
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct identifier
        ignored_any
    }
}

/// A number without a fraction within ±(2^53 − 1), however it is written. Spec: W0 `Int`
fn whole(value: &Value) -> Option<i64> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if let Some(n) = value.as_i64() {
        return Some(n);
    }
    let n = value.as_f64()?;
    if n.abs() > SAFE {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "the range is checked above")]
    let int = n as i64;
    #[allow(clippy::cast_precision_loss, reason = "the range is checked above")]
    let back = int as f64;
    (back == n).then_some(int)
}

struct Items<'a> {
    items: core::slice::Iter<'a, Value>,
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misshape;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misshape> {
        let Some(value) = self.items.next() else {
            return Ok(None);
        };
        let at = self.at;
        self.at = self.at.saturating_add(1);
        seed.deserialize(Reader { value, fields: &[] })
            .map(Some)
            .map_err(|error| error.at(&format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'a> {
    rest: serde_json::map::Iter<'a>,
    value: Option<(&'a str, &'a Value)>,
    fields: &'static [&'static str],
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Misshape;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misshape> {
        let Some((name, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some((name, value));
        let name: StrDeserializer<'_, Misshape> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misshape> {
        let (name, value) = self.value.take().ok_or_else(Misshape::default)?;
        seed.deserialize(Reader { value, fields: &[] }).map_err(|error| {
            match self.fields.iter().find(|field| **field == name) {
                Some(field) => error.at(field),
                // A name that we did not declare is the sender's text.
                None => error,
            }
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Open {
        first_name: String,
        count: Option<u32>,
        #[serde(default)]
        parts: Vec<Part>,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Part {
        text: String,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    enum Kind {
        A,
    }

    #[track_caller]
    fn path(value: Value, expected: &str) {
        assert_eq!(decode::<Open>(&value).unwrap_err().path, expected, "{value}");
    }

    #[test]
    fn names_the_member_at_fault() {
        path(json!({}), "firstName");
        path(json!({"firstName": 1}), "firstName");
        path(json!({"firstName": "x", "parts": [{"text": "a"}, {"text": 2}]}), "parts[1].text");
        path(json!({"firstName": "x", "parts": [{"text": "a", "secret": 2}]}), "parts[0]");
        path(json!({"firstName": "x", "kind": "B"}), "kind");
    }

    #[test]
    fn is_stricter_than_serde() {
        path(json!(["x"]), "");
        path(json!({"firstName": "x", "count": null}), "count");
        path(json!({"firstName": "x", "kind": {"A": null}}), "kind");
        path(json!({"firstName": "x", "parts": [["a"]]}), "parts[0]");
        path(json!({"firstName": "x", "count": 1.5}), "count");
        path(json!({"firstName": "x", "count": -1}), "count");
        path(json!({"firstName": "x", "count": 4294967296u64}), "count");
    }

    #[test]
    fn whole_numbers_may_be_written_as_doubles_and_unknown_members_pass() {
        let read: Open = decode(&json!({"firstName": "x", "count": 3.0, "later": [1]})).unwrap();
        assert_eq!(read.count, Some(3));
    }
}
