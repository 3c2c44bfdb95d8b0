//! `identity.replace`, `directory.erase` and their previews.
//! Spec: D1.7 rows 43, 44, 63, 64

use messaging_core::ids::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use super::device::Token;

/// Puts new keys in the place of this device's, or says what that would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// A token of the account service for the new device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The new device's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

impl Params for Replace {}

/// Erases the account, or says what that would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// A fresh token of the account service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

impl Params for Erase {}
