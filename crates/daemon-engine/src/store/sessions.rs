//! `sessions`: the agents' sessions of this machine, live and kept.
//! Spec: §8.2 "Sessions", D3.17, D3.29

use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::presence::{Activity, Tier};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};
use serde_json::Value;

use super::columns::{Columns, Read};

/// A session's row id, which stays its own for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) i64);

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionRow {
    pub(crate) id: SessionId,
    /// SHA-256 of the key, base64url.
    pub(crate) key_hash: String,
    pub(crate) name: SessionName,
    pub(crate) agent: ClientKind,
    pub(crate) tier: Tier,
    pub(crate) state: Activity,
    pub(crate) repo: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) doing: Option<String>,
    pub(crate) features: Vec<String>,
    /// Where the wake bridge finds it, as JSON. Never published.
    pub(crate) host: Option<Value>,
    /// When `state` began.
    pub(crate) since: Ms,
    /// When its last connection went; none while it is live.
    pub(crate) kept_at: Option<Ms>,
    /// When it ended; none while its name is taken.
    pub(crate) closed_at: Option<Ms>,
}

impl SessionRow {
    /// Whether it is a person's terminal, which takes no tasks and is never kept.
    pub(crate) fn is_cli(&self) -> bool {
        self.agent.as_str() == "cli"
    }
}

const COLUMNS: &str =
    "id, key_hash, name, agent, tier, state, repo, branch, doing, features, host, since, kept_at,
  closed_at";

fn read(row: &Row<'_>) -> Read<SessionRow> {
    let mut c = Columns::of(row);
    Ok(SessionRow {
        id: SessionId(c.row_id()?),
        key_hash: c.text()?,
        name: c.value()?,
        agent: c.value()?,
        tier: c.word(tier_of)?,
        state: c.word(activity_of)?,
        repo: c.text_or_none()?,
        branch: c.text_or_none()?,
        doing: c.text_or_none()?,
        features: c.json()?,
        host: c.json_or_none()?,
        since: c.ms()?,
        kept_at: c.ms_or_none()?,
        closed_at: c.ms_or_none()?,
    })
}

/// The session at `id`.
pub(crate) fn get(view: &View<'_>, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"), params![id.0], read)
}

/// The session, live or kept, that has the name.
pub(crate) fn by_name(
    view: &View<'_>,
    name: &SessionName,
) -> Result<Option<SessionRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM sessions WHERE name = ?1 AND closed_at IS NULL"),
        params![name.as_str()],
        read,
    )
}

/// Live sessions, newest first, then kept ones, newest first: the order in which presence lists them.
pub(crate) fn open(view: &View<'_>) -> Result<Vec<SessionRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM sessions WHERE closed_at IS NULL ORDER BY kept_at IS NOT NULL, id DESC"
        ),
        (),
        read,
    )
}

/// Live sessions that are kept from `now` on, but for terminals: nobody holds a key when the daemon starts.
pub(crate) fn keep_live(tx: &mut Tx<'_>, now: Ms) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE sessions SET kept_at = ?1, state = 'idle', since = ?1
         WHERE closed_at IS NULL AND kept_at IS NULL AND agent <> 'cli'",
        params![now.as_i64()],
    )
}

/// The session of a key, ended ones included.
pub(crate) fn by_key(view: &View<'_>, key_hash: &str) -> Result<Option<SessionRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM sessions WHERE key_hash = ?1"),
        params![key_hash],
        read,
    )
}

/// How many sessions have a name, live and kept.
pub(crate) fn count_open(view: &View<'_>) -> Result<u64, StoreError> {
    let row = view.row("SELECT count(*) FROM sessions WHERE closed_at IS NULL", (), |row| {
        Columns::of(row).count()
    })?;
    Ok(row.unwrap_or_default())
}

/// Adds a session; the row's own id is not read.
pub(crate) fn insert(tx: &mut Tx<'_>, row: &SessionRow) -> Result<SessionId, StoreError> {
    tx.execute(
        "INSERT INTO sessions (key_hash, name, agent, tier, state, repo, branch, doing, features, host, since, kept_at,
           closed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            row.key_hash,
            row.name.as_str(),
            row.agent.as_str(),
            tier_word(row.tier),
            activity_word(row.state),
            row.repo,
            row.branch,
            row.doing,
            Value::from(row.features.clone()).to_string(),
            row.host.as_ref().map(Value::to_string),
            row.since.as_i64(),
            row.kept_at.map(Ms::as_i64),
            row.closed_at.map(Ms::as_i64)
        ],
    )?;
    Ok(SessionId(tx.last_insert_rowid()))
}

/// Writes everything of a session but its key.
pub(crate) fn update(tx: &mut Tx<'_>, row: &SessionRow) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE sessions SET name = ?2, agent = ?3, tier = ?4, state = ?5, repo = ?6, branch = ?7, doing = ?8,
           features = ?9, host = ?10, since = ?11, kept_at = ?12, closed_at = ?13 WHERE id = ?1",
        params![
            row.id.0,
            row.name.as_str(),
            row.agent.as_str(),
            tier_word(row.tier),
            activity_word(row.state),
            row.repo,
            row.branch,
            row.doing,
            Value::from(row.features.clone()).to_string(),
            row.host.as_ref().map(Value::to_string),
            row.since.as_i64(),
            row.kept_at.map(Ms::as_i64),
            row.closed_at.map(Ms::as_i64)
        ],
    )?;
    Ok(())
}

/// Hands a session's unfinished business to its successor: items not read, tasks not ended, sends not settled.
pub(crate) fn hand_over(tx: &mut Tx<'_>, from: SessionId, to: SessionId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE inbox SET session_id = ?2 WHERE session_id = ?1 AND stage <> 'read'",
        params![from.0, to.0],
    )?;
    tx.execute(
        "UPDATE tasks SET session_id = ?2 WHERE session_id = ?1 AND state NOT IN
           ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')",
        params![from.0, to.0],
    )?;
    tx.execute(
        "UPDATE sent SET session_id = ?2 WHERE session_id = ?1 AND settled_at IS NULL",
        params![from.0, to.0],
    )?;
    Ok(())
}

/// Forgets an ended session that owns nothing, so that a client cannot fill the store by coming and going.
pub(crate) fn forget_bare(tx: &mut Tx<'_>, id: SessionId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM sessions WHERE id = ?1 AND closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM inbox WHERE session_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM sent WHERE session_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM tasks WHERE session_id = ?1)",
        params![id.0],
    )?;
    Ok(())
}

/// The stored word of a tier.
pub(crate) const fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::Push => "push",
        Tier::Pull => "pull",
    }
}

/// The stored word of an activity.
pub(crate) const fn activity_word(state: Activity) -> &'static str {
    match state {
        Activity::Idle => "idle",
        Activity::Busy => "busy",
    }
}

fn tier_of(text: &str) -> Option<Tier> {
    [Tier::Push, Tier::Pull].into_iter().find(|tier| tier_word(*tier) == text)
}

fn activity_of(text: &str) -> Option<Activity> {
    [Activity::Idle, Activity::Busy].into_iter().find(|state| activity_word(*state) == text)
}
