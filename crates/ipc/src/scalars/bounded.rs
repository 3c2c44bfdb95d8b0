//! Text and numbers with bounds in their type.
//! Spec: D1.5, D1.7

use super::{Rule, string_value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// A string of `MIN` to `MAX` printable ASCII characters (U+0020 to U+007E).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Printable<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Printable<MIN, MAX> {
    /// Takes `text` when every byte is printable ASCII and the length is within the bounds.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let printable = text.bytes().all(|b| (0x20..=0x7E).contains(&b));
        if printable && (MIN..=MAX).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Rule("printable ASCII of a length within the bounds"))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> core::fmt::Display for Printable<MIN, MAX> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

string_value!(<const MIN, const MAX> Printable<MIN, MAX>);

impl<const MIN: usize, const MAX: usize> JsonSchema for Printable<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Printable{MIN}To{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^[ -~]{{{MIN},{MAX}}}$") })
    }
}

/// A whole number from `MIN` to `MAX`; `DEFAULT` stands where a request leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count<const MIN: u64, const MAX: u64, const DEFAULT: u64>(u64);

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Count<MIN, MAX, DEFAULT> {
    /// Takes `number` when it is within the bounds.
    pub fn parse(number: u64) -> Result<Self, Rule> {
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(Rule("a whole number within the bounds"))
        }
    }

    /// The nearest allowed number.
    pub fn clamped(number: u64) -> Self {
        Self(number.clamp(MIN, MAX))
    }

    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }

    /// The number as a length; a bound larger than the platform's lengths saturates.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Default for Count<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Serialize for Count<MIN, MAX, DEFAULT> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de, const MIN: u64, const MAX: u64, const DEFAULT: u64> Deserialize<'de>
    for Count<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(u64::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> JsonSchema for Count<MIN, MAX, DEFAULT> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Count{MIN}To{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// The literal `true`; where it could be `false` the member is absent instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct True;

impl True {
    /// `Some(True)` when `fact` holds, for an optional member.
    pub fn when(fact: bool) -> Option<Self> {
        fact.then_some(Self)
    }
}

impl Serialize for True {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if bool::deserialize(from)? { Ok(Self) } else { Err(D::Error::custom("true")) }
    }
}

impl JsonSchema for True {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_refuses_control_and_other_alphabets() {
        assert!(Printable::<1, 8>::parse("a b~").is_ok());
        for bad in ["", "a\tb", "é", "123456789", "\u{7f}"] {
            assert!(Printable::<1, 8>::parse(bad).is_err());
        }
    }

    #[test]
    fn counts_hold_their_bounds() {
        for (number, fits) in [(0, false), (1, true), (200, true), (201, false)] {
            assert_eq!(Count::<1, 200, 50>::parse(number).is_ok(), fits);
        }
        assert_eq!(Count::<1, 200, 50>::default().value(), 50);
        assert_eq!(Count::<1, 200, 50>::clamped(0).value(), 1);
    }

    #[test]
    fn only_true_is_true() {
        assert!(serde_json::from_str::<True>("true").is_ok());
        assert!(serde_json::from_str::<True>("false").is_err());
        assert!(serde_json::from_str::<True>("1").is_err());
    }
}
