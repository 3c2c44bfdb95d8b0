//! `lines`: the transcript, one row a line, in the order in which this machine filed them.
//! Spec: §6.8 "Transcript", "Order and read state"; D3.20
//!
//! Every line is found by its folded text through `lines_found`, which is kept here and only here.

mod end;
mod pages;
mod search;

use messaging_core::ids::{Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::shapes::{Direction, LineState};
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read, stored};
use super::kv;
use super::rooms::RoomKey;

pub(crate) use end::{bound, forget_left, forget_old, forget_room};
pub(crate) use pages::{Paging, changed_after, page, thread_of};
pub(crate) use search::{Looks, Terms, find};

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct LineRow {
    pub(crate) id: Ulid,
    /// Its place in this machine's order.
    pub(crate) seq: u64,
    /// The number of its latest change.
    pub(crate) change_seq: u64,
    pub(crate) room: RoomKey,
    pub(crate) person: PersonId,
    pub(crate) device: MachineId,
    pub(crate) label: Option<Label>,
    pub(crate) agent: Option<SessionName>,
    pub(crate) direction: Direction,
    pub(crate) text: String,
    /// The first line of its thread.
    pub(crate) thread: Option<Ulid>,
    /// The daemon wrote it.
    pub(crate) notice: bool,
    pub(crate) truncated: bool,
    pub(crate) state: Option<LineState>,
    pub(crate) refused: Vec<PersonId>,
    pub(crate) at: Ms,
    pub(crate) filed_at: Ms,
}

const COLUMNS: &str = "id, seq, change_seq, room_kind, room_id, person, device, label, agent, direction, text, thread,
  notice, truncated, state, refused, at, filed_at";

fn read(row: &Row<'_>) -> Read<LineRow> {
    let mut c = Columns::of(row);
    Ok(LineRow {
        id: c.value()?,
        seq: c.count()?,
        change_seq: c.count()?,
        room: c.room()?,
        person: c.value()?,
        device: c.value()?,
        label: c.value_or_none()?,
        agent: c.value_or_none()?,
        direction: c.word(direction_of)?,
        text: c.text()?,
        thread: c.value_or_none()?,
        notice: c.flag()?,
        truncated: c.flag()?,
        state: c.word_or_none(state_of)?,
        refused: c.json_or_none()?.unwrap_or_default(),
        at: c.ms()?,
        filed_at: c.ms()?,
    })
}

/// Takes the next number of a change. No number is used twice, whatever is deleted.
pub(crate) fn next_seq(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let seq = kv::number(tx, kv::CHAT_SEQ)? + 1;
    kv::set(tx, kv::CHAT_SEQ, &seq.to_string())?;
    Ok(seq)
}

/// Adds a line, which is found by `fold`.
pub(crate) fn insert(tx: &mut Tx<'_>, row: &LineRow, fold: &str) -> Result<(), StoreError> {
    let fold = search::indexed(fold);
    tx.execute(
        "INSERT INTO lines (id, seq, change_seq, room_kind, room_id, person, device, label, agent, direction, text,
           thread, notice, truncated, state, refused, at, filed_at, fold, bytes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        params![
            row.id.as_str(),
            stored(row.seq),
            stored(row.change_seq),
            row.room.kind(),
            row.room.id(),
            row.person.as_str(),
            row.device.as_str(),
            row.label.as_ref().map(Label::as_str),
            row.agent.as_ref().map(SessionName::as_str),
            direction_word(row.direction),
            row.text,
            row.thread.as_ref().map(Ulid::as_str),
            row.notice,
            row.truncated,
            row.state.map(state_word),
            refused_text(&row.refused)?,
            row.at.as_i64(),
            row.filed_at.as_i64(),
            fold,
            stored(row.text.len() as u64)
        ],
    )?;
    tx.execute(
        "INSERT INTO lines_found (rowid, fold) VALUES (?1, ?2)",
        params![stored(row.seq), fold],
    )?;
    Ok(())
}

/// The line called `id`.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<LineRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM lines WHERE id = ?1"), params![id.as_str()], read)
}

/// Writes how far a line came, under a new number of change.
pub(crate) fn set_state(tx: &mut Tx<'_>, row: &LineRow) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lines SET state = ?2, refused = ?3, change_seq = ?4 WHERE id = ?1",
        params![
            row.id.as_str(),
            row.state.map(state_word),
            refused_text(&row.refused)?,
            stored(row.change_seq)
        ],
    )?;
    Ok(())
}

fn refused_text(refused: &[PersonId]) -> Result<Option<String>, StoreError> {
    if refused.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(refused).map(Some).map_err(|_| StoreError::Other)
}

fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
    }
}

fn direction_of(word: &str) -> Option<Direction> {
    [Direction::In, Direction::Out].into_iter().find(|direction| direction_word(*direction) == word)
}

/// The stored word of a line's state, and of one copy's.
pub(super) fn state_word(state: LineState) -> &'static str {
    match state {
        LineState::Sent => "sent",
        LineState::Held => "held",
        LineState::Delivered => "delivered",
        LineState::Refused => "refused",
    }
}

fn state_of(word: &str) -> Option<LineState> {
    [LineState::Sent, LineState::Held, LineState::Delivered, LineState::Refused]
        .into_iter()
        .find(|state| state_word(*state) == word)
}
