//! What `device.*` returns.
//! Spec: D1.7 rows 5, 41, 42, 55–61

use messaging_core::ids::{Label, MachineId, PersonId};
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::{Sas, Secret};
use crate::shapes::{DeviceKind, DeviceView, Vouch};

/// This device as it is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Its person.
    pub person: PersonId,
    /// The device.
    pub device: MachineId,
    /// The log entry's number.
    pub seq: u64,
}

/// What a link asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApproveAsk {
    /// The new device.
    pub device: MachineId,
    /// Its label.
    pub label: Label,
    /// What it is.
    pub kind: DeviceKind,
    /// The code that its screen shows.
    pub sas: Sas,
}

/// The device as it is approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approved {
    /// Its person.
    pub person: PersonId,
    /// The device.
    pub device: MachineId,
    /// Its label.
    pub label: Label,
    /// The log entry's number.
    pub seq: u64,
}

/// What a removal would remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovePreview {
    /// Its label.
    pub label: Label,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<DeviceKind>,
    /// Who vouches for it.
    pub vouch: Vouch,
    /// Whether it is current.
    pub current: bool,
    /// Whether it is this very device.
    #[serde(rename = "self")]
    pub own: bool,
    /// Since when it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Ms>,
}

/// A person's devices: current first, then removed, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Devices {
    /// The devices.
    pub devices: Vec<DeviceView>,
}

/// A device that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Which.
    pub device: MachineId,
    /// The log entry's number.
    pub seq: u64,
}

/// A link that another device approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Linked {
    /// Its text.
    pub link: Secret<4_096>,
    /// The code that both screens show.
    pub sas: Sas,
    /// When it ends.
    pub expires: Ms,
}
