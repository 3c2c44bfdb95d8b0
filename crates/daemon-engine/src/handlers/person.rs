//! `person.*`.
//! Spec: D1.7

use messaging_ipc::params::daemon::Attached;
use messaging_ipc::results::Done;

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::Work;

pub(super) use super::later::person::send;

/// Whether a window of the person is visible: it matters under a host only, and changes nothing elsewhere.
pub(super) fn attached(
    _: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Attached,
) -> Handled<Done> {
    Ok(Answer::Now(Done::OK))
}
