//! `daemon.snapshot`, `person.attached`, `wake.arm`: the daemon and its host.
//! Spec: D1.7 rows 51–53

use messaging_core::ids::SessionName;
use messaging_core::limits::TICKET_CHARS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{List, Secret, Str, True};

/// Whether a window of the person is visible on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Whether it is.
    pub attached: bool,
}

impl Params for Attached {}

/// Takes a snapshot of the home, or lets it go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The caller is done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<True>,
}

impl Params for Snapshot {}

/// Leaves a wake ticket at the relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmWake {
    /// Whom the relay calls.
    pub url: Str<1, 512>,
    /// The ticket it presents.
    pub ticket: Secret<TICKET_CHARS>,
    /// The agents whose tasks wait for answers.
    pub agents: List<SessionName, 0, 64>,
}

impl Params for ArmWake {}
