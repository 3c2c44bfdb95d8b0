//! `mail.search` and `mail.export`: everything that this machine holds of its person's correspondence. These methods are
//! this implementation's own.
//! Spec: §8.2

use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{Count, Str, Target};

/// Finds mail, received or sent, by what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMail {
    /// Words that all stand in it, in any order, whatever their case.
    pub query: Str<1, 256>,
    /// Only with this person, this agent, or in this channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Target>,
    /// Only from this time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Ms>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Str<1, 128>>,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 100, 20>,
}

impl Params for SearchMail {}

/// Reads everything once, oldest first, page by page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportMail {
    /// Only with this person, this agent, or in this channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Target>,
    /// Only from this time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Ms>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Str<1, 128>>,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 200, 100>,
}

impl Params for ExportMail {}
