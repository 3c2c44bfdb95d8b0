//! `session.*`: registering an agent's session with the daemon.
//! Spec: §8.2 "session.register", D1.7 rows 1–3

use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::limits::{FEATURE_CHARS, FEATURES, PRESENCE_TEXT, TICKET_CHARS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Params, keyed};
use crate::scalars::{List, Nullable, Printable, Secret, SessionKey, Str};
use crate::shapes::{SessionState, SessionTier};

/// Names a session, or takes up one again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The session's key, made by the client.
    pub key: SessionKey,
    /// The kind of client.
    pub agent: ClientKind,
    /// The wished name; the agent's kind when left out. Suffixed when taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<SessionName>,
    /// How it takes messages; `pull` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<SessionTier>,
    /// Idle or busy; `idle` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The repository it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<Str<0, PRESENCE_TEXT>>,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Str<0, PRESENCE_TEXT>>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<Str<0, PRESENCE_TEXT>>,
    /// What it can do; `["tasks"]` when left out, nothing for `cli`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<List<Str<1, FEATURE_CHARS>, 0, FEATURES>>,
    /// Where the daemon can wake it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The session ticket of a Jelly host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Secret<{ 2 * TICKET_CHARS }>>,
}

/// Where a session can be woken while no client holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The kind of host; must equal `agent`.
    pub kind: HostKind,
    /// An absolute directory below its root: `/…`, or `C:\…`.
    pub location: HostLocation,
    /// The host's own id of the session.
    #[serde(rename = "sessionID")]
    pub session_id: Printable<1, 128>,
    /// The host's process.
    pub pid: u32,
}

/// The hosts that can wake a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// OpenCode.
    Opencode,
}

impl HostKind {
    /// The agent kind that a session of this host has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
        }
    }
}

/// An absolute directory: a POSIX path, or a drive path below the drive's root; no UNC, no drive-relative path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct HostLocation(String);

impl HostLocation {
    /// Takes a path of the two forms, of at most 4,096 bytes and without control characters.
    pub fn parse(text: &str) -> Option<Self> {
        let drive = matches!(text.as_bytes(), [letter, b':', b'\\' | b'/', _, ..] if letter.is_ascii_alphabetic());
        let posix = text.starts_with('/');
        let fits = text.len() <= 4_096 && !text.chars().any(char::is_control);
        ((drive || posix) && fits).then(|| Self(text.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for HostLocation {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?)
            .ok_or_else(|| serde::de::Error::custom("an absolute directory"))
    }
}

impl Params for Register {
    fn check(&self) -> Result<(), &'static str> {
        match &self.host {
            Some(host) if host.kind.as_str() != self.agent.as_str() => Err("host.kind"),
            _ => Ok(()),
        }
    }

    // Registering makes the key this connection's, so it is not scoped by a key that is held already.
}

/// Changes what a session shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The session.
    pub key: SessionKey,
    /// Idle or busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// Push or pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<SessionTier>,
    /// The repository; `null` clears it.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub repo: Nullable<Str<0, PRESENCE_TEXT>>,
    /// The branch; `null` clears it.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub branch: Nullable<Str<0, PRESENCE_TEXT>>,
    /// What it is doing; `null` clears it.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub doing: Nullable<Str<0, PRESENCE_TEXT>>,
}

keyed!(Update);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_absolute_and_below_a_root() {
        for good in ["/", "/home/x", "C:\\x", "d:/x"] {
            assert!(HostLocation::parse(good).is_some(), "{good}");
        }
        for bad in ["", "x", "C:", "C:\\", "C:x", "\\\\host\\share", "/a\nb"] {
            assert!(HostLocation::parse(bad).is_none(), "{bad}");
        }
    }
}
