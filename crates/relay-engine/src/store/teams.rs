//! The tables `teams` and `roster`: the chain of each team, as its entries were signed.
//! Spec: §4, §7 "roster.append", W5.14

use messaging_core::ids::Hash;
use messaging_core::roster::{Entry, RosterHead};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::{count, int};

/// How many teams there are.
pub(crate) fn total(view: &View<'_>) -> Result<u64, StoreError> {
    let rows = view.row("SELECT COUNT(*) FROM teams", (), |row| count(row, 0))?;
    Ok(rows.unwrap_or(0))
}

pub(crate) fn exists(view: &View<'_>, team: &Hash) -> Result<bool, StoreError> {
    let found = view.row("SELECT 1 FROM teams WHERE team = ?1", [team.as_str()], |_| Ok(()))?;
    Ok(found.is_some())
}

/// The texts of a team's entries, oldest first; none for a team that does not exist.
pub(crate) fn entries(view: &View<'_>, team: &Hash) -> Result<Vec<String>, StoreError> {
    view.rows("SELECT entry FROM roster WHERE team = ?1 ORDER BY seq", [team.as_str()], |row| {
        row.get(0)
    })
}

/// Stores an entry that was applied. The first one makes the team.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    team: &Hash,
    entry: &Entry,
    now: Ms,
) -> Result<(), StoreError> {
    let RosterHead { seq, hash } = entry.head();
    tx.execute(
        "INSERT INTO roster(team, seq, hash, entry) VALUES (?1, ?2, ?3, ?4)",
        params![team.as_str(), int(seq), hash.as_str(), entry.canonical().as_str()],
    )?;
    tx.execute(
        "INSERT INTO teams(team, seq, hash, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT(team) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at",
        params![team.as_str(), int(seq), hash.as_str(), now.as_i64()],
    )?;
    Ok(())
}
