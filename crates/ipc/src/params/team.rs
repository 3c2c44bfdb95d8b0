//! `team.*`: founding, joining and administering a team.
//! Spec: D1.7 rows 65–77

use messaging_core::ids::{EncKey, Hash, Label, MachineId, RelayUrl, RosterPerson, TeamName, Ulid};
use messaging_core::limits::{TICKET_CHARS, TTL_MS};
use messaging_core::roster::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{Count, Secret};

/// Founds a team at a relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The relay.
    pub relay: RelayUrl,
    /// The team's name.
    pub team: TeamName,
    /// The founder.
    pub person: RosterPerson,
    /// This machine's label.
    pub label: Label,
}

impl Params for Create {}

/// Joins a team by a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The ticket.
    pub ticket: Secret<TICKET_CHARS>,
    /// This machine's label.
    pub label: Label,
}

impl Params for Join {}

/// Makes keys that an admin can admit without a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The relay.
    pub relay: RelayUrl,
    /// The team.
    pub team: Hash,
    /// The person.
    pub person: RosterPerson,
    /// This machine's label.
    pub label: Label,
}

impl Params for Pair {}

/// Admits exactly these keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The machine.
    pub machine: MachineId,
    /// Its encryption key.
    pub enc: EncKey,
    /// Its person.
    pub person: RosterPerson,
    /// Its label.
    pub label: Label,
}

impl Params for Add {}

/// Makes an invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Invite {
    /// Whom it is for.
    pub person: RosterPerson,
    /// How long it holds, ms; a day when left out.
    #[serde(default)]
    pub ttl_ms: Count<60_000, TTL_MS, 86_400_000>,
}

impl Params for Invite {}

/// Takes an invite back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Revoke {
    /// Which.
    pub invite_id: Ulid,
}

impl Params for Revoke {}

/// Changes a machine's role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRole {
    /// Which machine.
    pub machine: MachineId,
    /// Its new role.
    pub role: Role,
}

impl Params for SetRole {}

/// Names one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneMachine {
    /// The machine.
    pub machine: MachineId,
}

impl Params for OneMachine {}
