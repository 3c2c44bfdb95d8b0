//! Entries that this machine adds to the roster: signed on the head, sent, and tried again when the head has moved.
//! Spec: §4 "Sequencing and forks", §7 "`roster.append` after auth", D1.7
//!
//! One entry at a time. Its end is told to [`flows`](crate::flows), whoever asked for it.

use std::collections::VecDeque;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::{Hash, MachineId, Req};
use messaging_core::roster::{Applied, Live, Op, RosterHead};
use messaging_core::time::Mono;
use messaging_store::StoreError;
use messaging_wire::{ClientFrame, Nack, RosterAppend, RosterOk};
use serde_json::Value;

use crate::engine::DaemonEngine;
use crate::realm::{self, Entered};
use crate::work::Work;
use crate::{flows, link};

/// Names one entry until its end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AppendTicket(u64);

/// The entries that wait, the first one perhaps sent.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    queue: VecDeque<Append>,
    last: u64,
}

#[derive(Debug)]
struct Append {
    ticket: AppendTicket,
    op: Op,
    /// When the caller is told that no relay answered.
    by: Mono,
    conflicts: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// To be signed and sent.
    Waiting,
    /// The relay has it.
    Sent { req: Req, hash: Hash, entry: Value },
    /// The link went before the answer, or the head has to be fetched first.
    Unsettled,
}

impl Appends {
    /// Whether a nack of `id` is about an entry.
    pub(crate) fn names(&self, id: &Req) -> bool {
        matches!(self.queue.front(), Some(Append { state: State::Sent { req, .. }, .. }) if req == id)
    }

    /// When an entry's time is over.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.queue.iter().map(|append| append.by).min()
    }

    /// The link is gone: what was sent may or may not have arrived.
    pub(crate) fn unlinked(&mut self) {
        if let Some(append) = self.queue.front_mut() {
            append.state = State::Unsettled;
        }
    }

    /// Whether an entry still waits for its end.
    pub(crate) fn has(&self, ticket: AppendTicket) -> bool {
        self.queue.iter().any(|append| append.ticket == ticket)
    }

    /// Drops the entries that nobody wants any more, but for one that may be at the relay.
    pub(crate) fn keep(&mut self, wanted: impl Fn(AppendTicket) -> bool) {
        self.queue
            .retain(|append| !matches!(append.state, State::Waiting) || wanted(append.ticket));
    }

    fn take(&mut self) -> Option<Append> {
        self.queue.pop_front()
    }
}

/// Adds an entry that does `op` when its turn comes. Its end comes to [`flows::appended`]:
/// `forbidden`, `invite_invalid` and the like as the roster judges, `roster_conflict` after three tries,
/// `relay_unavailable` when the relay does not answer within 15 s (the entry may have been taken all the same).
pub(crate) fn submit(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, op: Op) -> AppendTicket {
    let appends = &mut engine.appends;
    appends.last += 1;
    let ticket = AppendTicket(appends.last);
    let by = work.mono().plus(ANSWER_MS);
    appends.queue.push_back(Append { ticket, op, by, conflicts: 0, state: State::Waiting });
    ticket
}

/// Sends what can be sent and ends what took too long.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.mono();
    let late = |append: &Append| append.by <= now;
    while let Some(at) = engine.appends.queue.iter().position(late) {
        if let Some(append) = engine.appends.queue.remove(at) {
            let failure = Failure::new(Code::RelayUnavailable, "the relay did not answer");
            flows::appended(engine, work, append.ticket, Err(failure))?;
        }
    }
    while engine.link.is_ready()
        && matches!(engine.appends.queue.front(), Some(Append { state: State::Waiting, .. }))
    {
        send_next(engine, work)?;
    }
    Ok(())
}

fn send_next(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let Some(append) = engine.appends.queue.front() else { return Ok(()) };
    match sign(engine, work, &append.op) {
        Ok((hash, entry)) => {
            let req = engine.link.req();
            let frame = RosterAppend { req: req.clone(), entry: entry.clone() };
            engine.link.send(work, ClientFrame::RosterAppend(frame).print());
            if let Some(append) = engine.appends.queue.front_mut() {
                append.state = State::Sent { req, hash, entry };
            }
            Ok(())
        }
        Err(failure) => end(engine, work, Err(failure)),
    }
}

