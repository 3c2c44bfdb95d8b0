//! The device log: which devices are a hosted person's, as an append-only chain of signed entries.
//! Spec: §15.3, W2.11, W4.17
//!
//! | step | what                                                      | refusal                                 |
//! |------|-----------------------------------------------------------|-----------------------------------------|
//! | 1    | the shape, which is strict, and the size                  | `invalid_request`, `too_large`          |
//! | 2    | it extends the head                                       | `log_conflict`                          |
//! | 3    | realm, person, a time that does not go back; live: now    | `binding_invalid`; `expired`            |
//! | 4    | the signature of `by`                                     | `binding_invalid`                       |
//! | 5    | who may bind, attest and unbind                           | `binding_invalid`, `device_limit`       |
//! | 6    | the token, its person, and its freshness at the append    | `binding_invalid`, `jelly_unavailable`  |
//! | 7    | a sign-in vouches for one act                             | `binding_invalid`                       |
//!
//! A token is never judged against a later clock: the epoch that first committed its entry is its witness, and
//! [`verify_person_view`](super::verify_person_view) asks for it.

mod entry;
mod sign;
mod state;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde_json::Value;

use super::token::Claims;
use super::{DirectoryRealm, JellyKeys};
use crate::code::{Code, Failure};
use crate::ids::{Hash, HostedPerson, MachineId};
use crate::limits::CLOCK_SKEW_MS;
use crate::time::Ms;

pub use entry::{Authority, DeviceKind, LogEntry, LogHead, LogOp, LogSeq, UnbindReason};
pub use sign::sign_log_entry;
pub use state::{BoundDevice, Profile, Vouch};

use state::State;

/// What entries are judged with.
#[derive(Clone, Copy)]
pub struct LogRules<'a> {
    /// The issuer and the resource of tokens.
    pub realm: &'a DirectoryRealm,
    /// The account service's keys.
    pub keys: &'a dyn JellyKeys,
    /// Every key that ever signed the realm's tree heads.
    pub epoch_keys: &'a [MachineId],
}

/// An entry that a log took in, and what its token said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The entry.
    pub entry: LogEntry,
    /// The claims of its token, when the account service vouches for it.
    pub claims: Option<Claims>,
}

/// A person's verified entries, and the devices they give.
///
/// An empty log is that of a person who never bound a device. A clone costs one count per entry and a copy of the
/// devices, of which there are few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLog {
    realm: Hash,
    person: HostedPerson,
    chain: Vec<Arc<Logged>>,
    state: State,
}

impl DeviceLog {
    /// The empty log of a person.
    #[must_use]
    pub fn new(realm: Hash, person: HostedPerson) -> Self {
        Self { realm, person, chain: Vec::new(), state: State::default() }
    }

