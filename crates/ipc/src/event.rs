//! What a daemon tells a connection that subscribed.
//! Spec: D2

use messaging_core::code::Code;
use messaging_core::ids::{PersonId, Ulid};
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::{Room, SessionKey, True};
use crate::shapes::{A2aObject, InboxItem, LoginPurpose, Notice, TaskRecord, TaskStatus};

/// One event. It holds no key of another session, no line's text, no token, no code of a sign-in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "an event is made once and written out")]
pub enum Event {
    /// An item reached the inbox.
    Inbox {
        /// The subscriber's own key.
        key: SessionKey,
        /// The item.
        item: InboxItem,
    },
    /// A task record came to be or changed.
    Task {
        /// The subscriber's own key.
        key: SessionKey,
        /// Whether the subscriber's own call caused it.
        origin: Origin,
        /// The record, with follow-ups on the requester's side.
        task: TaskRecord,
        /// What changed, after an update.
        #[serde(skip_serializing_if = "Option::is_none")]
        update: Option<TaskChange>,
    },
    /// A sent envelope went a step further.
    Delivery {
        /// The subscriber's own key.
        key: SessionKey,
        /// The envelope.
        envelope_id: Ulid,
        /// The stage.
        stage: Stage,
        /// Why it was rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// When.
        at: Ms,
    },
    /// A conversation changed.
    Conv {
        /// Which.
        conversation: Room,
        /// The line; absent when the channel is gone.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Ulid>,
        /// Whose line; the own person for a delivery state.
        person: PersonId,
        /// The number of the change.
        seq: u64,
        /// What happened.
        change: ConvChange,
        /// The channel is gone from this device.
        #[serde(skip_serializing_if = "Option::is_none")]
        deleted: Option<True>,
    },
    /// A notice was filed.
    Notice {
        /// The notice.
        notice: Notice,
    },
    /// A sign-in's state changed.
    Login {
        /// Its state.
        state: LoginWord,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        purpose: Option<LoginPurpose>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
}

/// Who caused a task event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The subscriber's own call.
    Local,
    /// The other side, a receipt or a timeout.
    Peer,
}

/// What an update of a task brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum TaskChange {
    /// A status.
    Status {
        /// The status.
        status: TaskStatus,
        /// The update's A2A metadata.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<A2aObject>,
    },
    /// An artifact or a piece of one.
    Artifact {
        /// The piece.
        artifact: A2aObject,
        /// Whether it follows what was there.
        append: bool,
        /// Whether the artifact is whole now.
        last_chunk: bool,
    },
}

/// What happened in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConvChange {
    /// A line was filed.
    Line,
    /// An outgoing line's delivery state changed.
    State,
    /// A channel changed.
    Channel,
}

/// The state of a sign-in as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoginWord {
    /// None was begun.
    Idle,
    /// Waiting for the person.
    Pending,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl Event {
    /// The event as its line, with the line feed.
    pub fn line(&self) -> Vec<u8> {
        crate::line::print(
            &serde_json::json!({ "jsonrpc": "2.0", "method": "event", "params": self }),
        )
    }
}
