//! What `session.register`, `contacts.list` and `msg.send` return.
//! Spec: D1.7 rows 1, 6, 7

use messaging_core::ids::{SessionAddress, SessionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::SessionKey;
use crate::shapes::{ConversationView, DirectoryEntry, Reach, SendResult};

/// The session as it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// Its key.
    pub key: SessionKey,
    /// Its name, which may have a suffix.
    pub name: SessionName,
    /// Its full address; absent before this device is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SessionAddress>,
    /// Whether it took up a kept session's name and inbox.
    pub taken_over: bool,
    /// Items not read.
    pub unread: u64,
}

/// Everyone this machine knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contacts {
    /// Agent sessions: own first, then by address; at most 2,000.
    pub entries: Vec<DirectoryEntry>,
    /// The person's conversations.
    pub conversations: Vec<ConversationView>,
    /// What other persons accept.
    pub reach: Vec<Reach>,
}

/// What became of a send: exactly one result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// One.
    pub results: Vec<SendResult>,
}
