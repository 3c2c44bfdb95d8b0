//! What `inbox.*` and `item.read` return.
//! Spec: D1.7 rows 8–11

use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::{A2aObject, InboxItem};

/// A page of the inbox, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxPage {
    /// The items.
    pub items: Vec<InboxItem>,
    /// Items of the session not read, on every page together.
    pub unread: u64,
    /// Whether more follow.
    pub more: bool,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InboxEntry {
    /// The item.
    pub item: InboxItem,
    /// The whole A2A message with its provenance, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<A2aObject>,
}

/// The items whose stage moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acked {
    /// Their ids.
    pub acked: Vec<Ulid>,
}

/// One step of a sent envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageAt {
    /// The stage.
    pub stage: Stage,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// When.
    pub at: Ms,
}

/// One item of a session, received or sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "a result is made once and written out")]
pub enum ItemRead {
    /// It came in, and is read now.
    Received {
        /// The item.
        item: InboxItem,
        /// The whole A2A message with its provenance.
        message: A2aObject,
    },
    /// The session sent it.
    Sent {
        /// The envelope.
        envelope_id: Ulid,
        /// Where it went.
        to: String,
        /// How far it got.
        stage: Stage,
        /// Why it was rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// Every step, oldest first.
        history: Vec<StageAt>,
    },
}
