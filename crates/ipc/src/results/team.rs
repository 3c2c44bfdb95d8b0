//! What `team.*` returns.
//! Spec: D1.7 rows 65–77

use messaging_core::ids::{
    EncKey, Hash, Label, MachineId, PersonId, RelayUrl, RosterPerson, TeamName, Ulid,
};
use messaging_core::roster::Role;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::Secret;
use crate::shapes::{InviteView, Member};

/// The team that was founded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    /// The team.
    pub team: Hash,
    /// This machine.
    pub device: MachineId,
    /// Its person.
    pub person: PersonId,
    /// Its label.
    pub label: Label,
}

/// The team that was joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Joined {
    /// The team.
    pub team: Hash,
    /// This machine.
    pub device: MachineId,
    /// Its person.
    pub person: PersonId,
    /// Its label.
    pub label: Label,
    /// Its role.
    pub role: Role,
}

/// Keys that a team can be founded with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// The machine.
    pub machine: MachineId,
    /// Its encryption key.
    pub enc: EncKey,
}

/// Keys that wait for an admin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paired {
    /// The admit card.
    pub card: String,
    /// The machine.
    pub machine: MachineId,
    /// Its encryption key.
    pub enc: EncKey,
    /// Its person.
    pub person: RosterPerson,
    /// Its label.
    pub label: Label,
}

/// A machine as it is in the team now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneMember {
    /// The machine.
    pub member: Member,
}

/// Whether the keys were admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Claimed {
    /// Not yet.
    Waiting,
    /// They were.
    Joined {
        /// The team.
        team: Hash,
        /// This machine.
        device: MachineId,
        /// Its person.
        person: PersonId,
        /// Its label.
        label: Label,
    },
}

/// Whether pending keys were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairCancelled {
    /// False when there were none.
    pub cancelled: bool,
}

/// A new invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invited {
    /// Its id.
    pub invite_id: Ulid,
    /// The ticket, shown this once and kept nowhere.
    pub ticket: Secret<4_096>,
    /// Whom it is for.
    pub person: RosterPerson,
    /// When it ends.
    pub expires: Ms,
}

/// The team in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Team {
    /// Its id.
    pub team: Hash,
    /// Its name.
    pub name: TeamName,
    /// Its relay.
    pub relay: RelayUrl,
    /// Its card, which is no secret.
    pub card: String,
    /// The number of its newest entry.
    pub seq: u64,
    /// The hash of that entry.
    pub hash: Hash,
    /// Its machines.
    pub members: Vec<Member>,
    /// Its open invites.
    pub invites: Vec<InviteView>,
}

/// A machine that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRemoved {
    /// Which.
    pub machine: MachineId,
    /// Whether it was this very machine.
    #[serde(rename = "self")]
    pub own: bool,
}
