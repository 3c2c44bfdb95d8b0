//! `task.*`.
//! Spec: §6.2, §6.3, §8.2 "task.update", D1.7 rows 14 to 17, D3.15

use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_ipc::params::task::{ArtifactParam, Cancel, Get, ListTasks, Update};
use messaging_ipc::results::task::{Cancelled, OneTask, TaskPage};
use messaging_ipc::shapes::TaskRole;
use messaging_store::StoreError;
use serde_json::{Map, Value, json};

use super::{Answer, Call, Handled, field};
use crate::engine::DaemonEngine;
use crate::store::sessions::SessionRow;
use crate::store::tasks::{self, Filter, Place, TaskRow};
use crate::tasks::executor::{Artifact, By, Report};
use crate::tasks::{executor, requester, view};
use crate::work::{Halt, Step, Work};

/// One task of a session; of two roles, the executor's unless the other is asked for.
pub(super) fn get(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Get,
) -> Handled<OneTask> {
    let session = call.session()?.id;
    let both = [TaskRole::Executor, TaskRole::Requester];
    for role in both.into_iter().filter(|role| params.role.is_none_or(|asked| asked == *role)) {
        let row = tasks::get(work.tx, &params.task_id, role)?;
        if let Some(row) = row.filter(|row| row.session == session) {
            return Ok(Answer::Now(OneTask { task: view::record(work.tx, &row)? }));
        }
    }
    Err(unknown())
}

/// A page of a session's tasks, most recently updated first.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: ListTasks,
) -> Handled<TaskPage> {
    let filter = Filter {
        session: call.session()?.id,
        role: params.role,
        states: params.state.as_deref(),
        context_id: params.context_id.as_ref().map(|id| id.as_str()),
        peer: params.peer.as_ref(),
        updated_after: params.updated_after,
    };
    let after = params.cursor.as_ref().map(|cursor| place(cursor.as_str())).transpose()?;
    let limit = params.limit.as_usize();
    // One more than asked for says whether there are more.
    let mut rows = tasks::page(work.tx, &filter, after.as_ref(), limit + 1)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = match rows.last() {
        Some(last) if more => Some(cursor(last)?),
        _ => None,
    };
    Ok(Answer::Now(TaskPage {
        tasks: rows.iter().map(view::item).collect::<Result<_, _>>()?,
        total: tasks::count(work.tx, &filter)?,
        next_cursor,
    }))
}

/// The executor reports.
pub(super) fn update(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Update,
) -> Handled<OneTask> {
    let session = call.session()?;
    let row = executed(work, session, &params.task_id)?;
    executor::check(&row, params.state, params.artifact.is_some())?;
    call.refuse_secrets(work)?;
    let state = params.state.map(|state| (state, params.message.map(|parts| json!(parts))));
    let artifact = params.artifact.map(|artifact| Artifact {
        value: self::artifact(work, artifact),
        append: params.append,
        last_chunk: params.last_chunk,
    });
    let metadata = params.metadata.map(|metadata| metadata.into_members());
    let report = Report { state, artifact, metadata };
    let by = By { agent: Some(&session.name), caller: Some(session.id) };
    let row = executor::report(engine, work, row, report, by)?;
    Ok(Answer::Now(OneTask { task: view::record(work.tx, &row)? }))
}

/// The requester gives up. The record follows the executor's word, as ever.
pub(super) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Cancel,
) -> Handled<Cancelled> {
    let session = call.session()?;
    let row = requester::owned(work, session, &params.task_id)?;
    call.refuse_secrets(work)?;
    let reason = params.reason.as_ref().map(|reason| reason.as_str());
    let (row, sent) = requester::cancel(engine, work, session, row, reason)?;
    Ok(Answer::Now(Cancelled { task: view::record(work.tx, &row)?, sent }))
}

/// The record of a task that a session executes.
///
/// Errors: `not_found` for a task that is not known here, `invalid_state` for one of another session.
fn executed(work: &Work<'_, '_>, session: &SessionRow, task: &Ulid) -> Step<TaskRow> {
    match executor::of(work, task)? {
        Some(row) if row.session == session.id => Ok(row),
        None if requester::of(work, task)?.is_none() => Err(unknown()),
        _ => {
            let words = "only the session that executes the task may do that";
            Err(Halt::refused(Code::InvalidState, words))
        }
    }
}

/// The A2A artifact of a call.
fn artifact(work: &mut Work<'_, '_>, params: ArtifactParam) -> Value {
    let id = match &params.artifact_id {
        Some(id) => id.as_str().to_owned(),
        None => work.ulid().to_string(),
    };
    let mut artifact = Map::new();
    artifact.insert("artifactId".into(), id.into());
    if let Some(name) = &params.name {
        artifact.insert("name".into(), name.as_str().into());
    }
    if let Some(description) = &params.description {
        artifact.insert("description".into(), description.as_str().into());
    }
    artifact.insert("parts".into(), json!(params.parts));
    if let Some(metadata) = params.metadata {
        artifact.insert("metadata".into(), Value::Object(metadata.into_members()));
    }
    if let Some(extensions) = &params.extensions {
        artifact.insert("extensions".into(), json!(extensions));
    }
    Value::Object(artifact)
}

fn cursor(last: &TaskRow) -> Result<String, StoreError> {
    let place = Place { updated_at: last.updated_at, id: last.id, role: last.role };
    let text = serde_json::to_vec(&place).map_err(|_| StoreError::Other)?;
    Ok(b64::encode(&text))
}

fn place(cursor: &str) -> Step<Place> {
    let bytes = b64::decode(cursor).ok();
    bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| field("cursor", "it names no place in a list of tasks"))
}

fn unknown() -> Halt {
    Halt::refused(Code::NotFound, "no such task of this session")
}
