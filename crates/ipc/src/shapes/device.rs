//! Devices of a person, and this device's place in its realm.
//! Spec: D1.6

use messaging_core::code::Code;
use messaging_core::ids::{Hash, Label, MachineId, PersonId};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use messaging_core::directory::DeviceKind;

use super::RealmKind;
use crate::scalars::True;

/// Who vouches for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vouch {
    /// The account service.
    Jelly,
    /// Another device of the person.
    Device,
    /// The team's roster.
    Roster,
}

/// How a device came to be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// By its host.
    Host,
    /// By a sign-in in a browser.
    Browser,
    /// By a link that another device approved.
    Link,
}

/// Why a device was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// It removed itself.
    #[serde(rename = "self")]
    Own,
    /// Another device removed it.
    Removed,
    /// Another device removed it as lost.
    Lost,
    /// A successor took its place.
    Replaced,
    /// The account was deleted.
    AccountDeleted,
}

/// When, why and by whom a device was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removal {
    /// When.
    pub at: Ms,
    /// Why.
    pub reason: RemovalReason,
    /// The device that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<MachineId>,
}

/// One device of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceView {
    /// Its id.
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
    /// Whether it is current.
    pub current: bool,
    /// This very device.
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    pub own: Option<True>,
    /// Since when.
    pub since: Ms,
    /// The device that approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<Label>,
    /// Whether it is connected, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<bool>,
    /// No window of the person is visible there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<True>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removal>,
}

/// How a device of another person changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// New.
    Added,
    /// Gone.
    Removed,
    /// Gone, with a successor.
    Replaced,
}

/// A change of another person's devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceChangeView {
    /// What happened.
    pub change: ChangeKind,
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
    /// The device that approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<Label>,
    /// When.
    pub at: Ms,
}

/// This device's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// Not yet set up.
    None,
    /// Current.
    Bound,
    /// Current, and to be attested again soon.
    AttestDue,
    /// No longer current.
    Removed,
    /// New keys wait to take the old ones' place.
    Replace,
}

/// The head of the directory's log that this device adopted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryHead {
    /// Its size, leaves.
    pub size: u64,
    /// Its root.
    pub root: Hash,
    /// When it was signed.
    pub ts: Ms,
}

/// What a realm alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// This home runs from an older copy.
    Restored,
    /// The directory contradicted itself.
    Directory,
}

/// A realm's alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceAlarm {
    /// What it is about.
    pub kind: AlarmKind,
    /// Since when.
    pub at: Ms,
    /// A fixed text.
    pub reason: String,
}

/// This device in its realm. In a roster realm `binding` follows membership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceStatus {
    /// The realm's kind.
    pub kind: RealmKind,
    /// The realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realm: Option<Hash>,
    /// This device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<MachineId>,
    /// Its key in a form that people compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Its membership.
    pub binding: Binding,
    /// Its person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonId>,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_kind: Option<DeviceKind>,
    /// Who vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouch: Option<Vouch>,
    /// How it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// The directory's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<DirectoryHead>,
    /// The device it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predecessor: Option<MachineId>,
    /// The realm's alarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<DeviceAlarm>,
}

/// What a sign-in is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoginPurpose {
    /// Binding this device.
    Bind,
    /// Attesting it again.
    Attest,
    /// Removing another device.
    Remove,
    /// Replacing this device's keys.
    Replace,
    /// Erasing the account.
    Erase,
}

/// A sign-in that waits for the person at the account service's page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginStart {
    /// What it is for.
    pub purpose: LoginPurpose,
    /// The page.
    pub verification_uri: PeerText,
    /// The code that the person types there.
    pub user_code: PeerText,
    /// This device's key fingerprint, which the page shows.
    pub fingerprint: String,
    /// When the code ends.
    pub expires: Ms,
    /// The poll interval, seconds.
    pub interval: u64,
}

/// Where a sign-in stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LoginState {
    /// None was begun.
    Idle,
    /// Waiting for the person.
    Pending(LoginStart),
    /// Done.
    Done {
        /// What it was for.
        purpose: LoginPurpose,
        /// The person.
        person: PersonId,
        /// The device.
        device: MachineId,
        /// The log entry's number.
        seq: u64,
    },
    /// Failed.
    Failed {
        /// What it was for.
        purpose: LoginPurpose,
        /// Why.
        code: Code,
        /// A fixed text.
        message: String,
    },
    /// Cancelled.
    Cancelled {
        /// What it was for.
        purpose: LoginPurpose,
    },
}
