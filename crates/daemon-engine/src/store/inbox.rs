//! `inbox`: mail and task requests that were taken for a session of this machine.
//! Spec: §8.2 "Inbox", D3.8, D3.29

use messaging_core::ids::{Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde_json::Value;

use super::columns::{Columns, Read, stored};
use super::sessions::SessionId;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// Mail, or a message that goes on with a task.
    Message,
    /// A task request.
    Task,
}

impl ItemKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Task => "task",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Message, Self::Task].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// An item, without its message.
#[derive(Clone, Debug)]
pub(crate) struct InboxRow {
    /// The order of arrival; 0 in a row that is not stored yet.
    pub(crate) seq: i64,
    /// The envelope's id.
    pub(crate) id: Ulid,
    pub(crate) from_device: MachineId,
    pub(crate) from_person: PersonId,
    pub(crate) from_label: Label,
    pub(crate) from_agent: Option<SessionName>,
    pub(crate) session: SessionId,
    pub(crate) session_name: SessionName,
    pub(crate) kind: ItemKind,
    pub(crate) message_id: String,
    pub(crate) context_id: String,
    pub(crate) task_id: Option<Ulid>,
    pub(crate) reply_to: Option<Ulid>,
    /// The start of its text, as the peer wrote it.
    pub(crate) preview: String,
    /// Parts that are not text.
    pub(crate) attachments: u64,
    /// How the sender stands to this person: `self`, `guarded` or `trusted`.
    pub(crate) consent: Option<String>,
    /// Whether the session asked to be woken for it.
    pub(crate) wake: bool,
    /// The summary of a task's delegation chain, as JSON.
    pub(crate) chain: Option<Value>,
    /// `delivered`, `handed_to_agent` or `read`.
    pub(crate) stage: Stage,
    /// What it counts against the sender's quota.
    pub(crate) bytes: u64,
    /// When the sender wrote it.
    pub(crate) ts: Ms,
    pub(crate) arrived_at: Ms,
    pub(crate) exp: Ms,
}

const COLUMNS: &str = "seq, id, from_device, from_person, from_label, from_agent, session_id, session_name, kind,
  message_id, context_id, task_id, reply_to, preview, attachments, consent, wake, chain, stage, bytes, ts, arrived_at,
  exp";

fn read(row: &Row<'_>) -> Read<InboxRow> {
    let mut c = Columns::of(row);
    Ok(InboxRow {
        seq: c.row_id()?,
        id: c.value()?,
        from_device: c.value()?,
        from_person: c.value()?,
        from_label: c.value()?,
        from_agent: c.value_or_none()?,
        session: SessionId(c.row_id()?),
        session_name: c.value()?,
        kind: c.word(ItemKind::parse)?,
        message_id: c.text()?,
        context_id: c.text()?,
        task_id: c.value_or_none()?,
        reply_to: c.value_or_none()?,
        preview: c.text()?,
        attachments: c.count()?,
        consent: c.text_or_none()?,
        wake: c.flag()?,
        chain: c.json_or_none()?,
        stage: c.word(Stage::parse)?,
        bytes: c.count()?,
        ts: c.ms()?,
        arrived_at: c.ms()?,
        exp: c.ms()?,
    })
}

/// Files an item with its message (JSON text, provenance written).
pub(crate) fn insert(tx: &mut Tx<'_>, row: &InboxRow, message: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO inbox (id, from_device, from_person, from_label, from_agent, session_id, session_name, kind,
           message_id, context_id, task_id, reply_to, preview, attachments, consent, wake, chain, stage, bytes, ts,
           arrived_at, exp, message)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
           ?23)",
        params![
            row.id.as_str(),
            row.from_device.as_str(),
            row.from_person.as_str(),
            row.from_label.as_str(),
            row.from_agent.as_ref().map(SessionName::as_str),
            row.session.0,
            row.session_name.as_str(),
            row.kind.as_str(),
            row.message_id,
            row.context_id,
            row.task_id.as_ref().map(Ulid::as_str),
            row.reply_to.as_ref().map(Ulid::as_str),
            row.preview,
            stored(row.attachments),
            row.consent,
            row.wake,
            row.chain.as_ref().map(Value::to_string),
            row.stage.as_str(),
            stored(row.bytes),
            row.ts.as_i64(),
            row.arrived_at.as_i64(),
            row.exp.as_i64(),
            message
        ],
    )?;
    Ok(())
}

