//! What a guest says on one connection, and what the relay's answers come to.
//! Spec: §4 "Invites" 3 to 5, §7, W2.9, W4.9, W5.3

use messaging_core::code::{Code, Failure};
use messaging_core::ids::PersonId;
use messaging_core::relay_auth::{Challenge, RosterHello};
use messaging_core::roster::{Live, Roster, RosterHead};
use messaging_ipc::error::Refusal;
use messaging_store::StoreError;
use messaging_wire::{
    ClientFrame, Hello, Join, Nack, RelayFrame, RosterAppend, RosterPage, RosterSync,
};
use serde_json::Value;

use super::{Goal, Guest, Step, Talk, adopt, claim, dial, fail, lost};
use crate::engine::DaemonEngine;
use crate::link;
use crate::work::Work;

/// The relay challenged the guest: it says what it came for.
pub(in crate::flows) fn challenged(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    challenge: &Challenge,
) -> Result<(), StoreError> {
    let Some(guest) = engine.flows.guest.take() else {
        link::hang_up(engine, work);
        return Ok(());
    };
    let since = work.mono();
    let talk = Talk { challenge: challenge.clone(), since, frames: 0, by: since };
    if guest.unsettled || matches!(guest.goal, Goal::Settle | Goal::Claim { .. }) {
        return greet(engine, work, guest, talk);
    }
    match &guest.goal {
        Goal::Found { genesis } => {
            let genesis = genesis.clone();
            append(engine, work, guest, talk, genesis)
        }
        Goal::Join { .. } | Goal::Claim { .. } | Goal::Settle => {
            ask_page(engine, work, guest, talk)
        }
    }
}

/// The relay spoke.
pub(in crate::flows) fn heard(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    frame: RelayFrame,
) -> Result<(), StoreError> {
    let Some(mut guest) = engine.flows.guest.take() else { return Ok(()) };
    if let RelayFrame::Error(error) = &frame {
        guest.refused = Some(error.code);
    }
    let step = std::mem::replace(&mut guest.step, Step::Dialing);
    match (step, frame) {
        (Step::Paging { req, talk }, RelayFrame::Roster(page))
            if page.req.as_ref() == Some(&req) =>
        {
            paged(engine, work, guest, talk, &page)
        }
        (Step::Paging { req, .. }, RelayFrame::Nack(nack)) if nack.id == req => {
            fail(engine, work, guest, refusal(&nack))
        }
        (Step::Appending { req, next, .. }, RelayFrame::RosterOk(ok)) if ok.req == req => {
            if next.head() == Some(ok.head) {
                guest.chain = *next;
                return adopt(engine, work, guest);
            }
            fail(engine, work, guest, inconsistent("the relay confirmed another entry"))
        }
        (Step::Appending { req, talk, .. }, RelayFrame::Nack(nack)) if nack.id == req => {
            append_refused(engine, work, guest, talk, &nack)
        }
        (Step::Greeting { talk }, RelayFrame::Welcome(welcome)) => {
            guest.idle_dials = 0;
            // Whatever comes now, the team has this machine.
            guest.under_way = true;
            sync(engine, work, guest, talk, welcome.head)
        }
        (Step::Syncing { req, head, talk }, RelayFrame::Roster(page))
            if page.req.as_ref() == Some(&req) =>
        {
            synced(engine, work, guest, talk, head, &page)
        }
        (Step::Syncing { req, .. }, RelayFrame::Nack(nack)) if nack.id == req => {
            fail(engine, work, guest, refusal(&nack))
        }
        (step, _) => {
            guest.step = step;
            engine.flows.guest = Some(guest);
            Ok(())
        }
    }
}

/// Greets as the member that this machine may be.
fn greet(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
) -> Result<(), StoreError> {
    let signing = &guest.keys.identity.signing;
    let hello = RosterHello::sign(&talk.challenge, &guest.intent.team, work.wall(), signing);
    match hello {
        Ok(RosterHello { team, machine, ts, sig }) => {
            let hello = ClientFrame::Hello(Hello { team, machine, ts, sig });
            let talk = say(engine, work, talk, &hello);
            guest.step = Step::Greeting { talk };
            engine.flows.guest = Some(guest);
            Ok(())
        }
        Err(failure) => fail(engine, work, guest, failure.into()),
    }
}

