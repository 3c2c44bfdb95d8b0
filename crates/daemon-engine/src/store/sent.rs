//! `sent`: what became of each message that this machine sent. What it said stands in `sent_text`, if it is kept.
//! Spec: §8.4, D3.14

use messaging_core::code::Code;
use messaging_core::envelope::SealedType;
use messaging_core::ids::{Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde::{Deserialize, Serialize};

use super::columns::{Columns, Read};
use super::sessions::SessionId;

/// One step of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) stage: Stage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<Code>,
    pub(crate) at: Ms,
}

/// A message that this machine sent.
#[derive(Clone, Debug)]
pub(crate) struct SentRow {
    pub(crate) id: Ulid,
    /// The session that sent it; none when the daemon or the person did.
    pub(crate) session: Option<SessionId>,
    pub(crate) session_name: Option<SessionName>,
    pub(crate) to_person: PersonId,
    pub(crate) to_device: MachineId,
    pub(crate) to_label: Label,
    pub(crate) to_agent: Option<SessionName>,
    pub(crate) r#type: SealedType,
    pub(crate) message_id: String,
    pub(crate) context_id: String,
    pub(crate) task_id: Option<Ulid>,
    pub(crate) reply_to: Option<Ulid>,
    pub(crate) stage: Stage,
    pub(crate) code: Option<Code>,
    /// One step for each stage reached, in order.
    pub(crate) history: Vec<Step>,
    pub(crate) ts: Ms,
    pub(crate) exp: Ms,
}

const COLUMNS: &str =
    "id, session_id, session_name, to_person, to_device, to_label, to_agent, type, message_id,
  context_id, task_id, reply_to, stage, code, history, ts, exp";

fn read(row: &Row<'_>) -> Read<SentRow> {
    let mut c = Columns::of(row);
    Ok(SentRow {
        id: c.value()?,
        session: c.row_id_or_none()?.map(SessionId),
        session_name: c.value_or_none()?,
        to_person: c.value()?,
        to_device: c.value()?,
        to_label: c.value()?,
        to_agent: c.value_or_none()?,
        r#type: c.word(SealedType::parse)?,
        message_id: c.text()?,
        context_id: c.text()?,
        task_id: c.value_or_none()?,
        reply_to: c.value_or_none()?,
        stage: c.word(Stage::parse)?,
        code: c.word_or_none(Code::parse)?,
        history: c.json()?,
        ts: c.ms()?,
        exp: c.ms()?,
    })
}

/// Adds a message that was just accepted.
pub(crate) fn insert(tx: &mut Tx<'_>, row: &SentRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO sent (id, session_id, session_name, to_person, to_device, to_label, to_agent, type, message_id,
           context_id, task_id, reply_to, stage, code, history, ts, exp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            row.id.as_str(),
            row.session.map(|session| session.0),
            row.session_name.as_ref().map(SessionName::as_str),
            row.to_person.as_str(),
            row.to_device.as_str(),
            row.to_label.as_str(),
            row.to_agent.as_ref().map(SessionName::as_str),
            row.r#type.as_str(),
            row.message_id,
            row.context_id,
            row.task_id.as_ref().map(Ulid::as_str),
            row.reply_to.as_ref().map(Ulid::as_str),
            row.stage.as_str(),
            row.code.map(Code::as_str),
            history_text(&row.history)?,
            row.ts.as_i64(),
            row.exp.as_i64()
        ],
    )?;
    Ok(())
}

/// The message that was sent as envelope `id`.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<SentRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM sent WHERE id = ?1"), params![id.as_str()], read)
}

/// Writes a row's stage, code and history, and since when nothing more is expected.
pub(crate) fn set_stage(
    tx: &mut Tx<'_>,
    row: &SentRow,
    settled_at: Option<Ms>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sent SET stage = ?2, code = ?3, history = ?4, settled_at = ?5 WHERE id = ?1",
        params![
            row.id.as_str(),
            row.stage.as_str(),
            row.code.map(Code::as_str),
            history_text(&row.history)?,
            settled_at.map(Ms::as_i64)
        ],
    )?;
    Ok(())
}

/// What a relay took and nobody received, or what nobody answered, before its time ran out, at or before `before`, the
/// oldest first.
pub(crate) fn overdue(view: &View<'_>, before: Ms, limit: usize) -> Result<Vec<Ulid>, StoreError> {
    view.rows(
        "SELECT id FROM sent WHERE settled_at IS NULL AND stage IN ('relayed', 'held') AND exp <= ?1 ORDER BY exp LIMIT ?2",
        params![before.as_i64(), i64::try_from(limit).unwrap_or(i64::MAX)],
        |row| Columns::of(row).value(),
    )
}

/// The tasks of which an update expired at `at`.
pub(crate) fn unheard(view: &View<'_>, at: Ms) -> Result<Vec<Ulid>, StoreError> {
    view.rows(
        "SELECT DISTINCT task_id FROM sent
         WHERE settled_at = ?1 AND stage = 'expired' AND type IN ('task.status', 'task.artifact')
         ORDER BY task_id",
        params![at.as_i64()],
        |row| Columns::of(row).value(),
    )
}

/// A page of what a session sent to agents, newest first. Unanswered is what was shown and not replied to; what belongs to a
/// task, as long as its executor has not said since how the task stands.
pub(crate) fn page(
    view: &View<'_>,
    session: SessionId,
    unanswered: bool,
    before: Option<(Ms, &Ulid)>,
    limit: usize,
) -> Result<Vec<SentRow>, StoreError> {
    let (at, id) = match before {
        Some((at, id)) => (at.as_i64(), Some(id.as_str())),
        None => (i64::MAX, None),
    };
    // A cursor whose message is gone still has its time.
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM sent WHERE session_id = ?1 AND type = 'message' AND to_agent IS NOT NULL
               AND (?2 = 0 OR (stage IN ('handed_to_agent', 'read') AND (task_id IS NULL OR EXISTS (
                 SELECT 1 FROM tasks WHERE tasks.id = sent.task_id AND role = 'requester' AND touched_at < sent.ts
                   AND state NOT IN
                     ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')))))
               AND (ts < ?3 OR (ts = ?3 AND rowid < (SELECT rowid FROM sent WHERE id = ?4)))
             ORDER BY ts DESC, rowid DESC LIMIT ?5"
        ),
        params![session.0, unanswered, at, id, i64::try_from(limit).unwrap_or(i64::MAX)],
        read,
    )
}

/// The messages that a session of this machine sent about a task after its request, newest first.
pub(crate) fn follow_ups(
    view: &View<'_>,
    task: &Ulid,
    request: &Ulid,
    limit: usize,
) -> Result<Vec<SentRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM sent WHERE task_id = ?1 AND id <> ?2 AND type = 'message'
             ORDER BY ts DESC, rowid DESC LIMIT ?3"
        ),
        params![task.as_str(), request.as_str(), i64::try_from(limit).unwrap_or(i64::MAX)],
        read,
    )
}

fn history_text(history: &[Step]) -> Result<String, StoreError> {
    serde_json::to_string(history).map_err(|_| StoreError::Other)
}
