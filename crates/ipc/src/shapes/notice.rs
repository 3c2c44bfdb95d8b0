//! What the person is told about.
//! Spec: D1.6, D3.27

use messaging_core::ids::{Label, MachineId};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceKind, Via, Vouch};
use crate::scalars::Conversation;

/// The three kinds of notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCategory {
    /// A line.
    Message,
    /// Something to answer.
    Request,
    /// An alarm, a device change, or trust that ends.
    Alert,
}

/// Who a notice comes from, as the realm verified them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeFrom {
    /// Their name.
    pub name: PeerText,
    /// Their email.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<PeerText>,
    /// Their organisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org: Option<PeerText>,
}

/// One notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Derived from its source, so that a replay repeats it.
    pub id: String,
    /// Its kind.
    pub category: NoticeCategory,
    /// Where it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Who it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<NoticeFrom>,
    /// One line, cleaned by the daemon; a fixed text of an alert, or the start of a message when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The device that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<NoticeDevice>,
    /// When.
    pub at: Ms,
}

/// How a device of the person changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeChange {
    /// New.
    Added,
    /// Vouched by the account service from now on.
    Vouched,
    /// Gone.
    Removed,
    /// Gone, with a successor.
    Replaced,
}

/// How this device can remove another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemoveBy {
    /// With a fresh token of its host.
    Token,
    /// With a sign-in through the browser.
    SignIn,
    /// As the team's admin.
    Team,
}

/// A change of one of the person's other devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeDevice {
    /// What happened.
    pub change: NoticeChange,
    /// The device that the person may want to remove.
    pub device: MachineId,
    /// Its label.
    pub label: Label,
    /// Its kind.
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
    /// The device it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<MachineId>,
    /// Whether it is current now.
    pub current: bool,
    /// How this device removes it; absent when it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<RemoveBy>,
    /// When.
    pub at: Ms,
}