/// Asks for the chain after what is known of it.
fn ask_page(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
) -> Result<(), StoreError> {
    let Goal::Join { ticket } = &guest.goal else { return Ok(()) };
    // One frame must be left for the redeem, and time for its answer.
    if talk.frames >= MAX_PAGES_A_TALK || work.mono().since(talk.since) >= TALK_MS {
        dial(engine, work, guest);
        return Ok(());
    }
    let proof = match ticket.join_proof(&talk.challenge) {
        Ok(proof) => proof,
        Err(failure) => return fail(engine, work, guest, failure.into()),
    };
    let req = engine.link.req();
    let join = Join {
        req: req.clone(),
        team: ticket.team,
        invite_id: ticket.invite_id,
        proof,
        after: guest.chain.head().map(|head| head.seq),
    };
    let talk = say(engine, work, talk, &ClientFrame::Join(join));
    guest.step = Step::Paging { req, talk };
    engine.flows.guest = Some(guest);
    Ok(())
}

/// A page came: the next one is asked for, or the ticket is redeemed.
fn paged(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
    page: &RosterPage,
) -> Result<(), StoreError> {
    if let Err(refusal) = take_page(&mut guest, page) {
        return fail(engine, work, guest, refusal);
    }
    guest.idle_dials = 0;
    if page.more {
        return ask_page(engine, work, guest, talk);
    }
    match redeem(&guest, work) {
        Ok(entry) => append(engine, work, guest, talk, entry),
        Err(failure) => fail(engine, work, guest, failure.into()),
    }
}

/// Verifies a page and takes it in. The chain must be the intended team's, and a page that promises more must bring some.
fn take_page(guest: &mut Guest, page: &RosterPage) -> Result<(), Refusal> {
    if page.more && page.entries.is_empty() {
        return Err(inconsistent("the relay sent an empty page and promised more"));
    }
    for entry in &page.entries {
        let taken = guest.chain.apply(entry, None);
        taken.map_err(|_| inconsistent("the relay's history of the team does not verify"))?;
        if guest.chain.team_id() != Some(&guest.intent.team) {
            return Err(inconsistent("the relay sent the history of another team"));
        }
    }
    Ok(())
}

/// The entry by which the ticket is redeemed on the head that is known.
fn redeem(guest: &Guest, work: &Work<'_, '_>) -> Result<Value, Failure> {
    let Goal::Join { ticket } = &guest.goal else {
        return Err(Failure::new(Code::Internal, "goal"));
    };
    let op = ticket.redeem(&guest.intent.team, &guest.keys.identity, &guest.intent.label)?;
    guest.chain.sign_next(&op, work.wall(), &guest.keys.identity.signing)
}

/// Sends an entry, judged first as the relay will judge it: what can be known here needs no answer.
fn append(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
    entry: Value,
) -> Result<(), StoreError> {
    let mut next = match guest.goal {
        Goal::Found { .. } => Roster::new(),
        Goal::Join { .. } | Goal::Claim { .. } | Goal::Settle => guest.chain.clone(),
    };
    if let Err(failure) = next.apply(&entry, Some(Live::append(work.wall()))) {
        return fail(engine, work, guest, judged_here(&entry, failure));
    }
    let req = engine.link.req();
    let frame = ClientFrame::RosterAppend(RosterAppend { req: req.clone(), entry });
    let talk = say(engine, work, talk, &frame);
    guest.step = Step::Appending { req, next: Box::new(next), talk };
    engine.flows.guest = Some(guest);
    Ok(())
}

/// Why this machine itself does not send an entry, in words for the person who joins.
fn judged_here(entry: &Value, failure: Failure) -> Refusal {
    let is_redeem = entry.get("op").and_then(Value::as_str) == Some(REDEEM);
    match failure.code {
        Code::Forbidden if is_redeem => {
            Refusal::new(Code::Forbidden, "this person has a machine with that label already")
        }
        Code::InviteInvalid => {
            Refusal::new(Code::InviteInvalid, "the invite was used, revoked or has expired")
        }
        // It was signed a moment ago: either this machine's clock is behind or an earlier author's was ahead.
        Code::InvalidRequest if failure.at == "ts" => {
            let words = "this machine's clock is behind the team's newest entry";
            Refusal::new(Code::Expired, words)
        }
        _ => failure.into(),
    }
}

