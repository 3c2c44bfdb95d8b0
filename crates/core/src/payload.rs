//! What is sealed in an envelope of each type.
//! Spec: §6.1, §6.2, W2.3 `PAYLOAD_BY_TYPE`
//!
//! Presence is the one payload that is not sealed: see [`presence`](crate::presence).

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::a2a::{A2aId, Artifact, Message, Object, TaskStatus};
use crate::bounded::{Str, unset};
use crate::code::Failure;
use crate::conv::Conv;
use crate::delegation::Chain;
use crate::envelope::SealedType;
use crate::ids::Ulid;
use crate::json;
use crate::limits::CANCEL_REASON_CHARS;
use crate::receipt::Receipt;

/// The payload of a sealed envelope.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Of a `message`.
    Message(MessagePayload),
    /// Of a `receipt`.
    Receipt(Receipt),
    /// Of a `task.status`.
    TaskStatus(TaskStatusUpdate),
    /// Of a `task.artifact`.
    TaskArtifact(TaskArtifactUpdate),
    /// Of a `task.cancel`.
    TaskCancel(TaskCancel),
}

impl Payload {
    /// Reads the payload of an envelope of this type.
    ///
    /// What a message means, and whether it may, is a further question: see [`meaning`](crate::meaning). Errors:
    /// `invalid_request`.
    pub fn read(kind: SealedType, value: &Value) -> Result<Self, Failure> {
        Ok(match kind {
            SealedType::Message => Self::Message(json::decode(value)?),
            SealedType::Receipt => Self::Receipt(json::decode(value)?),
            SealedType::TaskStatus => Self::TaskStatus(json::decode(value)?),
            SealedType::TaskArtifact => Self::TaskArtifact(json::decode(value)?),
            SealedType::TaskCancel => Self::TaskCancel(json::decode(value)?),
        })
    }
}

/// Mail, a task request, a line, a channel operation, a sync, a request or a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = chain_with_task)]
pub struct MessagePayload {
    /// Whether it asks for a task.
    pub kind: MessageKind,
    /// The message.
    pub message: Message,
    /// The sender's hint that the recipient's agent should be woken.
    #[serde(default, skip_serializing_if = "unset")]
    pub wake: bool,
    /// Who asked whom: with a task always, otherwise never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Chain>,
    /// What it is when it is no mail, task or direct line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conv: Option<Conv>,
}

fn chain_with_task(schema: &mut Schema) {
    let task = json!({ "properties": { "kind": { "const": "task" } } });
    schema.insert("if".into(), task);
    schema.insert(
        "then".into(),
        json!({ "required": ["delegation"], "properties": { "conv": false } }),
    );
    schema.insert("else".into(), json!({ "properties": { "delegation": false } }));
}

/// Whether a message asks for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    /// It does not.
    Message,
    /// It does.
    Task,
}

/// The executor's word on a task's state: an A2A event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdate {
    /// The task.
    pub task_id: Ulid,
    /// Its conversation.
    pub context_id: A2aId,
    /// Its state.
    pub status: TaskStatus,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// A result of a task, or a piece of one: an A2A event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdate {
    /// The task.
    pub task_id: Ulid,
    /// Its conversation.
    pub context_id: A2aId,
    /// The result.
    pub artifact: Artifact,
    /// Its parts follow those sent before under the same `artifactId`.
    #[serde(default, skip_serializing_if = "unset")]
    pub append: bool,
    /// Nothing follows.
    #[serde(default, skip_serializing_if = "unset")]
    pub last_chunk: bool,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// The requester's wish that a task end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCancel {
    /// The task.
    pub task_id: Ulid,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str<0, CANCEL_REASON_CHARS>>,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";

    fn message() -> Value {
        json!({"kind": "message", "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
    }

    fn status() -> Value {
        json!({"taskId": TASK, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
    }

    fn artifact() -> Value {
        json!({"taskId": TASK, "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}})
    }

    fn with(mut value: Value, name: &str, member: Value) -> Value {
        value[name] = member;
        value
    }

    #[test]
    fn each_type_reads_its_own_payload() {
        let receipt = json!({"ref": TASK, "stage": "read"});
        let cancel = json!({"taskId": TASK, "reason": "", "metadata": {}});
        let payloads = [message(), receipt, status(), artifact(), cancel];
        for (kind, own) in SealedType::ALL.into_iter().zip(&payloads) {
            for payload in &payloads {
                assert_eq!(
                    Payload::read(kind, payload).is_ok(),
                    payload == own || {
                        // A cancel is open: a status or an artifact holds all that it needs.
                        kind == SealedType::TaskCancel && payload.get("taskId").is_some()
                    },
                    "{kind:?} {payload}"
                );
            }
        }
    }

    #[test]
    fn a_message_payload_out_of_shape_is_refused() {
        for (name, member) in [
            ("kind", json!("mail")),
            ("message", json!("hi")),
            ("wake", json!("yes")),
            ("wake", json!(null)),
            ("delegation", json!([])),
            ("delegation", json!({})),
            ("conv", json!(null)),
            ("conv", json!({"kind": "later"})),
        ] {
            let value = with(message(), name, member);
            assert!(Payload::read(SealedType::Message, &value).is_err(), "{value}");
        }
        for good in [with(message(), "wake", json!(false)), with(message(), "later", json!([1]))] {
            assert!(Payload::read(SealedType::Message, &good).is_ok());
        }
    }

    #[test]
    fn task_updates_out_of_shape_are_refused() {
        for (kind, value) in [
            (SealedType::TaskStatus, with(status(), "taskId", json!("t"))),
            (SealedType::TaskStatus, with(status(), "contextId", json!(""))),
            (SealedType::TaskStatus, with(status(), "status", json!({"state": 2}))),
            (SealedType::TaskArtifact, with(artifact(), "append", json!(1))),
            (SealedType::TaskArtifact, with(artifact(), "lastChunk", json!(null))),
            (SealedType::TaskCancel, json!({"taskId": TASK, "reason": "x".repeat(2_001)})),
            (SealedType::TaskCancel, json!({"reason": "x"})),
        ] {
            assert!(Payload::read(kind, &value).is_err(), "{value}");
        }
        let both = with(with(artifact(), "append", json!(true)), "lastChunk", json!(true));
        let Ok(Payload::TaskArtifact(read)) = Payload::read(SealedType::TaskArtifact, &both) else {
            panic!()
        };
        assert_eq!(serde_json::to_value(read).unwrap(), both);
    }
}
