//! What `inbox.*`, `item.read` and `sent.list` return.
//! Spec: D1.7 rows 8–11

use messaging_core::code::Code;
use messaging_core::ids::{SessionAddress, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::{A2aObject, InboxItem, StageAt};

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

/// A message that a session sent to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentItem {
    /// The envelope's id.
    pub id: Ulid,
    /// Where it went, in full.
    pub to: SessionAddress,
    /// The A2A message id.
    pub message_id: String,
    /// The A2A context id: a peer's text when the message answers one.
    pub context_id: PeerText,
    /// The task that it asks for, or goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// The envelope it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Ulid>,
    /// The text parts joined by line feeds, at most 280 UTF-16 units; absent while no copies are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PeerText>,
    /// How far it got.
    pub stage: Stage,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// When it got so far.
    pub stage_at: Ms,
    /// When it was sent.
    pub at: Ms,
    /// When it ends.
    pub exp: Ms,
}

/// A page of what a session sent, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentPage {
    /// The messages.
    pub items: Vec<SentItem>,
    /// Whether more follow.
    pub more: bool,
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
        /// The whole A2A message; absent while no copies are kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<A2aObject>,
    },
}