/// The relay refused an entry.
fn append_refused(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
    nack: &Nack,
) -> Result<(), StoreError> {
    match (nack.code, &guest.goal) {
        // A write that the relay says failed may stand all the same: on the next link this machine asks as a member.
        (Code::Internal, _) => {
            link::hang_up(engine, work);
            guest.unsettled = true;
            guest.under_way = true;
            lost(engine, work, guest)
        }
        // This very genesis is at the relay: the answer to its first sending was lost. Greeting proves it.
        (Code::RosterConflict, Goal::Found { .. }) if guest.conflicts < MAX_CONFLICTS => {
            guest.conflicts += 1;
            guest.unsettled = true;
            dial(engine, work, guest);
            Ok(())
        }
        (Code::RosterConflict, Goal::Join { .. }) if guest.conflicts < MAX_CONFLICTS => {
            guest.conflicts += 1;
            ask_page(engine, work, guest, talk)
        }
        _ => fail(engine, work, guest, refusal(nack)),
    }
}

/// As a member: brings the chain up to the welcome.
fn sync(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
    head: RosterHead,
) -> Result<(), StoreError> {
    let known = guest.chain.head().map(|head| head.seq);
    if known.is_some_and(|known| known >= head.seq) {
        return take_place(engine, work, guest);
    }
    let req = engine.link.req();
    let sync = RosterSync { req: req.clone(), after: known };
    let talk = say(engine, work, talk, &ClientFrame::RosterSync(sync));
    guest.step = Step::Syncing { req, head, talk };
    engine.flows.guest = Some(guest);
    Ok(())
}

fn synced(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mut guest: Guest,
    talk: Talk,
    head: RosterHead,
    page: &RosterPage,
) -> Result<(), StoreError> {
    let before = guest.chain.head();
    if let Err(refusal) = take_page(&mut guest, page) {
        return fail(engine, work, guest, refusal);
    }
    if guest.chain.head() == before {
        let words = "the relay sent no entries up to its own head";
        return fail(engine, work, guest, inconsistent(words));
    }
    sync(engine, work, guest, talk, head)
}

/// The relay counts this machine in: the verified chain must say the same, with exactly these keys and names.
fn take_place(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    guest: Guest,
) -> Result<(), StoreError> {
    let is_ours = guest.chain.member(&guest.intent.machine).is_some_and(|member| {
        member.enc == *guest.keys.identity.enc.public()
            && PersonId::from(&member.person) == guest.intent.person
            && member.label == guest.intent.label
    });
    if is_ours {
        return match guest.goal {
            Goal::Claim { .. } => claim::keep(engine, work, guest),
            Goal::Found { .. } | Goal::Join { .. } | Goal::Settle => adopt(engine, work, guest),
        };
    }
    let words = "the team's history names this machine with other keys or names";
    fail(engine, work, guest, Refusal::new(Code::Forbidden, words))
}

fn say(engine: &DaemonEngine, work: &mut Work<'_, '_>, talk: Talk, frame: &ClientFrame) -> Talk {
    engine.link.send(work, frame.print());
    Talk { frames: talk.frames + 1, by: work.mono().plus(REPLY_MS), ..talk }
}

/// A relay's refusal in our own words. Its own trouble is not the caller's fault.
fn refusal(nack: &Nack) -> Refusal {
    match nack.code {
        Code::InviteInvalid => {
            Refusal::new(Code::InviteInvalid, "the invite is unknown, used, revoked or expired")
        }
        Code::Forbidden => Refusal::new(Code::Forbidden, "the relay does not allow it"),
        Code::RosterConflict => {
            Refusal::new(Code::RosterConflict, "the team kept changing meanwhile; try again")
        }
        Code::RateLimited => Refusal::rate_limited(nack.retry_after_ms.unwrap_or(60_000)),
        Code::Expired => {
            let words = "this machine's clock differs too much from the relay's";
            Refusal::new(Code::Expired, words)
        }
        Code::InvalidRequest => Refusal::new(Code::InvalidRequest, "the relay refused the entry"),
        _ => Refusal::new(Code::RelayUnavailable, "the relay cannot take it now"),
    }
}

fn inconsistent(words: &'static str) -> Refusal {
    Refusal::new(Code::RosterConflict, words)
}

const REDEEM: &str = "invite.redeem";
/// Pages fetched on one connection before a fresh one is made.
const MAX_PAGES_A_TALK: u32 = 7;
/// How long a guest asks for pages on one connection: a relay hangs up after ten seconds.
const TALK_MS: u64 = 7_000;
/// How long an answer may take.
const REPLY_MS: u64 = 8_000;
/// How often a redeem is signed again.
const MAX_CONFLICTS: u32 = 3;
