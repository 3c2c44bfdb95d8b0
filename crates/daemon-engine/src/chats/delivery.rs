//! What became of the copies of a line: each settles once, and together they tell how far the line came.
//! Spec: §6.8 "Delivery", D3.19

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, PersonId, Ulid};
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::stage::Stage;
use messaging_ipc::shapes::{Direction, LineState};
use messaging_store::StoreError;

use super::{NewLine, changed, file};
use crate::engine::DaemonEngine;
use crate::store::channels;
use crate::store::copies::{self, CopyRow, CopyState};
use crate::store::lines::{self, LineRow};
use crate::store::rooms::RoomKey;
use crate::work::Work;

/// What the relay or the clock did to an envelope, should it carry a line.
pub(crate) fn advance(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Ulid,
    stage: Stage,
    code: Option<Code>,
) -> Result<(), StoreError> {
    let state = match stage {
        Stage::Rejected => CopyState::Rejected,
        Stage::Expired => CopyState::Expired,
        // That it is on the relay changes nothing, and the rest is its recipient's word.
        _ => return Ok(()),
    };
    match copies::get(work.tx, envelope)? {
        Some(copy) => settle(engine, work, copy, state, code),
        None => Ok(()),
    }
}

/// Applies a receipt that `from` signed. Returns whether it is about a copy that was sent there.
pub(crate) fn receipt(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    from: &MachineId,
    receipt: &Receipt,
) -> Result<bool, StoreError> {
    let Some(copy) = copies::get(work.tx, &receipt.reference)? else { return Ok(false) };
    if copy.device != *from {
        return Ok(false);
    }
    let state = match receipt.stage {
        ReceiptStage::Delivered => CopyState::Delivered,
        ReceiptStage::Held => CopyState::Held,
        ReceiptStage::Rejected => CopyState::Rejected,
        // Nobody hands a line to an agent.
        ReceiptStage::HandedToAgent | ReceiptStage::Read => return Ok(true),
    };
    settle(engine, work, copy, state, receipt.code)?;
    Ok(true)
}

/// A machine is no member any more: what waits for it will not come.
pub(crate) fn gone(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    machine: &MachineId,
) -> Result<(), StoreError> {
    for copy in copies::open_to(work.tx, machine)? {
        settle(engine, work, copy, CopyState::Rejected, Some(Code::NotMember))?;
    }
    Ok(())
}

/// Ends the copies that nobody confirmed in time.
pub(crate) fn expire(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    for copy in copies::overdue(work.tx, work.wall().minus(CLOCK_SKEW_MS), AT_ONCE)? {
        settle(engine, work, copy, CopyState::Expired, None)?;
    }
    Ok(())
}

fn settle(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut copy: CopyRow,
    state: CopyState,
    code: Option<Code>,
) -> Result<(), StoreError> {
    if copy.state.is_settled() || copy.state == state {
        return Ok(());
    }
    copy.state = state;
    copy.code = code;
    copies::set_state(work.tx, &copy)?;
    review(engine, work, &copy.line, &copy.person)
}

/// Looks at a line again after a copy to `person` changed.
pub(super) fn review(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    line: &Ulid,
    person: &PersonId,
) -> Result<(), StoreError> {
    let Some(row) = lines::get(work.tx, line)? else { return Ok(()) };
    let copies = copies::of_line(work.tx, line)?;
    let others: Vec<&CopyRow> = copies.iter().filter(|copy| copy.person != row.person).collect();
    if row.notice {
        refused_change(engine, work, &row, person, &others)
    } else {
        state(engine, work, row, &others)
    }
}

/// How far a line came: to everybody, not to somebody, or neither yet.
fn state(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    mut row: LineRow,
    others: &[&CopyRow],
) -> Result<(), StoreError> {
    if row.state.is_none() {
        return Ok(());
    }
    // Those of one person stand together.
    let persons: Vec<&[&CopyRow]> = others.chunk_by(|a, b| a.person == b.person).collect();
    let refused: Vec<PersonId> = persons
        .iter()
        .filter(|copies| copies.iter().all(|copy| copy.state.failed()))
        .filter_map(|copies| copies.first().map(|copy| copy.person.clone()))
        .collect();
    let any = |copies: &&[&CopyRow], state| copies.iter().any(|copy| copy.state == state);
    let open = || persons.iter().filter(|copies| !any(copies, CopyState::Delivered));
    let state = if !refused.is_empty() {
        LineState::Refused
    } else if open().next().is_none() {
        LineState::Delivered
    } else if open().all(|copies| any(copies, CopyState::Held)) {
        LineState::Held
    } else {
        LineState::Sent
    };
    if row.state == Some(state) && row.refused == refused {
        return Ok(());
    }
    row.state = Some(state);
    row.refused = refused;
    row.change_seq = lines::next_seq(work.tx)?;
    lines::set_state(work.tx, &row)?;
    changed(engine, work, &row)
}

/// Says in the channel that a change of it reached no machine of a person.
fn refused_change(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    change: &LineRow,
    person: &PersonId,
    others: &[&CopyRow],
) -> Result<(), StoreError> {
    let mut theirs = others.iter().filter(|copy| copy.person == *person).peekable();
    if theirs.peek().is_none() || !theirs.clone().all(|copy| copy.state.failed()) {
        return Ok(());
    }
    let RoomKey::Channel(id) = &change.room else { return Ok(()) };
    let Some(name) = channels::local_name(work.tx, id)? else { return Ok(()) };
    let code = theirs.find_map(|copy| copy.code).map_or("expired", Code::as_str);
    let line = NewLine {
        id: work.ulid(),
        room: change.room.clone(),
        person: change.person.clone(),
        device: change.device,
        label: change.label.clone(),
        agent: None,
        direction: Direction::Out,
        text: format!("#{name} reached no device of {person}: {code}"),
        thread: None,
        notice: true,
        truncated: false,
        state: None,
        at: work.wall(),
        silent: true,
    };
    file(engine, work, line).map(drop)
}

/// How many are ended in one turn.
const AT_ONCE: u32 = 500;
