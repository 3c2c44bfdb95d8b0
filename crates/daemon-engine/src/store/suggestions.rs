//! `suggestions`: an own agent's wish that the person contact somebody of another organisation.
//! Spec: §6.9 "Message requests", D3.11

use messaging_core::ids::{SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read};

/// One suggestion. Its id is that of the line that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuggestionRow {
    pub(crate) id: Ulid,
    /// The agent that suggests.
    pub(crate) agent: SessionName,
    /// Whom to contact.
    pub(crate) email: String,
    pub(crate) at: Ms,
}

const COLUMNS: &str = "id, agent, email, at";

fn read(row: &Row<'_>) -> Read<SuggestionRow> {
    let mut c = Columns::of(row);
    Ok(SuggestionRow { id: c.value()?, agent: c.value()?, email: c.text()?, at: c.ms()? })
}

/// The suggestion of an id.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<SuggestionRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM suggestions WHERE id = ?1"),
        params![id.as_str()],
        read,
    )
}

/// Every suggestion, oldest first.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<SuggestionRow>, StoreError> {
    view.rows(&format!("SELECT {COLUMNS} FROM suggestions ORDER BY at, id"), (), read)
}

/// Drops a suggestion that was dismissed or followed.
pub(crate) fn delete(tx: &mut Tx<'_>, id: &Ulid) -> Result<(), StoreError> {
    tx.execute("DELETE FROM suggestions WHERE id = ?1", params![id.as_str()])?;
    Ok(())
}

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
