//! What has become of a question to an agent: whatever came first of an answer, an expiry, an end, a person's hold.
//! Spec: §11

use crate::stage::Stage;
use crate::task::TaskState;

/// What whoever waits is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered: by a message, or the task came to a result or asks something back.
    Reply,
    /// Its time ran out before it arrived.
    Expired,
    /// Nobody will answer: it was refused, its task ended without a result, or every recipient is gone.
    Ended,
    /// It waits for the recipient's person.
    Held,
    /// Nothing yet.
    Pending,
}

/// What is known of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How far it came.
    pub stage: Stage,
    /// Where its task stands, when it is one.
    pub task: Option<TaskState>,
    /// Whether the agent that was asked is still known.
    pub present: bool,
}

impl Outcome {
    /// What a question has come to.
    #[must_use]
    pub const fn of(seen: Seen) -> Self {
        match seen.stage {
            Stage::Expired => return Self::Expired,
            Stage::Rejected => return Self::Ended,
            // To a task the answer is its state, which mail beside it does not change.
            Stage::Replied if seen.task.is_none() => return Self::Reply,
            _ => {}
        }
        match seen.task {
            Some(TaskState::Completed | TaskState::InputRequired | TaskState::AuthRequired) => {
                Self::Reply
            }
            Some(TaskState::Failed | TaskState::Canceled | TaskState::Rejected) => Self::Ended,
            _ if matches!(seen.stage, Stage::Held) => Self::Held,
            _ if !seen.present => Self::Ended,
            _ => Self::Pending,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Expired => "expired",
            Self::Ended => "ended",
            Self::Held => "held",
            Self::Pending => "pending",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_comes_to_the_first_of_what_can_end_it() {
        let of = |stage, task, present| Outcome::of(Seen { stage, task, present });
        for stage in Stage::ALL {
            let mail = of(stage, None, true);
            let wanted = match stage {
                Stage::Replied => Outcome::Reply,
                Stage::Rejected => Outcome::Ended,
                Stage::Expired => Outcome::Expired,
                Stage::Held => Outcome::Held,
                _ => Outcome::Pending,
            };
            assert_eq!(mail, wanted, "{stage:?}");
            // Whoever is gone answers nothing; what was answered, held or ended stays so.
            let gone = of(stage, None, false);
            assert_eq!(gone, if wanted == Outcome::Pending { Outcome::Ended } else { wanted });
        }
        for state in TaskState::ALL {
            let task = of(Stage::Read, Some(state), true);
            let wanted = match state.as_str() {
                "TASK_STATE_COMPLETED"
                | "TASK_STATE_INPUT_REQUIRED"
                | "TASK_STATE_AUTH_REQUIRED" => Outcome::Reply,
                _ if state.is_terminal() => Outcome::Ended,
                _ => Outcome::Pending,
            };
            assert_eq!(task, wanted, "{state:?}");
            assert_eq!(of(Stage::Expired, Some(state), true), Outcome::Expired);
        }
        assert_eq!(of(Stage::Replied, Some(TaskState::Working), true), Outcome::Pending);
        assert_eq!(of(Stage::Held, Some(TaskState::Submitted), false), Outcome::Held);
    }
}
