//! One part of a message or an artifact: a text, bytes, a link or data.
//! Spec: W2.2 `Part`

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Object;
use crate::b64;
use crate::bounded::Str;
use crate::code::Failure;

/// A part: exactly one content, and what is said about it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The content.
    #[serde(flatten)]
    pub content: Content,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// A file's name, as its sender calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<Str<1, 255>>,
    /// The content's media type, as its sender calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Str<1, 127>>,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes.
    Raw(Base64),
    /// A link. Nobody follows it unasked.
    Url(Str<1, 2048>),
    /// Any JSON, `null` included.
    Data(Value),
}

impl Part {
    /// A part that is only a text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(text.into()).into()
    }
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self { content, metadata: None, filename: None, media_type: None }
    }
}

/// The members that a part is read from.
const FIELDS: &[&str] = &["text", "raw", "url", "data", "metadata", "filename", "mediaType"];

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Part", FIELDS, PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut content = None;
        let (mut metadata, mut filename, mut media_type) = (None, None, None);
        while let Some(name) = map.next_key::<alloc::borrow::Cow<'de, str>>()? {
            let found = match &*name {
                "text" => Content::Text(map.next_value()?),
                "raw" => Content::Raw(map.next_value()?),
                "url" => Content::Url(map.next_value()?),
                // `data: null` is content: a member is present or it is not.
                "data" => Content::Data(map.next_value()?),
                "metadata" => {
                    metadata = Some(map.next_value()?);
                    continue;
                }
                "filename" => {
                    filename = Some(map.next_value()?);
                    continue;
                }
                "mediaType" => {
                    media_type = Some(map.next_value()?);
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if content.replace(found).is_some() {
                return Err(de::Error::custom("two contents"));
            }
        }
        let content = content.ok_or_else(|| de::Error::custom("no content"))?;
        Ok(Part { content, metadata, filename, media_type })
    }
}

/// Bytes as a part carries them: standard base64 with padding, in its one canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Base64(String);

impl Base64 {
    /// The text of these bytes.
    #[must_use]
    pub fn encode(bytes: &[u8]) -> Self {
        Self(b64::encode_standard(bytes))
    }

    /// Takes a text.
    ///
    /// Errors: `invalid_request` for the URL-safe alphabet, missing padding, whitespace, or unused bits that are set.
    pub fn parse(text: impl Into<String>) -> Result<Self, Failure> {
        let text = text.into();
        b64::decode_standard(&text)?;
        Ok(Self(text))
    }

    /// The bytes.
    #[must_use]
    pub fn decode(&self) -> Vec<u8> {
        b64::decode_standard(&self.0).unwrap_or_default()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Base64 {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Base64".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde_json::json;

    #[test]
    fn each_content_reads_and_writes() {
        for value in [
            json!({"text": ""}),
            json!({"raw": "AAH/", "filename": "a.bin", "mediaType": "application/x"}),
            json!({"raw": ""}),
            json!({"url": "https://x.example/f"}),
            json!({"data": null}),
            json!({"data": [1, {"a": "€"}], "metadata": {"k": 1}}),
        ] {
            let part: Part = decode(&value).unwrap();
            assert_eq!(serde_json::to_value(&part).unwrap(), value);
        }
        assert_eq!(decode::<Part>(&json!({"text": "x", "kind": "y"})).unwrap(), Part::text("x"));
        assert_eq!(Base64::encode(&[0, 1, 255]).as_str(), "AAH/");
        assert_eq!(Base64::parse("AAH/").unwrap().decode(), [0, 1, 255]);
    }

    #[test]
    fn exactly_one_content_of_its_type() {
        for (value, path) in [
            (json!({}), ""),
            (json!({"filename": "x"}), ""),
            (json!({"text": "x", "data": null}), ""),
            (json!({"text": "x", "raw": "AAH/"}), ""),
            (json!({"text": 1}), "text"),
            (json!({"text": null}), "text"),
            (json!({"raw": "_-AA"}), "raw"),
            (json!({"raw": "AAH"}), "raw"),
            (json!({"raw": "AAE"}), "raw"),
            (json!({"raw": "AAF=="}), "raw"),
            (json!({"url": ""}), "url"),
            (json!({"url": "x".repeat(2049)}), "url"),
            (json!({"text": "x", "metadata": []}), "metadata"),
            (json!({"text": "x", "metadata": null}), "metadata"),
            (json!({"text": "x", "filename": ""}), "filename"),
            (json!({"text": "x", "mediaType": "x".repeat(128)}), "mediaType"),
            (json!(["text"]), ""),
        ] {
            assert_eq!(decode::<Part>(&value).unwrap_err().path, path, "{value}");
        }
    }
}
