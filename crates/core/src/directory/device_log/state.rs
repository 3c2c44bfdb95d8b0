//! What a log's entries say: devices, who vouches for them, and who may change them.
//! Spec: §15.3 "Authority rules", W4.17 steps 5 to 7

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::token::{Claims, JellyToken, MintedBy};
use super::entry::{Authority, DeviceKind, LogEntry, LogOp, UnbindReason};
use super::{LogRules, Logged};
use crate::bounded::Str;
use crate::code::{Code, Failure};
use crate::ids::{Email, Label, MachineId};
use crate::limits::{CLOCK_SKEW_MS, DEVICES_PER_PERSON, LINK_TTL_MS};

/// Who vouches for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Vouch {
    /// The account service: it may approve and remove others.
    Jelly,
    /// Another device, which approved its link request.
    Device,
}

/// A device that was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoundDevice {
    /// The device.
    pub device: MachineId,
    /// Its name among the person's devices; two may have the same one.
    pub label: Label,
    /// What it is.
    pub kind: DeviceKind,
    /// Who vouches for it.
    pub vouch: Vouch,
    /// Whether it is bound still.
    pub current: bool,
}

/// What the newest token says of the person.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Str<1, 200>>,
    /// Their address, which the issuer verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
}

impl core::fmt::Debug for Profile {
    // A person's name and address.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Profile")
    }
}

/// The state after the entries so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) devices: Vec<BoundDevice>,
    pub(super) profile: Option<Profile>,
    /// Removed devices, and who took their place.
    replaced: Vec<(MachineId, MachineId)>,
    /// Sign-ins' tokens, by name: those that a bind or attest carried, and all of them.
    spent: BTreeSet<String>,
    carried: BTreeSet<String>,
}

fn allow(good: bool, at: &'static str) -> Result<(), Failure> {
    if good { Ok(()) } else { Err(Failure::new(Code::BindingInvalid, at)) }
}

impl State {
    pub(super) fn current(&self) -> impl Iterator<Item = &BoundDevice> {
        self.devices.iter().filter(|bound| bound.current)
    }

    fn is_current(&self, device: &MachineId) -> bool {
        self.current().any(|bound| bound.device == *device)
    }

    fn is_vouched(&self, device: &MachineId) -> bool {
        self.current().any(|bound| bound.device == *device && bound.vouch == Vouch::Jelly)
    }

    /// Whether a signed entry that extends the chain is for its signer to make: step 5.
    pub(super) fn judge(&self, entry: &LogEntry, epoch_keys: &[MachineId]) -> Result<(), Failure> {
        let (device, by) = (entry.device(), entry.by());
        match entry.op() {
            LogOp::Bind { label, kind } => self.judge_bind(entry, label, *kind),
            LogOp::Attest { .. } => {
                allow(self.is_current(device), "device")?;
                allow(by == device, "by")?;
                allow(matches!(entry.authority(), Authority::Jelly { .. }), "authority")
            }
            LogOp::Unbind { reason } => {
                allow(self.is_current(device), "device")?;
                match reason {
                    UnbindReason::Itself => {
                        allow(by == device, "by")?;
                        allow(*entry.authority() == Authority::Itself, "authority")
                    }
                    UnbindReason::Removed | UnbindReason::Lost | UnbindReason::Replaced => {
                        allow(by != device && self.is_vouched(by), "by")?;
                        allow(matches!(entry.authority(), Authority::Jelly { .. }), "authority")
                    }
                    UnbindReason::AccountDeleted => {
                        allow(*entry.authority() == Authority::Service, "authority")?;
                        allow(epoch_keys.contains(by), "by")
                    }
                }
            }
        }
    }

