//! What each tool takes, parsed once. A schema only describes; these types check.
//! Spec: D7.3

use messaging_core::bounded::{List, Str};
use messaging_core::ids::Ulid;
use messaging_core::limits::CANCEL_REASON_CHARS;
use messaging_core::task::TaskState;
use messaging_ipc::scalars::{Count, Email, Printable};
use serde::{Deserialize, Deserializer};

use crate::address::ToolAddress;
use crate::reference::Reference;

const TEXT: usize = 100_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contacts {
    pub(crate) query: Option<Str<0, 128>>,
    pub(crate) can: Option<CanAsk>,
    #[serde(default)]
    pub(crate) limit: Count<1, 200, 100>,
    pub(crate) cursor: Option<Str<1, 512>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CanAsk {
    Ask,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Outgoing {
    pub(crate) to: ToolAddress,
    pub(crate) text: Str<1, TEXT>,
    #[serde(default)]
    pub(crate) ask: bool,
    pub(crate) reply_to: Option<Reference>,
    pub(crate) on_behalf_of: Option<Reference>,
    pub(crate) files: Option<List<File, 0, 8>>,
    pub(crate) key: Option<Printable<1, 128>>,
    pub(crate) request: Option<Wish>,
    pub(crate) wait: Option<Count<1, 50, 50>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wish {
    pub(crate) contact: Email,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct File {
    pub(crate) name: Str<1, 255>,
    pub(crate) media_type: Option<Str<1, 127>>,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) encoding: Encoding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inbox {
    #[serde(default = "yes")]
    pub(crate) unread: bool,
    #[serde(default)]
    pub(crate) limit: Count<1, 50, 20>,
    pub(crate) from: Option<ToolAddress>,
    pub(crate) cursor: Option<Str<1, 512>>,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    pub(crate) id: Option<Reference>,
    pub(crate) with: Option<ToolAddress>,
    pub(crate) thread: Option<Ulid>,
    pub(crate) before: Option<Str<1, 128>>,
    pub(crate) after: Option<Str<1, 128>>,
    pub(crate) limit: Option<Count<1, 100, 30>>,
    pub(crate) part: Option<Count<0, 99, 0>>,
    pub(crate) offset: Option<Count<0, 16_777_216, 0>>,
    pub(crate) cursor: Option<Str<1, 128>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub(crate) query: Str<1, 256>,
    pub(crate) with: Option<ToolAddress>,
    #[serde(default)]
    pub(crate) limit: Count<1, 50, 20>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tasks {
    pub(crate) role: Option<Role>,
    pub(crate) state: Option<StateWord>,
    pub(crate) with: Option<ToolAddress>,
    #[serde(default)]
    pub(crate) limit: Count<1, 100, 20>,
    pub(crate) cursor: Option<Str<1, 512>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Mine,
    Asked,
}

/// A state by its short name, or one of the two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateWord {
    One(TaskState),
    Open,
    Done,
}

impl StateWord {
    pub(crate) fn states(self) -> Vec<TaskState> {
        let all = TaskState::ALL.into_iter();
        match self {
            Self::One(state) => vec![state],
            Self::Open => all.filter(|state| !state.is_terminal()).collect(),
            Self::Done => all.filter(|state| state.is_terminal()).collect(),
        }
    }
}

/// The short name of a state: its name on the wire without the prefix, small.
pub(crate) fn state_word(state: TaskState) -> String {
    state.as_str().trim_start_matches("TASK_STATE_").to_ascii_lowercase()
}

fn state(text: &str) -> Option<TaskState> {
    TaskState::ALL.into_iter().find(|state| state_word(*state) == text)
}

impl<'de> Deserialize<'de> for StateWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match text.as_str() {
            "open" => Ok(Self::Open),
            "done" => Ok(Self::Done),
            _ => state(&text).map(Self::One).ok_or_else(|| serde::de::Error::custom("a state")),
        }
    }
}

/// A state that an executor may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported(pub(crate) TaskState);

impl<'de> Deserialize<'de> for Reported {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        state(&String::deserialize(from)?)
            .filter(|state| *state != TaskState::Submitted)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("a state"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TaskUpdate {
    pub(crate) task_id: Reference,
    pub(crate) state: Option<Reported>,
    pub(crate) text: Option<Str<1, TEXT>>,
    pub(crate) artifact: Option<Artifact>,
    #[serde(default)]
    pub(crate) append: bool,
    pub(crate) last: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    pub(crate) id: Option<Printable<1, 128>>,
    pub(crate) name: Option<Str<0, 200>>,
    pub(crate) text: Option<Str<1, TEXT>>,
    pub(crate) files: Option<List<File, 0, 8>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TaskCancel {
    pub(crate) task_id: Reference,
    pub(crate) reason: Option<Str<0, { CANCEL_REASON_CHARS / 2 }>>,
}
