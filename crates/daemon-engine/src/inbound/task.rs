//! Task requests and what follows them, each bound to the machine that may say it.
//! Spec: §5 "Counterpart binding", §6.1, §6.2, §6.7; W4.8, D3.15, D3.16

use messaging_core::code::Code;
use messaging_core::delegation::{Hop, verify_chain};
use messaging_core::envelope::Envelope;
use messaging_core::ids::{PersonId, SessionAddress, Ulid};
use messaging_core::jcs;
use messaging_core::payload::{TaskArtifactUpdate, TaskCancel, TaskStatusUpdate};
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::roster::Member;
use messaging_core::task::TaskState;
use messaging_ipc::shapes::TaskRole;
use messaging_store::StoreError;
use serde_json::Value;

use super::file::{Admitted, Arrived, Filed, Tie, Verdict, admit, keep};
use crate::consent::holds;
use crate::engine::DaemonEngine;
use crate::receipts;
use crate::store::tasks::{Contents, TaskRow};
use crate::tasks::{self, executor, follow_ups, requester};
use crate::work::{Work, judged};

/// A request to do a task.
pub(super) fn request(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
    id: &Ulid,
) -> Result<Filed, StoreError> {
    if executor::of(work, id)?.is_some() {
        return Ok(Err(Code::InvalidRequest));
    }
    match admit(engine, work, letter, Tie::ByReply)? {
        Verdict::In(admitted) => begin(engine, work, letter, admitted, id, true),
        Verdict::Hold { sender, session } => {
            // A chain that does not hold now is refused now: the person is asked nothing in vain.
            match verified_chain(engine, work, letter, &sender, id) {
                Ok(_) => holds::keep(engine, work, &letter.asked(&session)),
                Err(code) => Ok(Err(code)),
            }
        }
        Verdict::Refuse(code) => Ok(Err(code)),
    }
}

/// Begins a task that was let in, once its chain holds.
pub(super) fn begin(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
    admitted: Admitted,
    id: &Ulid,
    tells: bool,
) -> Result<Filed, StoreError> {
    let chain = match verified_chain(engine, work, letter, &admitted.sender, id) {
        Ok(chain) => chain,
        Err(code) => return Ok(Err(code)),
    };
    let (row, contents) = record(work, letter, &admitted, *id, &chain);
    let grants = letter.raw.get("delegation").cloned().unwrap_or_default();
    // The item first: whoever hears of the task can read it.
    keep(engine, work, letter, admitted, Some(chain), tells)?;
    executor::begin(engine, work, &row, &contents, &grants)?;
    Ok(Ok(()))
}

/// The summary of the chain that a request came with, once every grant of it holds.
fn verified_chain(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
    sender: &Member,
    id: &Ulid,
) -> Result<Value, Code> {
    let chain = letter.raw.get("delegation").ok_or(Code::InvalidRequest)?;
    let view = engine.realm.view().ok_or(Code::NotMember)?;
    let me = engine.ready().map_err(|failure| failure.code)?.me;
    let from = SessionAddress::new(&PersonId::from(&sender.person), letter.from, &sender.label);
    let to = SessionAddress::new(&PersonId::from(&me.person), letter.to, &me.label);
    let hop = Hop { device: &sender.machine, from: &from, to: &to, task: id };
    let summary = verify_chain(chain, &view, &hop, work.wall()).map_err(|failure| failure.code)?;
    jcs::to_value(&summary).map_err(|failure| failure.code)
}

fn record(
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
    admitted: &Admitted,
    id: Ulid,
    chain: &Value,
) -> (TaskRow, Contents) {
    let message = &letter.payload.message;
    let at = work.wall();
    let status = tasks::submitted(at);
    let contents = Contents {
        request: admitted.message.clone(),
        follow_ups: Vec::new(),
        artifacts: Vec::new(),
    };
    let row = TaskRow {
        id,
        role: TaskRole::Executor,
        session: admitted.session.id,
        session_name: admitted.session.name.clone(),
        peer_person: PersonId::from(&admitted.sender.person),
        peer_device: admitted.sender.machine,
        peer_label: admitted.sender.label.clone(),
        peer_agent: letter.from.clone(),
        context_id: message.context().as_str().to_owned(),
        request_id: letter.envelope.id,
        title: tasks::title(message.texts()),
        state: TaskState::Submitted,
        bytes: tasks::weight(&contents, &status),
        status,
        delivery: None,
        chain: Some(chain.clone()),
        created_at: at,
        updated_at: at,
        touched_at: at,
    };
    (row, contents)
}

