//! A person as the directory serves them at a tree head, and whether that is to be believed.
//! Spec: §15.7, W2.11, W4.22, R7
//!
//! | step | what                                                        | refusal                                      |
//! |------|-------------------------------------------------------------|----------------------------------------------|
//! | 0    | the shape; the person who was asked for                     | `invalid_request`                            |
//! | 1    | the head leaf is the tree head's last, of its time          | `directory_inconsistent`                     |
//! | 2    | an erased person is a tombstone in the map                  | `directory_inconsistent`                     |
//! | 3    | the log extends what is held; each new entry by its rules   | `directory_inconsistent`; those of the log   |
//! | 4    | each new token was witnessed in its time                    | `binding_invalid`, `directory_inconsistent`  |
//! | 5    | keys statements of current devices, none older than held    | `binding_invalid`, `directory_inconsistent`  |
//! | 6    | the map holds exactly this                                  | `directory_inconsistent`                     |
//!
//! What is held is the state that was asked from, never one verified at a later tree head; two states of one person at
//! two tree heads are held against each other by [`check_succession`].

mod evidence;
mod head;
mod shape;
mod succession;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::device_log::{DeviceLog, LogEntry, LogRules, LogSeq};
use super::keys_statement::KeysStatement;
use super::map::{MapLeaf, MapProof, MapValue, verify_map_proof};
use super::tree_head::{EpochProof, TreeHead};
use crate::code::{Code, Failure};
use crate::ids::{Hash, HostedPerson, MachineId};
use crate::limits::CLOCK_SKEW_MS;

pub use evidence::{Evidence, KeptHeads, ViewFailure};
pub use head::{CommittedPerson, PersonHead, verify_person_head};
pub use shape::{EpochWitness, PersonView};
pub use succession::check_succession;

/// What a client holds of a person: nothing that it did not verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonState {
    /// Their log, and the keys statements of their devices.
    Live(Box<VerifiedPerson>),
    /// They were erased: they have no devices.
    Erased,
}

/// A person's verified log, and the latest keys statement of each current device that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPerson {
    /// The log.
    pub log: DeviceLog,
    /// The statements, by device.
    pub keys: BTreeMap<MachineId, KeysStatement>,
}

impl VerifiedPerson {
    /// What is held of a person nothing was heard of.
    #[must_use]
    pub fn unknown(realm: Hash, person: HostedPerson) -> Self {
        Self { log: DeviceLog::new(realm, person), keys: BTreeMap::new() }
    }

    /// What the map holds for exactly this; an empty log has no leaf.
    ///
    /// Errors: none for what was verified.
    pub fn committed(&self) -> Result<MapLeaf, Failure> {
        let Some(log) = self.log.head() else {
            return Ok(MapLeaf::Absent);
        };
        let keys: Result<Vec<Hash>, Failure> = self
            .log
            .current_devices()
            .into_iter()
            .filter_map(|bound| self.keys.get(&bound.device))
            .map(KeysStatement::hash)
            .collect();
        MapLeaf::of(&MapValue::new(log, keys?)?)
    }
}

/// A tree head that a client adopted, with its last leaf, and the heads it adopted before.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The tree head.
    pub sth: &'a TreeHead,
    /// Its last leaf, with its path.
    pub head: &'a EpochProof,
    /// What is remembered of adopted heads: no epoch may be dated past one that covers it.
    pub kept: &'a KeptHeads,
}

impl At<'_> {
    /// The map's root at the tree head.
    fn map_root(&self) -> &Hash {
        &self.head.leaf.map_root
    }

    fn uncommitted(&self, at: &'static str) -> ViewFailure {
        let evidence = Evidence::Uncommitted {
            sth: Box::new(self.sth.clone()),
            head: Box::new(self.head.clone()),
        };
        ViewFailure::with(Failure::new(Code::DirectoryInconsistent, at), evidence)
    }
}

fn inconsistent(at: &'static str) -> Failure {
    Failure::new(Code::DirectoryInconsistent, at)
}

fn unbound(at: &'static str) -> Failure {
    Failure::new(Code::BindingInvalid, at)
}

