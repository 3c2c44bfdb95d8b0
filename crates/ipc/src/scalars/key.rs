//! Values that must not be shown: session keys, tickets, tokens; and small formats of the same kind.
//! Spec: D1.5, §12

use super::{Rule, string_value};
use messaging_core::jcs;
use messaging_core::limits::METADATA_BYTES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A client-made session key: 22 to 128 characters of `[A-Za-z0-9._~-]`. Who knows it can act as the session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey(String);

impl SessionKey {
    /// Takes `text` when its alphabet and length are right.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let fits = (22..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~-".contains(&b));
        if fits { Ok(Self(text.to_owned())) } else { Err(Rule("a session key")) }
    }

    /// The key itself: a bearer credential, never for a log or an event of another session.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

string_value!(SessionKey);

impl JsonSchema for SessionKey {
    fn schema_name() -> Cow<'static, str> {
        "SessionKey".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._~-]{22,128}$" })
    }
}

/// A ticket, token or link of 1 to `MAX` characters. Nothing shows it; sending it takes [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<const MAX: usize>(String);

impl<const MAX: usize> Secret<MAX> {
    /// Takes `text` when it is neither empty nor too long.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        if (1..=MAX).contains(&text.chars().count()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Rule("a text of a length within the bounds"))
        }
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> core::str::FromStr for Secret<MAX> {
    type Err = Rule;
    fn from_str(text: &str) -> Result<Self, Rule> {
        Self::parse(text)
    }
}

impl<const MAX: usize> Serialize for Secret<MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Secret<MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl<const MAX: usize> JsonSchema for Secret<MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Secret{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

/// The six digits that two screens compare.
#[derive(Clone, PartialEq, Eq)]
pub struct Sas(String);

impl Sas {
    /// Takes exactly six ASCII digits.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        if text.len() == 6 && text.bytes().all(|b| b.is_ascii_digit()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Rule("six digits"))
        }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

string_value!(Sas);

impl JsonSchema for Sas {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Sas".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{6}$" })
    }
}

/// An email address, lowered when parsed. The rule is [`messaging_core::ids::Email`]'s.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Email(messaging_core::ids::Email);

impl Email {
    /// Takes an address and lowers it.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        messaging_core::ids::Email::parse(&text.to_lowercase())
            .map(Self)
            .map_err(|_| Rule("an email address"))
    }

    /// The address, lower case.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

string_value!(Email);

impl JsonSchema for Email {
    fn schema_name() -> Cow<'static, str> {
        "Email".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 3, "maxLength": 254, "pattern": "^[^@\\s]+@[^@\\s]+$" })
    }
}

/// An open A2A metadata object of at most 16,384 bytes of canonical JSON. Spec: §8.2 "A2A passthrough"
#[derive(Clone, PartialEq)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// Takes an object when its canonical text is small enough.
    pub fn parse(members: Map<String, Value>) -> Result<Self, Rule> {
        let value = Value::Object(members);
        let bytes = jcs::canonical(&value).map_err(|_| Rule("wire JSON"))?.len();
        match value {
            Value::Object(members) if bytes <= METADATA_BYTES => Ok(Self(members)),
            _ => Err(Rule("metadata of at most 16384 bytes")),
        }
    }

    /// The members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The members themselves.
    pub fn into_members(self) -> Map<String, Value> {
        self.0
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Map::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Metadata {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

/// `Debug` of a private value: the name of its type alone.
macro_rules! redacted {
    ($($(<$bound:ident>)? $name:ident $(<$arg:ident>)?),+) => {$(
        impl $(<const $bound: usize>)? core::fmt::Debug for $name $(<$arg>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )+};
}
redacted!(SessionKey, <MAX> Secret<MAX>, Sas, Email, Metadata);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn session_keys_hold_their_alphabet() {
        assert!(SessionKey::parse(&"k".repeat(22)).is_ok());
        assert!(SessionKey::parse(&"-._~".repeat(32)).is_ok());
        for bad in ["k".repeat(21), "k".repeat(129), format!("{} ", "k".repeat(22))] {
            assert!(SessionKey::parse(&bad).is_err());
        }
    }

    #[test]
    fn emails_are_lowered_and_whole() {
        assert_eq!(Email::parse("Ada@Example.org").unwrap().as_str(), "ada@example.org");
        for bad in ["", "a@", "@b", "a@b@c", "a b@c", "ab", "a\n@b"] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Email::parse(&format!("{}@b", "a".repeat(252))).is_ok());
        assert!(Email::parse(&format!("{}@b", "a".repeat(253))).is_err());
    }

    #[test]
    fn metadata_is_measured_in_canonical_bytes() {
        let object = |n: usize| json!({ "k": "x".repeat(n) }).as_object().unwrap().clone();
        assert!(Metadata::parse(object(METADATA_BYTES - 8)).is_ok());
        assert!(Metadata::parse(object(METADATA_BYTES - 7)).is_err());
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!(
            "{:?} {:?} {:?} {:?}",
            SessionKey::parse("kkkkkkkkkkkkkkkkkkkkkk").unwrap(),
            Secret::<64>::parse("messaging1.ticket").unwrap(),
            Sas::parse("123456").unwrap(),
            Email::parse("a@b").unwrap(),
        );
        assert_eq!(shown, "SessionKey(…) Secret(…) Sas(…) Email(…)");
    }

    #[test]
    fn a_sas_is_six_ascii_digits() {
        assert!(Sas::parse("012345").is_ok());
        for bad in ["12345", "1234567", "12345a", "١٢٣٤٥٦"] {
            assert!(Sas::parse(bad).is_err());
        }
    }
}
