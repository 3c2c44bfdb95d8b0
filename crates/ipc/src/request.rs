//! What a client sends: one request a line.
//! Spec: D1.1 "Request", D1.4 step 1

use messaging_core::json;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::{Refusal, RpcError};
use crate::line::LINE_BYTES;

/// The longest `grant`, bytes.
pub const GRANT_BYTES: usize = 8_192;

/// What a request is answered by: the client's own word for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestId {
    /// 1 to 64 characters.
    Text(String),
    /// Within ±(2^53 − 1).
    Number(i64),
}

impl RequestId {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if (1..=64).contains(&text.chars().count()) => {
                Some(Self::Text(text.clone()))
            }
            Value::Number(_) => json::decode(value).ok().map(Self::Number),
            _ => None,
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => to.serialize_str(text),
            Self::Number(number) => to.serialize_i64(*number),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Self::of(&value).ok_or_else(|| D::Error::custom("an id"))
    }
}

/// One request, its shape checked, its method and parameters not yet read.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// What to answer by.
    pub id: RequestId,
    /// The method's name; it may name none.
    pub method: String,
    /// The parameters; left out means `{}`. Anything but an object is refused when they are read.
    pub params: Option<Value>,
    /// A host's grant, unread: only a daemon under a host looks at it, and nobody logs it.
    pub grant: Option<Value>,
}

/// A line that is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// It is no wire JSON: -32700.
    NotJson,
    /// It is no request object: -32600. Answered by the id, when it had one.
    NotARequest(Option<RequestId>),
}

impl BadRequest {
    /// What to answer by.
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::NotJson => None,
            Self::NotARequest(id) => id.as_ref(),
        }
    }

    /// What to answer.
    pub fn error(&self) -> RpcError {
        match self {
            Self::NotJson => Refusal::NotJson.into(),
            Self::NotARequest(_) => Refusal::NotARequest.into(),
        }
    }
}

impl Request {
    /// Reads one line.
    ///
    /// Errors: [`BadRequest`] for a line that is no wire JSON, and for one that is no request: an array, a member that no
    /// request has, a missing, null or fractional id.
    pub fn parse(line: &[u8]) -> Result<Self, BadRequest> {
        let value = json::parse(line, LINE_BYTES).map_err(|_| BadRequest::NotJson)?;
        let Value::Object(mut members) = value else {
            return Err(BadRequest::NotARequest(None));
        };
        let id = members.remove("id").as_ref().and_then(RequestId::of);
        let version = members.remove("jsonrpc");
        let method = members.remove("method");
        let params = members.remove("params");
        let grant = members.remove("grant");
        match (id, method) {
            (Some(id), Some(Value::String(method)))
                if version.as_ref().and_then(Value::as_str) == Some("2.0")
                    && members.is_empty() =>
            {
                Ok(Self { id, method, params, grant })
            }
            (id, _) => Err(BadRequest::NotARequest(id)),
        }
    }

    /// The request as its line, with the line feed.
    pub fn line(&self) -> Vec<u8> {
        let mut members = Map::new();
        members.insert("jsonrpc".to_owned(), "2.0".into());
        members.insert(
            "id".to_owned(),
            match &self.id {
                RequestId::Text(text) => text.clone().into(),
                RequestId::Number(number) => (*number).into(),
            },
        );
        members.insert("method".to_owned(), self.method.clone().into());
        for (name, value) in [("params", &self.params), ("grant", &self.grant)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), value.clone());
            }
        }
        crate::line::print(&members)
    }
}

impl core::fmt::Debug for Request {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn code(line: &str) -> Option<i64> {
        Request::parse(line.as_bytes()).err().map(|bad| bad.error().code)
    }

    #[test]
    fn a_request_reads_back() {
        let line = br#"{"jsonrpc":"2.0","id":"a","method":"x.y","params":{"k":1},"grant":"g"}"#;
        let request = Request::parse(line).unwrap();
        assert_eq!(Request::parse(&request.line()), Ok(request));
    }

    #[test]
    fn ids_are_texts_or_whole_numbers() {
        for id in ["1", "-9007199254740991", "1.0", "\"x\"", &format!("\"{}\"", "é".repeat(64))] {
            assert_eq!(
                code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)),
                None,
                "{id}"
            );
        }
        for id in ["null", "1.5", "\"\"", "{}", "[1]", "true", &format!("\"{}\"", "x".repeat(65))] {
            assert_eq!(
                code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)),
                Some(-32600),
                "{id}"
            );
        }
    }

    #[test]
    fn other_shapes_are_no_requests() {
        for line in [
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            r#"{"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":2}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","extra":0}"#,
            "5",
        ] {
            assert_eq!(code(line), Some(-32600), "{line}");
        }
        for line in ["", "{", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "\u{feff}{}"] {
            assert_eq!(code(line), Some(-32700), "{line}");
        }
    }

    #[test]
    fn the_answer_carries_the_id_when_there_is_one() {
        let bad = Request::parse(br#"{"jsonrpc":"2.0","id":7,"method":"m","x":1}"#).unwrap_err();
        assert_eq!(bad.id(), Some(&RequestId::Number(7)));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::parse(&line);
        }

        #[test]
        fn nothing_of_a_bad_line_is_quoted(word in "[a-z]{12,20}") {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","{word}":"{word}"}}"#);
            let bad = Request::parse(line.as_bytes()).unwrap_err();
            prop_assert!(!serde_json::to_string(&bad.error()).unwrap().contains(&word));
        }
    }
}