    fn judge_bind(&self, entry: &LogEntry, label: &Label, kind: DeviceKind) -> Result<(), Failure> {
        let (device, by) = (entry.device(), entry.by());
        allow(entry.seq().0 > 0 || matches!(entry.authority(), Authority::Jelly { .. }), "seq")?;
        allow(self.devices.iter().all(|bound| bound.device != *device), "device")?;
        if self.current().count() >= DEVICES_PER_PERSON {
            return Err(Failure::new(Code::DeviceLimit, "device"));
        }
        match entry.authority() {
            Authority::Jelly { .. } => allow(by == device, "by"),
            Authority::Device { approver, link } => {
                allow(by == approver && self.is_vouched(approver), "authority.approver")?;
                allow(link.is_signed(), "authority.link.sig")?;
                allow(link.device == *device, "authority.link.device")?;
                allow(link.realm == *entry.realm(), "authority.link.realm")?;
                allow(link.label == *label, "authority.link.label")?;
                allow(link.kind == kind, "authority.link.kind")?;
                let ts = entry.ts();
                let in_time =
                    ts.since(link.ts) <= LINK_TTL_MS && ts >= link.ts.minus(CLOCK_SKEW_MS);
                allow(in_time, "authority.link.ts")
            }
            Authority::Service | Authority::Itself => allow(false, "authority"),
        }
    }

    /// Whether a sign-in's token may still be carried by this entry: step 7.
    pub(super) fn judge_use(&self, entry: &LogEntry, claims: &Claims) -> Result<(), Failure> {
        if claims.minted_by() != Some(MintedBy::SignIn) {
            return Ok(());
        }
        // The same token in another spelling has the same name.
        let used = match entry.op() {
            LogOp::Bind { .. } | LogOp::Attest { .. } => &self.carried,
            LogOp::Unbind { .. } => &self.spent,
        };
        allow(!used.contains(claims.jti.as_str()), "authority.token")
    }

    /// Takes in an entry that was judged.
    pub(super) fn take(&mut self, logged: &Logged) {
        let entry = &logged.entry;
        match entry.op() {
            LogOp::Bind { label, kind } => self.devices.push(BoundDevice {
                device: *entry.device(),
                label: label.clone(),
                kind: *kind,
                vouch: match entry.authority() {
                    Authority::Jelly { .. } => Vouch::Jelly,
                    _ => Vouch::Device,
                },
                current: true,
            }),
            LogOp::Attest { label, kind } => {
                if let Some(bound) = self.bound_mut(entry.device()) {
                    bound.vouch = Vouch::Jelly;
                    bound.kind = kind.unwrap_or(bound.kind);
                    if let Some(label) = label {
                        bound.label = label.clone();
                    }
                }
            }
            LogOp::Unbind { reason } => {
                if let Some(bound) = self.bound_mut(entry.device()) {
                    bound.current = false;
                }
                if *reason == UnbindReason::Replaced {
                    self.replaced.push((*entry.device(), *entry.by()));
                }
            }
        }
        if let Some(claims) = &logged.claims {
            self.profile = Some(Profile { name: claims.name.clone(), email: claims.email.clone() });
            if claims.minted_by() == Some(MintedBy::SignIn) {
                let jti = String::from(claims.jti.as_str());
                if !matches!(entry.op(), LogOp::Unbind { .. }) {
                    self.spent.insert(jti.clone());
                }
                self.carried.insert(jti);
            }
        }
    }

    fn bound_mut(&mut self, device: &MachineId) -> Option<&mut BoundDevice> {
        self.devices.iter_mut().find(|bound| bound.device == *device)
    }

    pub(super) fn successor(&self, device: &MachineId) -> Option<&BoundDevice> {
        let mut last = None;
        // A device is removed once, after what it replaced: the replacements, in their order, are one walk.
        for (old, new) in &self.replaced {
            if old == last.unwrap_or(device) {
                last = Some(new);
            }
        }
        let last = last?;
        self.current().find(|bound| bound.device == *last)
    }
}

/// Verifies the token of an entry that the account service vouches for: step 6.
pub(super) fn judge_token(
    entry: &LogEntry,
    rules: &LogRules<'_>,
) -> Result<Option<Claims>, Failure> {
    let Authority::Jelly { token } = entry.authority() else {
        return Ok(None);
    };
    // Whoever vouches for a bind or attest is the device itself; for a removal, the remover.
    let token = JellyToken::decode(token)?;
    let claims = token.verify(rules.realm, rules.keys, Some(entry.by()), None)?;
    allow(claims.person()? == *entry.person(), "authority.token.sub")?;
    allow(claims.is_fresh_at(entry.ts()), "authority.token.iat")?;
    Ok(Some(claims.clone()))
}