/// Verifies a view of `person` at an adopted tree head, against what was held when it was asked for.
///
/// Nothing changes until the caller stores the result. Cost: a signature check or two for each new entry, one for each
/// statement, 257 hashes for each witness. Errors: as the table of this module; a contradiction of what is held comes
/// with its evidence.
pub fn verify_person_view(
    view: &PersonView,
    person: &HostedPerson,
    at: At<'_>,
    held: Option<&PersonState>,
    rules: &LogRules<'_>,
) -> Result<PersonState, ViewFailure> {
    if view.person != *person {
        return Err(Failure::invalid("view.person").into());
    }
    at.sth.verify_last(at.head)?;
    let proof = &view.map_proof;
    if view.tombstone {
        return if verify_map_proof(at.map_root(), person, MapLeaf::erased(), proof) {
            Ok(PersonState::Erased)
        } else {
            Err(at.uncommitted("view.tombstone"))
        };
    }
    // Somebody erased has no devices to go on from.
    let nothing;
    let held = match held {
        Some(PersonState::Live(held)) => held.as_ref(),
        Some(PersonState::Erased) | None => {
            nothing = VerifiedPerson::unknown(rules.realm.realm, person.clone());
            &nothing
        }
    };
    let log = extend(&held.log, &view.log, rules)?;
    check_witnesses(view, &log, held.log.head().map(|head| head.seq), at)?;
    let keys = check_keys(&view.keys, &log, held)?;
    let state = VerifiedPerson { log, keys };
    if verify_map_proof(at.map_root(), person, state.committed()?, proof) {
        Ok(PersonState::Live(Box::new(state)))
    } else {
        Err(at.uncommitted("view.mapProof"))
    }
}

/// The held log with the served entries: step 3.
fn extend(
    held: &DeviceLog,
    served: &[LogEntry],
    rules: &LogRules<'_>,
) -> Result<DeviceLog, ViewFailure> {
    let mut log = held.clone();
    for entry in served {
        let next = log.head().map_or(0, |head| head.seq.0.saturating_add(1));
        if let Some(known) = log.entry(entry.seq()) {
            if known.hash() != entry.hash() {
                return Err(ViewFailure::fork(known, entry));
            }
            continue;
        }
        if entry.seq().0 != next {
            return Err(inconsistent("view.log").into());
        }
        if let (Some(prev), Some(last)) = (entry.prev(), log.entries().last())
            && prev != last.entry.hash()
        {
            return Err(ViewFailure::fork(&last.entry, entry));
        }
        log.append_entry(entry.clone(), rules, None)?;
    }
    Ok(log)
}

/// Every new token has an epoch that committed its entry before it was over: step 4.
fn check_witnesses(
    view: &PersonView,
    log: &DeviceLog,
    known: Option<LogSeq>,
    at: At<'_>,
) -> Result<(), ViewFailure> {
    let mut witnesses: BTreeMap<LogSeq, &EpochWitness> = BTreeMap::new();
    for witness in &view.epochs {
        if witnesses.insert(witness.seq, witness).is_some() {
            return Err(Failure::invalid("view.epochs").into());
        }
    }
    for logged in log.entries_after(known) {
        let Some(claims) = &logged.claims else { continue };
        let seq = logged.entry.seq();
        let witness = witnesses.get(&seq).ok_or(unbound("view.epochs"))?;
        let leaf = &witness.epoch.leaf;
        witness.epoch.verify(at.sth)?;
        at.kept.check(leaf)?;
        let committed = MapLeaf::of(&witness.value)?;
        if !verify_map_proof(&leaf.map_root, &view.person, committed, &witness.map_proof) {
            return Err(inconsistent("view.epochs.mapProof").into());
        }
        let head = &witness.value.log;
        let ours = log.entry(head.seq).map(LogEntry::hash);
        if head.seq < seq || ours != Some(&head.hash) {
            return Err(inconsistent("view.epochs.value").into());
        }
        if leaf.ts > claims.ends().plus(CLOCK_SKEW_MS) {
            return Err(unbound("view.epochs.leaf.ts").into());
        }
    }
    Ok(())
}

/// Statements of current devices, none gone back: step 5.
fn check_keys(
    served: &[KeysStatement],
    log: &DeviceLog,
    held: &VerifiedPerson,
) -> Result<BTreeMap<MachineId, KeysStatement>, ViewFailure> {
    let mut keys = BTreeMap::new();
    for statement in served {
        if keys.contains_key(&statement.device) {
            return Err(Failure::invalid("view.keys").into());
        }
        statement.verify(log)?;
        if let Some(held) = held.keys.get(&statement.device) {
            if statement.seq < held.seq {
                return Err(ViewFailure::rollback(held, Some(statement)));
            }
            if statement.seq == held.seq && statement != held {
                return Err(inconsistent("view.keys.seq").into());
            }
        }
        keys.insert(statement.device, statement.clone());
    }
    for (device, statement) in &held.keys {
        if log.current(device).is_some() && !keys.contains_key(device) {
            return Err(ViewFailure::rollback(statement, None));
        }
    }
    Ok(keys)
}

/// Whether a map proof is of this person's value: for [`PersonHead`].
fn holds(at: At<'_>, person: &HostedPerson, leaf: MapLeaf, proof: &MapProof) -> bool {
    verify_map_proof(at.map_root(), person, leaf, proof)
}
