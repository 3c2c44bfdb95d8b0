//! Sessions: who registers as which agent, and what becomes of a session that nobody holds.
//! Spec: §8.2 "Sessions", D3.17
//!
//! A session is a row; which connection holds its key is memory only ([`ipc`](crate::ipc)). The row remembers the hash of
//! the key, never the key.

use messaging_core::code::Code;
use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::jcs;
use messaging_core::presence::{Activity, Tier};
use messaging_core::time::Ms;
use messaging_ipc::scalars::SessionKey;
use messaging_store::{StoreError, View};
use serde_json::Value;

use crate::ancestry;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::sessions::{self, SessionId, SessionRow};
use crate::work::{Halt, Step, Work};

/// What a client asks a session to be.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) key_hash: String,
    pub(crate) agent: ClientKind,
    pub(crate) name: SessionName,
    pub(crate) tier: Tier,
    pub(crate) state: Activity,
    pub(crate) repo: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) doing: Option<String>,
    pub(crate) features: Vec<String>,
    pub(crate) host: Option<Value>,
}

/// The session that a registration gave.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) row: SessionRow,
    /// Whether it took a kept session's name and inbox.
    pub(crate) taken_over: bool,
    /// Whether anything about it is new.
    pub(crate) changed: bool,
}

/// The hash under which a key is stored.
pub(crate) fn key_hash(key: &SessionKey) -> Step<String> {
    Ok(jcs::canonical(&Value::from(key.as_str()))?.hash().as_str().to_owned())
}

/// Registers a session: a known key takes up its own again, a new one gets a name.
///
/// Errors: `rate_limited` past 200 sessions, and when every suffix is taken.
pub(crate) fn register(work: &mut Work<'_, '_>, wish: Wish) -> Step<Registered> {
    let now = work.wall();
    let known = sessions::by_key(work.tx, &wish.key_hash)?;
    if let Some(open) = known.as_ref().filter(|row| row.closed_at.is_none()) {
        let since = if open.state == wish.state { open.since } else { now };
        let (id, name) = (open.id, open.name.clone());
        let row = SessionRow { id, since, ..row_of(wish, name, now) };
        let changed = row != *open;
        if changed {
            sessions::update(work.tx, &row)?;
        }
        return Ok(Registered { row, taken_over: false, changed });
    }
    let (name, predecessor) = name_for(work.tx, &wish.name, &wish.agent)?;
    if predecessor.is_none() && sessions::count_open(work.tx)? >= MAX_SESSIONS {
        return Err(Halt::refused(Code::RateLimited, "this machine holds 200 sessions"));
    }
    if let Some(old) = &predecessor {
        // First the name becomes free: it is unique among sessions that have not ended.
        close(work, old)?;
    }
    let mut row = row_of(wish, name, now);
    match known {
        // The key of a session that ended comes back: it is the same session again.
        Some(ended) => {
            row.id = ended.id;
            sessions::update(work.tx, &row)?;
        }
        None => row.id = sessions::insert(work.tx, &row)?,
    }
    // Somebody started a client.
    ancestry::acted(work, row.id)?;
    let (name, agent) = (row.name.clone(), row.agent.clone());
    match &predecessor {
        Some(old) => {
            sessions::hand_over(work.tx, old.id, row.id)?;
            sessions::forget_bare(work.tx, old.id)?;
            work.log(LogEvent::SessionTakenOver { name, agent });
        }
        None => work.log(LogEvent::SessionRegistered { name, agent }),
    }
    Ok(Registered { row, taken_over: predecessor.is_some(), changed: true })
}

fn row_of(wish: Wish, name: SessionName, now: Ms) -> SessionRow {
    SessionRow {
        id: SessionId(0),
        key_hash: wish.key_hash,
        name,
        agent: wish.agent,
        tier: wish.tier,
        state: wish.state,
        repo: wish.repo,
        branch: wish.branch,
        doing: wish.doing,
        features: wish.features,
        host: wish.host,
        since: now,
        kept_at: None,
        closed_at: None,
    }
}

