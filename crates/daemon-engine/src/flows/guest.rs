//! A machine without a place in a team talks to a relay: it founds, joins, or finds out whether it already did.
//! Spec: §4 "Invites", §7 "`join`", "Paging"; W5.3, W5.8, D3.3
//!
//! ```text
//!          save keys            challenge
//! begin ──▶ Saving ──▶ Dialing ────┬──▶ Appending (genesis) ───────────┐ roster.ok
//!                        ▲         ├──▶ Paging ──▶ Appending (redeem) ──┤
//!                        │         └──▶ Greeting ──▶ Syncing ───────────┴──▶ adopted ──▶ Configuring ──▶ answer
//!                     Resting ◀── the link went
//! ```
//!
//! A claim has its keys already; it greets, syncs, and only then has them written as the home's (`Keeping`).
//!
//! An entry whose answer was lost leaves the guest *unsettled*: on the next link it greets as a member, and the relay's word
//! settles it. What a process that died had begun is settled the same way, by its [`Intent`].

mod claim;
mod talk;

use messaging_core::code::Code;
use messaging_core::ids::Req;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::relay_auth::Challenge;
use messaging_core::roster::{Roster, RosterHead};
use messaging_core::ticket::InviteTicket;
use messaging_core::time::Mono;
use messaging_ipc::error::Refusal;
use messaging_ipc::results::team::{Claimed, Created, Joined};
use messaging_store::StoreError;
use serde_json::Value;

use super::intent::Intent;
use super::pairing;
use crate::engine::DaemonEngine;
use crate::home::Standing;
use crate::identity::IdentityFile;
use crate::input::{Out, SaveToken};
use crate::ipc::Reply;
use crate::work::Work;
use crate::{link, realm};

pub(crate) use claim::claim;
pub(super) use claim::leave as leave_claim;
pub(super) use talk::{challenged, heard};

/// A guest and how far it is.
#[derive(Debug)]
pub(super) struct Guest {
    goal: Goal,
    intent: Intent,
    keys: IdentityFile,
    /// The caller, until it is answered.
    reply: Option<Reply>,
    /// When the caller is told that no relay answered.
    answer_by: Mono,
    /// What is verified of the team so far.
    chain: Roster,
    step: Step,
    /// An entry was sent and its answer is not known.
    unsettled: bool,
    /// An entry was sent on a connection that is gone: it may stand, or still arrive, even behind a later hello.
    under_way: bool,
    /// It was asked whether an invite that is used up was used by this machine.
    has_asked: bool,
    /// When this guest began.
    since: Mono,
    /// How often the redeem was signed again for a head that had moved.
    conflicts: u32,
    /// Dials since something came of one.
    idle_dials: u32,
    /// Why the relay is about to hang up.
    refused: Option<Code>,
}

/// What a guest wants.
#[derive(Debug)]
pub(super) enum Goal {
    /// To found a team with this entry.
    Found { genesis: Value },
    /// To join by a ticket.
    Join { ticket: InviteTicket },
    /// To be given the place of keys that wait, asking until then.
    Claim { until: Mono },
    /// To find out what became of an earlier try.
    Settle,
}

/// What a guest waits for.
#[derive(Debug)]
enum Step {
    /// Its keys are being written.
    Saving(SaveToken),
    /// Time, before the next dial.
    Resting { until: Mono },
    /// The challenge; the link keeps the time.
    Dialing,
    /// A page of the chain.
    Paging { req: Req, talk: Talk },
    /// The answer to an entry that would make the chain `next`.
    Appending { req: Req, next: Box<Roster>, talk: Talk },
    /// The welcome.
    Greeting { talk: Talk },
    /// A page of the chain, as a member.
    Syncing { req: Req, head: RosterHead, talk: Talk },
    /// The verified chain gives it its place; its keys are being written.
    Keeping(SaveToken),
    /// Its configuration is being written; the place is taken.
    Configuring(SaveToken),
}

