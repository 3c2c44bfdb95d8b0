//! The states of a task and the transitions between them.
//! Spec: §6.3, W2.2, W4.8 "Task transitions"

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::{Code, Failure};

/// The state of a task. Only the executor changes it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum TaskState {
    /// Recorded on both sides, not begun.
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    /// Under way; reported again for progress.
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    /// Waits for the requester to say more.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    /// Waits for an authorization.
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
    /// Done.
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    /// Ended without success.
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    /// Ended by the requester or the executor.
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    /// Refused before work began.
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
}

impl TaskState {
    /// Every state.
    pub const ALL: [TaskState; 8] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::Rejected => "TASK_STATE_REJECTED",
        }
    }

    /// The state of a name; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether no state follows.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for somebody, and ends by itself when nobody comes.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether `next` may follow this state.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Submitted => !matches!(next, Self::Submitted),
            Self::Working => !matches!(next, Self::Submitted | Self::Rejected),
            Self::InputRequired | Self::AuthRequired => {
                matches!(next, Self::Working | Self::Completed | Self::Failed | Self::Canceled)
            }
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => false,
        }
    }

    /// The state after a change to `next`.
    ///
    /// Errors: `invalid_state` when `next` may not follow.
    pub const fn become_state(self, next: Self) -> Result<Self, Failure> {
        if self.may_become(next) {
            Ok(next)
        } else {
            Err(Failure::new(Code::InvalidState, "status.state"))
        }
    }

    /// Whether an artifact may be sent in this state, together with a change to `next` if there is one.
    #[must_use]
    pub const fn takes_artifact(self, next: Option<Self>) -> bool {
        match next {
            None => !self.is_terminal(),
            Some(next) => {
                self.may_become(next) && (!next.is_terminal() || matches!(next, Self::Completed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskState::*;
    use super::*;
    use crate::json::decode;
    use serde_json::{Value, json};

    /// The table of §6.3, row by row.
    const TABLE: [(TaskState, &[TaskState]); 8] = [
        (Submitted, &[Working, InputRequired, AuthRequired, Completed, Failed, Rejected, Canceled]),
        (Working, &[Working, InputRequired, AuthRequired, Completed, Failed, Canceled]),
        (InputRequired, &[Working, Completed, Failed, Canceled]),
        (AuthRequired, &[Working, Completed, Failed, Canceled]),
        (Completed, &[]),
        (Failed, &[]),
        (Canceled, &[]),
        (Rejected, &[]),
    ];

    #[test]
    fn the_transition_table_is_exact() {
        for (from, allowed) in TABLE {
            for to in TaskState::ALL {
                assert_eq!(from.may_become(to), allowed.contains(&to), "{from:?} to {to:?}");
                assert_eq!(from.become_state(to).is_ok(), allowed.contains(&to));
            }
            assert_eq!(from.is_terminal(), allowed.is_empty());
        }
        assert_eq!(Completed.become_state(Working).unwrap_err().code, Code::InvalidState);
    }

    #[test]
    fn artifacts_go_with_every_live_state_and_with_completion() {
        for from in TaskState::ALL {
            assert_eq!(from.takes_artifact(None), !from.is_terminal());
            for to in [Failed, Canceled, Rejected] {
                assert!(!from.takes_artifact(Some(to)));
            }
            assert_eq!(from.takes_artifact(Some(Completed)), !from.is_terminal());
        }
    }

    #[test]
    fn names_are_exact() {
        for state in TaskState::ALL {
            assert_eq!(decode::<TaskState>(&json!(state.as_str())), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), json!(state.as_str()));
            assert_eq!(TaskState::parse(state.as_str()), Some(state));
        }
        for bad in ["TASK_STATE_UNSPECIFIED", "task_state_working", "WORKING", ""] {
            assert!(decode::<TaskState>(&json!(bad)).is_err(), "{bad}");
        }
        for bad in [json!(2), json!({"TASK_STATE_WORKING": null}), Value::Null] {
            assert!(decode::<TaskState>(&bad).is_err(), "{bad}");
        }
    }
}
