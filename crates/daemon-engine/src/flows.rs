//! Calls that take more than one step: each waits here as a named state, never as a parked future.
//! Spec: §4, D1.7, D3.2, D3.3
//!
//! [`guest`] talks to a relay before this machine has a place in a team: founding, joining, claiming, and settling what a
//! crash or a lost link left open. [`pairing`] makes and drops the keys that wait for a place. [`errands`] are an admin's roster entries, and who is told how they ended.

mod errands;
mod guest;
mod intent;
mod joining;
mod pairing;
#[cfg(test)]
mod tests;

use messaging_core::relay_auth::Challenge;
use messaging_core::time::Mono;
use messaging_store::StoreError;
use messaging_wire::RelayFrame;

use crate::calls::CallKey;
use crate::engine::DaemonEngine;
use crate::input::SaveToken;
use crate::work::Work;

pub(crate) use errands::{Errand, append, appended, roster_changed};
pub(crate) use guest::claim;
pub(crate) use joining::{found, join};
pub(crate) use pairing::{cancel, outgrown, pair, prepare};

use errands::Errands;
use guest::Guest;
use pairing::Keeping;

/// What is under way.
#[derive(Debug)]
pub(crate) struct Flows {
    guest: Option<Guest>,
    errands: Errands,
    keeping: Option<Keeping>,
    /// The store may hold an unfinished create or join that nobody is settling.
    look: bool,
}

impl Default for Flows {
    fn default() -> Self {
        Self { guest: None, errands: Errands::default(), keeping: None, look: true }
    }
}

impl Flows {
    /// When the flows want to be looked at.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        if self.look {
            return Some(Mono(0));
        }
        self.guest.as_ref().and_then(Guest::deadline)
    }
}

/// Does what is due.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if engine.flows.look {
        engine.flows.look = false;
        guest::resume(engine, work)?;
    }
    guest::tend(engine, work)?;
    errands::tidy(engine, work);
    Ok(())
}

/// A relay challenged the guest.
pub(crate) fn challenge(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    challenge: &Challenge,
) -> Result<(), StoreError> {
    guest::challenged(engine, work, challenge)
}

/// A relay spoke to the guest.
pub(crate) fn frame(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    frame: RelayFrame,
) -> Result<(), StoreError> {
    guest::heard(engine, work, frame)
}

/// The guest's link is gone.
pub(crate) fn down(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    guest::down(engine, work)
}

/// A file write has ended.
pub(crate) fn saved(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    ok: bool,
) -> Result<(), StoreError> {
    pairing::saved(engine, work, token, ok);
    guest::saved(engine, work, token, ok)
}

/// A call's own input failed: nothing is begun for it.
pub(crate) fn call_failed(engine: &mut DaemonEngine, call: &CallKey) {
    engine.flows.errands.forget(call);
    engine.flows.keeping.take_if(|keeping| keeping.is_for(call));
}

/// A write failed: what a flow remembers may not be in the store. A guest starts again from what is, and an errand whose
/// entry is not waiting any more is over.
pub(crate) fn store_failed(engine: &mut DaemonEngine) {
    engine.flows.guest = None;
    engine.flows.errands.keep(|ticket| engine.appends.has(ticket));
    engine.appends.keep(|ticket| engine.flows.errands.has(ticket));
    engine.flows.look = true;
}

/// Whether this machine's new encryption key waits to be published.
pub(crate) fn rotates(engine: &DaemonEngine) -> bool {
    engine.flows.errands.rotates()
}

/// Whether the answer to a call is still to come from here.
pub(crate) fn works_on(flows: &Flows, call: &CallKey) -> bool {
    flows.errands.works_on(call)
        || flows.keeping.as_ref().is_some_and(|keeping| keeping.is_for(call))
}
