//! The A2A objects that payloads carry: messages, artifacts, statuses and task records.
//! Spec: §6.1, W2.2
//!
//! They are open: a member that is not named here is ignored by these types and stays in the raw value.

mod part;
mod timestamp;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounded::{List, Str};
use crate::ids::Ulid;
use crate::limits::{A2A_ID_CHARS, PARTS_PER_MESSAGE};
use crate::task::TaskState;

pub use part::{Base64, Content, Part};
pub use timestamp::Timestamp;

/// A `messageId`, `contextId` or `artifactId`: 1 to 128 UTF-16 units, chosen by its writer.
pub type A2aId = Str<1, A2A_ID_CHARS>;

/// Any JSON object, such as metadata.
pub type Object = Map<String, Value>;

/// The parts of a message or an artifact: 1 to 100.
pub type Parts = List<Part, 1, PARTS_PER_MESSAGE>;

/// Names of A2A extensions.
pub type Extensions = List<Str<1, 256>, 0, 32>;

/// Who wrote a message. Senders write `User` in a `message` payload and `Agent` in a status; receivers take either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Role {
    /// The side that asks.
    #[serde(rename = "ROLE_USER")]
    User,
    /// The side that works.
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The message's own id; a ULID when the message is a chat line.
    pub message_id: A2aId,
    /// The conversation; absent, it is the `message_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<A2aId>,
    /// The task that the message asks for or continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// Who wrote it.
    pub role: Role,
    /// What it says.
    pub parts: Parts,
    /// Free members; the receiver writes the provenance there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// A2A extensions that the message uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
    /// Tasks that the message refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_task_ids: Option<List<Str<1, 128>, 0, 32>>,
}

impl Message {
    /// The conversation: the `context_id`, or the `message_id` where it is absent. Spec: §6.1
    #[must_use]
    pub fn context(&self) -> &A2aId {
        self.context_id.as_ref().unwrap_or(&self.message_id)
    }

    /// The texts of its text parts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// A result of a task, or a piece of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its id within the task.
    pub artifact_id: A2aId,
    /// A name to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Str<0, 256>>,
    /// A description to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Str<0, 2000>>,
    /// The content.
    pub parts: Parts,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// A2A extensions that the artifact uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// A task's state with what the executor says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the executor says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// When the state began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// A whole task as A2A shows it. It never travels in a payload: clients get it from their own daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The task's id.
    pub id: Ulid,
    /// Its conversation.
    pub context_id: A2aId,
    /// Its state.
    pub status: TaskStatus,
    /// What it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<alloc::vec::Vec<Artifact>>,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<alloc::vec::Vec<Message>>,
    /// Free members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use std::vec;

    fn message() -> Value {
        json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]})
    }

    /// `value` with a member set.
    fn with(mut value: Value, name: &str, member: Value) -> Value {
        value[name] = member;
        value
    }

    /// `value` without a member.
    fn without(mut value: Value, name: &str) -> Value {
        value.as_object_mut().unwrap().remove(name);
        value
    }

    #[track_caller]
    fn refused<T: DeserializeOwned>(value: &Value, path: &str) {
        match decode::<T>(value) {
            Ok(_) => panic!("accepted {value}"),
            Err(misshape) => assert_eq!(misshape.path, path, "{value}"),
        }
    }

    #[test]
    fn a_message_keeps_its_shape() {
        let full = json!({
            "messageId": "m", "contextId": "c", "taskId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_AGENT",
            "parts": [{"text": ""}, {"data": null}], "metadata": {"x": 1}, "extensions": ["urn:x"],
            "referenceTaskIds": []
        });
        let read: Message = decode(&full).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), full);
        assert_eq!(read.context().as_str(), "c");
        assert_eq!(decode::<Message>(&message()).unwrap().context().as_str(), "m");
        decode::<Message>(&with(message(), "message_id", json!(7))).unwrap();
    }

    #[test]
    fn a_message_out_of_shape_is_refused() {
        for name in ["messageId", "role", "parts"] {
            refused::<Message>(&without(message(), name), name);
        }
        let cases = [
            ("messageId", json!("")),
            ("messageId", json!("x".repeat(129))),
            ("contextId", json!(null)),
            ("contextId", json!("")),
            ("taskId", json!("t1")),
            ("role", json!("ROLE_UNSPECIFIED")),
            ("role", json!(1)),
            ("role", json!("user")),
            ("parts", json!([])),
            ("parts", json!({})),
            ("parts", json!(vec![json!({"text": "x"}); 101])),
            ("metadata", json!([])),
            ("extensions", json!(vec!["x"; 33])),
            ("extensions", json!([""])),
        ];
        for (name, member) in cases {
            let value = with(message(), name, member);
            assert!(decode::<Message>(&value).unwrap_err().path.starts_with(name), "{value}");
        }
        refused::<Message>(&json!([]), "");
        assert!(
            decode::<Message>(&with(message(), "parts", json!(vec![json!({"text": "x"}); 100])))
                .is_ok()
        );
    }

    #[test]
    fn statuses_artifacts_and_tasks_keep_their_shape() {
        let status = json!({"state": "TASK_STATE_WORKING", "message": message(), "timestamp": "2026-01-01T01:00:00.000Z"});
        let artifact =
            json!({"artifactId": "a", "name": "", "description": "d", "parts": [{"url": "u"}]});
        let task = json!({
            "id": "01HF7YAT00AAAAAAAAAAAAAAAA", "contextId": "c", "status": status, "artifacts": [artifact],
            "history": [message()], "metadata": {}
        });
        assert_eq!(serde_json::to_value(decode::<Task>(&task).unwrap()).unwrap(), task);
        refused::<Task>(&with(task.clone(), "history", json!(null)), "history");
        refused::<TaskStatus>(&without(status.clone(), "state"), "state");
        refused::<TaskStatus>(&with(status.clone(), "timestamp", json!("yesterday")), "timestamp");
        refused::<TaskStatus>(&with(status, "message", json!("hi")), "message");
        refused::<Artifact>(&without(artifact.clone(), "artifactId"), "artifactId");
        refused::<Artifact>(
            &with(artifact.clone(), "description", json!("x".repeat(2001))),
            "description",
        );
        refused::<Artifact>(&with(artifact, "parts", json!([{"text": 1}])), "parts[0].text");
    }
}
