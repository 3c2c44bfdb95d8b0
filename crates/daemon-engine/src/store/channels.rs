//! `channels`: the channels that this machine's person is in, and the ids that they left (`channels_left`).
//! Spec: §6.8, D3.19

use std::collections::BTreeSet;

use messaging_core::channel::ChannelRecord;
use messaging_core::ids::{ChannelName, PersonId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read};

/// A channel, and the name that this machine holds it under.
#[derive(Clone, Debug)]
pub(crate) struct ChannelRow {
    pub(crate) record: ChannelRecord,
    pub(crate) local: ChannelName,
    pub(crate) created_at: Ms,
}

const COLUMNS: &str = "id, name, creator, persons, local_name, created_at";

fn read(row: &Row<'_>) -> Read<ChannelRow> {
    let mut c = Columns::of(row);
    let record =
        ChannelRecord { id: c.value()?, name: c.value()?, creator: c.value()?, persons: c.json()? };
    Ok(ChannelRow { record, local: c.value()?, created_at: c.ms()? })
}

/// Adds a channel.
pub(crate) fn insert(tx: &mut Tx<'_>, row: &ChannelRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO channels (id, name, creator, persons, local_name, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            row.record.id.as_str(),
            row.record.name.as_str(),
            row.record.creator.as_str(),
            persons_text(&row.record.persons)?,
            row.local.as_str(),
            row.created_at.as_i64()
        ],
    )?;
    Ok(())
}

/// Writes who is in a channel.
pub(crate) fn set_persons(tx: &mut Tx<'_>, record: &ChannelRecord) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE channels SET persons = ?2 WHERE id = ?1",
        params![record.id.as_str(), persons_text(&record.persons)?],
    )?;
    Ok(())
}

/// Deletes a channel.
pub(crate) fn delete(tx: &mut Tx<'_>, id: &Ulid) -> Result<(), StoreError> {
    tx.execute("DELETE FROM channels WHERE id = ?1", params![id.as_str()])?;
    Ok(())
}

/// The channel of an id.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<ChannelRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM channels WHERE id = ?1"), params![id.as_str()], read)
}

/// The channel held under a name.
pub(crate) fn by_local(
    view: &View<'_>,
    name: &ChannelName,
) -> Result<Option<ChannelRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM channels WHERE local_name = ?1"),
        params![name.as_str()],
        read,
    )
}

/// Every channel, by its local name.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<ChannelRow>, StoreError> {
    view.rows(&format!("SELECT {COLUMNS} FROM channels ORDER BY local_name"), (), read)
}

/// The names under which channels are held.
pub(crate) fn local_names(view: &View<'_>) -> Result<BTreeSet<ChannelName>, StoreError> {
    let names = view.rows("SELECT local_name FROM channels", (), |row| Columns::of(row).value())?;
    Ok(names.into_iter().collect())
}

/// The name that this machine holds a channel under.
pub(crate) fn local_name(view: &View<'_>, id: &Ulid) -> Result<Option<ChannelName>, StoreError> {
    view.row("SELECT local_name FROM channels WHERE id = ?1", params![id.as_str()], |row| {
        Columns::of(row).value()
    })
}

/// The channels that are held.
pub(crate) fn ids(view: &View<'_>) -> Result<BTreeSet<Ulid>, StoreError> {
    let ids = view.rows("SELECT id FROM channels", (), |row| Columns::of(row).value())?;
    Ok(ids.into_iter().collect())
}

/// How many channels are held.
pub(crate) fn count(view: &View<'_>) -> Result<usize, StoreError> {
    let count = view.row("SELECT count(*) FROM channels", (), |row| row.get::<_, i64>(0))?;
    Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
}

/// Remembers until then that this person is out of a channel.
pub(crate) fn remember_left(tx: &mut Tx<'_>, id: &Ulid, until: Ms) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO channels_left (id, until) VALUES (?1, ?2)
         ON CONFLICT (id) DO UPDATE SET until = max(until, excluded.until)",
        params![id.as_str(), until.as_i64()],
    )?;
    Ok(())
}

/// Whether this person left a channel, or was removed from it, not long ago.
pub(crate) fn was_left(view: &View<'_>, id: &Ulid, now: Ms) -> Result<bool, StoreError> {
    let left = view.row(
        "SELECT 1 FROM channels_left WHERE id = ?1 AND until > ?2",
        params![id.as_str(), now.as_i64()],
        |_| Ok(()),
    )?;
    Ok(left.is_some())
}

fn persons_text(persons: &[PersonId]) -> Result<String, StoreError> {
    serde_json::to_string(persons).map_err(|_| StoreError::Other)
}
