//! `notice.*`: what the person is told about.
//! Spec: D1.7 rows 38–40

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{Count, List, Str};

/// Follows the notices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// The last notice that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Str<0, 64>>,
    /// Whether to give the first line of a message.
    #[serde(default)]
    pub lines: bool,
}

impl Params for Subscribe {}

/// The notices not yet seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotices {
    /// Whether to give the first line of a message.
    #[serde(default)]
    pub lines: bool,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 500, 50>,
}

impl Params for ListNotices {}

/// Marks notices seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckNotices {
    /// Unknown ones are ignored.
    pub ids: List<Str<0, 64>, 1, 500>,
}

impl Params for AckNotices {}