/// Signs an entry on the head, and judges it as the relay will: what can be known here needs no network.
fn sign(engine: &DaemonEngine, work: &Work<'_, '_>, op: &Op) -> Result<(Hash, Value), Failure> {
    let ready = engine.home.ready(engine.realm.roster())?;
    let entry = ready.roster.sign_next(op, work.wall(), &ready.keys.identity.signing)?;
    let mut trial = ready.roster.clone();
    let applied = trial.apply(&entry, Some(Live::append(work.wall())));
    let applied = applied.map_err(|failure| match failure {
        // It was signed a moment ago: either this machine's clock is behind or an earlier author's was ahead.
        Failure { code: Code::InvalidRequest, at: "ts" } => {
            Failure::new(Code::Expired, "this machine's clock is behind the team's newest entry")
        }
        failure => failure,
    })?;
    Ok((*applied.entry.hash(), entry))
}

/// The relay took the entry that was sent.
pub(crate) fn accepted(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    ok: &RosterOk,
) -> Result<(), StoreError> {
    let sent = match engine.appends.queue.front() {
        Some(Append { state: State::Sent { req, hash, entry }, .. }) if *req == ok.req => {
            Some((hash, entry))
        }
        _ => None,
    };
    let Some((hash, entry)) = sent else {
        // Nobody waits for it any more, and its author hears of it in no other way: relays tell the others only.
        link::sync_to(engine, work, ok.head.seq);
        return Ok(());
    };
    if *hash == ok.head.hash {
        let entry = entry.clone();
        // `applied` below ends it.
        if realm::enter(engine, work, &entry, None)? == Entered::Applied {
            return Ok(());
        }
    } else {
        engine.link.report(work, "the relay confirmed another roster entry than this machine sent");
    }
    if let Some(append) = engine.appends.queue.front_mut() {
        append.state = State::Unsettled;
    }
    link::sync_to(engine, work, ok.head.seq);
    Ok(())
}

/// The relay refused the entry that was sent.
pub(crate) fn refused(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    nack: &Nack,
) -> Result<(), StoreError> {
    let Some(append) = engine.appends.queue.front_mut() else { return Ok(()) };
    // A write that the relay says failed may stand all the same: the roster tells.
    let may_stand = nack.code == Code::Internal;
    if (nack.code == Code::RosterConflict || may_stand) && append.conflicts < RETRIES {
        append.conflicts += 1;
        append.state = State::Unsettled;
        link::sync_for_append(engine, work);
        return Ok(());
    }
    end(engine, work, Err(Failure::new(nack.code, "the relay refused the roster entry")))
}

/// An entry was applied, from whichever side it came: perhaps it is the one that was sent.
pub(crate) fn applied(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    applied: &Applied,
) -> Result<(), StoreError> {
    let machine = engine.home.keys.as_ref().map(|keys| *keys.machine());
    let is_own = |append: &Append, machine: &MachineId| {
        applied.entry.by() == machine
            && *applied.entry.op() == append.op
            && !matches!(append.state, State::Waiting)
    };
    match (engine.appends.queue.front(), machine) {
        (Some(append), Some(machine)) if is_own(append, &machine) => {
            end(engine, work, Ok(applied.entry.head()))
        }
        _ => Ok(()),
    }
}

/// The roster is up to the welcome: an entry of the last link is there by now, or it never arrived.
pub(crate) fn linked(engine: &mut DaemonEngine) {
    retry(engine);
}

/// New entries were fetched: what the relay refused for its head is signed again.
pub(crate) fn synced(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    retry(engine);
    tend(engine, work)
}

fn retry(engine: &mut DaemonEngine) {
    if let Some(append) = engine.appends.queue.front_mut()
        && matches!(append.state, State::Unsettled)
    {
        append.state = State::Waiting;
    }
}

fn end(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    outcome: Result<RosterHead, Failure>,
) -> Result<(), StoreError> {
    match engine.appends.take() {
        Some(append) => flows::appended(engine, work, append.ticket, outcome),
        None => Ok(()),
    }
}

/// How often an entry is signed again after `roster_conflict` or `internal`.
const RETRIES: u32 = 3;
/// How long a caller waits for the relay.
const ANSWER_MS: u64 = 15_000;
