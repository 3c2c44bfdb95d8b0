//! `tasks`: the records of work between agents, each side's own.
//! Spec: §6.3, D3.15, D3.29
//!
//! A row is read without its contents, which may be large; what each side keeps in `touched_at` is its own: see
//! [`TaskRow::touched_at`].

use messaging_core::code::Code;
use messaging_core::ids::{Label, MachineId, PersonId, SessionAddress, SessionName, Ulid};
use messaging_core::stage::Stage;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::shapes::TaskRole;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::{Columns, Read, stored};
use super::sessions::SessionId;

/// A task as one side has it, without its contents.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    pub(crate) id: Ulid,
    pub(crate) role: TaskRole,
    /// This side's session.
    pub(crate) session: SessionId,
    pub(crate) session_name: SessionName,
    pub(crate) peer_person: PersonId,
    pub(crate) peer_device: MachineId,
    pub(crate) peer_label: Label,
    pub(crate) peer_agent: SessionName,
    pub(crate) context_id: String,
    /// The envelope of the request.
    pub(crate) request_id: Ulid,
    /// The start of the request's text, as its author wrote it.
    pub(crate) title: String,
    pub(crate) state: TaskState,
    /// The A2A status as it came, or as it was sent.
    pub(crate) status: Value,
    /// How far the request got; the requester's side only.
    pub(crate) delivery: Option<Delivery>,
    /// The summary of the delegation chain, as JSON.
    pub(crate) chain: Option<Value>,
    /// What the contents weigh, bytes of JSON.
    pub(crate) bytes: u64,
    pub(crate) created_at: Ms,
    /// When it last changed: later with every change, so that lists and updates keep their order.
    pub(crate) updated_at: Ms,
    /// The executor's side: when anybody last did something about the task. The requester's: when the executor sent the
    /// status that stands here.
    pub(crate) touched_at: Ms,
}

/// How far a request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) stage: Stage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<Code>,
    pub(crate) at: Ms,
}

/// What a task holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contents {
    /// The request's A2A message.
    pub(crate) request: Value,
    /// The requester's further messages, in order.
    pub(crate) follow_ups: Vec<Value>,
    /// The pieces of its artifacts.
    pub(crate) artifacts: Vec<Piece>,
}

/// An artifact, or a piece of one, as its executor sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// When it was sent.
    pub(crate) ts: Ms,
    /// Whether its parts follow those before.
    pub(crate) append: bool,
    /// The A2A artifact.
    pub(crate) artifact: Value,
}

/// Which tasks a list is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) session: SessionId,
    pub(crate) role: Option<TaskRole>,
    pub(crate) states: Option<&'a [TaskState]>,
    pub(crate) context_id: Option<&'a str>,
    pub(crate) peer: Option<&'a SessionAddress>,
    pub(crate) updated_after: Option<Ms>,
}

/// Where a page of a list ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// When the last task of the page was updated.
    #[serde(rename = "u")]
    pub(crate) updated_at: Ms,
    /// The last task of the page.
    pub(crate) id: Ulid,
    /// The part that the session has in it: it may have both.
    #[serde(rename = "r")]
    pub(crate) role: TaskRole,
}

/// The stored word of a role.
pub(crate) const fn role_word(role: TaskRole) -> &'static str {
    match role {
        TaskRole::Requester => "requester",
        TaskRole::Executor => "executor",
    }
}

fn role_of(text: &str) -> Option<TaskRole> {
    [TaskRole::Requester, TaskRole::Executor].into_iter().find(|role| role_word(*role) == text)
}

const COLUMNS: &str = "id, role, session_id, session_name, peer_person, peer_device, peer_label, peer_agent, context_id,
  request_id, title, state, status, delivery, chain, bytes, created_at, updated_at, touched_at";

fn read(row: &Row<'_>) -> Read<TaskRow> {
    let mut c = Columns::of(row);
    Ok(TaskRow {
        id: c.value()?,
        role: c.word(role_of)?,
        session: SessionId(c.row_id()?),
        session_name: c.value()?,
        peer_person: c.value()?,
        peer_device: c.value()?,
        peer_label: c.value()?,
        peer_agent: c.value()?,
        context_id: c.text()?,
        request_id: c.value()?,
        title: c.text()?,
        state: c.word(TaskState::parse)?,
        status: c.any_json()?,
        delivery: c.json_or_none()?,
        chain: c.json_or_none()?,
        bytes: c.count()?,
        created_at: c.ms()?,
        updated_at: c.ms()?,
        touched_at: c.ms()?,
    })
}

/// Adds a task with what it holds, and the signed chain that a delegation goes on with (the executor's side only).
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    row: &TaskRow,
    contents: &Contents,
    grants: Option<&Value>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO tasks (id, role, session_id, session_name, peer_person, peer_device, peer_label, peer_agent,
           context_id, request_id, title, state, status, request, history, artifacts, delivery, chain, grants, bytes,
           created_at, updated_at, touched_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
           ?23)",
        params![
            row.id.as_str(),
            role_word(row.role),
            row.session.0,
            row.session_name.as_str(),
            row.peer_person.as_str(),
            row.peer_device.as_str(),
            row.peer_label.as_str(),
            row.peer_agent.as_str(),
            row.context_id,
            row.request_id.as_str(),
            row.title,
            row.state.as_str(),
            row.status.to_string(),
            contents.request.to_string(),
            json_text(&contents.follow_ups)?,
            json_text(&contents.artifacts)?,
            row.delivery.map(|delivery| json_text(&delivery)).transpose()?,
            row.chain.as_ref().map(Value::to_string),
            grants.map(Value::to_string),
            stored(row.bytes),
            row.created_at.as_i64(),
            row.updated_at.as_i64(),
            row.touched_at.as_i64()
        ],
    )?;
    Ok(())
}

