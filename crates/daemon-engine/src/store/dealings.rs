//! What a session exchanged with other agents, read over `inbox`, `sent` and `tasks`.
//! Spec: §8.2 "conv.read", "Your agents"; D1.6 `ConvEntry`

use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::shapes::TaskRole;
use messaging_store::{StoreError, View, params};

use super::columns::Columns;
use super::sessions::SessionId;

/// Where one entry of a conversation is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An item of the inbox.
    Inbox,
    /// A message that was sent.
    Sent,
    /// A task, of either role.
    Task(TaskRole),
}

/// One entry of a conversation: what it is, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) source: Source,
    /// The envelope; of a task, its request's.
    pub(crate) id: Ulid,
    /// The task.
    pub(crate) task: Option<Ulid>,
    pub(crate) at: Ms,
}

/// Which part of a conversation is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// The newest entries.
    Latest,
    /// The newest before a place.
    Before(Ms, &'a Ulid),
    /// The oldest after a place.
    After(Ms, &'a Ulid),
}

/// One agent that a session dealt with.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) person: PersonId,
    pub(crate) agent: SessionName,
    pub(crate) unread: u64,
    pub(crate) last_at: Ms,
}

/// What a session dealt with others, in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) peers: u64,
    pub(crate) last_at: Option<Ms>,
}

/// Every entry of one conversation. A request stands in it as its task only.
const ENTRIES: &str = "
  SELECT 'inbox' AS source, id, NULL AS task, arrived_at AS at FROM inbox
    WHERE session_id = ?1 AND from_person = ?2 AND from_agent = ?3 AND kind = 'message'
  UNION ALL
  SELECT 'sent', id, NULL, ts FROM sent
    WHERE session_id = ?1 AND to_person = ?2 AND to_agent = ?3 AND type = 'message'
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = sent.task_id AND role = 'requester' AND request_id = sent.id)
  UNION ALL
  SELECT role, request_id, id, created_at FROM tasks
    WHERE session_id = ?1 AND peer_person = ?2 AND peer_agent = ?3";

/// Everybody a session dealt with, one row for each thing.
const DEALINGS: &str = "
  SELECT from_person AS person, from_agent AS agent, arrived_at AS at, stage <> 'read' AS unread FROM inbox
    WHERE session_id = ?1 AND from_agent IS NOT NULL
  UNION ALL
  SELECT to_person, to_agent, ts, 0 FROM sent WHERE session_id = ?1 AND type = 'message' AND to_agent IS NOT NULL
  UNION ALL
  SELECT peer_person, peer_agent, updated_at, 0 FROM tasks WHERE session_id = ?1";

/// Entries of a session's conversation with one agent, on any machine: in the order in which they are looked for.
pub(crate) fn entries(
    view: &View<'_>,
    session: SessionId,
    (person, agent): (&PersonId, &SessionName),
    part: Part<'_>,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let (filter, order, at, id) = match part {
        Part::Latest => ("?4 IS NULL AND ?5 IS NULL", "DESC", None, None),
        Part::Before(at, id) => ("(at, id) < (?4, ?5)", "DESC", Some(at), Some(id)),
        Part::After(at, id) => ("(at, id) > (?4, ?5)", "ASC", Some(at), Some(id)),
    };
    view.rows(
        &format!(
            "SELECT source, id, task, at FROM ({ENTRIES}) WHERE {filter} ORDER BY at {order}, id {order} LIMIT ?6"
        ),
        params![
            session.0,
            person.as_str(),
            agent.as_str(),
            at.map(Ms::as_i64),
            id.map(Ulid::as_str),
            i64::try_from(limit).unwrap_or(i64::MAX)
        ],
        |row| {
            let mut c = Columns::of(row);
            Ok(Entry {
                source: c.word(source_of)?,
                id: c.value()?,
                task: c.value_or_none()?,
                at: c.ms()?,
            })
        },
    )
}

/// The `limit` agents that a session dealt with last, the most recent first.
pub(crate) fn peers(
    view: &View<'_>,
    session: SessionId,
    limit: usize,
) -> Result<Vec<Peer>, StoreError> {
    view.rows(
        &format!(
            "SELECT person, agent, sum(unread), max(at) FROM ({DEALINGS}) GROUP BY person, agent
             ORDER BY max(at) DESC, person, agent LIMIT ?2"
        ),
        params![session.0, i64::try_from(limit).unwrap_or(i64::MAX)],
        |row| {
            let mut c = Columns::of(row);
            Ok(Peer { person: c.value()?, agent: c.value()?, unread: c.count()?, last_at: c.ms()? })
        },
    )
}

/// With how many agents a session dealt, and when last.
pub(crate) fn figures(view: &View<'_>, session: SessionId) -> Result<Figures, StoreError> {
    let row = view.row(
        &format!("SELECT count(DISTINCT person || '/' || agent), max(at) FROM ({DEALINGS})"),
        params![session.0],
        |row| {
            let mut c = Columns::of(row);
            Ok(Figures { peers: c.count()?, last_at: c.ms_or_none()? })
        },
    )?;
    Ok(row.unwrap_or_default())
}

fn source_of(word: &str) -> Option<Source> {
    match word {
        "inbox" => Some(Source::Inbox),
        "sent" => Some(Source::Sent),
        "requester" => Some(Source::Task(TaskRole::Requester)),
        "executor" => Some(Source::Task(TaskRole::Executor)),
        _ => None,
    }
}
