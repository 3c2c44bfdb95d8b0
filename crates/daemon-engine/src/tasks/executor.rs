//! The executor's side of a task: it alone says how the work stands.
//! Spec: §6.2, §6.3, D3.15

use std::collections::BTreeSet;

use messaging_core::code::{Code, Failure};
use messaging_core::envelope::SealedType;
use messaging_core::ids::{MachineId, SessionName, Ulid};
use messaging_core::jcs;
use messaging_core::limits::{PLAINTEXT_BYTES, TASK_INPUT_TIMEOUT_MS};
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::event::TaskChange;
use messaging_ipc::shapes::{A2aObject, TaskRole};
use messaging_store::StoreError;
use serde_json::{Map, Value, json};

use super::{EXECUTOR_BYTES, MOST_ARTIFACTS, artifacts, view};
use crate::engine::DaemonEngine;
use crate::outbound::{self, Letter, Sealed, Target};
use crate::store::sent;
use crate::store::sessions::SessionId;
use crate::store::tasks::{self, Contents, Piece, TaskRow};
use crate::subscriptions;
use crate::tasks::requester;
use crate::work::{Step, Work, judged};

/// What an executor reports: a state, a result or a piece of one, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// The new state with what is said about it: the parts of a message.
    pub(crate) state: Option<(TaskState, Option<Value>)>,
    pub(crate) artifact: Option<Artifact>,
    /// Free members, of the status when there is one, else of the artifact.
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// A result, or a piece of one.
#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    /// The A2A artifact.
    pub(crate) value: Value,
    /// Whether its parts follow those before.
    pub(crate) append: bool,
    /// Whether nothing follows, as far as the executor says.
    pub(crate) last_chunk: Option<bool>,
}

/// Who reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By<'a> {
    /// The session that works; none when the daemon speaks for it.
    pub(crate) agent: Option<&'a SessionName>,
    /// The session whose call this is.
    pub(crate) caller: Option<SessionId>,
}

/// The daemon itself.
pub(crate) const DAEMON: By<'static> = By { agent: None, caller: None };

/// Records a task that this machine was asked to do.
pub(crate) fn begin(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    contents: &Contents,
    grants: &Value,
) -> Result<(), StoreError> {
    tasks::insert(work.tx, row, contents, Some(grants))?;
    subscriptions::task(engine, work, row, None, None)
}

/// Whether a task's state may become another, and takes a result now.
///
/// Errors: `invalid_state`.
pub(crate) fn check(
    row: &TaskRow,
    next: Option<TaskState>,
    has_artifact: bool,
) -> Result<(), Failure> {
    if has_artifact && !row.state.takes_artifact(next) {
        let words = "a task takes artifacts until it ends, and with its completion";
        return Err(Failure::new(Code::InvalidState, words));
    }
    if next.is_some_and(|next| !row.state.may_become(next)) {
        return Err(Failure::new(Code::InvalidState, "the task's state does not allow that"));
    }
    Ok(())
}

/// One change on its way: what the record becomes, and what the requester's machine is told.
struct Change {
    kind: SealedType,
    payload: Value,
    event: TaskChange,
}

/// Writes a report and tells the requester, a result before the state that it comes with.
///
/// Errors: `invalid_state` when the state may not follow, or takes no result; `too_large` past the bounds of a record or a
/// message. Nothing is written then. A requester that is no member any more is not told.
pub(crate) fn report(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut row: TaskRow,
    report: Report,
    by: By<'_>,
) -> Step<TaskRow> {
    let next = report.state.as_ref().map(|(state, _)| *state);
    check(&row, next, report.artifact.is_some())?;
    let at = super::next_change(&row, work.wall());
    let mut metadata = report.metadata;
    let mut changes = Vec::new();
    let mut pieces = None;
    if let Some(artifact) = report.artifact {
        let free = if next.is_none() { metadata.take() } else { None };
        pieces = Some(add(work, &mut row, &artifact, at)?);
        changes.push(artifact_change(&row, artifact, free)?);
    }
    if let Some((state, parts)) = report.state {
        let message = parts.map(|parts| super::status_message(work.ulid(), &row, parts));
        let status = super::status(state, message, at);
        set_status(&mut row, state, status);
        changes.push(status_change(&row, metadata)?);
    }
    if row.bytes > EXECUTOR_BYTES {
        return Err(Failure::new(Code::TooLarge, "the task's record is full").into());
    }
    row.updated_at = at;
    row.touched_at = at;
    let sealed = seal(engine, work, &row, &changes, by, at)?;
    tasks::update(work.tx, &row)?;
    if let Some(pieces) = pieces {
        tasks::set_artifacts(work.tx, &row, &pieces)?;
    }
    for (change, sealed) in changes.into_iter().zip(sealed) {
        subscriptions::task(engine, work, &row, Some(change.event), by.caller)?;
        match sealed {
            Told::Sealed(sealed) => {
                outbound::post_about(engine, work, &target(&row), change.kind, &row, sealed)?;
            }
            Told::Here => {
                requester::told_here(engine, work, &row, change.kind, &change.payload, at)?
            }
            Told::Nobody => {}
        }
    }
    Ok(row)
}

