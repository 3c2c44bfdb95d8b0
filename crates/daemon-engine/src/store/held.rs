//! `held`: mail and task requests that wait for the person, each with its envelope and what was sealed in it.
//! Spec: §6.9 "Holds", D3.11

use messaging_core::ids::{MachineId, PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::shapes::DelegationSummary;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::{Columns, Read};
use super::inbox::ItemKind;
use super::sessions::SessionId;

/// A held request, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldRow {
    /// The machine that sent it.
    pub(crate) device: MachineId,
    /// Its envelope.
    pub(crate) id: Ulid,
    /// The session it was for when it came.
    pub(crate) session: Option<SessionId>,
    /// Who asks.
    pub(crate) person: PersonId,
    pub(crate) kind: ItemKind,
    /// The task that it asks for.
    pub(crate) task: Option<Ulid>,
    /// What the person is shown of it; none when that is damaged.
    pub(crate) shown: Option<Shown>,
    /// When it came.
    pub(crate) at: Ms,
    /// When it ends.
    pub(crate) exp: Ms,
}

/// What is shown of a held request, so that a list of them opens none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// The agent that asks.
    pub(crate) from: SessionName,
    /// The agent that is asked.
    pub(crate) to: SessionName,
    /// Its conversation.
    pub(crate) context: String,
    /// The start of its text.
    pub(crate) preview: String,
    /// Its chain, which was verified.
    pub(crate) chain: Option<DelegationSummary>,
}

const COLUMNS: &str = "device, id, session_id, person, kind, task, shown, at, exp";

fn read(row: &Row<'_>) -> Read<HeldRow> {
    let mut c = Columns::of(row);
    Ok(HeldRow {
        device: c.value()?,
        id: c.value()?,
        session: c.row_id_or_none()?.map(SessionId),
        person: c.value()?,
        kind: c.word(ItemKind::parse)?,
        task: c.value_or_none()?,
        shown: c.json_if_whole()?,
        at: c.ms()?,
        exp: c.ms()?,
    })
}

/// Holds a request.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    row: &HeldRow,
    envelope: &Value,
    payload: &Value,
) -> Result<(), StoreError> {
    let shown = serde_json::to_string(&row.shown).map_err(|_| StoreError::Other)?;
    tx.execute(
        "INSERT INTO held (device, id, envelope, payload, session_id, person, kind, task, shown, at, exp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            row.device.as_str(),
            row.id.as_str(),
            envelope.to_string(),
            payload.to_string(),
            row.session.map(|session| session.0),
            row.person.as_str(),
            row.kind.as_str(),
            row.task.as_ref().map(Ulid::as_str),
            shown,
            row.at.as_i64(),
            row.exp.as_i64()
        ],
    )?;
    Ok(())
}

/// The held request of envelope `id`, whoever sent it: ids are random, and a second one of an id is refused.
pub(crate) fn by_id(view: &View<'_>, id: &Ulid) -> Result<Option<HeldRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM held WHERE id = ?1"), params![id.as_str()], read)
}

/// The held requests of a machine that ask for one task.
pub(crate) fn of_task(
    view: &View<'_>,
    device: &MachineId,
    task: &Ulid,
) -> Result<Vec<HeldRow>, StoreError> {
    view.rows(
        &format!("SELECT {COLUMNS} FROM held WHERE device = ?1 AND task = ?2"),
        params![device.as_str(), task.as_str()],
        read,
    )
}

/// The envelope and the payload of a held request.
pub(crate) fn contents(
    view: &View<'_>,
    row: &HeldRow,
) -> Result<Option<(Value, Value)>, StoreError> {
    view.row(
        "SELECT envelope, payload FROM held WHERE device = ?1 AND id = ?2",
        params![row.device.as_str(), row.id.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.any_json()?, c.any_json()?))
        },
    )
}

/// What has not ended, oldest first; of one person or of everybody.
pub(crate) fn open(
    view: &View<'_>,
    person: Option<&PersonId>,
    now: Ms,
) -> Result<Vec<HeldRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM held WHERE exp > ?1 AND (?2 IS NULL OR person = ?2) ORDER BY at, rowid"
        ),
        params![now.as_i64(), person.map(PersonId::as_str)],
        read,
    )
}

/// How many requests are held: of one person, and in all.
pub(crate) fn counts(view: &View<'_>, person: &PersonId) -> Result<(u64, u64), StoreError> {
    let row = view.row(
        "SELECT (SELECT count(*) FROM held WHERE person = ?1), (SELECT count(*) FROM held)",
        params![person.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.count()?, c.count()?))
        },
    )?;
    Ok(row.unwrap_or_default())
}

/// Drops a request that was answered.
pub(crate) fn delete(tx: &mut Tx<'_>, row: &HeldRow) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM held WHERE device = ?1 AND id = ?2",
        params![row.device.as_str(), row.id.as_str()],
    )?;
    Ok(())
}

/// Drops what has ended unanswered; nobody is told. Returns how many.
pub(crate) fn expire(tx: &mut Tx<'_>, now: Ms) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM held WHERE exp <= ?1", params![now.as_i64()])
}