/// The name a new session gets, and the kept session whose place it takes.
fn name_for(
    view: &View<'_>,
    wished: &SessionName,
    agent: &ClientKind,
) -> Step<(SessionName, Option<SessionRow>)> {
    match sessions::by_name(view, wished)? {
        None => return Ok((wished.clone(), None)),
        Some(holder) if holder.kept_at.is_some() && holder.agent == *agent => {
            return Ok((wished.clone(), Some(holder)));
        }
        Some(_) => {}
    }
    for number in 2..=99 {
        let name = suffixed(wished, number)?;
        if sessions::by_name(view, &name)?.is_none() {
            return Ok((name, None));
        }
    }
    Err(Halt::refused(Code::RateLimited, "every form of this name is taken"))
}

/// The name with `-number`, cut in front so that it stays a name.
fn suffixed(base: &SessionName, number: u32) -> Step<SessionName> {
    let suffix = format!("-{number}");
    let room = NAME_CHARS.saturating_sub(suffix.len());
    // Names are ASCII.
    let cut = base.as_str().get(..room).unwrap_or(base.as_str());
    Ok(SessionName::parse(&format!("{cut}{suffix}"))?)
}

/// The last connection of a session is gone, or it said goodbye: it is kept for a day. A terminal's session goes on
/// without a connection. Returns whether it is kept from now on.
pub(crate) fn keep(work: &mut Work<'_, '_>, row: &SessionRow) -> Result<bool, StoreError> {
    if row.is_cli() || row.kept_at.is_some() || row.closed_at.is_some() {
        return Ok(false);
    }
    let now = work.wall();
    let kept = SessionRow {
        kept_at: Some(now),
        state: Activity::Idle,
        since: now,
        doing: None,
        ..row.clone()
    };
    sessions::update(work.tx, &kept)?;
    work.log(LogEvent::SessionKept { name: row.name.clone(), agent: row.agent.clone() });
    Ok(true)
}

/// A session says goodbye: it is kept, and a terminal's ends.
pub(crate) fn unregister(work: &mut Work<'_, '_>, row: &SessionRow) -> Result<(), StoreError> {
    if !row.is_cli() {
        return keep(work, row).map(drop);
    }
    close(work, row)?;
    sessions::forget_bare(work.tx, row.id)
}

/// Ends a session: its name is free, its host forgotten, and what it did not read belongs to nobody.
fn close(work: &mut Work<'_, '_>, row: &SessionRow) -> Result<(), StoreError> {
    let ended = SessionRow { closed_at: Some(work.wall()), host: None, ..row.clone() };
    sessions::update(work.tx, &ended)
}

/// Keeps every live session at a start: nobody holds a key yet, and the day begins now.
pub(crate) fn keep_all(work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    sessions::keep_live(work.tx, work.now.wall)?;
    Ok(())
}

/// Ends sessions whose day is over, and keeps live ones that no connection holds: their goodbye could not be written.
pub(crate) fn sweep(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.wall();
    let mut changed = false;
    for row in sessions::open(work.tx)? {
        match row.kept_at {
            // The clock was ahead when it was kept: its day begins now.
            Some(kept_at) if kept_at > now => {
                sessions::update(work.tx, &SessionRow { kept_at: Some(now), since: now, ..row })?;
            }
            Some(kept_at) if kept_at.plus(KEPT_MS) <= now => {
                close(work, &row)?;
                work.log(LogEvent::SessionExpired { name: row.name, agent: row.agent });
                changed = true;
            }
            None if !row.is_cli() && !engine.ipc.holds(&row) => {
                keep(work, &row)?;
                changed = true;
            }
            _ => {}
        }
    }
    if changed {
        engine.presence.changed();
    }
    Ok(())
}

/// Sessions of one machine, live and kept.
const MAX_SESSIONS: u64 = 200;
/// How long a session is kept, ms.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// The longest session name.
const NAME_CHARS: usize = 64;
