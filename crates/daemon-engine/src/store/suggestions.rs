//! `suggestions`: whom the person's own agents wish them to contact.
//! Spec: §6.9, D3.11 "Suggestions"

use messaging_core::ids::{SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::columns::Columns;

/// How many wait: of everybody, and of one agent.
pub(crate) fn counts(view: &View<'_>, agent: &SessionName) -> Result<(u64, u64), StoreError> {
    let counts = view.row(
        "SELECT count(*), coalesce(sum(agent = ?1), 0) FROM suggestions",
        params![agent.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.count()?, c.count()?))
        },
    )?;
    Ok(counts.unwrap_or_default())
}

/// Whether an agent's suggestion of somebody waits already.
pub(crate) fn is_open(
    view: &View<'_>,
    agent: &SessionName,
    email: &str,
) -> Result<bool, StoreError> {
    let open = view.row(
        "SELECT 1 FROM suggestions WHERE agent = ?1 AND email = ?2",
        params![agent.as_str(), email],
        |_| Ok(()),
    )?;
    Ok(open.is_some())
}

/// Adds a suggestion, which is called as the line that came with it.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    id: &Ulid,
    agent: &SessionName,
    email: &str,
    at: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO suggestions (id, agent, email, at) VALUES (?1, ?2, ?3, ?4)",
        params![id.as_str(), agent.as_str(), email, at.as_i64()],
    )?;
    Ok(())
}

/// Forgets the suggestions of agents that are gone.
pub(crate) fn forget_gone(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM suggestions WHERE agent NOT IN (SELECT name FROM sessions WHERE closed_at IS NULL)",
        (),
    )?;
    Ok(())
}
