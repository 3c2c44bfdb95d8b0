//! The protocol's name and version, as every object writes it.
//! Spec: §14, W2

use alloc::borrow::Cow;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The text `messaging/1`: the member `v` of entries, envelopes, tickets and cards, and the
/// member `proto` of a challenge. A value with any other text does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version;

impl Version {
    /// The text.
    pub const TEXT: &'static str = "messaging/1";

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        Self::TEXT
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::TEXT)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::TEXT)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        if text == Self::TEXT { Ok(Self) } else { Err(de::Error::custom("version")) }
    }
}

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": Self::TEXT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde_json::json;

    #[test]
    fn only_this_version_reads() {
        assert_eq!(decode::<Version>(&json!("messaging/1")), Ok(Version));
        for other in [json!("messaging/2"), json!("messaging/1 "), json!(""), json!(1), json!(null)]
        {
            assert!(decode::<Version>(&other).is_err(), "{other}");
        }
        assert_eq!(json!(Version), json!("messaging/1"));
    }
}
