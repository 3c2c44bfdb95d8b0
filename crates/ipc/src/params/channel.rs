//! `channel.*`: channels, by their local names.
//! Spec: D1.7 rows 45–48

use messaging_core::ids::{ChannelName, PersonId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::List;

/// Founds a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its name.
    pub name: ChannelName,
    /// Its members beside the creator.
    pub persons: List<PersonId, 0, 31>,
}

impl Params for Create {}

/// Adds or removes members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// The channel.
    pub name: ChannelName,
    /// Whom.
    pub persons: List<PersonId, 1, 31>,
}

impl Params for Members {}

/// Names one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneChannel {
    /// The channel.
    pub name: ChannelName,
}

impl Params for OneChannel {}
