//! Deletes what has reached its end, table by table, a slice at a time.
//! Spec: D3.21

use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, params};

use super::{ancestry, lines, sent_text};
use crate::config::Retention;

/// What one slice did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    /// Rows that went.
    pub(crate) rows: usize,
    /// Whether there may be more.
    pub(crate) more: bool,
}

/// Deletes a slice of what is past its time: at most [`SLICE`] rows of one table, and of the next ones only when it is done
/// with those before.
///
/// Never by age: unread items of a live or kept session, and tasks that have not ended.
pub(crate) fn run(tx: &mut Tx<'_>, keep: &Retention, now: Ms) -> Result<Swept, StoreError> {
    let before = |days: u16| now.minus(u64::from(days) * DAY_MS);
    let mut swept = Swept::default();
    let aged = [
        (
            "DELETE FROM idempotency WHERE (scope, key) IN (
               SELECT scope, key FROM idempotency WHERE until <= ?1 LIMIT ?2)",
            now,
        ),
        (
            "DELETE FROM inbox WHERE seq IN (
               SELECT seq FROM inbox WHERE stage = 'read' AND read_at <= ?1 LIMIT ?2)",
            before(keep.read_days),
        ),
        (
            "DELETE FROM inbox WHERE seq IN (
               SELECT seq FROM inbox WHERE stage <> 'read' AND session_id IN (
                 SELECT id FROM sessions WHERE closed_at <= ?1) LIMIT ?2)",
            before(keep.orphaned_days),
        ),
        (
            "DELETE FROM sent WHERE rowid IN (SELECT rowid FROM sent WHERE settled_at <= ?1 LIMIT ?2)",
            before(keep.sent_days),
        ),
        (
            "DELETE FROM sent WHERE rowid IN (
               SELECT rowid FROM sent WHERE settled_at IS NULL AND exp <= ?1 LIMIT ?2)",
            before(keep.sent_days),
        ),
        (
            "DELETE FROM tasks WHERE rowid IN (
               SELECT rowid FROM tasks WHERE updated_at <= ?1 AND state IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED',
                 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED') LIMIT ?2)",
            before(keep.task_days),
        ),
        // A channel that was left is remembered until its lines are gone, too.
        (
            "DELETE FROM channels_left WHERE rowid IN (
               SELECT rowid FROM channels_left WHERE until <= ?1 AND NOT EXISTS (
                 SELECT 1 FROM lines WHERE room_kind = 'channel' AND room_id = channels_left.id) LIMIT ?2)",
            now,
        ),
        (
            "DELETE FROM notices WHERE seq IN (SELECT seq FROM notices WHERE acked_at <= ?1 LIMIT ?2)",
            before(keep.read_days),
        ),
        (
            "DELETE FROM notices WHERE seq IN (SELECT seq FROM notices WHERE at <= ?1 LIMIT ?2)",
            before(keep.transcript_days),
        ),
        (
            "DELETE FROM contact_requests WHERE rowid IN (
               SELECT rowid FROM contact_requests WHERE exp <= ?1 LIMIT ?2)",
            now,
        ),
        ("DELETE FROM spent WHERE rowid IN (SELECT rowid FROM spent WHERE exp <= ?1 LIMIT ?2)", now),
    ];
    for (sql, until) in aged {
        swept.took(tx.execute(sql, params![until.as_i64(), SLICE])?);
        if swept.more {
            return Ok(swept);
        }
    }
    swept.took(lines::forget_old(tx, before(keep.transcript_days), SLICE)?);
    if swept.more {
        return Ok(swept);
    }
    // These follow from rows that are gone by now.
    swept.took(tx.execute(
        "DELETE FROM sessions WHERE id IN (
           SELECT id FROM sessions WHERE closed_at IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM inbox WHERE session_id = sessions.id)
             AND NOT EXISTS (SELECT 1 FROM sent WHERE session_id = sessions.id)
             AND NOT EXISTS (SELECT 1 FROM tasks WHERE session_id = sessions.id) LIMIT ?1)",
        params![SLICE],
    )?);
    swept.took(sent_text::forget(tx, SLICE)?);
    swept.took(ancestry::forget(tx, before(keep.sent_days), SLICE)?);
    Ok(swept)
}

