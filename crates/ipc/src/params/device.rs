//! `device.*`: this device and the person's others, in a directory realm.
//! Spec: D1.7 rows 5, 41, 42, 55–61

use messaging_core::ids::{Label, MachineId};
use messaging_core::limits::TICKET_CHARS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{Count, Sas, Secret, Str};
use crate::shapes::DeviceKind;

/// A token of the account service: at most 8,192 characters.
pub type Token = Secret<8_192>;

/// Binds this device with a token, or attests it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// The token.
    pub token: Token,
    /// The label; the current one, else `device`, when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What the device is; `laptop` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<DeviceKind>,
}

impl Params for Bind {}

/// What a link asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovePreview {
    /// The link's text.
    pub link: Secret<TICKET_CHARS>,
    /// Not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sas: Option<Str<0, 64>>,
}

impl Params for ApprovePreview {}

/// Approves the device of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The link's text.
    pub link: Secret<TICKET_CHARS>,
    /// The code that both screens show.
    pub sas: Sas,
}

impl Params for Approve {}

/// Why a device is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemoveReason {
    /// It is not used any more.
    #[default]
    Removed,
    /// It is lost.
    Lost,
}

/// Removes a device, or says what that would remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Which.
    pub device: MachineId,
    /// Why; `removed` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<RemoveReason>,
    /// A fresh token of the account service, for another device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

impl Params for Remove {}

/// What a device that no host runs can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnKind {
    /// A person's own computer.
    #[default]
    Laptop,
    /// A server.
    Server,
    /// Anything else.
    Other,
}

/// Makes a link that another device approves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The label; the current one, else `device`, when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What the device is.
    #[serde(default)]
    pub kind: OwnKind,
}

impl Params for Link {}

/// Begins a sign-in through the browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The label; the current one, else `device`, when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What the device is.
    #[serde(default)]
    pub kind: OwnKind,
    /// Removes another device instead of binding this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<LoginRemove>,
}

impl Params for Login {}

/// The device that a sign-in removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRemove {
    /// Which.
    pub device: MachineId,
    /// Why.
    #[serde(default)]
    pub reason: RemoveReason,
}

/// Waits at most this long for a change, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Wait {
    /// How long, ms; 0 answers at once.
    #[serde(default)]
    pub wait_ms: Count<0, 120_000, 0>,
}

impl Params for Wait {}
