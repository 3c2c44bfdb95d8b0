//! Lines and conversations of the person.
//! Spec: D1.6

use messaging_core::ids::{ChannelName, Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::{Room, True};

/// Which way something went, seen from this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// How far an outgoing line got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    /// On its way.
    Sent,
    /// Waits for the other person.
    Held,
    /// On a device of everyone.
    Delivered,
    /// Refused by somebody.
    Refused,
}

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatLine {
    /// The line's id.
    pub id: Ulid,
    /// Where it was written.
    pub conversation: Room,
    /// Its place in this device's order of lines.
    pub seq: u64,
    /// When it was written.
    pub at: Ms,
    /// Who wrote it.
    pub person: PersonId,
    /// On which device.
    pub device: MachineId,
    /// That device's label, while known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// The agent; absent when the person wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionName>,
    /// In or out.
    pub direction: Direction,
    /// The text.
    pub text: PeerText,
    /// The first line of its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Ulid>,
    /// The text was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<True>,
    /// The daemon wrote it, about a channel change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<True>,
    /// How far it got; outgoing lines to others only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<LineState>,
    /// Who refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Vec<PersonId>>,
}

/// A direct conversation or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    /// With one person.
    Dm,
    /// With several.
    Channel,
}

/// One conversation and its read state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    /// The conversation, by its local name.
    pub conversation: Room,
    /// Its kind.
    pub kind: ConversationKind,
    /// The number of the newest line read.
    pub read_up_to: u64,
    /// Lines of others not read.
    pub unread: u64,
    /// The number of the newest line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// When the newest line was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Ms>,
    /// The other person of a direct conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonId>,
    /// The channel's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Ulid>,
    /// The channel's own name, when the local one differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<ChannelName>,
    /// The channel's members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persons: Option<Vec<PersonId>>,
    /// Who made the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<PersonId>,
}
