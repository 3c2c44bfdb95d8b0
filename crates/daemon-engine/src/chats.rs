//! The person's conversations: lines are filed, numbered and told of here, whoever wrote them.
//! Spec: §6.8 "Transcript", "Order and read state"; D3.19, D3.20
//!
//! `post` writes a line of this machine and its copies, `delivery` follows the copies, `channels` changes channels, `view`
//! shows lines and rooms; what others send comes in through `inbound`.

mod channels;
mod delivery;
mod fold;
mod pace;
mod post;
mod view;

use messaging_core::ids::{Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::event::{ConvChange, Event};
use messaging_ipc::shapes::{Direction, LineState};
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::store::lines::{self, LineRow};
use crate::store::rooms::RoomKey;
use crate::work::Work;
use crate::{notices, subscriptions};

pub(crate) use channels::{Applied, apply, create, drop_gone, forget_rest, invite, leave, remove};
pub(crate) use delivery::{advance, expire, gone, receipt};
pub(crate) use fold::fold;
pub(crate) use pace::Pace;
pub(crate) use post::{Draft, write};
pub(crate) use view::{Names, conversation, conversations, find, known, line, unread};

/// A line before it has its place.
pub(crate) struct NewLine {
    pub(crate) id: Ulid,
    pub(crate) room: RoomKey,
    pub(crate) person: PersonId,
    pub(crate) device: MachineId,
    pub(crate) label: Option<Label>,
    pub(crate) agent: Option<SessionName>,
    pub(crate) direction: Direction,
    pub(crate) text: String,
    pub(crate) thread: Option<Ulid>,
    /// Whether the daemon wrote it.
    pub(crate) notice: bool,
    pub(crate) truncated: bool,
    pub(crate) state: Option<LineState>,
    pub(crate) at: Ms,
    /// Whether the person is not told of it.
    pub(crate) silent: bool,
}

/// Files a line at the end of its room, and tells of it.
pub(crate) fn file(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    new: NewLine,
) -> Result<LineRow, StoreError> {
    let seq = lines::next_seq(work.tx)?;
    // A line of somebody whose lines are muted is filed, and silent: it makes no notice, as it makes no sound. Spec: §6.9
    let tells = new.direction == Direction::In && !new.notice && !new.silent;
    let row = LineRow {
        id: new.id,
        seq,
        change_seq: seq,
        room: new.room,
        person: new.person,
        device: new.device,
        label: new.label,
        agent: new.agent,
        direction: new.direction,
        text: new.text,
        thread: new.thread,
        notice: new.notice,
        truncated: new.truncated,
        state: new.state,
        refused: Vec::new(),
        at: new.at,
        filed_at: work.wall(),
    };
    lines::insert(work.tx, &row, &fold(&row.text))?;
    if row.seq.is_multiple_of(BOUND_EVERY) {
        lines::bound(work.tx, &row.person, PERSON_LINES, PERSON_BYTES)?;
    }
    changed(engine, work, &row)?;
    if tells {
        notices::line(engine, work, &row.id, row.room.clone(), &row.person)?;
    }
    Ok(row)
}

/// Tells the followers of the conversations of a line's latest change.
fn changed(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &LineRow,
) -> Result<(), StoreError> {
    if let Some(event) = event(&mut Names::default(), work, row)? {
        subscriptions::conv(engine, work, &event);
    }
    Ok(())
}

/// The event of a line's latest change; none when its channel is gone.
pub(crate) fn event(
    names: &mut Names,
    work: &Work<'_, '_>,
    row: &LineRow,
) -> Result<Option<Event>, StoreError> {
    let Some(conversation) = names.room(work.tx, &row.room)? else { return Ok(None) };
    let change = if row.notice {
        ConvChange::Channel
    } else if row.change_seq == row.seq {
        ConvChange::Line
    } else {
        ConvChange::State
    };
    Ok(Some(Event::Conv {
        conversation,
        id: Some(row.id),
        person: row.person.clone(),
        seq: row.change_seq,
        change,
        deleted: None,
    }))
}

/// Counting a person's lines costs a walk over all of them: it is done with one line in so many.
const BOUND_EVERY: u64 = 16;
/// Lines of one person that are kept.
const PERSON_LINES: u64 = 10_000;
/// Bytes of one person's lines that are kept.
const PERSON_BYTES: u64 = 16 << 20;
