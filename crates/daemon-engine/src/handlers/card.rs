//! `card.get`.
//! Spec: §6.9 "Cards on the daemon", D1.7 row 35

use messaging_ipc::params::people::OnePerson;
use messaging_ipc::results::people::CardAsked;

use super::{Answer, Call, Handled, field};
use crate::consent::cards;
use crate::engine::DaemonEngine;
use crate::work::Work;

/// Asks a person's devices for their card, at most once a day.
pub(super) fn get(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: OnePerson,
) -> Handled<CardAsked> {
    let (_, own) = engine.own().ok_or_else(|| super::not_found("this machine has no person"))?;
    if own == params.person {
        return Err(field("person", "nobody has a card for themselves"));
    }
    if engine.realm.machines_of(&params.person).next().is_none() {
        return Err(super::not_found("the team has no such person"));
    }
    let sent = cards::ask(engine, work, &params.person)?;
    Ok(Answer::Now(CardAsked { sent }))
}
