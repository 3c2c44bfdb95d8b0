//! What `grant.*` and `request.*` return.
//! Spec: D1.7 rows 27–32

use messaging_core::ids::{SessionName, Ulid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::{GrantView, NoticeFrom, RequestView, ReviewItem};

/// The grants, newest first, and what lapsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grants {
    /// The grants.
    pub grants: Vec<GrantView>,
    /// Levels that lapsed with their signer.
    pub review: Vec<ReviewItem>,
}

/// The grant as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantSet {
    /// The grant.
    pub grant: GrantView,
}

/// What a grant would mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantPreview {
    /// One fixed sentence.
    pub sentence: String,
}

/// What is held for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Asks oldest first, then contacts, then suggestions.
    pub requests: Vec<RequestView>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The ids.
    pub answered: Vec<Ulid>,
}

/// The kinds of held things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A message to an agent.
    Message,
    /// A task for an agent.
    Task,
    /// A message request.
    Contact,
    /// An own agent's suggestion.
    Suggestion,
}

/// What an answer would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerPreview {
    /// What is answered.
    pub kind: RequestKind,
    /// Whom it reaches; of a suggestion, the own person.
    pub from: NoticeFrom,
    /// The sender's agent; of a suggestion, the suggesting one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionName>,
    /// The own agent it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<SessionName>,
    /// How many requests it settles.
    pub count: u64,
    /// One fixed sentence.
    pub sentence: String,
}
