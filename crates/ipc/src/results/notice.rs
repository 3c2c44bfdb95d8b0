//! What `notice.*` returns.
//! Spec: D1.7 rows 38–40

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::Notice;

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeSubscribed {
    /// How many notices were sent again.
    pub replayed: u64,
}

/// The person's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Lines of others not read.
    pub unread: u64,
    /// Requests to answer.
    pub requests: u64,
}

/// The notices not yet seen, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notices {
    /// The notices.
    pub notices: Vec<Notice>,
    /// The person's counts.
    pub counts: Counts,
}

/// How many notices were marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticesAcked {
    /// Their number.
    pub acked: u64,
}
