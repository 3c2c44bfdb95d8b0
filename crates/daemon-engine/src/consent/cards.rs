//! Cards: each person tells the others what they may send them, and is told nothing back.
//! Spec: §6.9 "Contact cards", "Cards on the daemon", D3.12, ruling R4
//!
//! A card is advice: what it says shows in `contacts.list`, and the grants of whoever sent it decide.

use messaging_core::code::Code;
use messaging_core::consent::{
    CardCan, CardDraft, CardSeq, EffectiveChat, Subject, VerifiedCard, card_can, verify_card,
};
use messaging_core::envelope::{Envelope, SealedType};
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::time::Ms;
use messaging_store::{StoreError, View};
use serde_json::{Value, json};

use super::{counts, is_own, policy};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::outbound::{self, Letter, Target};
use crate::store::cards::{self, Asks};
use crate::store::{grants, kv};
use crate::work::{Work, judged};

/// What this person says about somebody changed on this device, or they asked for it: each of their devices is sent a card.
///
/// Somebody who is blocked is sent none: a block is not announced.
pub(crate) fn tell(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    person: &PersonId,
) -> Result<(), StoreError> {
    let Some(card) = sign(engine, work, person)? else { return Ok(()) };
    send(engine, work, person, "card", &json!({"card": card.raw()}))
}

/// The same about whomever a grant is about; a channel has no card, nor has one for oneself.
pub(crate) fn tell_about(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    subject: &Subject,
) -> Result<(), StoreError> {
    match subject {
        Subject::Person(person) => tell(engine, work, person),
        Subject::Channel(_) => Ok(()),
    }
}

/// Signs a card for somebody; none for oneself, and for somebody who is blocked or has no device to read it.
fn sign(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &PersonId,
) -> Result<Option<VerifiedCard>, StoreError> {
    let Ok(ready) = engine.ready() else { return Ok(None) };
    let own = PersonId::from(&ready.me.person);
    if own == *to || engine.realm.machines_of(to).next().is_none() {
        return Ok(None);
    }
    let now = work.wall();
    let (relation, policy) = policy(engine, work.tx, &own, to, now)?;
    if policy.chat == EffectiveChat::Blocked {
        return Ok(None);
    }
    let Some(realm) = ready.roster.team_id() else { return Ok(None) };
    let grant = grants::get(work.tx, &Subject::Person(to.clone()))?;
    let grant = grant.filter(|grant| counts(engine, &own, grant));
    // Past the last one used, also when the clock went back: whoever holds that one would keep it.
    let last = kv::number(work.tx, kv::CARD_SEQ)?;
    let seq = now.0.max(last.saturating_add(1));
    kv::set(work.tx, kv::CARD_SEQ, &seq.to_string())?;
    let draft = CardDraft {
        realm: *realm,
        from: &own,
        to,
        seq: CardSeq(seq),
        ts: now,
        grant_id: grant.as_ref().map(|grant| grant.id),
        can: card_can(relation, grant.as_deref(), now),
    };
    // One that breaks a rule, which none of ours does, is not sent.
    Ok(draft.sign(&ready.keys.identity.signing).ok())
}

/// Sends one datum about cards to each current device of a person.
fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &PersonId,
    what: &str,
    data: &Value,
) -> Result<(), StoreError> {
    let targets: Vec<Target> =
        engine.realm.machines_of(to).map(|member| Target::of(member, None)).collect();
    for target in targets {
        let message =
            json!({"messageId": work.ulid(), "role": "ROLE_USER", "parts": [{"data": data}]});
        let payload =
            json!({"kind": "message", "message": message, "conv": {"kind": "card", "what": what}});
        let letter = Letter {
            kind: SealedType::Message,
            from_agent: None,
            to: &target,
            reply_to: None,
            payload: &payload,
            at: work.wall(),
        };
        // A device whose key nobody can seal to goes without.
        judged(outbound::post(engine, work, &letter))?.ok();
    }
    Ok(())
}

/// Somebody asks for a card: they get one at most once a day, and only when this person said something about them; what
/// holds by default they know themselves.
pub(crate) fn wanted(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
) -> Result<(), StoreError> {
    let person = &envelope.from.person;
    let Some((_, own)) = engine.own() else { return Ok(()) };
    let grant = grants::get(work.tx, &Subject::Person(person.clone()))?;
    let says = grant.is_some_and(|grant| counts(engine, &own, &grant));
    if !says || !may_ask(work, person, Asks::In)? {
        return Ok(());
    }
    cards::asked(work.tx, person, Asks::In, work.wall())?;
    tell(engine, work, person)
}

