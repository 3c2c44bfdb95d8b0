//! `lines`: the transcript, one row a line, in the order in which this machine filed them.
//! Spec: §6.8 "Transcript", D3.20

use messaging_core::ids::Ulid;
use messaging_store::{StoreError, View, params};

use super::columns::Columns;

/// The text of a line.
pub(crate) fn text(view: &View<'_>, id: &Ulid) -> Result<Option<String>, StoreError> {
    view.row("SELECT text FROM lines WHERE id = ?1", params![id.as_str()], |row| {
        Columns::of(row).text()
    })
}

/// How many lines from others are not read, over every room.
pub(crate) fn unread_everywhere(view: &View<'_>) -> Result<u64, StoreError> {
    let count = view.row(
        "SELECT count(*) FROM lines LEFT JOIN read_cursors ON room = room_kind || ':' || room_id
         WHERE direction = 'in' AND seq > coalesce(up_to, 0)",
        (),
        |row| Columns::of(row).count(),
    )?;
    Ok(count.unwrap_or_default())
}
