//! `identity.*` of a roster realm.
//! Spec: §4 "Encryption-key rotation", D1.7

use messaging_ipc::params::Nothing;
use messaging_ipc::results::identity::Rotated;

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::rotation;
use crate::work::Work;

pub(super) use super::later::identity::{replace, replace_preview};

/// Replaces this machine's encryption key now.
pub(super) fn rotate_enc(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    _: Nothing,
) -> Handled<Rotated> {
    rotation::ask(engine, call.reply.clone(), work.mono())?;
    Ok(Answer::Later)
}
