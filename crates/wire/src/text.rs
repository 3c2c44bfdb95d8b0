//! Frames as text, in one pass: ids need no escapes, and a stored envelope or entry is copied as it is.
//! Spec: W2.9

use std::fmt::Write as _;

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, Nonce32, Req, Ulid};
use messaging_core::json;
use messaging_core::roster::RosterHead;
use serde_json::Value;

use crate::PROTO;

/// `deliver`, of an envelope's canonical text.
#[must_use]
pub fn deliver(env: &str) -> String {
    Frame::sized("deliver", env.len()).raw("env", env).end()
}

/// `send`, of an envelope's text.
#[must_use]
pub fn send(env: &str) -> String {
    Frame::sized("send", env.len()).raw("env", env).end()
}

/// `presence`, of an envelope's text.
#[must_use]
pub fn presence(env: &str) -> String {
    Frame::sized("presence", env.len()).raw("env", env).end()
}

/// `roster`, of entries' canonical texts: the page that answers `req`, or a broadcast without one.
#[must_use]
pub fn roster<'a>(
    req: Option<&Req>,
    entries: impl IntoIterator<Item = &'a str>,
    more: bool,
) -> String {
    let mut list = String::from("[");
    for entry in entries {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(entry);
    }
    list.push(']');
    let frame = Frame::sized("roster", list.len()).some_id("req", req).raw("entries", &list);
    if more { frame.raw("more", "true").end() } else { frame.end() }
}

/// `challenge`: the relay's origin and a fresh nonce.
#[must_use]
pub fn challenge(relay: &str, nonce: &Nonce32) -> String {
    Frame::new("challenge").id("proto", PROTO).text("relay", relay).id("nonce", nonce).end()
}

/// `welcome` of a realm whose anchor is a roster head: the head, and who else is online.
#[must_use]
pub fn welcome<'a>(head: &RosterHead, online: impl IntoIterator<Item = &'a MachineId>) -> String {
    let mut list = String::from("[");
    for machine in online {
        if list.len() > 1 {
            list.push(',');
        }
        list.push('"');
        list.push_str(machine.as_str());
        list.push('"');
    }
    list.push(']');
    Frame::sized("welcome", list.len()).head(head).raw("online", &list).end()
}

/// `roster.ok`: the head that the appended entry made.
#[must_use]
pub fn roster_ok(req: &Req, head: &RosterHead) -> String {
    Frame::new("roster.ok").id("req", req).head(head).end()
}

/// `ack` of a stored `send`.
#[must_use]
pub fn ack(id: &Ulid) -> String {
    Frame::new("ack").id("id", id).id("stage", "relayed").end()
}

/// `nack` of the frame that named itself `id`. `message` names a field or rule, in our own words.
#[must_use]
pub fn nack(id: &str, code: Code, message: &str, retry_after_ms: Option<u64>) -> String {
    Frame::new("nack").text("id", id).refusal(code, message, retry_after_ms).end()
}

/// `error`: a refusal of a frame without an id, or the reason of the close that follows.
#[must_use]
pub fn error(code: Code, message: &str, retry_after_ms: Option<u64>) -> String {
    Frame::new("error").refusal(code, message, retry_after_ms).end()
}

/// `peer`: another member came or went.
#[must_use]
pub fn peer(machine: &MachineId, online: bool) -> String {
    let online = if online { "true" } else { "false" };
    Frame::new("peer").id("machine", machine).raw("online", online).end()
}

/// `pong`, with the id of its `ping`.
#[must_use]
pub fn pong(id: Option<&str>) -> String {
    match id {
        Some(id) => Frame::new("pong").text("id", id).end(),
        None => Frame::new("pong").end(),
    }
}

/// `recv.ack`: at most 128 bytes, so that its delivery has paid for it.
#[must_use]
pub fn recv_ack(id: &Ulid, from: Option<&MachineId>) -> String {
    Frame::new("recv.ack").id("id", id).some_id("from", from).end()
}

/// A frame being written.
pub(crate) struct Frame(String);

impl Frame {
    pub(crate) fn new(t: &'static str) -> Self {
        Self::sized(t, 128)
    }

    /// With room for a member of `bytes`.
    pub(crate) fn sized(t: &'static str, bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes.saturating_add(64));
        text.push_str(r#"{"t":""#);
        text.push_str(t);
        text.push('"');
        Self(text)
    }

    /// A member whose text needs no escapes: an id, a name with a grammar, a word of ours.
    pub(crate) fn id(mut self, name: &str, id: impl AsRef<str>) -> Self {
        self.name(name);
        self.0.push('"');
        self.0.push_str(id.as_ref());
        self.0.push('"');
        self
    }

    pub(crate) fn some_id(self, name: &str, id: Option<impl AsRef<str>>) -> Self {
        match id {
            Some(id) => self.id(name, id),
            None => self,
        }
    }

    /// A member of any text.
    pub(crate) fn text(self, name: &str, text: &str) -> Self {
        self.raw(name, &json::print(&Value::from(text)))
    }

    pub(crate) fn int(mut self, name: &str, n: u64) -> Self {
        self.name(name);
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{n}");
        self
    }

    /// A member that is JSON text already.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        self.name(name);
        self.0.push_str(json);
        self
    }

    pub(crate) fn value(self, name: &str, value: &Value) -> Self {
        self.raw(name, &json::print(value))
    }

    pub(crate) fn head(self, head: &RosterHead) -> Self {
        let RosterHead { seq, hash } = head;
        self.raw("head", &format!(r#"{{"seq":{seq},"hash":"{hash}"}}"#))
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn refusal(self, code: Code, message: &str, retry_after_ms: Option<u64>) -> Self {
        let mut frame = self.id("code", code.as_str());
        if !message.is_empty() {
            frame = frame.text("message", message);
        }
        match retry_after_ms {
            Some(ms) => frame.int("retryAfterMs", ms.max(1)),
            None => frame,
        }
    }

    fn name(&mut self, name: &str) {
        self.0.push_str(",\"");
        self.0.push_str(name);
        self.0.push_str("\":");
    }
}
