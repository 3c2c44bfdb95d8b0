//! `daemon.*`.
//! Spec: §8.2, D1.7, D3.2

use messaging_ipc::params::Nothing;
use messaging_ipc::params::daemon::Snapshot;
use messaging_ipc::results::Done;
use messaging_ipc::results::daemon::{Snapshotted, Stopping};
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{DaemonHealth, DaemonStatus};

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::Work;
use crate::{lifecycle, snapshot as copies, status};

/// What the daemon is and how it stands.
pub(super) fn status(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<DaemonStatus> {
    let twin_since = engine.link.twin_since(work.mono());
    Ok(Answer::Now(DaemonStatus { twin_since, ..status::daemon(engine) }))
}

/// The same in short, from memory alone.
pub(super) fn health(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<DaemonHealth> {
    Ok(Answer::Now(status::health(engine)))
}

/// Answers, then stops.
pub(super) fn stop(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Stopping> {
    let pid = engine.facts.pid;
    lifecycle::stop(engine, work)?;
    Ok(Answer::Now(Stopping { ok: True, pid }))
}

/// Takes a copy of the home, or lets it go.
pub(super) fn snapshot(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Snapshot,
) -> Handled<Snapshotted> {
    let reply = call.reply.clone();
    match params.done {
        None => copies::take(engine, work, reply)?,
        Some(True) if copies::done(engine, work, reply)? => {}
        Some(True) => return Ok(Answer::Now(Snapshotted::Released { released: false })),
    }
    Ok(Answer::Later)
}

/// The machine woke: what waited for time is done now.
pub(super) fn woke(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Done> {
    lifecycle::woke(engine, work);
    Ok(Answer::Now(Done::OK))
}
