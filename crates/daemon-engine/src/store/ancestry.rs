//! `ancestry` and `acts`: where each message among agents goes back to, and when a session last heard from a person.
//! Spec: §8.3 "Loop guard"
//!
//! The rows are this machine's own bookkeeping: nothing of them is sent, and nothing that is sent depends on them.

use messaging_core::ids::{MachineId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::columns::{Columns, Read, stored};
use super::sessions::SessionId;

/// A message that came or went, with what it goes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The message with which everything that led to it began, as far as this machine can see.
    pub(crate) root: Ulid,
    pub(crate) at: Ms,
}

/// A message as it is remembered.
pub(crate) struct NewTrace<'a> {
    /// Its envelope.
    pub(crate) id: &'a Ulid,
    pub(crate) root: &'a Ulid,
    /// The context that a daemon named; none for a name that clients chose, which many conversations may share.
    pub(crate) context: Option<&'a str>,
    /// Whether an agent of this machine sent it.
    pub(crate) counts: bool,
    pub(crate) at: Ms,
}

/// What a session does of its own accord since a person last acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// When a person last acted.
    pub(crate) since: Ms,
    /// What it goes back to, once it said anything.
    pub(crate) root: Option<Ulid>,
}

/// Remembers a message. One that is known, because it went from session to session of this machine, stays as it was.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewTrace<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO ancestry (id, root, context, counts, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        params![new.id.as_str(), new.root.as_str(), new.context, new.counts, new.at.as_i64()],
    )?;
    Ok(())
}

fn read(row: &messaging_store::Row<'_>) -> Read<Trace> {
    let mut c = Columns::of(row);
    Ok(Trace { root: c.value()?, at: c.ms()? })
}

/// What a message goes back to.
pub(crate) fn get(view: &View<'_>, id: &Ulid) -> Result<Option<Trace>, StoreError> {
    view.row("SELECT root, at FROM ancestry WHERE id = ?1", params![id.as_str()], read)
}

/// The newest message of a context.
pub(crate) fn in_context(view: &View<'_>, context: &str) -> Result<Option<Trace>, StoreError> {
    view.row(
        "SELECT root, at FROM ancestry WHERE context = ?1 ORDER BY at DESC, id DESC LIMIT 1",
        params![context],
        read,
    )
}

/// How many messages agents of this machine sent that go back to `root`, up to `most`.
pub(crate) fn count(view: &View<'_>, root: &Ulid, most: u64) -> Result<u64, StoreError> {
    let row = view.row(
        "SELECT count(*) FROM (SELECT 1 FROM ancestry WHERE root = ?1 AND counts LIMIT ?2)",
        params![root.as_str(), stored(most)],
        |row| Columns::of(row).count(),
    )?;
    Ok(row.unwrap_or_default())
}

/// The newest item since `since` that a session was shown.
pub(crate) fn last_shown(
    view: &View<'_>,
    session: SessionId,
    since: Ms,
) -> Result<Option<Trace>, StoreError> {
    view.row(
        "SELECT a.root, a.at FROM inbox AS i JOIN ancestry AS a ON a.id = i.id
         WHERE i.session_id = ?1 AND i.stage <> 'delivered' AND i.arrived_at > ?2 ORDER BY i.seq DESC LIMIT 1",
        params![session.0, since.as_i64()],
        read,
    )
}

/// The agent that wrote an item of this machine's inbox.
pub(crate) fn author(
    view: &View<'_>,
    id: &Ulid,
) -> Result<Option<(MachineId, Option<SessionName>)>, StoreError> {
    view.row(
        "SELECT from_device, from_agent FROM inbox WHERE id = ?1",
        params![id.as_str()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.value()?, c.value_or_none()?))
        },
    )
}

/// What a session does of its own accord.
pub(crate) fn run(view: &View<'_>, session: SessionId) -> Result<Run, StoreError> {
    let found = view.row(
        "SELECT since, root FROM acts WHERE session_id = ?1",
        params![session.0],
        |row| {
            let mut c = Columns::of(row);
            Ok(Run { since: c.ms()?, root: c.value_or_none()? })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// Writes what a session does of its own accord.
pub(crate) fn set_run(tx: &mut Tx<'_>, session: SessionId, run: &Run) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO acts (session_id, since, root) VALUES (?1, ?2, ?3)
         ON CONFLICT (session_id) DO UPDATE SET since = excluded.since, root = excluded.root",
        params![session.0, run.since.as_i64(), run.root.as_ref().map(Ulid::as_str)],
    )?;
    Ok(())
}

/// Forgets at most so many messages from before `before`, and the sessions that are gone.
pub(crate) fn forget(tx: &mut Tx<'_>, before: Ms, most: u32) -> Result<usize, StoreError> {
    let messages = tx.execute(
        "DELETE FROM ancestry WHERE id IN (SELECT id FROM ancestry WHERE at <= ?1 LIMIT ?2)",
        params![before.as_i64(), most],
    )?;
    let sessions = tx.execute(
        "DELETE FROM acts WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = acts.session_id)",
        (),
    )?;
    Ok(messages + sessions)
}
