//! A2A values: parts as a request may give them, and objects passed on as they came.
//! Spec: D1.5 "A2A shapes", W2.2

use messaging_core::b64;
use messaging_core::task::TaskState;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

use crate::scalars::Str;

/// One part of a message or artifact in a request. Open: unknown members are kept and sent.
///
/// Exactly one of `text`, `raw`, `url`, `data` is there. Stricter than the wire: `filename` names one plain file.
#[derive(Clone, PartialEq)]
pub struct Part(Map<String, Value>);

/// What a part carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes, in standard base64.
    Raw(&'a str),
    /// A URL, which nothing here fetches.
    Url(&'a str),
    /// Any JSON value.
    Data(&'a Value),
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Map::from_iter([("text".to_owned(), Value::String(text.into()))]))
    }

    /// A file part. `filename` must be a plain file name; see [`Part::is_file_name`].
    pub fn file(bytes: &[u8], filename: &str, media_type: Option<&str>) -> Self {
        let mut members = Map::new();
        members.insert("raw".to_owned(), Value::String(b64::encode_standard(bytes)));
        members.insert("filename".to_owned(), Value::String(filename.to_owned()));
        if let Some(media_type) = media_type {
            members.insert("mediaType".to_owned(), Value::String(media_type.to_owned()));
        }
        Self(members)
    }

    /// Whether `name` may be a `filename`: 1 to 255 units, no `/`, `\` or control character, and neither `.` nor `..`.
    pub fn is_file_name(name: &str) -> bool {
        Str::<1, 255>::new(name).is_ok()
            && name != "."
            && name != ".."
            && !name.chars().any(|c| c == '/' || c == '\\' || c.is_control())
    }

    /// What the part carries; `None` only for a part built from other members.
    pub fn content(&self) -> Option<Content<'_>> {
        content(&self.0)
    }

    /// The members, unknown ones included.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The part as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn content(members: &Map<String, Value>) -> Option<Content<'_>> {
    let string = |name| members.get(name).and_then(Value::as_str);
    string("text")
        .map(Content::Text)
        .or_else(|| string("raw").map(Content::Raw))
        .or_else(|| string("url").map(Content::Url))
        .or_else(|| members.get("data").map(Content::Data))
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Part(…)")
    }
}

impl Serialize for Part {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_struct("Part", Reader::FIELDS, Reader)
    }
}

/// Reads a part member by member, so that an error names the member.
struct Reader;

impl Reader {
    const FIELDS: &'static [&'static str] =
        &["text", "raw", "url", "data", "filename", "mediaType", "metadata"];
}

impl<'de> Visitor<'de> for Reader {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut members = Map::new();
        let mut contents = 0_u8;
        while let Some(name) = map.next_key::<String>()? {
            if matches!(name.as_str(), "text" | "raw" | "url" | "data") {
                contents += 1;
            }
            let value = match name.as_str() {
                "text" => Value::String(map.next_value()?),
                "raw" => Value::String(map.next_value::<Base64>()?.0),
                "url" => Value::String(map.next_value::<Str<1, 2048>>()?.into_string()),
                "filename" => Value::String(map.next_value::<FileName>()?.0),
                "mediaType" => Value::String(map.next_value::<Str<1, 127>>()?.into_string()),
                "metadata" => Value::Object(map.next_value()?),
                _ => map.next_value()?,
            };
            members.insert(name, value);
        }
        if contents == 1 {
            Ok(Part(members))
        } else {
            Err(A::Error::custom("exactly one of text, raw, url, data"))
        }
    }
}

struct Base64(String);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        b64::decode_standard(&text).map_err(|_| D::Error::custom("standard base64"))?;
        Ok(Self(text))
    }
}

struct FileName(String);

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if Part::is_file_name(&text) {
            Ok(Self(text))
        } else {
            Err(D::Error::custom("a file name"))
        }
    }
}

impl JsonSchema for Part {
    fn schema_name() -> Cow<'static, str> {
        "Part".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "raw": { "type": "string", "contentEncoding": "base64" },
                "url": { "type": "string", "minLength": 1, "maxLength": 2048 },
                "data": true,
                "filename": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^/\\\\]+$" },
                "mediaType": { "type": "string", "minLength": 1, "maxLength": 127 },
                "metadata": { "type": "object" }
            },
            "oneOf": [
                { "required": ["text"] }, { "required": ["raw"] },
                { "required": ["url"] }, { "required": ["data"] }
            ]
        })
    }
}

/// An A2A message or artifact as it came, unknown members included. Everything in it is its author's: untrusted.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct A2aObject(Map<String, Value>);

impl A2aObject {
    /// Takes an object that was checked when it arrived or was stored.
    pub fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// The members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Its parts in order: what each carries, and its members. Anything in `parts` that is no part is skipped.
    pub fn parts(&self) -> impl Iterator<Item = (Content<'_>, &Map<String, Value>)> {
        let parts = self.0.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        parts.iter().filter_map(Value::as_object).filter_map(|part| Some((content(part)?, part)))
    }

    /// The text parts, joined by line feeds. Untrusted.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts()
            .filter_map(|(content, _)| match content {
                Content::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// The object as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl fmt::Debug for A2aObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("A2aObject(…)")
    }
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What its author says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<A2aObject>,
    /// When, RFC 3339 UTC with milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::json::decode;
    use serde_json::json;

    #[track_caller]
    fn fault(value: Value, path: &str) {
        assert_eq!(decode::<Part>(&value).unwrap_err().path, path, "{value}");
    }

    #[test]
    fn a_part_carries_exactly_one_thing() {
        for good in [
            json!({"text": ""}),
            json!({"raw": "AA==", "filename": "a.txt", "mediaType": "text/plain"}),
            json!({"url": "https://x"}),
            json!({"data": null}),
            json!({"text": "x", "metadata": {}, "later": {"kept": [1]}}),
        ] {
            let part: Part = decode(&good).unwrap();
            assert_eq!(serde_json::to_value(&part).unwrap(), good);
        }
        fault(json!({}), "");
        fault(json!({"text": "a", "data": 1}), "");
        fault(json!(["a"]), "");
    }

    #[test]
    fn a_fault_names_its_member() {
        fault(json!({"text": 1}), "text");
        fault(json!({"text": null}), "text");
        fault(json!({"raw": "_w"}), "raw");
        fault(json!({"url": ""}), "url");
        fault(json!({"text": "a", "metadata": []}), "metadata");
        for name in ["", ".", "..", "a/b", "a\\b", "a\nb", &"x".repeat(256)] {
            fault(json!({"text": "a", "filename": name}), "filename");
        }
    }

    #[test]
    fn built_parts_pass_their_own_check() {
        for part in [Part::text("hello"), Part::file(b"\0\xff", "a.bin", Some("x/y"))] {
            assert_eq!(decode::<Part>(&serde_json::to_value(&part).unwrap()), Ok(part));
        }
    }

    #[test]
    fn a_peers_message_is_read_leniently() {
        let members = json!({"parts": [{"text": "a"}, 5, {"odd": 1}, {"data": {}}, {"text": "b"}]});
        let message = A2aObject::new(members.as_object().unwrap().clone());
        assert_eq!(message.text(), "a\nb");
        assert_eq!(message.parts().count(), 3);
        assert_eq!(A2aObject::default().parts().count(), 0);
    }
}
