//! The other end of a conversation: who they are, what they accept, when they will see a message.
//! Spec: D1.6

use messaging_core::ids::{
    ClientKind, Label, MachineId, PersonId, ScopeLabel, SessionAddress, SessionName,
};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::True;

pub use messaging_core::consent::{CardCan as Can, ConsentClass};

/// Who wrote something, on which device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerRef {
    /// The person.
    pub person: PersonId,
    /// The device.
    pub device: MachineId,
    /// The device's label.
    pub label: Label,
    /// The agent; absent when the person wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionName>,
    /// The agent's full address; absent when the person wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SessionAddress>,
}

/// When the recipient will likely see a message. A hint, not a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Their machine is not connected.
    Offline,
    /// No client holds the session; it waits for one.
    Kept,
    /// The session's host is asked to wake it.
    Wake,
    /// When the agent checks its inbox.
    OnRead,
    /// At the agent's next turn.
    NextTurn,
    /// When the agent is next prompted.
    NextPrompt,
}

/// Where a [`Reach`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachSource {
    /// Their signed contact card.
    Card,
    /// The defaults of the relation.
    Default,
}

/// What another person's card says may be sent to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// The person.
    pub person: PersonId,
    /// What they accept.
    pub can: Can,
    /// Card or defaults.
    pub source: ReachSource,
    /// When the card was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Ms>,
    /// When a device of theirs changed, within seven days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices_changed_at: Option<Ms>,
}

/// Whether an agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Waiting for its person.
    Idle,
    /// In a turn.
    Busy,
}

/// How a session's client takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionTier {
    /// The client hands them to the agent by itself.
    Push,
    /// The agent looks when it likes.
    Pull,
}

/// One agent session, here or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryEntry {
    /// Its full address.
    pub address: SessionAddress,
    /// Its person.
    pub person: PersonId,
    /// Its device.
    pub device: MachineId,
    /// The device's label.
    pub label: Label,
    /// Its name.
    pub agent: SessionName,
    /// The kind of client that runs it.
    pub client: ClientKind,
    /// At work or not.
    pub state: SessionState,
    /// Push or pull.
    pub tier: SessionTier,
    /// Since when it is so.
    pub since: Ms,
    /// Whether its machine is connected and a client holds it.
    pub online: bool,
    /// No client holds it; it waits for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<True>,
    /// Its host can wake it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<True>,
    /// A session of this machine.
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    pub own: Option<True>,
    /// The repository it works in, when shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<PeerText>,
    /// The branch, when shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<PeerText>,
    /// What it is doing, when shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<PeerText>,
    /// What it can do.
    pub features: Vec<PeerText>,
    /// The person's verified name, in a directory realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<PeerText>,
    /// The person's handle, in a directory realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<PeerText>,
    /// What a send now would expect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// A delegation chain in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationSummary {
    /// Each signer, first to last.
    pub addresses: Vec<SessionAddress>,
    /// How deep it is.
    pub depth: u64,
    /// How deep it may go.
    pub max_depth: u64,
    /// What it is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<ScopeLabel>>,
    /// When it ends.
    pub exp: Ms,
}

/// How a person stands to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The same person.
    #[serde(rename = "self")]
    Own,
    /// Of the same organisation.
    Org,
    /// Accepted.
    Contact,
    /// None of these.
    Stranger,
}

/// A person as the realm verified them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// Their id.
    pub person: PersonId,
    /// Their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<PeerText>,
    /// Their handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<PeerText>,
    /// Their email.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<PeerText>,
    /// Their organisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org: Option<PeerText>,
    /// How they stand to this person.
    pub relation: Relation,
    /// Whether a device of theirs is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<bool>,
}
