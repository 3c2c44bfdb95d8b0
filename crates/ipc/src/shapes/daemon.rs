//! The daemon itself: status and health.
//! Spec: D1.6

use messaging_core::ids::{EncKey, Hash, Label, MachineId, PersonId, RelayUrl, TeamName, Ulid};
use messaging_core::roster::Role;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DeviceStatus;
use crate::hello::Deployment;
use crate::scalars::{OrNull, True};

/// Where the daemon is between start and stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// Not ready yet.
    Starting,
    /// Ready.
    Running,
    /// Takes no new work.
    Stopping,
}

/// The kind of realm this home is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealmKind {
    /// A team with a roster.
    Roster,
    /// A key directory.
    Directory,
    /// None yet.
    None,
}

/// The realm in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RealmSummary {
    /// Its kind.
    pub kind: RealmKind,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Hash>,
}

/// Who this device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityView {
    /// The device.
    pub device: MachineId,
    /// Its person.
    pub person: PersonId,
    /// Its label.
    pub label: Label,
    /// Its public encryption key.
    pub enc: EncKey,
}

/// The team in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamSummary {
    /// Its id.
    pub id: Hash,
    /// Its name.
    pub name: TeamName,
    /// The number of its newest entry.
    pub seq: u64,
    /// The hash of that entry.
    pub hash: Hash,
    /// How many machines are members.
    pub members: u64,
    /// This machine's role.
    pub role: Role,
}

/// Whether the relay is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelayState {
    /// Welcomed.
    Connected,
    /// Being dialled.
    Connecting,
    /// Not configured, or given up for now.
    Offline,
}

/// The link to the relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelayView {
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<RelayUrl>,
    /// Whether it is reached.
    pub state: RelayState,
    /// Since when it is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Ms>,
    /// The last failure, a fixed word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error_at: Option<Ms>,
}

/// A signed statement of another history of the team than ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    /// The signer's device.
    pub device: MachineId,
    /// The signer.
    pub person: PersonId,
    /// The entry's number.
    pub seq: u64,
    /// Our hash of it.
    pub ours: Hash,
    /// Theirs.
    pub theirs: Hash,
    /// When it was seen.
    pub at: Ms,
    /// The envelope that is the evidence.
    pub envelope_id: Ulid,
}

/// An alarm about this home's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonAlarm {
    /// It runs from an older copy.
    Restored,
    /// Its key files are gone.
    KeysMissing,
}

/// The scheduled change of this machine's encryption key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotationView {
    /// The period, days; 0 is off.
    pub days: u64,
    /// When the next one is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Ms>,
    /// How many replaced keys are still kept.
    pub retained: u64,
}

/// The daemon in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    /// Its release.
    pub version: String,
    /// Its IPC protocol.
    pub protocol: u64,
    /// Its store's schema.
    pub store_schema: u64,
    /// Its process.
    pub pid: u32,
    /// When it started.
    pub started_at: Ms,
    /// Where it is between start and stop.
    pub state: DaemonState,
    /// Set under a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// The realm.
    pub realm: RealmSummary,
    /// Who this device is; absent before it is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityView>,
    /// The team; roster realms only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamSummary>,
    /// The relay.
    pub relay: RelayView,
    /// The device in a directory realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<DeviceStatus>,
    /// An alarm about this home's keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<DaemonAlarm>,
    /// Since when another copy of this home is known to run with the same keys. Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin_since: Option<Ms>,
    /// Set while the store holds something that cannot be read. Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<True>,
    /// Histories that contradict ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Vec<Divergence>>,
    /// The key rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationView>,
}

/// Whether the key directory answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryHealth {
    /// It does, or there is none.
    Ok,
    /// Its link is down.
    Unavailable,
    /// It contradicted itself.
    Alarm,
}

/// The gravest alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthAlarm {
    /// This home runs from an older copy.
    Restored,
    /// Its key files are gone.
    KeysMissing,
    /// The directory contradicted itself.
    Directory,
}

/// The daemon in one glance: no secret, no count, read from memory alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonHealth {
    /// Where it is between start and stop.
    pub state: DaemonState,
    /// Whether the relay is reached.
    pub relay: RelayState,
    /// Whether the directory answers.
    pub directory: DirectoryHealth,
    /// The gravest alarm, or null.
    pub alarm: OrNull<HealthAlarm>,
    /// Whether the outbox drains or an inbox item waits for its client.
    pub busy: bool,
    /// Its release.
    pub version: String,
    /// Its store's schema.
    pub store_schema: u64,
}
