//! `task.*`: records of work between agents.
//! Spec: D1.7 rows 14–17

use messaging_core::ids::{SessionAddress, Ulid};
use messaging_core::limits::{A2A_ID_CHARS, CANCEL_REASON_CHARS, PARTS_PER_MESSAGE};
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Params, keyed};
use crate::scalars::{Count, List, Metadata, Printable, SessionKey, Str};
use crate::shapes::{Part, TaskRole};

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Get {
    /// The session.
    pub key: SessionKey,
    /// The task.
    pub task_id: Ulid,
    /// Which record, when the session holds both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<TaskRole>,
}

/// Tasks, most recently updated first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ListTasks {
    /// The session.
    pub key: SessionKey,
    /// Only with this part in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<TaskRole>,
    /// Only in these states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<List<TaskState, 1, 8>>,
    /// Only in this context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<Printable<1, A2A_ID_CHARS>>,
    /// Only with this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<SessionAddress>,
    /// Only changed at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_after: Option<Ms>,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 100, 50>,
    /// Where the last page ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Str<1, 512>>,
}

/// The executor reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Update {
    /// The session.
    pub key: SessionKey,
    /// The task.
    pub task_id: Ulid,
    /// The new state; never SUBMITTED.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// What to say about it; needs `state`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<List<Part, 1, PARTS_PER_MESSAGE>>,
    /// A result, or a piece of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactParam>,
    /// Whether the artifact's parts follow those it has.
    #[serde(default)]
    pub append: bool,
    /// Whether the artifact is whole now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_chunk: Option<bool>,
    /// The status update's A2A metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// A result of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArtifactParam {
    /// Its id; a fresh ULID when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<Printable<1, A2A_ID_CHARS>>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Str<0, 256>>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Str<0, 2_000>>,
    /// What it holds.
    pub parts: List<Part, 1, PARTS_PER_MESSAGE>,
    /// Its A2A metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Its A2A extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<List<Str<1, 256>, 0, 32>>,
}

impl Params for Update {
    fn check(&self) -> Result<(), &'static str> {
        if self.state == Some(TaskState::Submitted) {
            return Err("state");
        }
        if self.state.is_none() && self.artifact.is_none() {
            return Err("state");
        }
        if self.state.is_none() && self.message.is_some() {
            return Err("message");
        }
        Ok(())
    }

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }
}

/// The requester gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Cancel {
    /// The session.
    pub key: SessionKey,
    /// The task.
    pub task_id: Ulid,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str<0, CANCEL_REASON_CHARS>>,
}

keyed!(Get, ListTasks, Cancel);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::decode;
    use serde_json::{Value, json};

    #[test]
    fn an_update_says_something() {
        let base = json!({"key": "k".repeat(22), "taskId": "01ARZ3NDEKTSV4RRFFQ69G5FAV"});
        let parts = json!([{"text": "x"}]);
        for (more, fault) in [
            (json!({}), Some("state")),
            (json!({"state": "TASK_STATE_WORKING"}), None),
            (json!({"state": "TASK_STATE_SUBMITTED"}), Some("state")),
            (json!({"artifact": {"parts": parts}}), None),
            (json!({"artifact": {"parts": parts}, "message": parts}), Some("message")),
            (json!({"artifact": {"parts": []}}), Some("artifact.parts")),
            (json!({"artifact": {"parts": parts, "other": 1}}), Some("artifact")),
            (
                json!({"state": "TASK_STATE_WORKING", "message": [{"text": "a", "raw": "AA=="}]}),
                Some("message[0]"),
            ),
        ] {
            let mut params = base.clone();
            if let (Value::Object(all), Value::Object(more)) = (&mut params, more) {
                all.extend(more);
            }
            let path = decode::<Update>(Some(&params)).err().map(|fault| fault.path);
            assert_eq!(path.as_deref(), fault, "{params}");
        }
    }
}
