//! The outbox: sealed envelopes go to the relay oldest first, and stay until it has them.
//! Spec: §7 "send", §8.4, D3.7
//!
//! The rows are the truth; in memory stands only what this link has in flight.

use std::collections::BTreeMap;

use messaging_core::bucket::TokenBucket;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::stage::Stage;
use messaging_core::time::Mono;
use messaging_ipc::error::Refusal;
use messaging_store::{StoreError, View};
use messaging_wire::{Nack, text};

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::link;
use crate::stages;
use crate::store::outbox::{self, OutboxRow};
use crate::work::{Step, Work};

/// What is known of the rows without reading them.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// What the relay has not answered on this link, by id, with when it was sent.
    in_flight: BTreeMap<Ulid, Mono>,
    sends: TokenBucket,
    bytes: TokenBucket,
    /// Something may be sendable now.
    changed: bool,
    /// When a row's own time, or the budget, lets the next one go.
    wake: Option<Mono>,
}

impl Outbox {
    pub(crate) fn new(now: Mono) -> Self {
        Self {
            in_flight: BTreeMap::new(),
            sends: TokenBucket::new(SENDS_PER_SECOND, 1_000, now),
            bytes: TokenBucket::new(BYTES_PER_MINUTE, 60_000, now),
            changed: true,
            wake: None,
        }
    }

    /// A row was added.
    pub(crate) fn added(&mut self) {
        self.changed = true;
    }

    /// The link is ready.
    pub(crate) fn linked(&mut self) {
        self.changed = true;
    }

    /// The link is gone: what was in flight is sent again on the next one.
    pub(crate) fn unlinked(&mut self) {
        self.in_flight.clear();
        self.wake = None;
        self.changed = true;
    }

    /// How many envelopes the relay has not answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// When the outbox wants to be looked at, while the link is ready.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        let oldest = self.in_flight.values().min().map(|at| at.plus(ANSWER_MS));
        self.wake.into_iter().chain(oldest).min()
    }
}

/// Sends what may be sent now.
pub(crate) fn flush(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.mono();
    if !engine.link.is_ready() || engine.realm.sends_paused() {
        return Ok(());
    }
    if engine.outbox.in_flight.values().any(|at| now.since(*at) >= ANSWER_MS) {
        return link::give_up(engine, work, "the relay did not answer what was sent");
    }
    let outbox = &mut engine.outbox;
    if !outbox.changed && outbox.wake.is_none_or(|at| at > now) {
        return Ok(());
    }
    outbox.changed = false;
    outbox.wake = None;
    for row in next(outbox, work)? {
        if let Err(wait) =
            outbox.sends.take(1, now).and_then(|()| outbox.bytes.take(row.bytes, now))
        {
            outbox.wake = Some(now.plus(wait));
            return Ok(());
        }
        let Some(envelope) = outbox::envelope(work.tx, row.seq)? else { continue };
        engine.link.send(work, text::send(&envelope));
        outbox.in_flight.insert(row.id, now);
    }
    if let Some(at) = outbox::next_retry(work.tx, work.wall())? {
        outbox.wake = Some(now.plus(at.since(work.wall())));
    }
    Ok(())
}

/// The oldest rows that are not in flight, as many as the window takes.
fn next(outbox: &Outbox, work: &Work<'_, '_>) -> Result<Vec<OutboxRow>, StoreError> {
    let room = WINDOW.saturating_sub(outbox.in_flight.len());
    let now = work.wall();
    let mut rows = Vec::new();
    if room > 0 {
        outbox::each_due(work.tx, now, |row| {
            if row.exp > now && !outbox.in_flight.contains_key(&row.id) {
                rows.push(row);
            }
            rows.len() < room
        })?;
    }
    Ok(rows)
}

/// The relay has stored an envelope.
pub(crate) fn acked(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
) -> Result<(), StoreError> {
    engine.outbox.in_flight.remove(id);
    engine.outbox.changed = true;
    let Some(row) = outbox::by_id(work.tx, id)? else { return Ok(()) };
    outbox::delete(work.tx, row.seq)?;
    stages::advance(engine, work, id, Stage::Relayed, None)
}

