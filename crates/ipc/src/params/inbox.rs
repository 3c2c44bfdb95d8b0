//! `inbox.*`, `item.read` and `sent.list`: what waits for a session, and what became of what it sent.
//! Spec: D1.7 rows 8–11

use messaging_core::ids::Ulid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keyed;
use crate::scalars::{Count, List, SessionKey};
use crate::shapes::EntryCursor;

/// Lists the inbox, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ListItems {
    /// The session.
    pub key: SessionKey,
    /// Only what is not read.
    #[serde(default)]
    pub unread_only: bool,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 200, 50>,
    /// Only what stands after this entry in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<EntryCursor>,
}

/// Looks at one item without changing its stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetItem {
    /// The session.
    pub key: SessionKey,
    /// The item.
    pub id: Ulid,
    /// Whether to return the whole message.
    #[serde(default)]
    pub message: bool,
}

/// How far a client has taken items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckStage {
    /// Shown to the agent.
    HandedToAgent,
    /// Read.
    Read,
}

/// Says how far items were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The session.
    pub key: SessionKey,
    /// The items.
    pub ids: List<Ulid, 1, 100>,
    /// How far.
    pub stage: AckStage,
}

/// Lists what the session sent to agents, newest first. This implementation's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSent {
    /// The session.
    pub key: SessionKey,
    /// Only what was shown on the other side and not answered.
    #[serde(default)]
    pub unanswered: bool,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 200, 50>,
    /// Only what stands after this entry in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<EntryCursor>,
}

/// Reads an item, which marks a received one read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadItem {
    /// The session.
    pub key: SessionKey,
    /// An item of its inbox, or an envelope it sent.
    pub id: Ulid,
}

keyed!(ListItems, GetItem, Ack, ListSent, ReadItem);