/// Asks a person's devices for their card, unless that was done within the last day. Says whether they were asked.
pub(crate) fn ask(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    person: &PersonId,
) -> Result<bool, StoreError> {
    if !may_ask(work, person, Asks::Out)? {
        return Ok(false);
    }
    cards::asked(work.tx, person, Asks::Out, work.wall())?;
    send(engine, work, person, "get", &json!({"get": true}))?;
    Ok(true)
}

/// Whether a day has passed. What was noted while the clock was ahead holds nobody up.
fn may_ask(work: &Work<'_, '_>, person: &PersonId, asks: Asks) -> Result<bool, StoreError> {
    let now = work.wall();
    let last = cards::asked_at(work.tx, person, asks)?;
    Ok(last.is_none_or(|last| last > now || now.since(last) >= DAY_MS))
}

/// A card arrived. It is kept or not; whoever sent it hears nothing of that.
pub(crate) fn receive(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    raw: &Value,
) -> Result<(), StoreError> {
    if let Err(code) = take(engine, work, &envelope.from.person, raw)? {
        work.log(LogEvent::CardSkipped { device: envelope.from.device, code });
    }
    Ok(())
}

fn take(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    from: &PersonId,
    raw: &Value,
) -> Result<Result<(), Code>, StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(Err(Code::NotMember)) };
    let Some(realm) = engine.realm.id() else { return Ok(Err(Code::NotMember)) };
    let now = work.wall();
    if policy(engine, work.tx, &own, from, now)?.1.chat == EffectiveChat::Blocked {
        return Ok(Err(Code::Refused));
    }
    let card = match verify_card(raw.clone(), realm, from, &own) {
        Ok(card) => card,
        Err(failure) => return Ok(Err(failure.code)),
    };
    if !is_own(engine, from, &card.by) {
        return Ok(Err(Code::NotMember));
    }
    // One of a device that was removed counts as absent, whatever its number.
    let held = held(engine, work.tx, from)?;
    if held.is_none_or(|held| card.seq > held.seq) {
        cards::put(work.tx, &card, now)?;
    }
    Ok(Ok(()))
}

/// The card of a person, while the device that signed it is one of theirs.
fn held(
    engine: &DaemonEngine,
    view: &View<'_>,
    person: &PersonId,
) -> Result<Option<VerifiedCard>, StoreError> {
    Ok(cards::get(view, person)?.filter(|card| is_own(engine, person, &card.by)))
}

/// A person refused what this machine sent them: their card is not what they think any more, and they are asked afresh.
pub(crate) fn rejected(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    by: &MachineId,
    code: Option<Code>,
) -> Result<(), StoreError> {
    if !matches!(code, Some(Code::Refused | Code::RequestRequired | Code::Declined)) {
        return Ok(());
    }
    let Some(person) = engine.realm.member(by).map(|member| PersonId::from(&member.person)) else {
        return Ok(());
    };
    if engine.own().is_none_or(|(_, own)| own == person) {
        return Ok(());
    }
    cards::delete(work.tx, &person)?;
    ask(engine, work, &person).map(drop)
}

/// What a person says this one may send them, and when they signed it. Trust that ended is left out.
pub(crate) fn says(
    engine: &DaemonEngine,
    view: &View<'_>,
    person: &PersonId,
    now: Ms,
) -> Result<Option<(CardCan, Ms)>, StoreError> {
    Ok(held(engine, view, person)?.map(|card| shown(&card, now)))
}

/// The persons whose cards are held and count.
pub(crate) fn persons(engine: &DaemonEngine, view: &View<'_>) -> Result<Vec<PersonId>, StoreError> {
    let all = cards::all(view)?.into_iter();
    let counting = all.filter(|card| is_own(engine, &card.from, &card.by));
    Ok(counting.map(|card| card.from.clone()).collect())
}

fn shown(card: &VerifiedCard, now: Ms) -> (CardCan, Ms) {
    let trusted_until = card.can.trusted_until.filter(|until| *until > now);
    (CardCan { trusted_until, ..card.can }, card.ts)
}

const DAY_MS: u64 = 86_400_000;