/// One connection's conversation.
#[derive(Clone, Debug)]
struct Talk {
    challenge: Challenge,
    since: Mono,
    /// Frames sent on it: a relay takes eight before a hello.
    frames: u32,
    /// When the answer to the last one is late.
    by: Mono,
}

impl Guest {
    pub(super) fn new(
        goal: Goal,
        intent: Intent,
        keys: IdentityFile,
        reply: Option<Reply>,
        now: Mono,
    ) -> Self {
        Self {
            goal,
            intent,
            keys,
            reply,
            answer_by: now.plus(ANSWER_MS),
            chain: Roster::new(),
            step: Step::Resting { until: now },
            unsettled: false,
            under_way: false,
            has_asked: false,
            since: now,
            conflicts: 0,
            idle_dials: 0,
            refused: None,
        }
    }

    /// The same guest, which does not know whether it is a member already.
    pub(super) fn unsettled(self) -> Self {
        Self { unsettled: true, under_way: true, ..self }
    }

    /// Whether a caller waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.reply.is_some()
    }

    /// When it wants to be looked at.
    pub(super) fn deadline(&self) -> Option<Mono> {
        let step = match &self.step {
            Step::Resting { until } => Some(*until),
            Step::Paging { talk, .. }
            | Step::Appending { talk, .. }
            | Step::Greeting { talk }
            | Step::Syncing { talk, .. } => Some(talk.by),
            Step::Saving(_) | Step::Dialing | Step::Keeping(_) | Step::Configuring(_) => None,
        };
        let answer = self.reply.as_ref().map(|_| self.answer_by);
        step.into_iter().chain(answer).min()
    }

    /// Whether the guest goes on when nobody waits: an entry may be at the relay.
    fn must_settle(&self) -> bool {
        self.unsettled
            || matches!(self.goal, Goal::Settle)
            || matches!(self.step, Step::Appending { .. } | Step::Keeping(_))
    }
}

/// Stores what a new guest intends, has its keys written, and then dials. A guest that nobody waits for makes room.
pub(super) fn begin(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
) -> Result<(), StoreError> {
    make_room(engine, work);
    guest.intent.store(work)?;
    let token = engine.lifecycle.save_token();
    work.wish(Out::SaveIdentity { token, identity: Box::new(guest.keys.clone()) });
    guest.step = Step::Saving(token);
    engine.flows.guest = Some(guest);
    Ok(())
}

/// Goes on with a guest whose keys are written.
pub(super) fn proceed(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    guest: Guest,
) -> Result<(), StoreError> {
    make_room(engine, work);
    guest.intent.store(work)?;
    dial(engine, work, guest);
    Ok(())
}

fn make_room(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if engine.flows.guest.take().is_some() {
        link::hang_up(engine, work);
    }
}

/// Settles what an earlier process, or an earlier call, left open.
pub(super) fn resume(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if engine.flows.guest.is_some()
        || engine.home.standing(engine.realm.roster()) != Standing::NoTeam
    {
        return Ok(());
    }
    let Some(intent) = Intent::load(work.tx)? else { return Ok(()) };
    match engine.home.keys.clone().filter(|keys| *keys.machine() == intent.machine) {
        Some(keys) => {
            let guest = Guest::new(Goal::Settle, intent, keys, None, work.mono());
            engine.flows.guest = Some(guest);
            Ok(())
        }
        // Its keys were never written, so nothing was ever sent.
        None => Intent::forget(work),
    }
}

