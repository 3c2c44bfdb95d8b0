//! Deletes what has reached its end, table by table.
//! Spec: D3.21

use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, params};

use super::{ancestry, lines, sent_text};
use crate::config::Retention;

/// Deletes what is past its time and returns how many rows went.
///
/// Never by age: unread items of a live or kept session, and tasks that have not ended.
pub(crate) fn run(tx: &mut Tx<'_>, keep: &Retention, now: Ms) -> Result<usize, StoreError> {
    let at = |days: u16| now.minus(u64::from(days) * DAY_MS).as_i64();
    let mut rows = 0;
    rows += tx.execute("DELETE FROM idempotency WHERE until <= ?1", params![now.as_i64()])?;
    rows += tx.execute(
        "DELETE FROM inbox WHERE stage = 'read' AND read_at <= ?1",
        params![at(keep.read_days)],
    )?;
    rows += tx.execute(
        "DELETE FROM inbox WHERE stage <> 'read' AND session_id IN (
           SELECT id FROM sessions WHERE closed_at <= ?1)",
        params![at(keep.orphaned_days)],
    )?;
    rows += tx.execute(
        "DELETE FROM sent WHERE settled_at <= ?1 OR (settled_at IS NULL AND exp <= ?1)",
        params![at(keep.sent_days)],
    )?;
    rows += tx.execute(
        "DELETE FROM tasks WHERE updated_at <= ?1 AND state IN
           ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')",
        params![at(keep.task_days)],
    )?;
    // A channel that was left is remembered until its lines are gone, too.
    rows += tx.execute(
        "DELETE FROM channels_left WHERE until <= ?1 AND NOT EXISTS (
           SELECT 1 FROM lines WHERE room_kind = 'channel' AND room_id = channels_left.id)",
        params![now.as_i64()],
    )?;
    // What does not fit in one turn goes with the next.
    let old = now.minus(u64::from(keep.transcript_days) * DAY_MS);
    rows += lines::forget_old(tx, old, LINES_AT_ONCE)?;
    rows += tx.execute(
        "DELETE FROM notices WHERE acked_at <= ?1 OR at <= ?2",
        params![at(keep.read_days), at(keep.transcript_days)],
    )?;
    rows += tx.execute(
        "DELETE FROM sessions WHERE closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM inbox WHERE session_id = sessions.id)
           AND NOT EXISTS (SELECT 1 FROM sent WHERE session_id = sessions.id)
           AND NOT EXISTS (SELECT 1 FROM tasks WHERE session_id = sessions.id)",
        (),
    )?;
    rows += sent_text::forget(tx)?;
    rows += ancestry::forget(tx, now.minus(u64::from(keep.sent_days) * DAY_MS))?;
    Ok(rows)
}

const DAY_MS: u64 = 86_400_000;
/// Lines that one sweep takes out of the transcript and of its search.
const LINES_AT_ONCE: u32 = 5_000;
