//! The two places where `null` means something: clearing a value, and "nothing" in a result.
//! Spec: D1.6, D1.7

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A string-valued parameter with three states: left out (no change), `null` (clear), a value.
///
/// Put `#[serde(default, skip_serializing_if = "Nullable::is_absent")]` on the member.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Nullable<T> {
    /// The member is not there: nothing changes.
    #[default]
    Absent,
    /// The member is `null`: the value is cleared.
    Clear,
    /// The new value.
    Set(T),
}

impl<T> Nullable<T> {
    /// Whether the member is left out.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// What a stored value becomes: kept, dropped or replaced.
    pub fn apply(self, stored: Option<T>) -> Option<T> {
        match self {
            Self::Absent => stored,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }
}

impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(to),
            Self::Absent | Self::Clear => to.serialize_unit(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nullable<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = from.deserialize_any(StringOrNull(PhantomData))?;
        Ok(found.map_or(Self::Clear, Self::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [value, { "type": "null" }] })
    }
}

/// A string-valued member of a result that is always there and may be `null` (`DaemonHealth.alarm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNull<T>(pub Option<T>);

impl<T: Serialize> Serialize for OrNull<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(to),
            None => to.serialize_unit(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNull<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StringOrNull(PhantomData)).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrNull", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [value, { "type": "null" }] })
    }
}

/// Reads a JSON string into `T`, or `null` into `None`. It asks for "any" value because the strict
/// reader refuses `null` wherever an optional member is asked for.
struct StringOrNull<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for StringOrNull<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(StrDeserializer::new(text)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[derive(serde::Deserialize, serde::Serialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Params {
        #[serde(default, skip_serializing_if = "Nullable::is_absent")]
        repo: Nullable<crate::scalars::Str<0, 5>>,
    }

    #[test]
    fn three_states_survive_the_wire() {
        for (text, stored, expected) in [
            ("{}", Some("old"), Some("old")),
            (r#"{"repo":null}"#, Some("old"), None),
            (r#"{"repo":"new"}"#, Some("old"), Some("new")),
        ] {
            let params: Params = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&params).unwrap(), text);
            let stored = stored.map(|s| crate::scalars::Str::new(s).unwrap());
            let after = params.repo.apply(stored);
            assert_eq!(after.as_ref().map(|t| t.as_str()), expected);
        }
    }

    #[test]
    fn the_inner_rule_still_holds() {
        assert!(serde_json::from_str::<Params>(r#"{"repo":"toolong"}"#).is_err());
        assert!(serde_json::from_str::<Params>(r#"{"repo":5}"#).is_err());
        assert!(serde_json::from_str::<Params>(r#"{"repo":[]}"#).is_err());
    }
}
