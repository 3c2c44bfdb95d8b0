//! `events.subscribe`.
//! Spec: §8.2, D1.7, D2

use messaging_ipc::params::KeyOnly;
use messaging_ipc::results::Done;

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::Work;

/// Sends the session's events to this connection from now on. Nothing is replayed.
pub(super) fn subscribe(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    call: &Call,
    _: KeyOnly,
) -> Handled<Done> {
    engine.ipc.subscribe(call.conn(), call.session()?);
    Ok(Answer::Now(Done::OK))
}
