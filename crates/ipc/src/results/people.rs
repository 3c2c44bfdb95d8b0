//! What `people.*`, `contact.*`, `card.get` and `agents.*` return.
//! Spec: D1.7 rows 25, 26, 33–37

use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::{Conversation, Room};
use crate::shapes::{ConvEntry, DeviceChangeView, DeviceView, GrantView, Person, Reach};

/// The persons found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct People {
    /// The persons.
    pub persons: Vec<Person>,
    /// Whether more were found.
    pub more: bool,
}

/// One person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonDetail {
    /// The person.
    pub person: Person,
    /// Their devices.
    pub devices: Vec<DeviceView>,
    /// What they accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// What they are granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantView>,
    /// How their devices changed within seven days, newest first, at most 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_changes: Option<Vec<DeviceChangeView>>,
}

/// A message request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactRequested {
    /// The line.
    pub id: Ulid,
    /// The conversation with them.
    pub conversation: Room,
    /// Who was found.
    pub person: PersonId,
}

/// Whether a message request would find anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactFound {
    /// Whether it would.
    pub found: bool,
}

/// Whether a card was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CardAsked {
    /// False when it was asked for within the last day.
    pub sent: bool,
}

/// What one of the person's agents is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Waiting for its person.
    Idle,
    /// In a turn.
    Busy,
    /// No client holds it.
    Kept,
}

/// One of the person's agents on this device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its name.
    pub agent: SessionName,
    /// How many others it exchanged something with.
    pub conversations: u64,
    /// Its mail not read.
    pub unread: u64,
    /// Its last traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Ms>,
    /// What it is at.
    pub state: AgentState,
}

/// The person's agents, most recent first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// The agents.
    pub agents: Vec<AgentView>,
}

/// One conversation of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentConversation {
    /// With whom.
    pub conversation: Conversation,
    /// Mail not read.
    pub unread: u64,
    /// Its last traffic.
    pub last_at: Ms,
}

/// What an agent exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentRead {
    /// With whom, most recent first.
    Conversations {
        /// The conversations.
        conversations: Vec<AgentConversation>,
    },
    /// A page of one conversation, oldest first.
    Entries {
        /// The conversation.
        conversation: Conversation,
        /// The entries.
        entries: Vec<ConvEntry>,
        /// Whether more came before.
        more: bool,
    },
}
