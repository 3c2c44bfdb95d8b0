//! `daemon.*`.
//! Spec: §8.2, D1.7, D3.2

use messaging_ipc::params::Nothing;
use messaging_ipc::results::Done;
use messaging_ipc::results::daemon::Stopping;
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{DaemonHealth, DaemonStatus};

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::Work;
use crate::{lifecycle, status};

pub(super) use super::later::daemon::snapshot;

/// What the daemon is and how it stands.
pub(super) fn status(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<DaemonStatus> {
    Ok(Answer::Now(status::daemon(engine)))
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
