//! `sent_text`: what this machine's agents wrote, kept for their person as long as the record of its delivery.
//! Spec: D3.29
//!
//! A table of its own: the record changes with every stage, and a message of half a mebibyte is written once.

use messaging_core::ids::Ulid;
use messaging_store::{StoreError, Tx, View, params};
use serde_json::Value;

use super::columns::Columns;

/// Keeps the A2A message (JSON text) that was sent as envelope `id`.
pub(crate) fn insert(tx: &mut Tx<'_>, id: &Ulid, message: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO sent_text (id, message) VALUES (?1, ?2)",
        params![id.as_str(), message],
    )?;
    Ok(())
}

/// The message that was sent as envelope `id`, if it was kept.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<Value>, StoreError> {
    view.row("SELECT message FROM sent_text WHERE id = ?1", params![id.as_str()], |row| {
        Columns::of(row).any_json()
    })
}

/// Forgets the copies whose records are gone, at most so many.
pub(crate) fn forget(tx: &mut Tx<'_>, most: u32) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM sent_text WHERE rowid IN (
           SELECT rowid FROM sent_text WHERE NOT EXISTS (SELECT 1 FROM sent WHERE sent.id = sent_text.id) LIMIT ?1)",
        params![most],
    )
}
