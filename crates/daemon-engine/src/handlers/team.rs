//! `team.*`: founding, joining and administering a team.
//! Spec: §4, D1.7, D3.23

use messaging_core::code::Code;
use messaging_core::ids::MachineId;
use messaging_core::invite;
use messaging_core::roster::{Member as RosterMember, Op, Role};
use messaging_core::ticket::{InviteTicket, TeamCard, TextForm};
use messaging_core::time::Ms;
use messaging_core::version::Version;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::team::{Create, Invite, Join, OneMachine, Revoke, SetRole};
use messaging_ipc::results::Done;
use messaging_ipc::results::team::{Created, Invited, Joined, MachineRemoved, OneMember, Team};
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{InviteView, Member};

use super::{Answer, Call, Handled, field};
use crate::engine::DaemonEngine;
use crate::flows::{self, Errand};
use crate::history;
use crate::work::{Halt, Step, Work};

pub(super) use super::admit::{add, claim, pair, pair_cancel, prepare, rekey};

/// Founds a team: this machine is its first admin.
pub(super) fn create(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Create,
) -> Handled<Created> {
    flows::found(engine, work, call.reply.clone(), &params)?;
    Ok(Answer::Later)
}

/// Joins a team by a ticket.
pub(super) fn join(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Join,
) -> Handled<Joined> {
    let ticket = InviteTicket::decode(params.ticket.expose())
        .map_err(|_| field("ticket", "it is no invite ticket"))?;
    flows::join(engine, work, call.reply.clone(), ticket, &params.label)?;
    Ok(Answer::Later)
}

/// Opens an invite; its ticket is in the answer and nowhere else.
pub(super) fn invite(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Invite,
) -> Handled<Invited> {
    admit_nobody_while_restored(engine)?;
    admin(engine)?;
    let relay = relay(engine)?;
    let new = invite::create(&params.person, params.ttl_ms.value(), work.wall(), work.rng)?;
    let roster = engine.realm.roster();
    let team = *roster.team_id().ok_or_else(no_team)?;
    let ticket = InviteTicket {
        v: Version,
        relay,
        team,
        invite_id: new.id,
        secret: new.secret,
        person: params.person,
        expires: new.expires,
        name: roster.name().cloned(),
    };
    flows::append(engine, work, new.op, Errand::Invite { reply: call.reply.clone(), ticket });
    Ok(Answer::Later)
}

/// Takes an open invite back.
pub(super) fn revoke(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Revoke,
) -> Handled<Done> {
    admin(engine)?;
    if !engine.realm.roster().invite(&params.invite_id).is_some_and(|invite| invite.open) {
        return Err(Halt::refused(Code::InviteInvalid, "no such invite is open"));
    }
    let op = Op::InviteRevoke { invite_id: params.invite_id };
    flows::append(engine, work, op, Errand::Revoke { reply: call.reply.clone() });
    Ok(Answer::Later)
}

/// The team as this machine has verified it. Only invites that can still be used are listed.
pub(super) fn list(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Team> {
    let relay = relay(engine)?;
    let roster = engine.realm.roster();
    let (team, head) = roster.team_id().zip(roster.head()).ok_or_else(no_team)?;
    let name = roster.name().cloned().ok_or_else(no_team)?;
    let card =
        TeamCard { v: Version, relay: relay.clone(), team: *team, name: name.clone() }.encode()?;
    let stays = history::stays(roster);
    let since = |machine: &MachineId| stays.get(machine).map_or(Ms(0), |stay| stay.since);
    let now = work.wall();
    Ok(Answer::Now(Team {
        team: *team,
        name,
        relay,
        card,
        seq: head.seq,
        hash: head.hash,
        members: roster
            .members()
            .map(|member| view(engine, member, since(&member.machine)))
            .collect(),
        invites: roster
            .open_invites()
            .filter(|invite| invite.expires > now)
            .map(|invite| InviteView {
                invite_id: invite.id,
                person: invite.person.clone(),
                expires: invite.expires,
                by: invite.by,
            })
            .collect(),
    }))
}

/// Changes a machine's role.
pub(super) fn role(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: SetRole,
) -> Handled<OneMember> {
    admit_nobody_while_restored(engine)?;
    admin(engine)?;
    let member = member(engine, &params.machine)?;
    if member.role == params.role {
        return Ok(Answer::Now(OneMember { member: one(engine, &params.machine)? }));
    }
    if params.role == Role::Member {
        spare_last_admin(engine, &member)?;
    }
    let op = Op::MemberRole { machine: params.machine, role: params.role };
    let errand = Errand::Role { reply: call.reply.clone(), machine: params.machine };
    flows::append(engine, work, op, errand);
    Ok(Answer::Later)
}

/// Removes a machine, for good. A member may remove itself.
pub(super) fn remove(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: OneMachine,
) -> Handled<MachineRemoved> {
    let own = engine.is_me(&params.machine);
    if !own {
        admin(engine)?;
    }
    let member = member(engine, &params.machine)?;
    spare_last_admin(engine, &member)?;
    let result = MachineRemoved { machine: params.machine, own };
    let op = Op::MemberRemove { machine: params.machine };
    flows::append(engine, work, op, Errand::Remove { reply: call.reply.clone(), result });
    Ok(Answer::Later)
}

/// A member as clients see it now.
pub(crate) fn one(engine: &DaemonEngine, machine: &MachineId) -> Step<Member> {
    let member = member(engine, machine)?;
    let stays = history::stays(engine.realm.roster());
    let since = stays.get(machine).map_or(Ms(0), |stay| stay.since);
    Ok(view(engine, &member, since))
}

fn view(engine: &DaemonEngine, member: &RosterMember, added_at: Ms) -> Member {
    Member {
        machine: member.machine,
        enc: member.enc,
        person: member.person.clone(),
        label: member.label.clone(),
        role: member.role,
        online: engine.is_online(&member.machine),
        own: engine.is_me(&member.machine).then_some(True),
        added_at,
    }
}

pub(super) fn member(engine: &DaemonEngine, machine: &MachineId) -> Step<RosterMember> {
    let found = engine.realm.member(machine).cloned();
    found.ok_or_else(|| Halt::refused(Code::NotFound, "no such machine is in the team"))
}

pub(super) fn admin(engine: &DaemonEngine) -> Step<()> {
    if engine.ready()?.me.role == Role::Admin {
        Ok(())
    } else {
        Err(Halt::refused(Code::Forbidden, "only an admin of the team may do this"))
    }
}

fn spare_last_admin(engine: &DaemonEngine, member: &RosterMember) -> Step<()> {
    let admins = engine.realm.roster().members().filter(|member| member.role == Role::Admin);
    if member.role == Role::Admin && admins.count() == 1 {
        return Err(Halt::refused(Code::Forbidden, "a team keeps at least one admin"));
    }
    Ok(())
}

/// A home that runs from an older copy must not admit anyone as itself; it may still remove.
pub(super) fn admit_nobody_while_restored(engine: &DaemonEngine) -> Step<()> {
    if engine.is_restored() {
        let words = "this device runs from an older copy; replace it first";
        return Err(Halt::refused(Code::InvalidState, words));
    }
    Ok(())
}

fn relay(engine: &DaemonEngine) -> Step<messaging_core::ids::RelayUrl> {
    engine.config.relay.clone().ok_or_else(no_team)
}

fn no_team() -> Halt {
    Halt::refused(Code::NoIdentity, "this machine is in no team")
}