/// The item of envelope `id`, whoever holds it.
pub(crate) fn by_id(view: &View<'_>, id: &Ulid) -> Result<Option<InboxRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM inbox WHERE id = ?1"), params![id.as_str()], read)
}

/// Whether an item of the session was not handed to anybody yet.
pub(crate) fn waits_for(
    view: &View<'_>,
    session: SessionId,
    id: &Ulid,
) -> Result<bool, StoreError> {
    let row = view.row(
        "SELECT 1 FROM inbox WHERE id = ?1 AND session_id = ?2 AND stage = 'delivered'",
        params![id.as_str(), session.0],
        |_| Ok(()),
    )?;
    Ok(row.is_some())
}

/// The message of an item.
pub(crate) fn message(view: &View<'_>, seq: i64) -> Result<Option<Value>, StoreError> {
    view.row("SELECT message FROM inbox WHERE seq = ?1", params![seq], |row| {
        Columns::of(row).any_json()
    })
}

/// Moves an item to `stage`; `read_at` is set when it is read.
pub(crate) fn set_stage(
    tx: &mut Tx<'_>,
    seq: i64,
    stage: Stage,
    read_at: Option<Ms>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE inbox SET stage = ?2, read_at = coalesce(?3, read_at) WHERE seq = ?1",
        params![seq, stage.as_str(), read_at.map(Ms::as_i64)],
    )?;
    Ok(())
}

/// Items and bytes that one machine has here.
pub(crate) fn held_from(view: &View<'_>, device: &MachineId) -> Result<(u64, u64), StoreError> {
    let row = view.row(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM inbox WHERE from_device = ?1",
        params![device.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.count()?, c.count()?))
        },
    )?;
    Ok(row.unwrap_or_default())
}

/// Whether a session that still exists has an item that was not handed over.
pub(crate) fn any_waiting(view: &View<'_>) -> Result<bool, StoreError> {
    let row = view.row(
        "SELECT 1 FROM sessions AS s JOIN inbox AS i ON i.session_id = s.id AND i.stage = 'delivered'
         WHERE s.closed_at IS NULL LIMIT 1",
        (),
        |_| Ok(()),
    )?;
    Ok(row.is_some())
}

/// A page of a session's items, newest arrival first, and within one millisecond last stored first.
pub(crate) fn page(
    view: &View<'_>,
    session: SessionId,
    unread_only: bool,
    before: Option<(Ms, &Ulid)>,
    limit: usize,
) -> Result<Vec<InboxRow>, StoreError> {
    let (at, id) = match before {
        Some((at, id)) => (at.as_i64(), Some(id.as_str())),
        None => (i64::MAX, None),
    };
    // A cursor whose item is gone still has its time.
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM inbox WHERE session_id = ?1 AND (?2 = 0 OR stage <> 'read')
               AND (arrived_at < ?3 OR (arrived_at = ?3 AND seq < (SELECT seq FROM inbox WHERE id = ?4)))
             ORDER BY arrived_at DESC, seq DESC LIMIT ?5"
        ),
        params![session.0, unread_only, at, id, i64::try_from(limit).unwrap_or(i64::MAX)],
        read,
    )
}

/// How many of a session's items are not read.
pub(crate) fn unread(view: &View<'_>, session: SessionId) -> Result<u64, StoreError> {
    let row = view.row(
        "SELECT count(*) FROM inbox WHERE session_id = ?1 AND stage <> 'read'",
        params![session.0],
        |row| Columns::of(row).count(),
    )?;
    Ok(row.unwrap_or_default())
}