/// The relay has refused an envelope, for now or for good. Spec: D3.7
pub(crate) fn nacked(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    nack: &Nack,
) -> Result<(), StoreError> {
    let Ok(id) = Ulid::parse(nack.id.as_str()) else { return Ok(()) };
    let Some(row) = outbox::by_id(work.tx, &id)? else { return Ok(()) };
    engine.outbox.in_flight.remove(&id);
    engine.outbox.changed = true;
    match nack.code {
        Code::Duplicate => acked(engine, work, &id),
        Code::RateLimited => {
            let wait = nack.retry_after_ms.unwrap_or_else(|| doubling(&row, 5_000, 300_000));
            // Whatever the relay says: later mail to the same machine waits behind this.
            let wait = wait.min(LONGEST_WAIT_MS);
            outbox::put_off(work.tx, row.seq, nack.code, work.wall().plus(wait))
        }
        Code::Internal | Code::RelayUnavailable => {
            let wait = doubling(&row, 1_000, 60_000);
            outbox::put_off(work.tx, row.seq, nack.code, work.wall().plus(wait))
        }
        Code::RosterConflict if row.code != Some(Code::RosterConflict) => {
            // It waits for the entries; should they never come, it is tried once more all the same.
            outbox::put_off(work.tx, row.seq, nack.code, work.wall().plus(60_000))?;
            link::sync_for_outbox(engine, work);
            Ok(())
        }
        code => end(engine, work, &row, Stage::Rejected, Some(code)),
    }
}

/// New entries were fetched: what was refused for its head goes once more.
pub(crate) fn synced(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if outbox::has_put_off(work.tx, Code::RosterConflict, work.wall())? {
        outbox::release(work.tx, Code::RosterConflict, work.wall())?;
        engine.outbox.changed = true;
    }
    Ok(())
}

/// Lets go what waits for a time that no refusal sets: the clock was ahead when it was put off, and is right again.
pub(crate) fn unstick(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(), StoreError> {
    let latest = work.wall().plus(LONGEST_WAIT_MS);
    if outbox::waits_past(work.tx, latest)? {
        outbox::release_past(work.tx, latest, work.wall())?;
        engine.outbox.changed = true;
    }
    Ok(())
}

/// Ends the rows whose time ran out.
pub(crate) fn expire(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    for row in outbox::expired(work.tx, work.wall())? {
        engine.outbox.in_flight.remove(&row.id);
        engine.outbox.changed = true;
        work.log(LogEvent::OutboxExpired { id: row.id });
        end(engine, work, &row, Stage::Expired, None)?;
    }
    Ok(())
}

/// Ends every row: this machine was removed, and nobody takes anything from it.
pub(crate) fn abandon(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(), StoreError> {
    for row in outbox::all(work.tx)? {
        end(engine, work, &row, Stage::Rejected, Some(Code::NotMember))?;
    }
    engine.outbox.in_flight.clear();
    Ok(())
}

fn end(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &OutboxRow,
    stage: Stage,
    code: Option<Code>,
) -> Result<(), StoreError> {
    outbox::delete(work.tx, row.seq)?;
    if let Some(code) = code {
        work.log(LogEvent::OutboxFinal { id: row.id, code });
    }
    stages::advance(engine, work, &row.id, stage, code)
}

/// Refuses new mail while too much waits already.
///
/// Errors: `rate_limited`, to be tried again in a minute.
pub(crate) fn check_room(view: &View<'_>) -> Step<()> {
    let (rows, bytes) = outbox::load(view)?;
    if rows < MAX_ROWS && bytes < MAX_BYTES {
        return Ok(());
    }
    Err(Refusal::rate_limited(60_000).into())
}

fn doubling(row: &OutboxRow, first_ms: u64, most_ms: u64) -> u64 {
    let doublings = u32::try_from(row.attempts.min(20)).unwrap_or(20);
    (first_ms << doublings).min(most_ms)
}

/// Most envelopes the relay may owe an answer for.
const WINDOW: usize = 64;
/// Keeps sends, with everything else this machine says, below the relay's 600 frames a minute.
const SENDS_PER_SECOND: u64 = 8;
/// Keeps sends below the relay's 32 MiB a minute.
const BYTES_PER_MINUTE: u64 = 30 * 1_048_576;
/// A relay that answers nothing for so long is not there any more.
const ANSWER_MS: u64 = 60_000;
/// The longest that a refusal puts a row off.
const LONGEST_WAIT_MS: u64 = 3_600_000;
/// Most rows that may wait before new mail is refused.
const MAX_ROWS: u64 = 5_000;
/// Most bytes that may wait before new mail is refused.
const MAX_BYTES: u64 = 268_435_456;
