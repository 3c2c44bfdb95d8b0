//! `conv.*`, `search` and `person.send`: the person's conversations.
//! Spec: D1.7 rows 12, 13, 21–24

use messaging_core::ids::Ulid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::line::LINE_BYTES;
use crate::scalars::{Conversation, Count, Printable, Room, SessionKey, Str};
use crate::shapes::EntryCursor;

/// One page of a conversation, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The session; needed for `agent:`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<SessionKey>,
    /// The conversation.
    pub conversation: Conversation,
    /// One thread of it, by its first line or any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Ulid>,
    /// The latest before this place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PageCursor>,
    /// The earliest after this place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PageCursor>,
    /// At most this many; 50 lines or 30 entries when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Count<1, 100, 50>>,
}

/// A place in a conversation: a line's number, or an entry's time and id with `agent:`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PageCursor {
    /// In a direct conversation or a channel.
    Line(u64),
    /// With another agent.
    Entry(EntryCursor),
}

impl<'de> Deserialize<'de> for PageCursor {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = serde_json::Value::deserialize(from)?;
        let read = if value.is_number() {
            messaging_core::json::decode(&value).map(Self::Line)
        } else {
            messaging_core::json::decode(&value).map(Self::Entry)
        };
        read.map_err(|_| D::Error::custom("a number, or a time and an id"))
    }
}

impl Params for Read {
    fn check(&self) -> Result<(), &'static str> {
        let agent = matches!(self.conversation, Conversation::Agent { .. });
        let fits = |cursor: &Option<PageCursor>| match cursor {
            None => true,
            Some(PageCursor::Line(_)) => !agent,
            Some(PageCursor::Entry(_)) => agent,
        };
        if agent && self.key.is_none() {
            return Err("key");
        }
        if agent && self.thread.is_some() {
            return Err("thread");
        }
        if !fits(&self.before) {
            return Err("before");
        }
        if !fits(&self.after) || (self.before.is_some() && self.after.is_some()) {
            return Err("after");
        }
        Ok(())
    }

    fn key(&self) -> Option<&SessionKey> {
        self.key.as_ref()
    }
}

/// Finds lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What to find.
    pub query: Str<1, 256>,
    /// Only in this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Room>,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 100, 20>,
}

impl Params for Search {}

/// Lists the conversations, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListConversations {
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 200, 100>,
}

impl Params for ListConversations {}

/// Moves the read cursor forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MarkRead {
    /// The conversation.
    pub conversation: Room,
    /// The newest line that was read.
    pub up_to: u64,
}

impl Params for MarkRead {}

/// Follows every conversation of the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// The number of the last event that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

impl Params for Subscribe {}

/// The person writes a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PersonSend {
    /// Where.
    pub conversation: Room,
    /// What. More than a chat line may hold is `too_large`, which the handler says, so the bound here is the request's.
    pub text: Str<1, LINE_BYTES>,
    /// A line of the thread it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Ulid>,
    /// Makes a repeated call return the first call's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Printable<1, 128>>,
}

impl Params for PersonSend {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::decode;
    use serde_json::json;

    #[test]
    fn a_cursor_must_be_of_the_conversations_kind() {
        let key = "k".repeat(22);
        let entry = json!({"at": 1, "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"});
        for (params, fault) in [
            (json!({"conversation": "dm:bob"}), None),
            (json!({"conversation": "dm:bob", "before": 5}), None),
            (json!({"conversation": "agent:bob/api", "key": key, "after": entry}), None),
            (json!({"conversation": "agent:bob/api"}), Some("key")),
            (
                json!({"conversation": "agent:bob/api", "key": key, "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
                Some("thread"),
            ),
            (json!({"conversation": "agent:bob/api", "key": key, "before": 5}), Some("before")),
            (json!({"conversation": "dm:bob", "after": entry}), Some("after")),
            (json!({"conversation": "dm:bob", "before": 5, "after": 6}), Some("after")),
            (json!({"conversation": "dm:bob", "before": {"at": 1, "id": "x"}}), Some("before")),
            (json!({"conversation": "dm:bob", "before": null}), Some("before")),
        ] {
            let path = decode::<Read>(Some(&params)).err().map(|fault| fault.path);
            assert_eq!(path.as_deref(), fault, "{params}");
        }
    }
}
