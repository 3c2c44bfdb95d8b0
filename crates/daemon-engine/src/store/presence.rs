//! `presence`: the latest presence of each other machine, online or not.
//! Spec: §6.5, D3.18

use messaging_core::ids::{MachineId, PersonId};
use messaging_core::presence::PresencePayload;
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read, stored};

/// The latest presence of a machine.
#[derive(Clone, Debug)]
pub(crate) struct PresenceRow {
    pub(crate) device: MachineId,
    pub(crate) person: PersonId,
    pub(crate) body: PresencePayload,
}

const COLUMNS: &str = "device, person, body";

/// A presence that a later release stored and this one cannot read is as good as none: the next one comes in a minute.
fn read(row: &Row<'_>) -> Read<Option<PresenceRow>> {
    let mut c = Columns::of(row);
    let (device, person) = (c.value()?, c.value()?);
    let body = serde_json::from_str(&c.text()?).ok();
    Ok(body.map(|body| PresenceRow { device, person, body }))
}

/// The number of the latest presence of `device`.
pub(crate) fn last_seq(view: &View<'_>, device: &MachineId) -> Result<Option<u64>, StoreError> {
    view.row("SELECT seq FROM presence WHERE device = ?1", params![device.as_str()], |row| {
        Columns::of(row).count()
    })
}

/// Every machine's latest presence, by device.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<PresenceRow>, StoreError> {
    let rows = view.rows(&format!("SELECT {COLUMNS} FROM presence ORDER BY device"), (), read)?;
    Ok(rows.into_iter().flatten().collect())
}

/// The presences of one person's machines, by device.
pub(crate) fn of_person(
    view: &View<'_>,
    person: &PersonId,
) -> Result<Vec<PresenceRow>, StoreError> {
    let rows = view.rows(
        &format!("SELECT {COLUMNS} FROM presence WHERE person = ?1 ORDER BY device"),
        params![person.as_str()],
        read,
    )?;
    Ok(rows.into_iter().flatten().collect())
}

/// Whether no window of the person is visible on a machine, by what it said after `since`.
pub(crate) fn is_away(view: &View<'_>, device: &MachineId, since: Ms) -> Result<bool, StoreError> {
    let found = view.row(
        &format!("SELECT {COLUMNS} FROM presence WHERE device = ?1 AND received_at > ?2"),
        params![device.as_str(), since.as_i64()],
        read,
    )?;
    Ok(found.flatten().is_some_and(|row| row.body.away))
}

/// Replaces the machine's presence.
pub(crate) fn put(
    tx: &mut Tx<'_>,
    device: &MachineId,
    person: &PersonId,
    seq: u64,
    ts: Ms,
    body: &str,
    received_at: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO presence (device, person, seq, ts, body, received_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (device) DO UPDATE SET person = excluded.person, seq = excluded.seq, ts = excluded.ts,
           body = excluded.body, received_at = excluded.received_at",
        params![
            device.as_str(),
            person.as_str(),
            stored(seq),
            ts.as_i64(),
            body,
            received_at.as_i64()
        ],
    )?;
    Ok(())
}

/// Forgets a machine that left.
pub(crate) fn delete(tx: &mut Tx<'_>, device: &MachineId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM presence WHERE device = ?1", params![device.as_str()])?;
    Ok(())
}
