//! `notices`: what the person was told about and has or has not seen. A row copies no text of a message.
//! Spec: §8.2 "Notices", D3.27

use messaging_core::ids::{PersonId, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::shapes::{NoticeCategory, NoticeDevice};
use messaging_store::{Row, StoreError, Tx, View, params};
use serde_json::Value;

use super::columns::{Columns, Read};
use super::rooms::{Place, RoomKey};

/// One notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoticeRow {
    /// Derived from its source.
    pub(crate) id: String,
    pub(crate) category: NoticeCategory,
    pub(crate) place: Option<Place>,
    /// Who it comes from.
    pub(crate) person: Option<PersonId>,
    /// The line it is about.
    pub(crate) line: Option<Ulid>,
    /// The device it is about, as it was then.
    pub(crate) device: Option<NoticeDevice>,
    /// A fixed text.
    pub(crate) text: Option<String>,
    pub(crate) at: Ms,
}

const COLUMNS: &str = "id, category, room, person, line_id, device, text, at";

fn read(row: &Row<'_>) -> Read<NoticeRow> {
    let mut c = Columns::of(row);
    Ok(NoticeRow {
        id: c.text()?,
        category: c.word(category_of)?,
        place: c.value_or_none()?,
        person: c.value_or_none()?,
        line: c.value_or_none()?,
        device: c.json_or_none()?,
        text: c.text_or_none()?,
        at: c.ms()?,
    })
}

/// Files a notice, unless its id is here. Returns whether it is new.
pub(crate) fn file(tx: &mut Tx<'_>, row: &NoticeRow) -> Result<bool, StoreError> {
    let device = match &row.device {
        Some(device) => Some(serde_json::to_string(device).map_err(|_| StoreError::Other)?),
        None => None,
    };
    let filed = tx.execute(
        "INSERT INTO notices (id, category, room, person, line_id, device, text, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
        params![
            row.id,
            category_word(row.category),
            row.place.as_ref().map(Place::to_string),
            row.person.as_ref().map(PersonId::as_str),
            row.line.as_ref().map(Ulid::as_str),
            device,
            row.text,
            row.at.as_i64()
        ],
    )?;
    Ok(filed > 0)
}

/// The place of a notice in the order of filing, seen or not.
pub(crate) fn seq_of(view: &View<'_>, id: &str) -> Result<Option<i64>, StoreError> {
    view.row("SELECT seq FROM notices WHERE id = ?1", params![id], |row| row.get(0))
}

/// The notices not seen that were filed after `seq`, oldest first.
pub(crate) fn after(view: &View<'_>, seq: i64, limit: u32) -> Result<Vec<NoticeRow>, StoreError> {
    view.rows(
        &format!("SELECT {COLUMNS} FROM notices WHERE acked_at IS NULL AND seq > ?1 ORDER BY seq LIMIT ?2"),
        params![seq, limit],
        read,
    )
}

/// The notices not seen, newest first.
pub(crate) fn newest(view: &View<'_>, limit: u32) -> Result<Vec<NoticeRow>, StoreError> {
    view.rows(
        &format!("SELECT {COLUMNS} FROM notices WHERE acked_at IS NULL ORDER BY seq DESC LIMIT ?1"),
        params![limit],
        read,
    )
}

/// Marks a notice seen. Returns whether it was not.
pub(crate) fn ack(tx: &mut Tx<'_>, id: &str, at: Ms) -> Result<bool, StoreError> {
    let acked = tx.execute(
        "UPDATE notices SET acked_at = ?2 WHERE id = ?1 AND acked_at IS NULL",
        params![id, at.as_i64()],
    )?;
    Ok(acked > 0)
}

/// Forgets what happened in a room that is gone.
pub(crate) fn forget_room(tx: &mut Tx<'_>, room: &RoomKey) -> Result<(), StoreError> {
    tx.execute("DELETE FROM notices WHERE room = ?1", params![room.to_string()])?;
    Ok(())
}

/// How many requests wait for the person: asks and message requests that have not ended, and suggestions.
pub(crate) fn requests(view: &View<'_>, now: Ms) -> Result<u64, StoreError> {
    let count = view.row(
        "SELECT (SELECT count(*) FROM held WHERE exp > ?1)
           + (SELECT count(*) FROM contact_requests WHERE exp > ?1) + (SELECT count(*) FROM suggestions)",
        params![now.as_i64()],
        |row| Columns::of(row).count(),
    )?;
    Ok(count.unwrap_or_default())
}

fn category_word(category: NoticeCategory) -> &'static str {
    match category {
        NoticeCategory::Message => "message",
        NoticeCategory::Request => "request",
        NoticeCategory::Alert => "alert",
    }
}

fn category_of(word: &str) -> Option<NoticeCategory> {
    serde_json::from_value(Value::from(word)).ok()
}
