//! `evidence`: signed envelopes that prove a fault of the relay or of a member, newest hundred.
//! Spec: §5 "Roster head check", D3.21

use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

/// How many rows are kept beside those of the alarms, of which there are at most 16.
const KEPT: u32 = 84;

/// What a row proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A member names a head that the relay did not provide.
    Ahead,
    /// A member names another entry than this chain's.
    Diverged,
    /// Two valid entries of one sequence number.
    Fork,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Diverged => "diverged",
            Self::Fork => "fork",
        }
    }
}

/// Keeps a proof, and drops the oldest past a hundred. The same proof is kept once. Returns its row id.
pub(crate) fn keep(tx: &mut Tx<'_>, kind: Kind, at: Ms, envelope: &str) -> Result<i64, StoreError> {
    let held = tx.row(
        "SELECT id FROM evidence WHERE kind = ?1 AND envelope = ?2",
        params![kind.as_str(), envelope],
        |row| row.get::<_, i64>(0),
    )?;
    if let Some(id) = held {
        return Ok(id);
    }
    tx.execute(
        "INSERT INTO evidence (kind, at, envelope) VALUES (?1, ?2, ?3)",
        params![kind.as_str(), at.as_i64(), envelope],
    )?;
    let id = tx.last_insert_rowid();
    // What proves a standing alarm stays: there are few alarms, and each ends with its proof.
    tx.execute(
        "DELETE FROM evidence WHERE kind <> 'diverged' AND id <= (
           SELECT id FROM evidence WHERE kind <> 'diverged' ORDER BY id DESC LIMIT 1 OFFSET ?1)",
        params![KEPT],
    )?;
    Ok(id)
}

/// The proof at `id`.
pub(crate) fn get(view: &View<'_>, id: i64) -> Result<Option<String>, StoreError> {
    view.row("SELECT envelope FROM evidence WHERE id = ?1", params![id], |row| row.get(0))
}

/// How many proofs of a kind are kept.
#[cfg(test)]
pub(crate) fn count(view: &View<'_>, kind: Kind) -> Result<u64, StoreError> {
    let count =
        view.row("SELECT count(*) FROM evidence WHERE kind = ?1", params![kind.as_str()], |row| {
            super::columns::Columns::of(row).count()
        })?;
    Ok(count.unwrap_or(0))
}
