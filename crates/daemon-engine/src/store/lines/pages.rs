//! Pages of a room or of a thread, and what changed after a number.
//! Spec: §8.2 `conv.read`, "Resuming"; D3.20

use messaging_core::ids::Ulid;
use messaging_store::{StoreError, View, params};

use super::{COLUMNS, LineRow, read};
use crate::store::columns::{Columns, stored};
use crate::store::rooms::RoomKey;

/// Where a page begins, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    /// The latest lines below a number.
    Before(u64),
    /// The earliest lines above a number.
    After(u64),
}

/// At most `limit` lines of a room, or of one thread of it, oldest first.
pub(crate) fn page(
    view: &View<'_>,
    room: &RoomKey,
    thread: Option<&Ulid>,
    paging: Paging,
    limit: u32,
) -> Result<Vec<LineRow>, StoreError> {
    let (bound, seq, order) = match paging {
        Paging::Before(seq) => ("<", seq, "DESC"),
        Paging::After(seq) => (">", seq, "ASC"),
    };
    let in_room = format!("room_kind = ?1 AND room_id = ?2 AND seq {bound} ?3");
    let mut lines = match thread {
        None => view.rows(
            &format!("SELECT {COLUMNS} FROM lines WHERE {in_room} ORDER BY seq {order} LIMIT ?4"),
            params![room.kind(), room.id(), stored(seq), limit],
            read,
        )?,
        // The first line does not name itself.
        Some(thread) => view.rows(
            &format!(
                "SELECT {COLUMNS} FROM lines WHERE seq IN (
                   SELECT seq FROM (SELECT seq FROM lines WHERE thread = ?5 AND {in_room} ORDER BY seq {order} LIMIT ?4)
                   UNION SELECT seq FROM lines WHERE id = ?5 AND {in_room})
                 ORDER BY seq {order} LIMIT ?4"
            ),
            params![room.kind(), room.id(), stored(seq), limit, thread.as_str()],
            read,
        )?,
    };
    if matches!(paging, Paging::Before(_)) {
        lines.reverse();
    }
    Ok(lines)
}

/// The first line of the thread that a line of a room is in; none when no line of the room is in it.
pub(crate) fn thread_of(
    view: &View<'_>,
    room: &RoomKey,
    line: &Ulid,
) -> Result<Option<Ulid>, StoreError> {
    let known = view.row(
        "SELECT coalesce(thread, id) FROM lines WHERE id = ?1 AND room_kind = ?2 AND room_id = ?3",
        params![line.as_str(), room.kind(), room.id()],
        |row| Columns::of(row).value(),
    )?;
    if known.is_some() {
        return Ok(known);
    }
    // Its first line was forgotten, or was written before this person joined.
    view.row(
        "SELECT thread FROM lines WHERE thread = ?1 AND room_kind = ?2 AND room_id = ?3 LIMIT 1",
        params![line.as_str(), room.kind(), room.id()],
        |row| Columns::of(row).value(),
    )
}

/// At most `limit` lines that changed after a number, oldest change first.
pub(crate) fn changed_after(
    view: &View<'_>,
    since: u64,
    limit: u32,
) -> Result<Vec<LineRow>, StoreError> {
    view.rows(
        &format!("SELECT {COLUMNS} FROM lines WHERE change_seq > ?1 ORDER BY change_seq LIMIT ?2"),
        params![stored(since), limit],
        read,
    )
}
