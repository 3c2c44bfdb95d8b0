//! Mail between agents: what a send came to, what waits in the inbox, one row of a conversation.
//! Spec: D1.6

use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConsentClass, DelegationSummary, Direction, Expect, PeerRef, TaskOrMessage, TaskRole};

/// What became of one send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendResult {
    /// The full address, person or channel it went to.
    pub to: String,
    /// The envelope's id; of a line, the line's.
    pub envelope_id: Ulid,
    /// The A2A message id.
    pub message_id: String,
    /// The A2A context id: a peer's text when the message answers one.
    pub context_id: PeerText,
    /// The task, of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// How far it got by now.
    pub stage: Stage,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// When the recipient will likely see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
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

/// How far the recipient's client has taken an item.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InboxStage {
    /// Stored here.
    Delivered,
    /// Shown to the agent.
    HandedToAgent,
    /// Read.
    Read,
}

impl From<InboxStage> for Stage {
    fn from(stage: InboxStage) -> Self {
        match stage {
            InboxStage::Delivered => Self::Delivered,
            InboxStage::HandedToAgent => Self::HandedToAgent,
            InboxStage::Read => Self::Read,
        }
    }
}

/// One item of a session's inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxItem {
    /// The envelope's id.
    pub id: Ulid,
    /// Who wrote it.
    pub from: PeerRef,
    /// The session it is for.
    pub to: SessionName,
    /// Mail or a task.
    pub kind: TaskOrMessage,
    /// The A2A message id, the peer's text.
    pub message_id: PeerText,
    /// The A2A context id, the peer's text.
    pub context_id: PeerText,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// The envelope it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Ulid>,
    /// The text parts joined by line feeds, at most 280 UTF-16 units.
    pub preview: PeerText,
    /// How many parts are no text.
    pub attachments: u64,
    /// How far it is.
    pub stage: InboxStage,
    /// How it came past consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<ConsentClass>,
    /// Whether the sender asks for a wake.
    pub wake: bool,
    /// The chain of a delegated task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<DelegationSummary>,
    /// When it was written.
    pub sent_at: Ms,
    /// When it arrived.
    pub at: Ms,
    /// When it ends.
    pub exp: Ms,
}

/// The place of an entry in a conversation or inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryCursor {
    /// The entry's time.
    pub at: Ms,
    /// The entry's id.
    pub id: Ulid,
}

/// One row of what a session exchanged with another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ConvEntry {
    /// A message. Sent mail keeps no text: then `preview` and `attachments` are absent.
    Mail {
        /// The envelope's id.
        id: Ulid,
        /// When it arrived, or was sent.
        at: Ms,
        /// In or out.
        direction: Direction,
        /// The other agent.
        peer: PeerRef,
        /// As in [`InboxItem`]; incoming mail only.
        #[serde(skip_serializing_if = "Option::is_none")]
        preview: Option<PeerText>,
        /// As in [`InboxItem`]; incoming mail only.
        #[serde(skip_serializing_if = "Option::is_none")]
        attachments: Option<u64>,
        /// How far it is.
        stage: Stage,
        /// Why it was rejected; outgoing mail only.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// The A2A message id.
        message_id: PeerText,
        /// The A2A context id.
        context_id: PeerText,
        /// The envelope it answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_to: Option<Ulid>,
    },
    /// A task request, once, with its current state.
    Task {
        /// The request's envelope id.
        id: Ulid,
        /// When it was created.
        at: Ms,
        /// In or out.
        direction: Direction,
        /// The session's part in it.
        role: TaskRole,
        /// The other agent.
        peer: PeerRef,
        /// The start of the request.
        title: PeerText,
        /// Its state.
        state: TaskState,
        /// When it last changed.
        updated_at: Ms,
    },
}