/// A file write has ended.
pub(super) fn saved(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    ok: bool,
) -> Result<(), StoreError> {
    let Some(guest) = engine.flows.guest.take() else { return Ok(()) };
    match guest.step {
        Step::Saving(waited) if waited == token => {
            if ok {
                engine.home.keys = Some(guest.keys.clone());
                dial(engine, work, guest);
                return Ok(());
            }
            fail(engine, work, guest, Refusal::code(Code::Internal))
        }
        Step::Keeping(waited) if waited == token => {
            if ok {
                return adopt(engine, work, guest);
            }
            // A place whose keys are not on the disk is not taken: the keys wait on, and are claimed again.
            let guest = Guest { goal: Goal::Claim { until: work.mono() }, ..guest };
            fail(engine, work, guest, Refusal::code(Code::Internal))
        }
        Step::Configuring(waited) if waited == token => {
            // A configuration that could not be written is written at the next start.
            pairing::outgrown(engine, work);
            welcome(engine, work, guest);
            Ok(())
        }
        _ => {
            engine.flows.guest = Some(guest);
            Ok(())
        }
    }
}

/// Does what is due.
pub(super) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.mono();
    let Some(mut guest) = engine.flows.guest.take() else { return Ok(()) };
    if guest.answer_by <= now && guest.reply.is_some() {
        let words = "the relay did not answer in time";
        if !guest.must_settle() {
            return fail(engine, work, guest, Refusal::new(Code::RelayUnavailable, words));
        }
        // Nobody waits any more: what was sent is settled, and nothing new is begun.
        guest.goal = Goal::Settle;
        if let Some(reply) = guest.reply.take() {
            reply.refuse(work, Refusal::new(Code::RelayUnavailable, words));
        }
    }
    match &guest.step {
        Step::Resting { until } if *until <= now => {
            dial(engine, work, guest);
            return Ok(());
        }
        Step::Paging { talk, .. }
        | Step::Appending { talk, .. }
        | Step::Greeting { talk }
        | Step::Syncing { talk, .. }
            if talk.by <= now =>
        {
            link::hang_up(engine, work);
            return lost(engine, work, guest);
        }
        _ => {}
    }
    engine.flows.guest = Some(guest);
    Ok(())
}

/// The guest's link is gone.
pub(super) fn down(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    match engine.flows.guest.take() {
        Some(guest) => lost(engine, work, guest),
        None => Ok(()),
    }
}

fn dial(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, mut guest: Guest) {
    guest.step = Step::Dialing;
    guest.refused = None;
    guest.idle_dials = guest.idle_dials.saturating_add(1);
    engine.link.guest(work, guest.intent.relay.clone());
    engine.flows.guest = Some(guest);
}

/// A conversation ended before its end.
fn lost(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
) -> Result<(), StoreError> {
    let is_stranger = matches!(guest.refused, Some(Code::NotMember | Code::UnknownDevice));
    match &guest.step {
        Step::Saving(_) | Step::Keeping(_) | Step::Configuring(_) => {
            engine.flows.guest = Some(guest);
            return Ok(());
        }
        // A relay hangs up on a guest after eight frames or ten seconds: what was fetched is kept.
        Step::Paging { .. } | Step::Syncing { .. } if guest.idle_dials == 0 => {
            dial(engine, work, guest);
            return Ok(());
        }
        _ => {}
    }
    if let Goal::Claim { until } = guest.goal {
        return claim::lost(engine, work, guest, until);
    }
    match &guest.step {
        // The relay does not know this machine: what was sent has not arrived, or not yet.
        Step::Greeting { .. } if is_stranger => {
            guest.unsettled = false;
            if matches!(guest.goal, Goal::Settle) {
                // An entry is taken within the clock skew of its time, and that may have been ahead: after that it never
                // arrives.
                if work.mono().since(guest.since) >= 2 * CLOCK_SKEW_MS {
                    return end(engine, work, guest);
                }
                guest.step = Step::Resting { until: work.mono().plus(LONGEST_REST_MS) };
                engine.flows.guest = Some(guest);
                return Ok(());
            }
            if guest.idle_dials < MAX_IDLE_DIALS {
                dial(engine, work, guest);
                return Ok(());
            }
        }
        Step::Appending { .. } => {
            guest.unsettled = true;
            guest.under_way = true;
        }
        _ => {}
    }
    if guest.must_settle() {
        let wait = REST_MS.saturating_mul(1 << guest.idle_dials.min(5)).min(LONGEST_REST_MS);
        guest.step = Step::Resting { until: work.mono().plus(wait) };
        engine.flows.guest = Some(guest);
        return Ok(());
    }
    let words = engine.link.last_error().map_or("the relay does not answer", |error| error.words);
    fail(engine, work, guest, Refusal::new(Code::RelayUnavailable, words))
}

