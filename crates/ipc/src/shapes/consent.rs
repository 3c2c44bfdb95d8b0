//! What a person allows others, and what waits for their answer.
//! Spec: D1.6, §6.9

use messaging_core::ids::{
    ChannelName, Label, MachineId, PersonId, SessionAddress, SessionName, Ulid,
};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DelegationSummary;

pub use messaging_core::consent::{AgentMailLevel as AgentMail, AskLevel as Ask, ChatLevel};

/// Whom a grant is about, in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GrantSubject {
    /// A person.
    Person {
        /// Their id.
        person: PersonId,
    },
    /// The members of a channel.
    Channel {
        /// The channel's id.
        channel: Ulid,
        /// Its local name, while this person is in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<ChannelName>,
    },
}

/// One consent grant as this device holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Whom it is about.
    pub subject: GrantSubject,
    /// Its id.
    pub id: Ulid,
    /// When it was signed.
    pub ts: Ms,
    /// The device that signed it.
    pub by: MachineId,
    /// When another device signed it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resigned_at: Option<Ms>,
    /// Lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatLevel>,
    /// Agents' lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mail: Option<AgentMail>,
    /// Requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// Trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
    /// Whether an exact email finds the person; the own grant only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discoverable: Option<bool>,
}

/// Widening levels that lapsed with their signer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewItem {
    /// Whom they were about.
    pub subject: GrantSubject,
    /// Lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatLevel>,
    /// Agents' lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mail: Option<AgentMail>,
    /// Requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// Trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
    /// Discoverability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discoverable: Option<bool>,
    /// When they lapsed.
    pub lapsed_at: Ms,
}

/// Mail or a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskOrMessage {
    /// A message.
    #[default]
    Message,
    /// A task.
    Task,
}

/// Something held for the person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RequestView {
    /// A message to one of the person's agents.
    Message(HeldAsk),
    /// A task for one of the person's agents.
    Task(HeldAsk),
    /// A message request of a stranger.
    Contact {
        /// The request's envelope.
        id: Ulid,
        /// Who asks.
        person: PersonId,
        /// On which device.
        device: MachineId,
        /// That device's label.
        label: Label,
        /// Their verified name.
        name: PeerText,
        /// Their email.
        #[serde(skip_serializing_if = "Option::is_none")]
        email: Option<PeerText>,
        /// Their organisation.
        #[serde(skip_serializing_if = "Option::is_none")]
        org: Option<PeerText>,
        /// What they write.
        text: PeerText,
        /// When it came.
        at: Ms,
        /// When it ends.
        exp: Ms,
    },
    /// An own agent's wish that the person contact somebody.
    Suggestion {
        /// Its id.
        id: Ulid,
        /// The agent.
        agent: SessionName,
        /// Whom.
        email: PeerText,
        /// When.
        at: Ms,
    },
}

/// A held message or task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldAsk {
    /// The envelope.
    pub id: Ulid,
    /// Who asks.
    pub person: PersonId,
    /// On which device.
    pub device: MachineId,
    /// That device's label.
    pub label: Label,
    /// Their agent.
    pub agent: SessionName,
    /// Their agent's address.
    pub address: SessionAddress,
    /// The own agent it is for.
    pub to: SessionName,
    /// The start of its text.
    pub preview: PeerText,
    /// When it was held.
    pub held_at: Ms,
    /// When it ends.
    pub exp: Ms,
    /// The chain of a delegated task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<DelegationSummary>,
}
