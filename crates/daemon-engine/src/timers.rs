//! What the clock alone brings: expiry each minute, retention each six hours.
//! Spec: D0 "timer sweep / retention sweep", D3.21

use messaging_core::time::Mono;
use messaging_store::{StoreError, View};

use crate::consent::{grants, holds};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::{seen, suggestions, sweep};
use crate::tasks::executor;
use crate::work::Work;
use crate::{chats, notices, outbox, sessions, stages};

/// When the sweeps are due.
#[derive(Debug)]
pub(crate) struct Timers {
    minute: Mono,
    retention: Mono,
    /// When what takes several turns goes on: marks, and lines of channels that were left.
    leavings: Option<Mono>,
    /// Rows were deleted, and the log of the store still holds them.
    swept: bool,
    /// The log could not be emptied, because somebody reads from it: the next minute tries again.
    unfolded: bool,
    /// A large log was told.
    told_large: bool,
}

impl Timers {
    /// Both are due at the start.
    pub(crate) fn new(now: Mono) -> Self {
        Self {
            minute: now,
            retention: now,
            leavings: None,
            swept: false,
            unfolded: false,
            told_large: false,
        }
    }

    /// When the next sweep is due.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.leavings.into_iter().chain([self.minute, self.retention]).min()
    }

    /// The machine woke: the minute is over.
    pub(crate) fn woke(&mut self, now: Mono) {
        self.minute = now;
    }

    /// Whether a sweep deleted rows since this was asked last.
    pub(crate) fn take_swept(&mut self) -> bool {
        std::mem::take(&mut self.swept)
    }
}

/// Sweeps what is due.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.mono();
    if engine.timers.minute <= now {
        engine.timers.minute = now.plus(MINUTE_MS);
        engine.timers.leavings = Some(now);
        outbox::expire(engine, work)?;
        outbox::unstick(engine, work)?;
        sessions::sweep(engine, work)?;
        suggestions::forget_gone(work.tx)?;
        holds::expire(work)?;
        grants::warn(engine, work)?;
        grants::tell_again(engine, work)?;
        stages::expire(engine, work)?;
        executor::repeat(engine, work)?;
        executor::time_out(engine, work)?;
        notices::watch(engine, work)?;
        watch_log(engine, work);
        engine.budgets.forget_full(now);
        engine.pace.forget_full(now);
    }
    if engine.timers.leavings.is_some_and(|due| due <= now) {
        let more = chats::forget_rest(work)? | seen::forget(work.tx, work.wall())?;
        engine.timers.leavings = more.then_some(now.plus(STEP_MS));
    }
    if engine.timers.retention <= now {
        engine.timers.retention = now.plus(RETENTION_MS);
        engine.consent.look();
        let swept = sweep::run(work.tx, &engine.config.retention, work.wall())?;
        if swept.more {
            engine.timers.retention = now.plus(SLICE_MS);
        }
        if swept.rows > 0 {
            // What is deleted leaves the log with the last slice.
            engine.timers.swept |= !swept.more;
            work.log(LogEvent::SweepDone { rows: swept.rows as u64 });
        }
    }
    Ok(())
}

/// Moves the store's log into its file after a sweep, so that what was deleted is gone from the log too. Nobody waits for
/// whoever reads from the log; the next minute tries again.
pub(crate) fn checkpoint(timers: &mut Timers, rows: &View<'_>) {
    timers.unfolded = !rows.fold_log().unwrap_or(false);
}

/// A log that grew is emptied as soon as nobody reads from it, and told when it is very large.
fn watch_log(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let bytes = work.tx.log_bytes();
    engine.timers.swept |= engine.timers.unfolded || bytes > LARGE_LOG;
    let is_told = bytes > VERY_LARGE_LOG;
    if is_told && !engine.timers.told_large {
        work.log(LogEvent::StoreLogLarge { bytes });
    }
    engine.timers.told_large = is_told;
}

const MINUTE_MS: u64 = 60_000;
/// Between two steps of what takes several turns.
const STEP_MS: u64 = 1_000;
/// Between two slices of a sweep.
const SLICE_MS: u64 = 50;
/// More than it is without a reader: 64 MiB.
const LARGE_LOG: u64 = 64 << 20;
/// Somebody has been reading for long: 512 MiB.
const VERY_LARGE_LOG: u64 = 512 << 20;
const RETENTION_MS: u64 = 6 * 3_600_000;