impl Swept {
    /// A statement with its limit took so many rows.
    fn took(&mut self, rows: usize) {
        self.rows += rows;
        self.more |= rows >= SLICE as usize;
    }
}

const DAY_MS: u64 = 86_400_000;
/// Rows of one table that one turn deletes: what others wait for meanwhile stays short, whatever has piled up.
const SLICE: u32 = 500;

#[cfg(test)]
mod tests {
    use messaging_store::Store;

    use super::*;
    use crate::config::Config;
    use crate::store::LAYOUT;

    const NOW: Ms = Ms(1_800_000_000_000);

    fn sweep_all(store: &Store) -> (usize, usize) {
        let (mut turns, mut rows) = (0, 0);
        loop {
            let swept = store.write(|tx| run(tx, &Config::default().retention, NOW)).unwrap();
            assert!(swept.rows <= 6 * SLICE as usize, "{swept:?}");
            turns += 1;
            rows += swept.rows;
            if !swept.more {
                return (turns, rows);
            }
        }
    }

    fn fill(store: &Store, sql: &str) {
        let rows = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) {sql} FROM n"
        );
        store.write(|tx| tx.execute(&rows, ())).unwrap();
    }

    #[test]
    fn a_heap_of_old_rows_of_any_table_goes_in_slices() {
        for (table, sql) in [
            ("idempotency", "INSERT INTO idempotency SELECT 's', i, 'h', '{}', 1"),
            (
                "inbox",
                "INSERT INTO inbox (id, from_device, from_person, from_label, session_id, session_name, kind, message_id,
                   context_id, preview, attachments, wake, stage, bytes, ts, arrived_at, read_at, exp, message)
                 SELECT i, 'd', 'p', 'l', 1, 's', 'message', i, i, '', 0, 0, 'read', 1, 1, 1, 1, 1, '{}'",
            ),
            (
                "sent",
                "INSERT INTO sent (id, to_person, to_device, to_label, type, message_id, context_id, stage, history, ts, exp,
                   settled_at) SELECT i, 'p', 'd', 'l', 'message', i, i, 'read', '[]', 1, 1, 1",
            ),
            ("sent_text", "INSERT INTO sent_text SELECT i, '{}'"),
            ("notices", "INSERT INTO notices (id, category, at) SELECT i, 'alert', 1"),
            ("spent", "INSERT INTO spent SELECT i, 1"),
            ("ancestry", "INSERT INTO ancestry SELECT i, i, NULL, 1, 1"),
            ("channels_left", "INSERT INTO channels_left SELECT i, 1"),
            (
                "contact_requests",
                "INSERT INTO contact_requests SELECT 'd', i, i, '{}', '{}', 1, 1",
            ),
            (
                "lines",
                "INSERT INTO lines (id, change_seq, room_kind, room_id, person, device, direction, text, fold, bytes, at,
                   filed_at) SELECT i, i, 'dm', 'bob', 'bob', 'd', 'in', 'x', 'x', 1, 1, 1",
            ),
        ] {
            let store = Store::memory(&LAYOUT, &[]).unwrap();
            fill(&store, sql);
            let index = "INSERT INTO lines_found (lines_found) VALUES ('rebuild')";
            store.write(|tx| tx.execute(index, ())).unwrap();
            let (turns, rows) = sweep_all(&store);
            assert!(turns >= 3 && rows >= 1_200, "{table}: {rows} in {turns}");
            let left = format!("SELECT count(*) FROM {table}");
            assert_eq!(store.view().row(&left, (), |row| row.get::<_, i64>(0)).unwrap(), Some(0));
        }
    }
}
