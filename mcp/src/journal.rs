//! What a host said that has to be said again when this process is replaced: nothing it asked may be lost, and nothing
//! answered twice.
//! Spec: D7.1
//!
//! Lines are looked at, not understood: an id and a method, in whatever version of the protocol.

use serde::Deserialize;
use serde_json::Value;

/// The conversation with a host so far, as far as a successor needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Journal {
    /// The host's first request, and the word that it took the answer.
    pub(crate) opening: Vec<String>,
    /// Requests without an answer, in their order.
    pub(crate) open: Vec<(Value, String)>,
    /// The id of an opening that was answered by a predecessor: its answer goes to nobody.
    pub(crate) answered: Option<Value>,
}

#[derive(Deserialize)]
struct Head {
    id: Option<Value>,
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
}

impl Journal {
    /// Takes a line of the host.
    pub(crate) fn heard(&mut self, line: &[u8]) {
        let Some((head, text)) = read(line) else { return };
        match (head.id, head.method.as_deref()) {
            (Some(id), Some(method)) => {
                if method == "initialize" {
                    self.opening = vec![text.clone()];
                }
                self.open.push((id, text));
            }
            (None, Some("notifications/initialized")) => self.opening.push(text),
            (None, Some("notifications/cancelled")) => {
                // Nobody waits for it any more, and it may never be answered.
                let id = head.params.and_then(|params| params.request_id);
                self.open.retain(|(open, _)| Some(open) != id.as_ref());
            }
            _ => {}
        }
    }

    /// Whether the host is to get a line of ours: not the answer that it has from a predecessor.
    pub(crate) fn is_for_host(&mut self, line: &[u8]) -> bool {
        let id = read(line).filter(|(head, _)| head.method.is_none()).and_then(|(head, _)| head.id);
        let again = id.is_some() && id == self.answered;
        if again {
            self.answered = None;
            self.open.retain(|(open, _)| Some(open) != id.as_ref());
        }
        !again
    }

    /// Takes note that a line of ours is with the host.
    pub(crate) fn told(&mut self, line: &[u8]) {
        if let Some((Head { id: Some(id), method: None, .. }, _)) = read(line) {
            self.open.retain(|(open, _)| *open != id);
        }
    }

    /// What a successor is told, in order: the opening, then whatever is not answered.
    pub(crate) fn again(&self) -> Vec<String> {
        let opening = self.opening.iter().cloned();
        let open = self.open.iter().map(|(_, line)| line.clone());
        opening.chain(open.filter(|line| !self.opening.contains(line))).collect()
    }

    /// The id of the opening, when it was answered.
    pub(crate) fn opening_answered(&self) -> Option<Value> {
        let line = self.opening.first()?;
        if self.open.iter().any(|(_, open)| open == line) {
            return None;
        }
        read(line.as_bytes())?.0.id
    }
}

fn read(line: &[u8]) -> Option<(Head, String)> {
    let text = std::str::from_utf8(line).ok()?.trim();
    Some((serde_json::from_str(text).ok()?, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(value: Value) -> Vec<u8> {
        format!("{value}\n").into_bytes()
    }

    fn opened() -> Journal {
        let mut journal = Journal::default();
        journal.heard(&line(json!({"id": 0, "method": "initialize", "params": {}})));
        journal.told(&line(json!({"id": 0, "result": {}})));
        journal.heard(&line(json!({"method": "notifications/initialized"})));
        journal
    }

    #[test]
    fn a_successor_is_told_the_opening_and_what_was_not_answered() {
        let mut journal = opened();
        journal.heard(&line(json!({"id": "a", "method": "tools/call", "params": {"name": "x"}})));
        journal.heard(&line(json!({"id": 2, "method": "ping"})));
        journal.told(&line(json!({"id": 2, "result": {}})));
        let again: Vec<Value> =
            journal.again().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let methods: Vec<&str> =
            again.iter().map(|message| message["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
        assert_eq!(journal.opening_answered(), Some(json!(0)));
    }

    #[test]
    fn the_openings_answer_reaches_the_host_once() {
        let mut successor = Journal { answered: Some(json!(0)), ..Journal::default() };
        successor.heard(&line(json!({"id": 0, "method": "initialize"})));
        assert!(successor.is_for_host(&line(json!({"id": 1, "result": {}}))));
        assert!(!successor.is_for_host(&line(json!({"id": 0, "result": {}}))));
        assert!(successor.is_for_host(&line(json!({"id": 0, "result": {}}))), "an id used again");
        assert_eq!(successor.open, []);
        // An opening that nobody answered yet is answered by the successor.
        let mut journal = Journal::default();
        journal.heard(&line(json!({"id": 0, "method": "initialize"})));
        assert_eq!(journal.opening_answered(), None);
        assert_eq!(journal.again().len(), 1);
    }

    #[test]
    fn a_cancelled_request_is_not_asked_again_and_a_strange_line_is_nothing() {
        let mut journal = opened();
        journal.heard(&line(json!({"id": 5, "method": "tools/call"})));
        let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 5}});
        journal.heard(&line(cancelled));
        journal.heard(b"not json\n");
        journal.heard(b"\xff\n");
        journal.heard(&line(json!({"id": 7, "result": {}})));
        assert_eq!(journal.open, []);
        assert!(journal.is_for_host(&line(json!({"method": "notifications/x", "id": 0}))));
    }
}
