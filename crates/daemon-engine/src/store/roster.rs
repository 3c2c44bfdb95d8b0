//! `roster`: the verified chain of the roster realm, as received.
//! Spec: §4, D3.29

use messaging_core::ids::Hash;
use messaging_store::{StoreError, Tx, View, params};
use serde_json::Value;

use super::columns::{Columns, stored};

/// Every entry, genesis first.
pub(crate) fn entries(view: &View<'_>) -> Result<Vec<Value>, StoreError> {
    view.rows("SELECT entry FROM roster ORDER BY seq", (), |row| Columns::of(row).any_json())
}

/// The number and hash of the last entry.
pub(crate) fn last(view: &View<'_>) -> Result<Option<(u64, Hash)>, StoreError> {
    view.row("SELECT seq, hash FROM roster ORDER BY seq DESC LIMIT 1", (), |row| {
        let mut c = Columns::of(row);
        Ok((c.count()?, c.value()?))
    })
}

/// Adds the entry after the last one.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    seq: u64,
    hash: &Hash,
    entry: &str,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO roster (seq, hash, entry) VALUES (?1, ?2, ?3)",
        params![stored(seq), hash.as_str(), entry],
    )?;
    Ok(())
}

/// Drops the chain: an unfinished create or join, or a home that starts over.
pub(crate) fn clear(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute("DELETE FROM roster", ())?;
    Ok(())
}