/// A further message about a task: from the machine that asked for it, and from no other.
pub(super) fn follow_up(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
    id: &Ulid,
) -> Result<Filed, StoreError> {
    let known = executor::of(work, id)?;
    let Some(row) = known.filter(|row| row.peer_device == letter.envelope.from.device) else {
        return Ok(Err(Code::NotFound));
    };
    let admitted = match admit(engine, work, letter, Tie::FollowUp)? {
        Verdict::In(admitted) => admitted,
        // An answer is never held.
        Verdict::Hold { .. } => return Ok(Err(Code::Refused)),
        Verdict::Refuse(code) => return Ok(Err(code)),
    };
    let taken = match judged(follow_ups::admit(work, row, letter.to, &admitted.message))? {
        Ok(taken) => taken,
        Err(refusal) => return Ok(Err(refusal.as_code())),
    };
    keep(engine, work, letter, admitted, None, true)?;
    follow_ups::arrived(engine, work, taken)?;
    Ok(Ok(()))
}

/// The executor says how a task stands.
pub(super) fn status(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    update: &TaskStatusUpdate,
    raw: &Value,
) -> Result<Filed, StoreError> {
    let row = match bound(work, envelope, &update.task_id)? {
        Ok(row) => row,
        Err(code) => return Ok(Err(code)),
    };
    let status = raw.get("status").cloned().unwrap_or_default();
    let metadata = update.metadata.clone();
    match requester::status(engine, work, row, status, metadata, envelope.ts)? {
        Ok(()) => stored(engine, work, envelope).map(Ok),
        Err(code) => Ok(Err(code)),
    }
}

/// The executor sends a result, or a piece of one.
pub(super) fn artifact(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    update: &TaskArtifactUpdate,
    raw: &Value,
) -> Result<Filed, StoreError> {
    let row = match bound(work, envelope, &update.task_id)? {
        Ok(row) => row,
        Err(code) => return Ok(Err(code)),
    };
    let artifact = raw.get("artifact").cloned().unwrap_or_default();
    let how = [update.append, update.last_chunk];
    match requester::artifact(engine, work, row, artifact, how, envelope.ts)? {
        Ok(()) => stored(engine, work, envelope).map(Ok),
        Err(code) => Ok(Err(code)),
    }
}

/// The record that an update is about: it comes from the machine that was asked, and names the request.
fn bound(
    work: &Work<'_, '_>,
    envelope: &Envelope,
    task: &Ulid,
) -> Result<Result<TaskRow, Code>, StoreError> {
    let known = requester::of(work, task)?;
    let Some(row) = known.filter(|row| row.peer_device == envelope.from.device) else {
        return Ok(Err(Code::NotFound));
    };
    let about = envelope.sealed().and_then(|sealed| sealed.reply_to);
    if about != Some(row.request_id) {
        return Ok(Err(Code::InvalidRequest));
    }
    Ok(Ok(row))
}

/// The requester wants no more of a task.
pub(super) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    cancel: &TaskCancel,
) -> Result<Filed, StoreError> {
    let device = &envelope.from.device;
    let known = executor::of(work, &cancel.task_id)?;
    let Some(row) = known.filter(|row| row.peer_device == *device) else {
        if holds::cancel(engine, work, device, &cancel.task_id)? {
            return stored(engine, work, envelope).map(Ok);
        }
        return Ok(Err(Code::NotFound));
    };
    let reason = cancel.reason.as_ref().map(|reason| reason.as_str());
    executor::cancel(engine, work, row, reason)?;
    stored(engine, work, envelope).map(Ok)
}

/// Tells the sender that its envelope is stored here.
fn stored(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
) -> Result<(), StoreError> {
    let receipt = Receipt::of(envelope.id, ReceiptStage::Delivered);
    receipts::send(engine, work, &envelope.from.device, &receipt)
}