/// The requester wants no more of a task. One that has ended stays as it is.
pub(crate) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    row: TaskRow,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    if row.state.is_terminal() {
        return Ok(());
    }
    let parts = reason.filter(|text| !text.is_empty()).map(|text| json!([{"text": text}]));
    end(engine, work, row, TaskState::Canceled, parts)
}

/// Tells the requester of a task that it was cancelled while its person had not been heard: there is no record of it here.
pub(crate) fn never_began(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    requester: &MachineId,
    (task, request, context): (&Ulid, &Ulid, &str),
) -> Result<(), StoreError> {
    let Some(to) = engine.realm.member(requester).map(|member| Target::of(member, None)) else {
        return Ok(());
    };
    let at = work.wall();
    let status = super::status(TaskState::Canceled, None, at);
    let payload = json!({"taskId": task.as_str(), "contextId": context, "status": status});
    let letter = Letter {
        kind: SealedType::TaskStatus,
        from_agent: None,
        to: &to,
        reply_to: Some(*request),
        payload: &payload,
        at,
    };
    judged(outbound::post(engine, work, &letter))?.ok();
    Ok(())
}

/// Ends the tasks that wait for somebody and were left alone for a day.
pub(crate) fn time_out(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(), StoreError> {
    let before = work.wall().minus(TASK_INPUT_TIMEOUT_MS);
    for row in tasks::abandoned(work.tx, before)? {
        end(engine, work, row, TaskState::Failed, Some(json!([{"text": TIMED_OUT}])))?;
    }
    Ok(())
}

/// Says once more, from the beginning, how those tasks stand of which an update has just expired: a requester that was away
/// for longer than envelopes live still learns the end.
pub(crate) fn repeat(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    for task in sent::unheard(work.tx, work.wall())? {
        if let Some(row) = of(work, &task)? {
            judged(say_again(engine, work, &row))?.ok();
        }
    }
    Ok(())
}

fn say_again(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, row: &TaskRow) -> Step<()> {
    let mut known = BTreeSet::new();
    let mut changes = Vec::new();
    for piece in tasks::contents(work.tx, row)?.artifacts {
        let id = piece.artifact.get("artifactId").cloned().unwrap_or_default().to_string();
        // The first piece replaces whatever had arrived.
        let append = !known.insert(id);
        let artifact = Artifact { value: piece.artifact, append, last_chunk: None };
        changes.push(artifact_change(row, artifact, None)?);
    }
    if row.state != TaskState::Submitted {
        changes.push(status_change(row, None)?);
    }
    let mut at = super::next_change(row, work.wall());
    let mut letters = Vec::new();
    for change in changes {
        for sealed in seal(engine, work, row, std::slice::from_ref(&change), DAEMON, at)? {
            letters.push((change.kind, sealed));
        }
        at = at.plus(1);
    }
    for (kind, told) in letters {
        if let Told::Sealed(sealed) = told {
            outbound::post_about(engine, work, &target(row), kind, row, sealed)?;
        }
    }
    Ok(())
}

/// The daemon ends a task. Its own words always fit; a record that is full says less.
fn end(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    row: TaskRow,
    state: TaskState,
    parts: Option<Value>,
) -> Result<(), StoreError> {
    let full = row.clone();
    let said = Report { state: Some((state, parts)), ..Report::default() };
    if judged(report(engine, work, row, said, DAEMON))?.is_err() {
        let bare = Report { state: Some((state, None)), ..Report::default() };
        judged(report(engine, work, full, bare, DAEMON))?.ok();
    }
    Ok(())
}

/// Somebody did something about a task that waits: its day begins again.
pub(crate) fn touch(work: &mut Work<'_, '_>, row: &mut TaskRow) -> Result<(), StoreError> {
    row.updated_at = super::next_change(row, work.wall());
    row.touched_at = row.updated_at;
    tasks::update(work.tx, row)
}

fn add(work: &Work<'_, '_>, row: &mut TaskRow, artifact: &Artifact, at: Ms) -> Step<Vec<Piece>> {
    let mut pieces = tasks::contents(work.tx, row)?.artifacts;
    let before = artifacts::weight(&pieces);
    let ts = artifacts::next(&pieces, at);
    let piece = Piece { ts, append: artifact.append, artifact: artifact.value.clone() };
    artifacts::put(&mut pieces, piece);
    if artifacts::count(&pieces) > MOST_ARTIFACTS {
        return Err(Failure::new(Code::TooLarge, "a task holds at most 64 artifacts").into());
    }
    row.bytes = row.bytes.saturating_sub(before).saturating_add(artifacts::weight(&pieces));
    Ok(pieces)
}

fn set_status(row: &mut TaskRow, state: TaskState, status: Value) {
    let (before, after) = (super::length(&row.status), super::length(&status));
    row.bytes = row.bytes.saturating_sub(before).saturating_add(after);
    row.state = state;
    row.status = status;
}

fn artifact_change(
    row: &TaskRow,
    artifact: Artifact,
    metadata: Option<Map<String, Value>>,
) -> Result<Change, StoreError> {
    let Artifact { value, append, last_chunk } = artifact;
    let mut payload = Map::new();
    payload.insert("taskId".into(), row.id.as_str().into());
    payload.insert("contextId".into(), row.context_id.as_str().into());
    payload.insert("artifact".into(), value.clone());
    if append {
        payload.insert("append".into(), true.into());
    }
    if let Some(last_chunk) = last_chunk {
        payload.insert("lastChunk".into(), last_chunk.into());
    }
    if let Some(metadata) = metadata {
        payload.insert("metadata".into(), Value::Object(metadata));
    }
    let event = TaskChange::Artifact {
        artifact: view::object(&value)?,
        append,
        last_chunk: last_chunk.unwrap_or_default(),
    };
    Ok(Change { kind: SealedType::TaskArtifact, payload: Value::Object(payload), event })
}

fn status_change(
    row: &TaskRow,
    metadata: Option<Map<String, Value>>,
) -> Result<Change, StoreError> {
    let mut payload = Map::new();
    payload.insert("taskId".into(), row.id.as_str().into());
    payload.insert("contextId".into(), row.context_id.as_str().into());
    payload.insert("status".into(), row.status.clone());
    if let Some(metadata) = &metadata {
        payload.insert("metadata".into(), Value::Object(metadata.clone()));
    }
    let event = TaskChange::Status {
        status: view::status(&row.status)?,
        metadata: metadata.map(A2aObject::new),
    };
    Ok(Change { kind: SealedType::TaskStatus, payload: Value::Object(payload), event })
}

/// How a change reaches the requester.
enum Told {
    Sealed(Sealed),
    /// The requester is a session of this machine.
    Here,
    /// The requester's machine is gone.
    Nobody,
}

/// Seals what is to be said, all of it before any of it is written.
fn seal(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    changes: &[Change],
    by: By<'_>,
    at: Ms,
) -> Step<Vec<Told>> {
    let to = target(row);
    let here = engine.is_me(&row.peer_device);
    let gone = engine.realm.member(&row.peer_device).is_none();
    let mut told = Vec::new();
    for change in changes {
        if jcs::canonical(&change.payload)?.len() > PLAINTEXT_BYTES {
            return Err(Failure::new(Code::TooLarge, "the update is larger than a message").into());
        }
        told.push(if here {
            Told::Here
        } else if gone {
            Told::Nobody
        } else {
            let letter = Letter {
                kind: change.kind,
                from_agent: by.agent,
                to: &to,
                reply_to: Some(row.request_id),
                payload: &change.payload,
                at,
            };
            Told::Sealed(outbound::seal_letter(engine, work, &letter)?)
        });
    }
    Ok(told)
}

/// The requester's machine. Task updates name no session.
fn target(row: &TaskRow) -> Target {
    Target {
        person: row.peer_person.clone(),
        device: row.peer_device,
        label: row.peer_label.clone(),
        agent: None,
    }
}

/// The record of a task that this machine executes.
pub(crate) fn of(work: &Work<'_, '_>, task: &Ulid) -> Result<Option<TaskRow>, StoreError> {
    tasks::get(work.tx, task, TaskRole::Executor)
}

/// What the record of a task says that was left alone. Fixed by §6.3.
const TIMED_OUT: &str = "timed out waiting for input";
