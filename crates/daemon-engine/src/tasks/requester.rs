//! The requester's side of a task: it follows what the executor says, and knows when a request never arrived.
//! Spec: §6.2, §8.2 "Failed delivery of a task request", W4.8, D3.15, D8 A27

use messaging_core::code::{Code, Failure};
use messaging_core::envelope::SealedType;
use messaging_core::ids::Ulid;
use messaging_core::payload::Payload;
use messaging_core::stage::Stage;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::event::TaskChange;
use messaging_ipc::shapes::{A2aObject, TaskRole};
use messaging_store::StoreError;
use serde_json::{Map, Value, json};

use super::{MOST_ARTIFACTS, REQUESTER_BYTES, artifacts, executor, view};
use crate::engine::DaemonEngine;
use crate::outbound::{self, Letter, Target};
use crate::store::sent::SentRow;
use crate::store::sessions::SessionRow;
use crate::store::tasks::{self, Contents, Delivery, Piece, TaskRow};
use crate::subscriptions;
use crate::work::{Step, Work};

/// The record of a task that a session of this machine asked for.
pub(crate) fn of(work: &Work<'_, '_>, task: &Ulid) -> Result<Option<TaskRow>, StoreError> {
    tasks::get(work.tx, task, TaskRole::Requester)
}

/// Records a task that a session asks for by its call.
pub(crate) fn begin(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    contents: &Contents,
) -> Result<(), StoreError> {
    tasks::insert(work.tx, row, contents, None)?;
    subscriptions::task(engine, work, row, None, Some(row.session))
}

/// The status of a request that was not sent, or not delivered. Fixed by §8.2.
pub(crate) fn undelivered(
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    code: Option<Code>,
    at: Ms,
) -> (TaskState, Value) {
    let (state, text) = match code {
        Some(code) => (TaskState::Rejected, format!("delivery rejected: {}", code.as_str())),
        None => (TaskState::Failed, EXPIRED.to_owned()),
    };
    (state, super::own_status(work, row, state, &text, at))
}

/// How far the request got. One that never arrived ends the task.
pub(crate) fn delivery(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    sent: &SentRow,
) -> Result<(), StoreError> {
    let Some(task) = &sent.task_id else { return Ok(()) };
    let Some(mut row) = of(work, task)?.filter(|row| row.request_id == sent.id) else {
        return Ok(());
    };
    let at = work.wall();
    row.delivery = Some(Delivery { stage: sent.stage, code: sent.code, at });
    if row.state != TaskState::Submitted || !sent.stage.is_final() {
        return tasks::update(work.tx, &row);
    }
    let code = sent.code.filter(|_| sent.stage == Stage::Rejected);
    let at = super::next_change(&row, at);
    let (state, status) = undelivered(work, &row, code, at);
    set_status(&mut row, state, status);
    row.updated_at = at;
    tasks::update(work.tx, &row)?;
    let change = TaskChange::Status { status: view::status(&row.status)?, metadata: None };
    subscriptions::task(engine, work, &row, Some(change), None)
}

/// What an update of the executor's came to.
type Taken = Result<(), Code>;

/// Takes a status that the executor sent at `ts`. A straggler changes nothing.
///
/// Errors: `too_large` past the bounds of a record; a status that ends the task is then taken without its words.
pub(crate) fn status(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    mut row: TaskRow,
    status: Value,
    metadata: Option<Map<String, Value>>,
    ts: Ms,
) -> Result<Taken, StoreError> {
    let Some(state) = status.get("state").and_then(Value::as_str).and_then(TaskState::parse) else {
        return Ok(Err(Code::InvalidRequest));
    };
    let is_older = ts < row.touched_at && !state.is_terminal();
    if is_older || !standing(&row).may_become(state) {
        return Ok(Ok(()));
    }
    let full = row.clone();
    set_status(&mut row, state, status);
    if row.bytes > REQUESTER_BYTES {
        if !state.is_terminal() {
            return Ok(Err(Code::TooLarge));
        }
        row = full;
        set_status(&mut row, state, super::status(state, None, ts));
    }
    row.updated_at = super::next_change(&row, work.wall());
    row.touched_at = ts;
    tasks::update(work.tx, &row)?;
    let metadata = metadata.map(A2aObject::new);
    let change = TaskChange::Status { status: view::status(&row.status)?, metadata };
    subscriptions::task(engine, work, &row, Some(change), None)?;
    Ok(Ok(()))
}

/// Takes a result, or a piece of one, that the executor sent at `ts`. One that was sent after the task ended changes
/// nothing.
///
/// Errors: `too_large` past the bounds of a record.
pub(crate) fn artifact(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    mut row: TaskRow,
    artifact: Value,
    [append, last_chunk]: [bool; 2],
    ts: Ms,
) -> Result<Taken, StoreError> {
    if standing(&row).is_terminal() && ts > row.touched_at {
        return Ok(Ok(()));
    }
    let mut pieces = tasks::contents(work.tx, &row)?.artifacts;
    let before = artifacts::weight(&pieces);
    let event = TaskChange::Artifact { artifact: view::object(&artifact)?, append, last_chunk };
    artifacts::put(&mut pieces, Piece { ts, append, artifact });
    row.bytes = row.bytes.saturating_sub(before).saturating_add(artifacts::weight(&pieces));
    if row.bytes > REQUESTER_BYTES || artifacts::count(&pieces) > MOST_ARTIFACTS {
        return Ok(Err(Code::TooLarge));
    }
    row.updated_at = super::next_change(&row, work.wall());
    tasks::set_artifacts(work.tx, &row, &pieces)?;
    tasks::update(work.tx, &row)?;
    subscriptions::task(engine, work, &row, Some(event), None)?;
    Ok(Ok(()))
}

