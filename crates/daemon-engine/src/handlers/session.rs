//! `session.*`.
//! Spec: §8.2 "session.register", D1.7, D3.17

use messaging_core::code::Code;
use messaging_core::ids::{SessionAddress, SessionName};
use messaging_core::presence::{Activity, TASKS, Tier};
use messaging_ipc::params::KeyOnly;
use messaging_ipc::params::session::{Host, Register, Update};
use messaging_ipc::results::Done;
use messaging_ipc::results::session::Registered;
use messaging_ipc::scalars::{Nullable, Str};
use messaging_ipc::shapes::{SessionState, SessionTier};
use serde_json::Value;

use super::{Answer, Call, Handled, field};
use crate::ancestry;
use crate::engine::DaemonEngine;
use crate::sessions::{self, Wish};
use crate::store::inbox;
use crate::store::sessions as rows;
use crate::work::{Halt, Step, Work};

/// Registers a session; this connection holds its key from now on.
pub(super) fn register(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Register,
) -> Handled<Registered> {
    if params.ticket.is_some() {
        return Err(field("ticket", "tickets exist under a Jelly host only"));
    }
    if let Some(host) = &params.host {
        check_host(host)?;
    }
    let key = params.key.clone();
    let registered = sessions::register(work, wish(params)?)?;
    let row = registered.row;
    engine.ipc.hold(call.conn(), key.clone(), &row);
    if registered.changed {
        engine.presence.changed();
    }
    Ok(Answer::Now(Registered {
        key,
        address: address(engine, &row.name),
        unread: inbox::unread(work.tx, row.id)?,
        name: row.name,
        taken_over: registered.taken_over,
    }))
}

/// Changes what a session shows. Whoever reports on a session is at work there: its messages are on a new beginning.
pub(super) fn update(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Update,
) -> Handled<Done> {
    let before = call.session()?;
    let mut row = before.clone();
    if let Some(state) = params.state.map(activity)
        && state != row.state
    {
        row.state = state;
        row.since = work.wall();
    }
    if let Some(tier) = params.tier {
        row.tier = reach(tier);
    }
    row.repo = changed(params.repo, row.repo);
    row.branch = changed(params.branch, row.branch);
    row.doing = changed(params.doing, row.doing);
    if row != *before {
        rows::update(work.tx, &row)?;
        engine.presence.changed();
    }
    ancestry::acted(work, row.id)?;
    Ok(Answer::Now(Done::OK))
}

/// Says goodbye: the session is kept, a terminal's ends, and every connection loses the key.
pub(super) fn unregister(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    _: KeyOnly,
) -> Handled<Done> {
    let row = call.session()?;
    sessions::unregister(work, row)?;
    engine.ipc.release(row);
    engine.presence.changed();
    Ok(Answer::Now(Done::OK))
}

/// The rules of a host that its type does not hold.
fn check_host(host: &Host) -> Step<()> {
    if host.pid <= 1 {
        return Err(field("host.pid", "a process id above 1"));
    }
    let mut segments = host.location.as_str().split(['/', '\\']);
    if segments.any(|segment| segment == "..") {
        return Err(field("host.location", "an absolute directory without .. segments"));
    }
    Ok(())
}

fn wish(params: Register) -> Step<Wish> {
    let is_cli = params.agent.as_str() == "cli";
    let name = match params.name {
        Some(name) => name,
        // Every kind of client is a session name.
        None => SessionName::parse(params.agent.as_str())?,
    };
    let features = match params.features {
        Some(features) => features.into_vec().into_iter().map(Str::into_string).collect(),
        None if is_cli => Vec::new(),
        None => vec![TASKS.to_owned()],
    };
    Ok(Wish {
        key_hash: sessions::key_hash(&params.key)?,
        agent: params.agent,
        name,
        tier: params.tier.map_or(Tier::Pull, reach),
        state: params.state.map_or(Activity::Idle, activity),
        repo: shown(params.repo),
        branch: shown(params.branch),
        doing: shown(params.doing),
        features,
        host: match params.host {
            Some(host) => Some(stored_host(&host)?),
            None => None,
        },
    })
}

fn stored_host(host: &Host) -> Step<Value> {
    serde_json::to_value(host).map_err(|_| Halt::refused(Code::Internal, "host"))
}

/// An empty text says nothing, and presence has no place for it.
fn shown<const MAX: usize>(text: Option<Str<0, MAX>>) -> Option<String> {
    text.map(Str::into_string).filter(|text| !text.is_empty())
}

fn changed<const MAX: usize>(
    change: Nullable<Str<0, MAX>>,
    stored: Option<String>,
) -> Option<String> {
    match change {
        Nullable::Absent => stored,
        Nullable::Clear => None,
        Nullable::Set(text) => shown(Some(text)),
    }
}

fn address(engine: &DaemonEngine, name: &SessionName) -> Option<SessionAddress> {
    let me = engine.ready().ok()?.me;
    Some(SessionAddress::new(&(&me.person).into(), name, &me.label))
}

fn activity(state: SessionState) -> Activity {
    match state {
        SessionState::Idle => Activity::Idle,
        SessionState::Busy => Activity::Busy,
    }
}

fn reach(tier: SessionTier) -> Tier {
    match tier {
        SessionTier::Push => Tier::Push,
        SessionTier::Pull => Tier::Pull,
    }
}
