//! An admin's roster entries: who asked, what they are told when the entry is in, and what must follow it.
//! Spec: §4, D1.7

use std::collections::{BTreeMap, BTreeSet};

use messaging_core::code::{Code, Failure};
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::roster::{Applied, Op, Role, Roster, RosterHead};
use messaging_core::ticket::{InviteTicket, TextForm};
use messaging_core::time::Ms;
use messaging_ipc::error::Refusal;
use messaging_ipc::results::Done;
use messaging_ipc::results::team::{Invited, MachineRemoved, OneMember, Prepared};
use messaging_ipc::scalars::Secret;
use messaging_store::StoreError;

use crate::appends::{self, AppendTicket};
use crate::calls::CallKey;
use crate::engine::DaemonEngine;
use crate::handlers;
use crate::ipc::Reply;
use crate::rotation;
use crate::work::{Work, judged};

/// Why an entry is appended.
#[derive(Debug)]
pub(crate) enum Errand {
    /// An invite was opened; its ticket goes to the caller.
    Invite { reply: Reply, ticket: InviteTicket },
    /// An invite was taken back.
    Revoke { reply: Reply },
    /// A machine was admitted without a ticket.
    Add { reply: Reply, machine: MachineId },
    /// A machine's encryption key was cut off.
    Rekey { reply: Reply, result: Prepared },
    /// A machine's role was changed.
    Role { reply: Reply, machine: MachineId },
    /// A machine was removed.
    Remove { reply: Reply, result: MachineRemoved },
    /// This machine's new encryption key is published; [`rotation`] is told.
    Rotate,
    /// An invite of a former admin is taken back, which nobody asked for by a call.
    Tidy,
}

impl Errand {
    fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Invite { reply, .. }
            | Self::Revoke { reply }
            | Self::Add { reply, .. }
            | Self::Rekey { reply, .. }
            | Self::Role { reply, .. }
            | Self::Remove { reply, .. } => Some(reply),
            Self::Rotate | Self::Tidy => None,
        }
    }

    fn is_for(&self, (conn, id): &CallKey) -> bool {
        self.reply().is_some_and(|reply| reply.conn == *conn && reply.id == *id)
    }
}

/// The entries that somebody waits for.
#[derive(Debug)]
pub(super) struct Errands {
    waiting: BTreeMap<AppendTicket, Errand>,
    /// Former admins may have left invites open.
    untidy: bool,
}

impl Default for Errands {
    /// A last process may have died between a removal and what must follow it.
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), untidy: true }
    }
}

impl Errands {
    /// Forgets the errand of a call.
    pub(super) fn forget(&mut self, call: &CallKey) {
        self.waiting.retain(|_, errand| !errand.is_for(call));
    }

    /// Keeps the errands whose entries still wait.
    pub(super) fn keep(&mut self, waits: impl Fn(AppendTicket) -> bool) {
        self.waiting.retain(|ticket, errand| {
            let kept = waits(*ticket);
            self.untidy |= !kept && matches!(errand, Errand::Tidy);
            kept
        });
    }

    /// Whether a new encryption key waits to be published.
    pub(super) fn rotates(&self) -> bool {
        self.waiting.values().any(|errand| matches!(errand, Errand::Rotate))
    }

    /// Whether somebody waits for an entry.
    pub(super) fn has(&self, ticket: AppendTicket) -> bool {
        self.waiting.contains_key(&ticket)
    }

    /// Whether an errand will answer a call.
    pub(super) fn works_on(&self, call: &CallKey) -> bool {
        self.waiting.values().any(|errand| errand.is_for(call))
    }
}

/// Appends an entry; whoever the errand names is told how it ended.
pub(crate) fn append(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, op: Op, errand: Errand) {
    let ticket = appends::submit(engine, work, op);
    engine.flows.errands.waiting.insert(ticket, errand);
}

/// An entry's end is known.
pub(crate) fn appended(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    ticket: AppendTicket,
    outcome: Result<RosterHead, Failure>,
) -> Result<(), StoreError> {
    let Some(errand) = engine.flows.errands.waiting.remove(&ticket) else { return Ok(()) };
    if let Err(failure) = outcome {
        match errand.reply() {
            None if matches!(errand, Errand::Rotate) => rotation::refused(engine, work, failure),
            Some(reply) => reply.refuse(work, failure.into()),
            // A relay that was away is asked again; any other end needs no second try.
            None => engine.flows.errands.untidy |= failure.code == Code::RelayUnavailable,
        }
        return Ok(());
    }
    match errand {
        Errand::Invite { reply, ticket } => invited(work, &reply, &ticket),
        Errand::Revoke { reply } => reply.result(work, &Done::OK),
        Errand::Rekey { reply, result } => reply.result(work, &result),
        Errand::Add { reply, machine } | Errand::Role { reply, machine } => {
            match judged(handlers::one_member(engine, &machine))? {
                Ok(member) => reply.result(work, &OneMember { member }),
                Err(refusal) => reply.refuse(work, refusal),
            }
        }
        Errand::Remove { reply, result } => reply.result(work, &result),
        // The roster names the key: that is what is waited for.
        Errand::Rotate | Errand::Tidy => {}
    }
    Ok(())
}

fn invited(work: &mut Work<'_, '_>, reply: &Reply, ticket: &InviteTicket) {
    let text = ticket.encode().ok().and_then(|text| Secret::parse(&text).ok());
    match text {
        Some(text) => reply.result(
            work,
            &Invited {
                invite_id: ticket.invite_id,
                ticket: text,
                person: ticket.person.clone(),
                expires: ticket.expires,
            },
        ),
        // An address of the allowed length always leaves room for a ticket.
        None => reply.refuse(work, Refusal::code(Code::Internal)),
    }
}

/// The roster has a new head: a removal or demotion by this machine is followed by the revocation of that admin's invites.
pub(crate) fn roster_changed(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    applied: &Applied,
) -> Result<(), StoreError> {
    let takes_rights = matches!(
        applied.entry.op(),
        Op::MemberRemove { .. } | Op::MemberRole { role: Role::Member, .. }
    );
    engine.flows.errands.untidy |= takes_rights && engine.is_me(applied.entry.by());
    Ok(())
}

/// Takes back what former admins left open, as soon as the relay is there.
pub(super) fn tidy(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if !engine.flows.errands.untidy || !engine.link.is_ready() {
        return;
    }
    engine.flows.errands.untidy = false;
    let Ok(ready) = engine.ready() else { return };
    if ready.me.role != Role::Admin {
        return;
    }
    for invite_id in orphans(ready.roster, &ready.me.machine, work.wall()) {
        append(engine, work, Op::InviteRevoke { invite_id }, Errand::Tidy);
    }
}

/// Invites that can still be used, made by machines whose admin's rights `me` took away.
fn orphans(roster: &Roster, me: &MachineId, now: Ms) -> Vec<Ulid> {
    let mut fallen = BTreeSet::new();
    for entry in roster.entries() {
        match entry.op() {
            Op::MemberRemove { machine } | Op::MemberRole { machine, role: Role::Member }
                if entry.by() == me =>
            {
                fallen.insert(*machine);
            }
            Op::MemberRole { machine, .. } => {
                fallen.remove(machine);
            }
            _ => {}
        }
    }
    roster
        .open_invites()
        .filter(|invite| invite.expires > now && fallen.contains(&invite.by))
        .map(|invite| invite.id)
        .collect()
}
