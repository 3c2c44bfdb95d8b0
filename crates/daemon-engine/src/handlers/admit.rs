//! `team.*` that admits a machine without a ticket, and that cuts a machine's key off.
//! Spec: §4 "Encryption-key rotation", §8.2 "Admitting a machine without a ticket", "Founding keys"; D1.7 rows 67–71, 77

use messaging_core::code::Code;
use messaging_core::keys::Identity;
use messaging_core::roster::{Member as RosterMember, Op, Role, Roster};
use messaging_ipc::params::Nothing;
use messaging_ipc::params::device::Wait;
use messaging_ipc::params::team::{Add, OneMachine, Pair};
use messaging_ipc::results::team::{Claimed, OneMember, PairCancelled, Paired, Prepared};

use super::team::{admin, admit_nobody_while_restored, member};
use super::{Answer, Call, Handled, field};
use crate::engine::DaemonEngine;
use crate::flows::{self, Errand};
use crate::pairing::Place;
use crate::work::{Halt, Step, Work};

/// Makes the keys that a team will be founded with, or gives those that wait.
pub(super) fn prepare(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    _: Nothing,
) -> Handled<Prepared> {
    Ok(now_or_later(flows::prepare(engine, work, call.reply.clone())?))
}

/// Makes the keys that an admin may admit, or gives those that wait for the same place.
pub(super) fn pair(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Pair,
) -> Handled<Paired> {
    let Pair { relay, team, person, label } = params;
    let place = Place { relay, team, person, label };
    Ok(now_or_later(flows::pair(engine, work, call.reply.clone(), place)?))
}

/// Takes the place of the keys that wait, once an admin has given it.
pub(super) fn claim(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Wait,
) -> Handled<Claimed> {
    flows::claim(engine, work, call.reply.clone(), params.wait_ms.value())?;
    Ok(Answer::Later)
}

/// Drops the keys that wait.
pub(super) fn pair_cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    _: Nothing,
) -> Handled<PairCancelled> {
    Ok(now_or_later(flows::cancel(engine, work, call.reply.clone())?))
}

fn now_or_later<R>(done: Option<R>) -> Answer<R> {
    done.map_or(Answer::Later, Answer::Now)
}

/// Admits exactly these keys, as a member.
pub(super) fn add(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Add,
) -> Handled<OneMember> {
    admit_nobody_while_restored(engine)?;
    admin(engine)?;
    let Add { machine, enc, person, label } = params;
    let member = RosterMember { machine, enc, person, label, role: Role::Member };
    check_new(engine.realm.roster(), &member)?;
    let errand = Errand::Add { reply: call.reply.clone(), machine };
    flows::append(engine, work, Op::MemberAdd { member }, errand);
    Ok(Answer::Later)
}

/// What the roster would refuse, in words for the admin.
fn check_new(roster: &Roster, new: &RosterMember) -> Step<()> {
    let is_taken = |held: &RosterMember| held.person == new.person && held.label == new.label;
    let words = if roster.was_removed(&new.machine) {
        "that machine was removed from the team, which is for good"
    } else if roster.member(&new.machine).is_some() {
        "that machine is in the team already"
    } else if roster.members().any(is_taken) {
        "this person has a machine with that label already"
    } else {
        return Ok(());
    };
    Err(Halt::refused(Code::Forbidden, words))
}

/// Replaces a machine's encryption key by one whose private half nobody has, until that machine publishes its own.
pub(super) fn rekey(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: OneMachine,
) -> Handled<Prepared> {
    let machine = params.machine;
    if engine.is_me(&machine) {
        return Err(field("machine", "it is this machine; rotate its key instead"));
    }
    admin(engine)?;
    member(engine, &machine)?;
    // The private half ends here.
    let enc = *Identity::generate(work.rng).enc.public();
    let errand = Errand::Rekey { reply: call.reply.clone(), result: Prepared { machine, enc } };
    flows::append(engine, work, Op::MemberRekey { machine, enc }, errand);
    Ok(Answer::Later)
}
