//! One entry of a device log as a shape.
//! Spec: §15.3, W2.11

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::super::{LinkRequest, signed};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, HostedPerson, Label, MachineId, Sig};
use crate::jcs::Canonical;
use crate::json;
use crate::limits::LOG_ENTRY_BYTES;
use crate::time::Ms;
use crate::version::Version;

/// The number of an entry; the first is 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct LogSeq(pub u64);

/// A place in a log: the number of an entry and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogHead {
    /// The entry's number.
    pub seq: LogSeq,
    /// The entry's hash, its signature included.
    pub hash: Hash,
}

/// What a device is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A host of the account service.
    JellyHost,
    /// A person's own computer.
    Laptop,
    /// A computer that nobody sits at.
    Server,
    /// Something else.
    Other,
}

/// Why a device was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnbindReason {
    /// It removed itself.
    #[serde(rename = "self")]
    Itself,
    /// Another device removed it.
    Removed,
    /// It was lost.
    Lost,
    /// Another device took its place.
    Replaced,
    /// The account was deleted.
    AccountDeleted,
}

/// Who vouches for an entry.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Authority {
    /// The account service, by a token bound to the device that signs.
    Jelly {
        /// The token.
        token: String,
    },
    /// A device of the person, which approved a link request.
    Device {
        /// The device that approved.
        approver: MachineId,
        /// What it approved.
        link: Box<LinkRequest>,
    },
    /// The directory, with its epoch key.
    Service,
    /// The device itself.
    #[serde(rename = "self")]
    Itself,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOp {
    /// Binds a device.
    Bind {
        /// The device's name.
        label: Label,
        /// What it is.
        kind: DeviceKind,
    },
    /// Vouches for a bound device again.
    Attest {
        /// A new name.
        label: Option<Label>,
        /// What it is now.
        kind: Option<DeviceKind>,
    },
    /// Removes a device.
    Unbind {
        /// Why.
        reason: UnbindReason,
    },
}

/// An entry of the right shape and size. Nothing is said yet about its place, signature or authority.
#[derive(Clone, PartialEq, Eq)]
pub struct LogEntry {
    members: Members,
    op: LogOp,
    canonical: Canonical,
    hash: Hash,
}

/// The members of an entry, as they are written.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Members {
    pub(super) v: Version,
    pub(super) realm: Hash,
    pub(super) person: HostedPerson,
    pub(super) seq: LogSeq,
    pub(super) prev: Prev,
    pub(super) ts: Ms,
    pub(super) op: OpName,
    pub(super) device: MachineId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<DeviceKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<UnbindReason>,
    pub(super) authority: Authority,
    pub(super) by: MachineId,
    pub(super) sig: Sig,
}

/// The hash of the entry before: `null` in the first one, and never absent.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Prev(pub(super) Option<Hash>);

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OpName {
    Bind,
    Attest,
    Unbind,
}

impl LogEntry {
    /// Reads an entry: shape and size.
    ///
    /// Errors: `invalid_request`, also for a member of no known name or one that the operation does not have;
    /// `too_large` over [`LOG_ENTRY_BYTES`].
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        Self::of(json::decode(raw).map_err(|_| Failure::invalid("entry"))?)
    }

    pub(super) fn of(members: Members) -> Result<Self, Failure> {
        let op = match (members.op, &members.label, members.kind, members.reason) {
            (OpName::Bind, Some(label), Some(kind), None) => {
                LogOp::Bind { label: label.clone(), kind }
            }
            (OpName::Attest, label, kind, None) => LogOp::Attest { label: label.clone(), kind },
            (OpName::Unbind, None, None, Some(reason)) => LogOp::Unbind { reason },
            _ => return Err(Failure::invalid("entry.op")),
        };
        if (members.seq.0 == 0) != members.prev.0.is_none() {
            return Err(Failure::invalid("entry.prev"));
        }
        let canonical = signed::text(&members)?;
        if canonical.len() > LOG_ENTRY_BYTES {
            return Err(Failure::new(Code::TooLarge, "entry"));
        }
        let hash = canonical.hash();
        Ok(Self { members, op, canonical, hash })
    }

    /// The realm it names.
    #[must_use]
    pub fn realm(&self) -> &Hash {
        &self.members.realm
    }

    /// The person it names.
    #[must_use]
    pub fn person(&self) -> &HostedPerson {
        &self.members.person
    }

    /// Its number.
    #[must_use]
    pub fn seq(&self) -> LogSeq {
        self.members.seq
    }

    /// The hash of the entry before it; none for the first.
    #[must_use]
    pub fn prev(&self) -> Option<&Hash> {
        self.members.prev.0.as_ref()
    }

    /// When its author says it was signed.
    #[must_use]
    pub fn ts(&self) -> Ms {
        self.members.ts
    }

    /// What it does.
    #[must_use]
    pub fn op(&self) -> &LogOp {
        &self.op
    }

    /// The device it is about.
    #[must_use]
    pub fn device(&self) -> &MachineId {
        &self.members.device
    }

    /// Who vouches for it.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.members.authority
    }

    /// The key that signed it.
    #[must_use]
    pub fn by(&self) -> &MachineId {
        &self.members.by
    }

    /// The whole entry in canonical form.
    #[must_use]
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// The hash of the whole entry, its signature included.
    #[must_use]
    pub fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Its place in the log.
    #[must_use]
    pub fn head(&self) -> LogHead {
        LogHead { seq: self.members.seq, hash: self.hash }
    }

    /// The entry as it is sent.
    ///
    /// Errors: none for an entry, which was made of a value.
    pub fn to_value(&self) -> Result<Value, Failure> {
        crate::jcs::to_value(&self.members)
    }

    /// Whether `by` is a usable key that signed it. Cost: one signature check.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        signed::is_signed(self.by(), Domain::DeviceLog, &self.members, &self.members.sig)
    }
}

impl fmt::Debug for LogEntry {
    // It may hold a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogEntry({}, {})", self.members.seq.0, self.hash)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jelly { .. } => "Jelly",
            Self::Device { .. } => "Device",
            Self::Service => "Service",
            Self::Itself => "Itself",
        })
    }
}

impl<'de> Deserialize<'de> for Prev {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self(None)),
            Value::String(text) => {
                Hash::parse(&text).map(|hash| Self(Some(hash))).map_err(de::Error::custom)
            }
            _ => Err(de::Error::custom("prev")),
        }
    }
}

impl<'de> Deserialize<'de> for Authority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Jelly {
            #[serde(rename = "kind")]
            _kind: String,
            token: String,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Device {
            #[serde(rename = "kind")]
            _kind: String,
            approver: MachineId,
            link: LinkRequest,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Bare {
            #[serde(rename = "kind")]
            _kind: String,
        }
        // The kind decides which members there are.
        let value = Value::deserialize(deserializer)?;
        match value.get("kind").and_then(Value::as_str) {
            Some("jelly") => json::decode(&value).map(|Jelly { token, .. }| Self::Jelly { token }),
            Some("device") => json::decode(&value).map(|Device { approver, link, .. }| {
                Self::Device { approver, link: Box::new(link) }
            }),
            Some("service") => json::decode(&value).map(|Bare { .. }| Self::Service),
            Some("self") => json::decode(&value).map(|Bare { .. }| Self::Itself),
            _ => return Err(de::Error::custom("authority.kind")),
        }
        .map_err(de::Error::custom)
    }
}
