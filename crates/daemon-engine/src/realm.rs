//! The roster realm as this machine has verified it, and what is wrong with it.
//! Spec: §4, §5 "Roster head check", D3.28
//!
//! The roster in memory is the one in the store: an entry is applied and stored in one step, and after a failed write both
//! are read again.

mod divergence;

use std::collections::{BTreeMap, BTreeSet};

use messaging_core::code::Failure;
use messaging_core::ids::{Hash, Label, MachineId, PersonId, RosterPerson};
use messaging_core::realm::RosterView;
use messaging_core::roster::{Applied, Entry, EntryStanding, Live, Member, Op, Roster, RosterHead};
use messaging_core::time::Mono;
use messaging_store::{StoreError, View};
use serde_json::Value;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::home::Standing;
use crate::store::{evidence, kv, presence, roster};
use crate::work::Work;
use crate::{appends, chats, flows, link, notices, outbox};

pub(crate) use divergence::{Divergence, raise as raise_divergence};

/// The realm.
#[derive(Debug, Default)]
pub(crate) struct Realm {
    roster: Roster,
    /// The other members that the relay says are connected.
    online: BTreeSet<MachineId>,
    /// Members that named a head which the relay did not provide. Sends pause until it is reached.
    ahead: BTreeMap<MachineId, Ahead>,
    /// The standing alarms, as stored.
    divergence: Vec<Divergence>,
}

/// A head that a member named and the relay did not provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ahead {
    seq: u64,
    /// When the relay was last asked for it in vain.
    at: Mono,
}

/// What became of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// It is the new head.
    Applied,
    /// The chain holds it.
    Held,
    /// It would follow entries that are not here yet.
    Gap,
    /// It is valid and contradicts the chain. The chain stays.
    Fork,
    /// It does not verify. The chain stays.
    Refused(Failure),
}

impl Realm {
    /// The realm as stored; a chain that no longer verifies is a damaged store.
    pub(crate) fn load(view: &View<'_>) -> Result<Self, StoreError> {
        let entries = roster::entries(view)?;
        let roster = if entries.is_empty() {
            Roster::new()
        } else {
            Roster::from_entries(&entries).map_err(|_| StoreError::Corrupt)?
        };
        let divergence = divergence::load(view, &roster)?;
        Ok(Self { roster, divergence, ..Self::default() })
    }

    /// Reads the stored part again, after a failed write. A chain with the same head is the same chain, and is not verified
    /// again: while a disk is full, every failed call comes through here.
    pub(crate) fn reload(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        let held = self.head().map(|head| (head.seq, head.hash));
        if roster::last(view)? == held {
            self.divergence = divergence::load(view, &self.roster)?;
            return Ok(());
        }
        let fresh = Self::load(view)?;
        self.roster = fresh.roster;
        self.divergence = fresh.divergence;
        Ok(())
    }

    /// The verified chain; empty before a team.
    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The realm for the verifier; none before a team.
    pub(crate) fn view(&self) -> Option<RosterView<'_>> {
        RosterView::new(&self.roster)
    }

    /// The team's id.
    pub(crate) fn id(&self) -> Option<&Hash> {
        self.roster.team_id()
    }

    /// The newest entry's place.
    pub(crate) fn head(&self) -> Option<RosterHead> {
        self.roster.head()
    }

    /// A current member.
    pub(crate) fn member(&self, machine: &MachineId) -> Option<&Member> {
        self.roster.member(machine)
    }

    /// The current machines of a person.
    pub(crate) fn machines_of<'r>(
        &'r self,
        person: &PersonId,
    ) -> impl Iterator<Item = &'r Member> + use<'r> {
        let person = person.clone();
        self.roster.members().filter(move |member| is_person(&member.person, &person))
    }

    /// The current machine of a person with that label.
    pub(crate) fn machine_of(&self, person: &PersonId, label: &Label) -> Option<&Member> {
        self.machines_of(person).find(|member| member.label == *label)
    }

    /// Whether the relay says that the machine is connected.
    pub(crate) fn is_online(&self, machine: &MachineId) -> bool {
        self.online.contains(machine)
    }

    /// The standing divergence alarms, oldest first.
    pub(crate) fn divergence(&self) -> &[Divergence] {
        &self.divergence
    }

    /// Whether sends wait for entries that a member has seen and this machine has not.
    pub(crate) fn sends_paused(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Takes the relay's list of who is connected.
    pub(crate) fn set_online(&mut self, online: impl IntoIterator<Item = MachineId>) {
        self.online = online.into_iter().collect();
    }

    /// Takes the relay's word that a member came or went.
    pub(crate) fn peer(&mut self, machine: MachineId, online: bool) {
        if online && self.roster.member(&machine).is_some() {
            self.online.insert(machine);
        } else {
            self.online.remove(&machine);
        }
    }

    /// Holds sends until the chain reaches `seq` or the signer is no member any more.
    pub(crate) fn pause_for(&mut self, signer: MachineId, seq: u64, now: Mono) {
        if self.roster.member(&signer).is_some() {
            let held = self.ahead.entry(signer).or_insert(Ahead { seq, at: now });
            held.seq = held.seq.max(seq);
            held.at = now;
        }
    }

    /// Whether the relay was asked in vain a moment ago for entries that this member says there are. Without that, a member
    /// could have this machine ask as often as it sends.
    pub(crate) fn just_asked_for(&self, signer: &MachineId, now: Mono) -> bool {
        self.ahead.get(signer).is_some_and(|ahead| now.since(ahead.at) < ASK_AGAIN_MS)
    }

    /// Whether the chain has this very entry at its number.
    fn holds(&self, seq: u64, raw: &Value) -> bool {
        let held = usize::try_from(seq).ok().and_then(|at| self.roster.entries().get(at));
        match (held, Entry::read(raw)) {
            (Some(held), Ok(entry)) => held.hash() == entry.hash(),
            _ => false,
        }
    }

    fn unpause(&mut self) {
        let head = self.roster.head().map_or(0, |head| head.seq);
        let roster = &self.roster;
        self.ahead.retain(|signer, ahead| ahead.seq > head && roster.member(signer).is_some());
    }
}

