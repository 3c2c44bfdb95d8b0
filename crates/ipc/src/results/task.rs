//! What `task.*` returns.
//! Spec: D1.7 rows 14–17

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::{TaskListItem, TaskRecord};

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneTask {
    /// The record.
    pub task: TaskRecord,
}

/// A page of tasks, most recently updated first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskListItem>,
    /// How many match on every page together.
    pub total: u64,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A task after a cancel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    /// The record.
    pub task: TaskRecord,
    /// Whether a cancel was sent; not for a task that had ended.
    pub sent: bool,
}
