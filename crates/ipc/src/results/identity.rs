//! What `identity.*` and `directory.erase` return.
//! Spec: D1.7 rows 43, 44, 62–64

use messaging_core::ids::{EncKey, Label, MachineId, PersonId};
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::OrNull;
use crate::shapes::{DaemonAlarm, DeviceKind, DeviceView, LoginStart, Via, Vouch};

/// The device that a replacement replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Predecessor {
    /// The device.
    pub device: MachineId,
    /// Its label.
    pub label: Label,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<DeviceKind>,
    /// Who vouches for it.
    pub vouch: Vouch,
    /// How it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Ms>,
    /// Whether it is current.
    pub current: bool,
}

/// What a replacement would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplacePreview {
    /// The device it replaces.
    pub predecessor: Predecessor,
    /// Why, or null for a wish.
    pub alarm: OrNull<DaemonAlarm>,
    /// The new device, once its keys are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<MachineId>,
    /// How many sign-ins it still takes, 0 to 2.
    pub sign_ins: u64,
    /// One fixed sentence.
    pub sentence: String,
}

/// How far a replacement is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Replaced {
    /// Done.
    Done {
        /// The person.
        person: PersonId,
        /// The new device.
        device: MachineId,
        /// The old one.
        predecessor: MachineId,
        /// The log entry's number.
        seq: u64,
    },
    /// Waits for the host's token.
    Token {
        /// The new device.
        device: MachineId,
    },
    /// Waits for a sign-in.
    SignIn {
        /// The new device.
        device: MachineId,
        /// The sign-in.
        #[serde(flatten)]
        login: LoginStart,
    },
}

/// What an erasure would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasePreview {
    /// The person.
    pub person: PersonId,
    /// Every current device.
    pub devices: Vec<DeviceView>,
    /// How many sign-ins it takes, 0 or 1.
    pub sign_ins: u64,
    /// How many erasures the directory takes a day.
    pub per_day: u64,
    /// What is lost, one fixed sentence.
    pub lost: String,
    /// What stays, one fixed sentence.
    pub kept: String,
}

/// How far an erasure is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Erased {
    /// Done.
    Done {
        /// The person.
        person: PersonId,
        /// How many devices were removed.
        devices: u64,
    },
    /// Waits for a sign-in.
    SignIn {
        /// The sign-in.
        #[serde(flatten)]
        login: LoginStart,
    },
}

/// The new encryption key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rotated {
    /// Its public half.
    pub enc: EncKey,
    /// When the old one is dropped.
    pub until: Ms,
}