/// Whether a roster's person is the person `id`.
pub(crate) fn is_person(roster: &RosterPerson, id: &PersonId) -> bool {
    roster.as_str() == id.as_str()
}

/// Takes an entry from a page or a broadcast (`live`), stores it when it is the next one, and does what follows from it.
pub(crate) fn enter(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    raw: &Value,
    live: Option<Live>,
) -> Result<Entered, StoreError> {
    match engine.realm.roster.apply(raw, live) {
        Ok(applied) => {
            store(work, &applied)?;
            work.log(LogEvent::RosterApplied {
                seq: applied.entry.seq(),
                op: applied.entry.op().name(),
            });
            changed(engine, work, &applied)?;
            Ok(Entered::Applied)
        }
        Err(failure) => judge_refused(engine, work, raw, failure),
    }
}

/// Says what an entry is that did not extend the chain. Spec: §4 "Sequencing and forks"
fn judge_refused(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    raw: &Value,
    failure: Failure,
) -> Result<Entered, StoreError> {
    let seq = raw.get("seq").and_then(Value::as_u64).unwrap_or(0);
    let next = engine.realm.head().map_or(0, |head| head.seq + 1);
    if seq > next {
        return Ok(Entered::Gap);
    }
    if seq < next {
        if engine.realm.holds(seq, raw) {
            return Ok(Entered::Held);
        }
        match engine.realm.roster.check_at(raw) {
            Ok(EntryStanding::Held | EntryStanding::Next) => return Ok(Entered::Held),
            Ok(EntryStanding::Fork) => {
                evidence::keep(work.tx, evidence::Kind::Fork, work.wall(), &raw.to_string())?;
                work.log(LogEvent::RosterFork { seq });
                return Ok(Entered::Fork);
            }
            Err(_) => {}
        }
    }
    work.log(LogEvent::RosterRefused { seq, code: failure.code });
    Ok(Entered::Refused(failure))
}

fn store(work: &mut Work<'_, '_>, applied: &Applied) -> Result<(), StoreError> {
    let entry = &applied.entry;
    roster::append(work.tx, entry.seq(), entry.hash(), entry.canonical().as_str())
}

/// What follows from a new head.
fn changed(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    applied: &Applied,
) -> Result<(), StoreError> {
    engine.realm.unpause();
    engine.consent.look();
    engine.rotation.changed();
    if let Some(removed) = &applied.removed {
        if engine.own().is_some_and(|(_, own)| is_person(&removed.person, &own)) {
            engine.consent.parted();
        }
        engine.realm.online.remove(&removed.machine);
        presence::delete(work.tx, &removed.machine)?;
        chats::gone(engine, work, &removed.machine)?;
        chats::drop_gone(engine, work, &PersonId::from(&removed.person))?;
        if engine.home.standing(&engine.realm.roster) == Standing::Removed {
            outbox::abandon(engine, work)?;
            link::close_for_good(engine, work);
        }
    }
    if matches!(applied.entry.op(), Op::MemberRekey { .. })
        && engine.home.is_rekeyed_by_admin(&engine.realm.roster)
    {
        engine.link.report(work, CUT_OFF);
    }
    notices::tell(engine, work)?;
    notices::watch(engine, work)?;
    appends::applied(engine, work, applied)?;
    flows::roster_changed(engine, work, applied)
}

/// Adopts a verified roster as this home's realm: the end of creating or joining a team.
///
/// The keys are stored already. The chain, the machine and what the configuration must say stand in one transaction.
pub(crate) fn adopt(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    verified: Roster,
    config: &kv::IdentityConfig,
) -> Result<(), StoreError> {
    roster::clear(work.tx)?;
    for entry in verified.entries() {
        roster::append(work.tx, entry.seq(), entry.hash(), entry.canonical().as_str())?;
    }
    let Some((keys, team)) = engine.home.keys.as_ref().zip(verified.team_id()) else {
        return Err(StoreError::Other);
    };
    let machine = *keys.machine();
    kv::set(work.tx, kv::REALM_ID, team.as_str())?;
    kv::set(work.tx, kv::IDENTITY_MACHINE, machine.as_str())?;
    let text = serde_json::to_string(config).map_err(|_| StoreError::Other)?;
    kv::set(work.tx, kv::IDENTITY_CONFIG, &text)?;
    engine.realm = Realm { roster: verified, ..Realm::default() };
    engine.home.machine = Some(machine);
    engine.config.relay = Some(config.relay.clone());
    notices::begin(engine, work)
}

/// Before the same member's word makes this machine ask for entries again; a relay redelivers after ten seconds.
const ASK_AGAIN_MS: u64 = 5_000;
/// What an admin's rekey means to this machine.
pub(crate) const CUT_OFF: &str = "an admin replaced this machine's encryption key";