/// The executor is a session of this machine: its update is taken at once.
pub(crate) fn told_here(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    executor: &TaskRow,
    kind: SealedType,
    payload: &Value,
    ts: Ms,
) -> Result<(), StoreError> {
    let row = of(work, &executor.id)?.filter(|row| row.request_id == executor.request_id);
    let (Some(row), Ok(read)) = (row, Payload::read(kind, payload)) else { return Ok(()) };
    // Nothing is under way here: what is said now is the newest, whatever became of the clock.
    let ts = ts.max(row.touched_at.plus(1));
    // What it weighs was checked on the executor's side.
    match read {
        Payload::TaskStatus(update) => {
            let said = payload.get("status").cloned().unwrap_or_default();
            status(engine, work, row, said, update.metadata, ts).map(drop)
        }
        Payload::TaskArtifact(update) => {
            let made = payload.get("artifact").cloned().unwrap_or_default();
            let ts = artifacts::next(&tasks::contents(work.tx, &row)?.artifacts, ts);
            artifact(engine, work, row, made, [update.append, update.last_chunk], ts).map(drop)
        }
        Payload::Message(_) | Payload::Receipt(_) | Payload::TaskCancel(_) => Ok(()),
    }
}

/// Asks the executor to end a task; the executor's status ends it here. Returns the record, and whether anything was asked.
///
/// A task whose executor's machine was removed can only end here. Errors: those of sealing.
pub(crate) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    session: &SessionRow,
    mut row: TaskRow,
    reason: Option<&str>,
) -> Step<(TaskRow, bool)> {
    if row.state.is_terminal() {
        return Ok((row, false));
    }
    if engine.is_me(&row.peer_device) {
        subscriptions::task(engine, work, &row, None, Some(session.id))?;
        if let Some(executor) = executor::of(work, &row.id)? {
            executor::cancel(engine, work, executor, reason)?;
        }
        let row = of(work, &row.id)?.unwrap_or(row);
        return Ok((row, true));
    }
    if engine.realm.member(&row.peer_device).is_none() {
        let at = super::next_change(&row, work.wall());
        set_status(&mut row, TaskState::Canceled, super::status(TaskState::Canceled, None, at));
        row.updated_at = at;
        tasks::update(work.tx, &row)?;
        let change = TaskChange::Status { status: view::status(&row.status)?, metadata: None };
        subscriptions::task(engine, work, &row, Some(change), Some(session.id))?;
        return Ok((row, false));
    }
    let mut payload = json!({"taskId": row.id.as_str()});
    if let Some(reason) = reason {
        payload["reason"] = reason.into();
    }
    let to = Target {
        person: row.peer_person.clone(),
        device: row.peer_device,
        label: row.peer_label.clone(),
        agent: None,
    };
    let letter = Letter {
        kind: SealedType::TaskCancel,
        from_agent: Some(&session.name),
        to: &to,
        reply_to: Some(row.request_id),
        payload: &payload,
        at: work.wall(),
    };
    let sealed = outbound::seal_letter(engine, work, &letter)?;
    outbound::post_about(engine, work, &to, SealedType::TaskCancel, &row, sealed)?;
    subscriptions::task(engine, work, &row, None, Some(session.id))?;
    Ok((row, true))
}

/// The state that the executor's next word is judged by. That a request expired is what this machine concluded; an
/// executor that speaks nevertheless had received it.
fn standing(row: &TaskRow) -> TaskState {
    let text = row.status.pointer("/message/parts/0/text").and_then(Value::as_str);
    let concluded = row.state == TaskState::Failed
        && row.delivery.is_some_and(|delivery| delivery.stage == Stage::Expired)
        && text == Some(EXPIRED);
    if concluded { TaskState::Submitted } else { row.state }
}

fn set_status(row: &mut TaskRow, state: TaskState, status: Value) {
    let (before, after) = (super::length(&row.status), super::length(&status));
    row.bytes = row.bytes.saturating_sub(before).saturating_add(after);
    row.state = state;
    row.status = status;
}

/// Whether a session may go on with a task that it asked for.
///
/// Errors: `not_found` for a task that is not known here, `invalid_state` for one of another session or one that has ended.
pub(crate) fn open_of(work: &Work<'_, '_>, session: &SessionRow, task: &Ulid) -> Step<TaskRow> {
    let row = owned(work, session, task)?;
    if row.state.is_terminal() {
        return Err(Failure::new(Code::InvalidState, "the task has ended").into());
    }
    Ok(row)
}

/// The record of a task that a session asked for.
///
/// Errors: `not_found` for a task that is not known here, `invalid_state` for one of another session.
pub(crate) fn owned(work: &Work<'_, '_>, session: &SessionRow, task: &Ulid) -> Step<TaskRow> {
    match of(work, task)? {
        Some(row) if row.session == session.id => Ok(row),
        None if executor::of(work, task)?.is_none() => {
            Err(Failure::new(Code::NotFound, "no such task").into())
        }
        _ => {
            let words = "only the session that asked for the task may do that";
            Err(Failure::new(Code::InvalidState, words).into())
        }
    }
}

/// What the record of a request says that nobody received in time. Fixed by §8.2.
const EXPIRED: &str = "delivery failed: expired";
