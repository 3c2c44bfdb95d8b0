//! How a create or join begins: who may, with which keys, and what is stored first.
//! Spec: §4 "Invites", §8.9, D1.7, D3.3

use messaging_core::code::Code;
use messaging_core::ids::{Label, PersonId};
use messaging_core::roster::{Member, Role, Roster, sign_genesis};
use messaging_core::ticket::InviteTicket;
use messaging_ipc::params::team::Create;

use super::guest::{self, Goal, Guest};
use super::intent::Intent;
use super::pairing;
use crate::engine::DaemonEngine;
use crate::home::Standing;
use crate::identity::IdentityFile;
use crate::ipc::Reply;
use crate::work::{Halt, Step, Work};

/// Begins to found a team.
pub(crate) fn found(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
    params: &Create,
) -> Step<()> {
    check_free(engine)?;
    let keys = match pairing::founding_keys(engine)? {
        Some(held) => held.identity(),
        None => IdentityFile::generate(work.rng),
    };
    let founder = Member {
        machine: *keys.machine(),
        enc: *keys.identity.enc.public(),
        person: params.person.clone(),
        role: Role::Admin,
        label: params.label.clone(),
    };
    let genesis = sign_genesis(&params.team, &founder, work.wall(), &keys.identity.signing)?;
    let chain = Roster::from_entries([&genesis])?;
    let team = *chain.team_id().ok_or_else(unfounded)?;
    let intent = Intent {
        relay: params.relay.clone(),
        team,
        person: PersonId::from(&params.person),
        label: params.label.clone(),
        machine: founder.machine,
    };
    let guest = Guest::new(Goal::Found { genesis }, intent, keys, Some(reply), work.mono());
    guest::begin(engine, work, guest)?;
    Ok(())
}

/// Begins to join a team. A join that was left unfinished goes on with the keys it began with.
pub(crate) fn join(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
    ticket: InviteTicket,
    label: &Label,
) -> Step<()> {
    check_free(engine)?;
    if ticket.expires <= work.wall() {
        return Err(Halt::refused(Code::InviteInvalid, "the ticket has expired"));
    }
    let person = PersonId::from(&ticket.person);
    let unfinished =
        Intent::load(work.tx)?.zip(engine.home.keys.clone()).filter(|(intent, keys)| {
            intent.team == ticket.team
                && intent.person == person
                && intent.label == *label
                && intent.machine == *keys.machine()
        });
    let now = work.mono();
    if let Some((intent, keys)) = unfinished {
        // The relay may already count this machine in: that is asked first.
        let intent = Intent { relay: ticket.relay.clone(), ..intent };
        let guest = Guest::new(Goal::Join { ticket }, intent, keys, Some(reply), now);
        guest::proceed(engine, work, guest.unsettled())?;
        return Ok(());
    }
    let keys = IdentityFile::generate(work.rng);
    let intent = Intent {
        relay: ticket.relay.clone(),
        team: ticket.team,
        person,
        label: label.clone(),
        machine: *keys.machine(),
    };
    let guest = Guest::new(Goal::Join { ticket }, intent, keys, Some(reply), now);
    guest::begin(engine, work, guest)?;
    Ok(())
}

/// A home founds or joins once, and one call at a time.
pub(super) fn check_free(engine: &DaemonEngine) -> Step<()> {
    let words = match engine.home.standing(engine.realm.roster()) {
        Standing::NoTeam if engine.flows.guest.as_ref().is_some_and(Guest::is_awaited) => {
            "another create, join or claim is under way"
        }
        Standing::NoTeam if engine.flows.keeping.is_some() => "keys are being written or erased",
        Standing::NoTeam => return Ok(()),
        Standing::Member => "this machine is in a team already",
        Standing::Removed => "this machine was removed from its team; move the home aside",
        Standing::KeysMissing => "this machine's keys are missing; restore identity.json",
    };
    Err(Halt::refused(Code::InvalidState, words))
}

fn unfounded() -> Halt {
    Halt::refused(Code::Internal, "genesis")
}