/// Ends a guest that has no place in the team, and says why.
fn fail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    refusal: Refusal,
) -> Result<(), StoreError> {
    if guest.under_way && !guest.has_asked && refusal.as_code() == Code::InviteInvalid {
        // It may be this machine that used the invite: an earlier redeem arrived late. Greeting tells.
        guest.has_asked = true;
        guest.unsettled = true;
        dial(engine, work, guest);
        return Ok(());
    }
    link::hang_up(engine, work);
    if let Some(reply) = guest.reply.take() {
        reply.refuse(work, refusal);
    }
    let claims = matches!(guest.goal, Goal::Claim { .. });
    if guest.under_way && !claims {
        // The caller knows that it failed; whether it did is still found out, or the team has a member that nobody is.
        guest.goal = Goal::Settle;
        guest.step = Step::Resting { until: work.mono().plus(LONGEST_REST_MS) };
        engine.flows.guest = Some(guest);
        return Ok(());
    }
    end(engine, work, guest)
}

/// Forgets a guest that has no place in the team.
fn end(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, guest: Guest) -> Result<(), StoreError> {
    if let Goal::Claim { .. } = guest.goal {
        // It began nothing, but may have interrupted the settling of an earlier try.
        engine.flows.look = true;
        return Ok(());
    }
    if let Some(reply) = guest.reply {
        reply.refuse(
            work,
            Refusal::new(Code::RelayUnavailable, "the relay does not know this machine"),
        );
    }
    Intent::forget(work)
}

/// The chain names this machine: it is the home's realm from now on.
fn adopt(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
) -> Result<(), StoreError> {
    engine.home.keys = Some(guest.keys.clone());
    let config = guest.intent.config();
    realm::adopt(engine, work, guest.chain.clone(), &config)?;
    Intent::forget(work)?;
    let token = engine.lifecycle.save_token();
    let Intent { relay, person, label, .. } = guest.intent.clone();
    work.wish(Out::SaveConfig { token, relay, person, label });
    guest.unsettled = false;
    guest.step = Step::Configuring(token);
    engine.flows.guest = Some(guest);
    link::join_realm(engine, work);
    Ok(())
}

/// Everything is written: the caller is told.
fn welcome(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, guest: Guest) {
    let Guest { goal, intent, reply, .. } = guest;
    let Some(reply) = reply else { return };
    let Intent { team, person, label, machine: device, .. } = intent;
    match goal {
        Goal::Join { .. } => match engine.realm.member(&device) {
            Some(member) => {
                let role = member.role;
                reply.result(work, &Joined { team, device, person, label, role });
            }
            None => {
                let words = "this machine was removed while it joined";
                reply.refuse(work, Refusal::new(Code::NotMember, words));
            }
        },
        Goal::Claim { .. } => {
            reply.result(work, &Claimed::Joined { team, device, person, label });
        }
        Goal::Found { .. } | Goal::Settle => {
            reply.result(work, &Created { team, device, person, label });
        }
    }
}

/// How long a caller waits, ms.
const ANSWER_MS: u64 = 25_000;
/// Before the first dial after a lost one, doubling, ms.
const REST_MS: u64 = 1_000;
const LONGEST_REST_MS: u64 = 30_000;
/// Dials in a row that came to nothing, before a caller is told.
const MAX_IDLE_DIALS: u32 = 3;
