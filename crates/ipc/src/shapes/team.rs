//! Machines and invites of a team.
//! Spec: D1.6, D1.7 rows 69–77

use messaging_core::ids::{EncKey, Label, MachineId, RosterPerson, Ulid};
use messaging_core::roster::Role;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::True;

/// One machine of the team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its id.
    pub machine: MachineId,
    /// Its public encryption key.
    pub enc: EncKey,
    /// Its person.
    pub person: RosterPerson,
    /// Its label.
    pub label: Label,
    /// Its role.
    pub role: Role,
    /// Whether it is connected.
    pub online: bool,
    /// This very machine.
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    pub own: Option<True>,
    /// When it was admitted.
    pub added_at: Ms,
}

/// One open invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InviteView {
    /// Its id.
    pub invite_id: Ulid,
    /// Whom it is for.
    pub person: RosterPerson,
    /// When it ends.
    pub expires: Ms,
    /// The machine that made it.
    pub by: MachineId,
}
