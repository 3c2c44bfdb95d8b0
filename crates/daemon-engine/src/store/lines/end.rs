//! How lines are forgotten: with their room, step by step, with time, and when one person's are too many.
//! Spec: §6.8 "Transcript", D3.21
//!
//! What is deleted is taken out of the search first, which needs the text to find it. What the person was told about a line
//! goes with it.

use messaging_core::ids::PersonId;
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, params};

use crate::store::columns::{Columns, stored};
use crate::store::rooms::RoomKey;

/// Deletes the lines for which a condition over one parameter pair holds, with what is recorded of their copies and their
/// notices.
macro_rules! forget {
    ($tx:expr, $which:literal, $params:expr) => {{
        $tx.execute(
            concat!(
                "INSERT INTO lines_found (lines_found, rowid, fold) SELECT 'delete', seq, fold FROM lines WHERE ",
                $which
            ),
            $params,
        )?;
        $tx.execute(
            concat!("DELETE FROM line_copies WHERE line_id IN (SELECT id FROM lines WHERE ", $which, ")"),
            $params,
        )?;
        $tx.execute(
            concat!("DELETE FROM notices WHERE id IN (SELECT 'm_' || id FROM lines WHERE ", $which, ")"),
            $params,
        )?;
        $tx.execute(concat!("DELETE FROM lines WHERE ", $which), $params)
    }};
}

/// Deletes at most `limit` of a room's lines, the oldest first.
pub(crate) fn forget_room(
    tx: &mut Tx<'_>,
    room: &RoomKey,
    limit: usize,
) -> Result<usize, StoreError> {
    forget!(
        tx,
        "seq IN (SELECT seq FROM lines WHERE room_kind = ?1 AND room_id = ?2 ORDER BY seq LIMIT ?3)",
        params![room.kind(), room.id(), stored(limit as u64)]
    )
}

/// Deletes at most `limit` lines of channels that this person is out of.
pub(crate) fn forget_left(tx: &mut Tx<'_>, limit: usize) -> Result<usize, StoreError> {
    let mut gone = 0;
    while gone < limit {
        let left = tx.row(
            "SELECT id FROM channels_left WHERE id NOT IN (SELECT id FROM channels)
               AND EXISTS (SELECT 1 FROM lines WHERE room_kind = 'channel' AND room_id = channels_left.id) LIMIT 1",
            (),
            |row| Columns::of(row).value(),
        )?;
        let Some(id) = left else { break };
        gone += forget_room(tx, &RoomKey::Channel(id), limit - gone)?;
    }
    Ok(gone)
}

/// Deletes at most `limit` lines that were filed at or before a time.
pub(crate) fn forget_old(tx: &mut Tx<'_>, before: Ms, limit: u32) -> Result<usize, StoreError> {
    forget!(
        tx,
        "seq IN (SELECT seq FROM lines WHERE filed_at <= ?1 ORDER BY filed_at LIMIT ?2)",
        params![before.as_i64(), limit]
    )
}

/// Keeps the newest lines of a person: at most so many, of at most so many bytes in all.
pub(crate) fn bound(
    tx: &mut Tx<'_>,
    person: &PersonId,
    most: u64,
    most_bytes: u64,
) -> Result<usize, StoreError> {
    let held = tx.row(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM lines WHERE person = ?1",
        params![person.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.count()?, c.count()?))
        },
    )?;
    if held.is_none_or(|(lines, bytes)| lines <= most && bytes <= most_bytes) {
        return Ok(0);
    }
    let (mut lines, mut bytes, mut last) = (0, 0, None);
    tx.each(
        "SELECT seq, bytes FROM lines WHERE person = ?1 ORDER BY seq DESC",
        params![person.as_str()],
        |row| {
            let mut c = Columns::of(row);
            let seq = c.row_id()?;
            lines += 1;
            bytes += c.count()?;
            let fits = lines <= most && bytes <= most_bytes;
            if !fits {
                last = Some(seq);
            }
            Ok(fits)
        },
    )?;
    match last {
        Some(seq) => forget!(tx, "person = ?1 AND seq <= ?2", params![person.as_str(), seq]),
        None => Ok(0),
    }
}