    /// Verifies a whole log, from its first entry.
    ///
    /// Cost: one or two signature checks an entry. Errors: those of the first entry that fails.
    pub fn from_entries<'a>(
        person: HostedPerson,
        entries: impl IntoIterator<Item = &'a Value>,
        rules: &LogRules<'_>,
    ) -> Result<Self, Failure> {
        let mut log = Self::new(rules.realm.realm, person);
        for raw in entries {
            log.append(raw, rules, None)?;
        }
        Ok(log)
    }

    /// Verifies an entry and takes it in as the new head. One that fails changes nothing.
    ///
    /// With `now` it is held against the clock, as the directory does with what arrives; stored and served entries
    /// are not. Errors: as the table of this module, in its order.
    pub fn append(
        &mut self,
        raw: &Value,
        rules: &LogRules<'_>,
        now: Option<Ms>,
    ) -> Result<&Arc<Logged>, Failure> {
        self.append_entry(LogEntry::read(raw)?, rules, now)
    }

    /// As [`append`](Self::append), for an entry that was read already: steps 2 to 7.
    ///
    /// Errors: as [`append`](Self::append).
    pub fn append_entry(
        &mut self,
        entry: LogEntry,
        rules: &LogRules<'_>,
        now: Option<Ms>,
    ) -> Result<&Arc<Logged>, Failure> {
        let logged = self.judge(entry, rules, now)?;
        self.state.take(&logged);
        self.chain.push(Arc::new(logged));
        self.chain.last().ok_or(Failure::new(Code::Internal, "log"))
    }

    /// Verifies an entry as [`append`](Self::append) does, without taking it in.
    ///
    /// Errors: as [`append`](Self::append).
    pub fn check(&self, raw: &Value, rules: &LogRules<'_>, now: Option<Ms>) -> Result<(), Failure> {
        self.judge(LogEntry::read(raw)?, rules, now).map(drop)
    }

    fn judge(
        &self,
        entry: LogEntry,
        rules: &LogRules<'_>,
        now: Option<Ms>,
    ) -> Result<Logged, Failure> {
        let invalid = |at| Failure::new(Code::BindingInvalid, at);
        let last = self.chain.last().map(|last| &last.entry);
        let next = last.map_or(0, |last| last.seq().0.saturating_add(1));
        if entry.seq().0 != next {
            return Err(Failure::new(Code::LogConflict, "seq"));
        }
        if entry.prev() != last.map(LogEntry::hash) {
            return Err(Failure::new(Code::LogConflict, "prev"));
        }
        if *entry.realm() != self.realm {
            return Err(invalid("realm"));
        }
        if *entry.person() != self.person {
            return Err(invalid("person"));
        }
        if last.is_some_and(|last| entry.ts() < last.ts().minus(CLOCK_SKEW_MS)) {
            return Err(invalid("ts"));
        }
        if now.is_some_and(|now| entry.ts().distance(now) > CLOCK_SKEW_MS) {
            return Err(Failure::new(Code::Expired, "ts"));
        }
        if !entry.is_signed() {
            return Err(invalid("sig"));
        }
        self.state.judge(&entry, rules.epoch_keys)?;
        let claims = state::judge_token(&entry, rules)?;
        if let Some(claims) = &claims {
            self.state.judge_use(&entry, claims)?;
        }
        Ok(Logged { entry, claims })
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &Hash {
        &self.realm
    }

    /// Whose log it is.
    #[must_use]
    pub fn person(&self) -> &HostedPerson {
        &self.person
    }

    /// The newest entry's place.
    #[must_use]
    pub fn head(&self) -> Option<LogHead> {
        self.chain.last().map(|logged| logged.entry.head())
    }

    /// Every entry, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Arc<Logged>] {
        &self.chain
    }

    /// The entry of a number.
    #[must_use]
    pub fn entry(&self, seq: LogSeq) -> Option<&LogEntry> {
        let at = usize::try_from(seq.0).ok()?;
        self.chain.get(at).map(|logged| &logged.entry)
    }

    /// The entries after number `known`, or all of them.
    #[must_use]
    pub fn entries_after(&self, known: Option<LogSeq>) -> &[Arc<Logged>] {
        let start =
            known.map_or(0, |seq| usize::try_from(seq.0).unwrap_or(usize::MAX).saturating_add(1));
        self.chain.get(start..).unwrap_or_default()
    }

    /// Every device that was ever bound, in the order of their binding.
    #[must_use]
    pub fn devices(&self) -> &[BoundDevice] {
        &self.state.devices
    }

    /// The devices that are bound now, in the order of their ids' text.
    #[must_use]
    pub fn current_devices(&self) -> Vec<&BoundDevice> {
        let mut devices: Vec<&BoundDevice> = self.state.current().collect();
        devices.sort_unstable_by_key(|bound| bound.device);
        devices
    }

    /// A device that is bound now.
    #[must_use]
    pub fn current(&self, device: &MachineId) -> Option<&BoundDevice> {
        self.state.current().find(|bound| bound.device == *device)
    }

    /// A device that was ever bound.
    #[must_use]
    pub fn ever_bound(&self, device: &MachineId) -> Option<&BoundDevice> {
        self.state.devices.iter().find(|bound| bound.device == *device)
    }

    /// The device that took a removed one's place: the last of the chain of replacements, when it is current.
    ///
    /// Spec: §15.3 "successor", §5 "The successor rule", A7-18
    #[must_use]
    pub fn successor(&self, device: &MachineId) -> Option<&BoundDevice> {
        self.state.successor(device)
    }

    /// Name and address, from the newest token.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        self.state.profile.as_ref()
    }
}
