//! Tasks as records on one side.
//! Spec: D1.6

use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{A2aObject, DelegationSummary, PeerRef, StageAt, TaskStatus};

/// A session's part in a task.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskRole {
    /// It asked for the task.
    Requester,
    /// It does the task.
    Executor,
}

/// How far the request got, on the requester's side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskDelivery {
    /// The stage.
    pub stage: Stage,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Since when.
    pub at: Ms,
}

/// One further message of the requester to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// The envelope.
    pub envelope_id: Ulid,
    /// The A2A message id.
    pub message_id: PeerText,
    /// When it was sent.
    pub at: Ms,
    /// How far it got.
    pub stage: Stage,
    /// Since when.
    pub stage_at: Ms,
    /// Every step, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<StageAt>,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskListItem {
    /// The task.
    pub id: Ulid,
    /// The A2A context id, the requester's text.
    pub context_id: PeerText,
    /// The session's part in it.
    pub role: TaskRole,
    /// The local session.
    pub session: SessionName,
    /// The other agent.
    pub peer: PeerRef,
    /// The first 120 UTF-16 units of the request's text.
    pub title: PeerText,
    /// Where it stands.
    pub status: TaskStatus,
    /// The request's envelope.
    pub request_id: Ulid,
    /// How far the request got; requester only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<TaskDelivery>,
    /// The chain of a delegated task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<DelegationSummary>,
    /// When it was created.
    pub created_at: Ms,
    /// When it last changed.
    pub updated_at: Ms,
}

/// A task in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    /// The task.
    pub id: Ulid,
    /// The A2A context id, the requester's text.
    pub context_id: PeerText,
    /// The session's part in it.
    pub role: TaskRole,
    /// The local session.
    pub session: SessionName,
    /// The other agent.
    pub peer: PeerRef,
    /// The first 120 UTF-16 units of the request's text.
    pub title: PeerText,
    /// Where it stands.
    pub status: TaskStatus,
    /// The request; with provenance on the executor's side.
    pub request: A2aObject,
    /// The request, then the requester's follow-ups, at most 100.
    pub history: Vec<A2aObject>,
    /// At most 64.
    pub artifacts: Vec<A2aObject>,
    /// The request's envelope.
    pub request_id: Ulid,
    /// How far the request got; requester only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<TaskDelivery>,
    /// Every step of the request's delivery, oldest first; requester only, while its record is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_history: Option<Vec<StageAt>>,
    /// The chain of a delegated task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<DelegationSummary>,
    /// How far the follow-ups got; requester only, in `task.get` and task events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_ups: Option<Vec<FollowUp>>,
    /// When it was created.
    pub created_at: Ms,
    /// When it last changed.
    pub updated_at: Ms,
}
