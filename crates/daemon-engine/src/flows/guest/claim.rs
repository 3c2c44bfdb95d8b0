//! A machine with keys of its own asks until an admin has given it its place.
//! Spec: §8.2 "Admitting a machine without a ticket", D1.7, D3.3
//!
//! It greets as the member that it may be. Once the verified roster names exactly these keys and names, the order is: the
//! intent, the keys in `identity.json`, the place in the store, the configuration, and `pairing.json` is erased. What dies
//! in between goes on at the next start by the intent, or by the next claim.

use messaging_core::code::Code;
use messaging_core::ids::PersonId;
use messaging_ipc::error::Refusal;
use messaging_ipc::results::team::Claimed;
use messaging_store::StoreError;

use super::{ANSWER_MS, Goal, Guest, Step, end, fail, make_room};
use crate::engine::DaemonEngine;
use crate::flows::intent::Intent;
use crate::flows::joining::check_free;
use crate::flows::pairing;
use crate::input::Out;
use crate::ipc::Reply;
use crate::link;
use crate::work::{Step as Done, Work};

/// Asks for the place of the keys that wait, for `wait_ms` at most; at least once.
pub(crate) fn claim(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
    wait_ms: u64,
) -> Done<()> {
    check_free(engine)?;
    let (held, place) = pairing::waiting(engine)?;
    let intent = Intent {
        relay: place.relay.clone(),
        team: place.team,
        person: PersonId::from(&place.person),
        label: place.label.clone(),
        machine: *held.machine(),
    };
    let keys = held.identity();
    let now = work.mono();
    let until = now.plus(wait_ms);
    let mut guest = Guest::new(Goal::Claim { until }, intent, keys, Some(reply), now);
    guest.answer_by = until.plus(ANSWER_MS);
    make_room(engine, work);
    super::dial(engine, work, guest);
    Ok(())
}

/// A conversation ended before the place was there: the next one follows while the caller waits.
pub(super) fn lost(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    until: messaging_core::time::Mono,
) -> Result<(), StoreError> {
    let now = work.mono();
    if now < until {
        guest.step = Step::Resting { until: now.plus(BETWEEN_MS).min(until) };
        engine.flows.guest = Some(guest);
        return Ok(());
    }
    if is_unknown(&guest) {
        link::hang_up(engine, work);
        if let Some(reply) = guest.reply.take() {
            reply.result(work, &Claimed::Waiting);
        }
        return end(engine, work, guest);
    }
    let words = engine.link.last_error().map_or("the relay does not answer", |error| error.words);
    fail(engine, work, guest, Refusal::new(Code::RelayUnavailable, words))
}

/// Whether the relay said that nobody has admitted these keys yet.
fn is_unknown(guest: &Guest) -> bool {
    matches!(guest.step, Step::Greeting { .. })
        && matches!(guest.refused, Some(Code::NotMember | Code::UnknownDevice))
}

/// The verified roster gives these keys their place: they become the home's.
pub(super) fn keep(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
) -> Result<(), StoreError> {
    guest.intent.store(work)?;
    let token = engine.lifecycle.save_token();
    work.wish(Out::SaveIdentity { token, identity: Box::new(guest.keys.clone()) });
    guest.step = Step::Keeping(token);
    engine.flows.guest = Some(guest);
    Ok(())
}

/// Ends a claim that is still asking: its keys are dropped.
pub(in crate::flows) fn leave(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let asks = |guest: &mut Guest| {
        matches!(guest.goal, Goal::Claim { .. })
            && !matches!(guest.step, Step::Keeping(_) | Step::Configuring(_))
    };
    let Some(guest) = engine.flows.guest.take_if(asks) else { return };
    link::hang_up(engine, work);
    engine.flows.look = true;
    if let Some(reply) = guest.reply {
        reply.refuse(work, Refusal::new(Code::InvalidState, "the keys were dropped meanwhile"));
    }
}

/// Between two greetings.
const BETWEEN_MS: u64 = 2_000;
