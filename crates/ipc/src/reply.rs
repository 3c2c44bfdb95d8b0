//! What a daemon sends after its hello: answers and events.
//! Spec: D1.1, D1.3

use messaging_core::json;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Refusal, RpcError};
use crate::event::Event;
use crate::line::{self, LINE_BYTES};
use crate::request::RequestId;

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    #[serde(flatten)]
    outcome: Outcome<T>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome<T> {
    Result(T),
    Error(RpcError),
}

/// An answer's line, with the line feed. A result whose line would be too long becomes `too_large`.
pub fn result_line(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    let line =
        line::print(&Answer { jsonrpc: "2.0", id: Some(id), outcome: Outcome::Result(result) });
    // The bound counts a line without its line feed.
    if line.len() > LINE_BYTES + 1 {
        let error =
            Refusal::new(messaging_core::code::Code::TooLarge, "the result is longer than 4 MiB");
        return error_line(Some(id), error.into());
    }
    line
}

/// A refusal's line, with the line feed. `id` is `None` when the request's could not be read.
pub fn error_line(id: Option<&RequestId>, error: RpcError) -> Vec<u8> {
    line::print(&Answer::<()> { jsonrpc: "2.0", id, outcome: Outcome::Error(error) })
}

/// What a client can receive after the hello.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a request.
    Answer {
        /// Whose; `None` for a line that the daemon could not read.
        id: Option<RequestId>,
        /// The result, not yet read, or the error.
        outcome: Result<Value, RpcError>,
    },
    /// An event.
    Event(Box<Event>),
    /// Something of a later release, to be skipped.
    Other,
}

/// A line that no daemon of this release sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAnswer;

impl Incoming {
    /// Reads one line.
    ///
    /// Errors: [`NotAnAnswer`] for a line that is neither an answer nor a notification.
    pub fn parse(line: &[u8]) -> Result<Self, NotAnAnswer> {
        let mut value = json::parse(line, LINE_BYTES).map_err(|_| NotAnAnswer)?;
        let members = value.as_object_mut().ok_or(NotAnAnswer)?;
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(NotAnAnswer);
        }
        if members.get("method").and_then(Value::as_str) == Some("event") {
            let params = members.get("params").ok_or(NotAnAnswer)?;
            // An event type of a later release is no reason to hang up.
            return Ok(
                json::decode(params).map_or(Self::Other, |event| Self::Event(Box::new(event)))
            );
        }
        if members.contains_key("method") {
            return Ok(Self::Other);
        }
        let id = match members.get("id").ok_or(NotAnAnswer)? {
            Value::Null => None,
            id => Some(json::decode(id).map_err(|_| NotAnAnswer)?),
        };
        let outcome = match (members.remove("result"), members.get("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(json::decode(error).map_err(|_| NotAnAnswer)?),
            _ => return Err(NotAnAnswer),
        };
        Ok(Self::Answer { id, outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::code::Code;
    use proptest::prelude::*;
    use serde_json::json;

    fn id() -> RequestId {
        RequestId::Number(1)
    }

    #[test]
    fn answers_read_back() {
        let line = result_line(&id(), &json!({"ok": true}));
        assert_eq!(line, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}\n");
        assert_eq!(
            Incoming::parse(&line),
            Ok(Incoming::Answer { id: Some(id()), outcome: Ok(json!({"ok": true})) })
        );
        let error = RpcError::from(Refusal::code(Code::Forbidden));
        let line = error_line(None, error.clone());
        assert_eq!(Incoming::parse(&line), Ok(Incoming::Answer { id: None, outcome: Err(error) }));
    }

    #[test]
    fn a_result_at_the_bound_passes_and_one_over_is_too_large() {
        let frame = result_line(&id(), &"").len() - 1;
        let line = result_line(&id(), &"x".repeat(LINE_BYTES - frame));
        assert_eq!(line.len(), LINE_BYTES + 1);
        let line = result_line(&id(), &"x".repeat(LINE_BYTES - frame + 1));
        let Ok(Incoming::Answer { outcome: Err(error), .. }) = Incoming::parse(&line) else {
            panic!()
        };
        assert_eq!(error.as_code(), Code::TooLarge);
    }

    #[test]
    fn what_is_later_is_skipped_and_what_is_wrong_refused() {
        for later in [
            r#"{"jsonrpc":"2.0","method":"event","params":{"type":"later"}}"#,
            r#"{"jsonrpc":"2.0","method":"later"}"#,
        ] {
            assert_eq!(Incoming::parse(later.as_bytes()), Ok(Incoming::Other));
        }
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":{},"result":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":5}"#,
        ] {
            assert_eq!(Incoming::parse(bad.as_bytes()), Err(NotAnAnswer), "{bad}");
        }
    }

    #[test]
    fn events_read_back() {
        let event: Event = serde_json::from_value(json!({
            "type": "conv", "conversation": "dm:bob", "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "person": "bob", "seq": 4,
            "change": "line"
        }))
        .unwrap();
        assert_eq!(Incoming::parse(&event.line()), Ok(Incoming::Event(Box::new(event))));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Incoming::parse(&line);
        }
    }
}