/// One side's record of a task.
pub(crate) fn get(
    view: &View<'_>,
    id: &Ulid,
    role: TaskRole,
) -> Result<Option<TaskRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1 AND role = ?2"),
        params![id.as_str(), role_word(role)],
        read,
    )
}

/// What a task holds.
pub(crate) fn contents(view: &View<'_>, row: &TaskRow) -> Result<Contents, StoreError> {
    let found = view.row(
        "SELECT request, history, artifacts FROM tasks WHERE id = ?1 AND role = ?2",
        params![row.id.as_str(), role_word(row.role)],
        |row| {
            let mut c = Columns::of(row);
            Ok(Contents { request: c.any_json()?, follow_ups: c.json()?, artifacts: c.json()? })
        },
    )?;
    found.ok_or(StoreError::Corrupt)
}

/// The signed chain under which this machine executes a task, root first.
pub(crate) fn grants(view: &View<'_>, row: &TaskRow) -> Result<Option<Value>, StoreError> {
    let found = view.row(
        "SELECT grants FROM tasks WHERE id = ?1 AND role = ?2",
        params![row.id.as_str(), role_word(row.role)],
        |row| Columns::of(row).json_or_none(),
    )?;
    Ok(found.flatten())
}

/// Writes everything that changes about a task but what it holds.
pub(crate) fn update(tx: &mut Tx<'_>, row: &TaskRow) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET state = ?3, status = ?4, delivery = ?5, bytes = ?6, updated_at = ?7, touched_at = ?8
         WHERE id = ?1 AND role = ?2",
        params![
            row.id.as_str(),
            role_word(row.role),
            row.state.as_str(),
            row.status.to_string(),
            row.delivery.map(|delivery| json_text(&delivery)).transpose()?,
            stored(row.bytes),
            row.updated_at.as_i64(),
            row.touched_at.as_i64()
        ],
    )?;
    Ok(())
}

/// Writes the pieces of a task's artifacts.
pub(crate) fn set_artifacts(
    tx: &mut Tx<'_>,
    row: &TaskRow,
    pieces: &[Piece],
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET artifacts = ?3 WHERE id = ?1 AND role = ?2",
        params![row.id.as_str(), role_word(row.role), json_text(pieces)?],
    )?;
    Ok(())
}

/// Writes the requester's further messages.
pub(crate) fn set_follow_ups(
    tx: &mut Tx<'_>,
    row: &TaskRow,
    messages: &[Value],
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET history = ?3 WHERE id = ?1 AND role = ?2",
        params![row.id.as_str(), role_word(row.role), json_text(messages)?],
    )?;
    Ok(())
}

/// The tasks that this machine executes, that wait for somebody, and that nobody has touched since `before`.
pub(crate) fn abandoned(view: &View<'_>, before: Ms) -> Result<Vec<TaskRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM tasks WHERE state IN (?1, ?2) AND role = 'executor' AND touched_at <= ?3
             ORDER BY touched_at"
        ),
        params![
            TaskState::InputRequired.as_str(),
            TaskState::AuthRequired.as_str(),
            before.as_i64()
        ],
        read,
    )
}

/// What a filter selects; the states stand as one text, each between commas.
const FILTER: &str = "session_id = ?1 AND (?2 IS NULL OR role = ?2) AND (?3 IS NULL OR instr(?3, ',' || state || ',') > 0)
  AND (?4 IS NULL OR context_id = ?4)
  AND (?5 IS NULL OR peer_person || '/' || peer_agent || '@' || peer_label = ?5) AND updated_at >= ?6";

/// A page of tasks after a place, most recently updated first.
pub(crate) fn page(
    view: &View<'_>,
    filter: &Filter<'_>,
    after: Option<&Place>,
    limit: usize,
) -> Result<Vec<TaskRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM tasks WHERE {FILTER}
               AND (?7 IS NULL OR (updated_at, id, role) < (?7, ?8, ?9))
             ORDER BY updated_at DESC, id DESC, role DESC LIMIT ?10"
        ),
        params![
            filter.session.0,
            filter.role.map(role_word),
            state_list(filter.states),
            filter.context_id,
            filter.peer.map(SessionAddress::as_str),
            filter.updated_after.map_or(0, Ms::as_i64),
            after.map(|place| place.updated_at.as_i64()),
            after.map(|place| place.id.as_str()),
            after.map(|place| role_word(place.role)),
            i64::try_from(limit).unwrap_or(i64::MAX)
        ],
        read,
    )
}

/// How many tasks a filter selects.
pub(crate) fn count(view: &View<'_>, filter: &Filter<'_>) -> Result<u64, StoreError> {
    let row = view.row(
        &format!("SELECT count(*) FROM tasks WHERE {FILTER}"),
        params![
            filter.session.0,
            filter.role.map(role_word),
            state_list(filter.states),
            filter.context_id,
            filter.peer.map(SessionAddress::as_str),
            filter.updated_after.map_or(0, Ms::as_i64)
        ],
        |row| Columns::of(row).count(),
    )?;
    Ok(row.unwrap_or_default())
}

fn state_list(states: Option<&[TaskState]>) -> Option<String> {
    let words: Vec<&str> = states?.iter().map(|state| state.as_str()).collect();
    Some(format!(",{},", words.join(",")))
}

fn json_text(value: &(impl Serialize + ?Sized)) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Other)
}
