//! The receiver's order: the first step that fails decides what becomes of an envelope.
//! Spec: §5 "Receiver verification order", W4.3, D3.8, rulings R1 and R2
//!
//! Up to the signature nothing is answered and nothing is marked: a frame that nobody signed must not make this machine
//! speak, nor keep out what its real sender sends under the same id. From the addressee on the sender is known: what ends
//! there is marked as seen, so that it is answered once and never taken later.

use messaging_core::code::Code;
use messaging_core::envelope::{Checked, EnvelopeType, Glance, SealedType, signed_head};
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::limits::{BODY_CHARS, CLOCK_SKEW_MS, TTL_MS};
use messaging_core::realm::{Anchor, RealmView, Relation};
use messaging_core::seal::Opened;
use messaging_core::time::{Mono, Ms};
use messaging_core::verify::{Verified, verify};
use messaging_store::StoreError;
use serde_json::Value;

use super::{file, type_word, word_of};
use crate::budgets::Budget;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::{seen, sent};
use crate::work::Work;
use crate::{presence, realm, receipts};

/// What became of an envelope.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Stored, answered or dropped: the relay may forget it.
    Done,
    /// Done with, and nothing to acknowledge.
    Unacked,
    /// Its sender's budget is spent until then.
    Deferred { env: Value, budget: Budget, until: Mono },
    /// Its sender has seen the roster up to `seq`.
    Behind { env: Value, signer: MachineId, seq: u64 },
}

/// How an envelope came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    Relay,
    Local,
}

/// Judges a delivery, from the frame on.
pub(super) fn arrived(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    env: Value,
    glance: &Glance,
) -> Result<Outcome, StoreError> {
    if glance.is_foreign {
        return foreign(engine, work, env, glance);
    }
    let kind = type_word(env.get("type").and_then(Value::as_str));
    match Checked::read(env) {
        Ok(checked) => judge(engine, work, checked, Via::Relay),
        Err(failure) => {
            drop_silently(work, glance.device, kind, failure.code);
            Ok(dropped(kind == EnvelopeType::Presence.as_str()))
        }
    }
}

/// A dropped envelope is acknowledged, but for presence, which the relay does not queue.
fn dropped(is_presence: bool) -> Outcome {
    if is_presence { Outcome::Unacked } else { Outcome::Done }
}

/// Step 0: a type or version of a later release. It is told so only when its sender is beyond doubt (R1).
fn foreign(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    env: Value,
    glance: &Glance,
) -> Result<Outcome, StoreError> {
    let sender = match (engine.realm.view(), &engine.home.machine) {
        (Some(view), Some(own)) => Glance::answerable(&env, &view, own),
        _ => None,
    };
    let code = Code::InvalidRequest;
    let Some((device, _)) = sender else {
        drop_silently(work, glance.device, "other", code);
        return Ok(Outcome::Done);
    };
    if seen::has(work.tx, &device, &glance.id)? {
        return Ok(Outcome::Done);
    }
    if let Err(wait) = engine.budgets.take(device, Budget::Mail, work.mono()) {
        let until = work.mono().plus(wait);
        return Ok(Outcome::Deferred { env, budget: Budget::Mail, until });
    }
    let longest = work.wall().plus(TTL_MS + CLOCK_SKEW_MS);
    seen::mark(work.tx, &device, &glance.id, longest)?;
    work.log(LogEvent::InboundRejected { device, r#type: "other", code });
    receipts::reject(engine, work, &device, glance.id, code)?;
    Ok(Outcome::Done)
}

/// Judges an envelope whose shape holds, from step 2 on.
pub(super) fn judge(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    checked: Checked,
    via: Via,
) -> Result<Outcome, StoreError> {
    let Some((own, person)) = engine.own() else { return Ok(Outcome::Unacked) };
    let Some(view) = engine.realm.view() else { return Ok(Outcome::Unacked) };
    let is_presence = checked.envelope().sealed().is_none();
    let judged = verify(&checked, &view, work.wall(), None, None);
    let relation = view.relate(&checked.envelope().anchor);
    if via == Via::Relay
        && relation == Relation::Ahead
        && let Some((signer, seq)) = catch_up(&checked, &view, judged.as_ref().err())
    {
        return Ok(Outcome::Behind { env: checked.into_raw(), signer, seq });
    }
    let verified = match judged {
        Ok(verified) => verified,
        Err(failure) => {
            let device = Some(checked.envelope().from.device);
            drop_silently(work, device, word_of(checked.envelope()), failure.code);
            return Ok(dropped(is_presence));
        }
    };
    if !is_presence && seen_before(work, &checked)? {
        return Ok(Outcome::Done);
    }
    if via == Via::Relay && !is_presence {
        note_twin(engine, work, &checked, &own)?;
    }
    if let Err(code) = addressee(&checked, &own, &person) {
        return refuse(engine, work, &checked, code, Count::Charge);
    }
    if let (Relation::Diverged { ours }, Anchor::Roster { seq, hash }) =
        (relation, checked.envelope().anchor)
    {
        realm::raise_divergence(engine, work, &checked, seq, ours, hash)?;
        return refuse(engine, work, &checked, Code::RosterConflict, Count::Charge);
    }
    let budget = Budget::of(checked.envelope());
    if let Err(wait) = engine.budgets.take(checked.envelope().from.device, budget, work.mono()) {
        return over_budget(engine, work, checked, budget, wait);
    }
    if is_presence {
        if let Err(code) = presence::received(engine, work, &verified)? {
            drop_silently(work, Some(verified.envelope().from.device), "presence", code);
        }
        return Ok(Outcome::Unacked);
    }
    let opened = match open(engine, work, &verified) {
        Ok(opened) => opened,
        Err(code) => return refuse(engine, work, &checked, code, Count::Charged),
    };
    match file::file(engine, work, &verified, &opened)? {
        Ok(()) => {
            mark(work, &checked)?;
            Ok(Outcome::Done)
        }
        Err(code) => refuse(engine, work, &checked, code, Count::Charged),
    }
}

/// Step 3a: the head that a sender has seen and this machine has not, when the envelope is its sender's beyond doubt.
///
/// The sender itself may be one that this machine does not know yet. Spec: W4.3 3a
fn catch_up(
    checked: &Checked,
    view: &dyn RealmView,
    failure: Option<&messaging_core::code::Failure>,
) -> Option<(MachineId, u64)> {
    let unknown_sender = |failure: &messaging_core::code::Failure| {
        failure.code == Code::NotMember && checked.envelope().realm == *view.realm()
    };
    let head = match failure {
        None => match checked.envelope().anchor {
            Anchor::Roster { seq, .. } => seq,
            Anchor::Epoch { .. } => return None,
        },
        Some(failure) if unknown_sender(failure) => signed_head(checked.raw(), view.realm())?.seq,
        Some(_) => return None,
    };
    Some((checked.envelope().from.device, head))
}

/// What this machine signed and this home never sent comes from another copy of it. What it sends to itself never leaves it.
fn note_twin(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    checked: &Checked,
    own: &MachineId,
) -> Result<(), StoreError> {
    let envelope = checked.envelope();
    if envelope.from.device == *own
        && engine.was_up(envelope.ts)
        && sent::get(work.tx, &envelope.id)?.is_none()
    {
        engine.link.heard_twin(work);
    }
    Ok(())
}

/// Step 6. Presence is for everybody.
fn addressee(checked: &Checked, own: &MachineId, person: &PersonId) -> Result<(), Code> {
    match checked.envelope().to() {
        Some(to) if to.device != *own || to.person != *person => Err(Code::InvalidRequest),
        _ => Ok(()),
    }
}

/// Steps 9 to 11 of D3.8: the size before opening, then the seal.
fn open(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    verified: &Verified<'_>,
) -> Result<Opened, Code> {
    let checked = verified.checked();
    if checked.body_len() > BODY_CHARS {
        return Err(Code::TooLarge);
    }
    let keys = engine.home.keys.as_ref().ok_or(Code::Internal)?;
    let result = verified.open(&keys.opening_keys(work.wall()));
    result.map_err(|failure| {
        if failure.code == Code::BadSignature && is_stale(engine, checked) {
            Code::RosterConflict
        } else {
            failure.code
        }
    })
}

/// Whether an envelope was sealed before its sender saw this machine's latest key. Spec: §4 "Encryption-key rotation"
fn is_stale(engine: &DaemonEngine, checked: &Checked) -> bool {
    let roster = engine.realm.roster();
    let rekey = engine.home.machine.as_ref().and_then(|machine| roster.latest_rekey(machine));
    match (rekey, checked.envelope().anchor) {
        (Some(rekey), Anchor::Roster { seq, .. }) => seq < rekey.seq,
        _ => false,
    }
}

/// Step 9 of D3.8: over its budget an envelope waits, unless it would expire before there is room for it.
fn over_budget(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    checked: Checked,
    budget: Budget,
    wait: u64,
) -> Result<Outcome, StoreError> {
    if budget == Budget::Presence {
        return Ok(Outcome::Unacked);
    }
    let room_at = work.wall().plus(wait).plus(REDELIVERY_MS);
    if checked.envelope().exp >= room_at {
        let until = work.mono().plus(wait);
        return Ok(Outcome::Deferred { env: checked.into_raw(), budget, until });
    }
    let device = checked.envelope().from.device;
    let answers = match budget.refusals() {
        Some(refusals) => engine.budgets.take(device, refusals, work.mono()).is_ok(),
        None => false,
    };
    let count = if answers { Count::Charged } else { Count::Silent };
    refuse(engine, work, &checked, Code::RateLimited, count)
}

/// How a refusal's answer is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// By the envelope's own budget, now; without room there is neither an answer nor a mark, so that a sender cannot
    /// fill the store faster than its budget allows. What ends there would end there again.
    Charge,
    /// It was counted.
    Charged,
    /// There is no answer.
    Silent,
}

/// Ends an envelope with a code: marked as seen, and answered when its type is.
fn refuse(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    checked: &Checked,
    code: Code,
    count: Count,
) -> Result<Outcome, StoreError> {
    let envelope = checked.envelope();
    let device = envelope.from.device;
    let Some(sealed) = envelope.sealed() else {
        drop_silently(work, Some(device), word_of(envelope), code);
        return Ok(Outcome::Unacked);
    };
    let paid = match count {
        Count::Charge => {
            let budget = Budget::of(envelope);
            engine.budgets.take(device, budget, work.mono()).is_ok()
        }
        Count::Charged => true,
        Count::Silent => false,
    };
    if paid || count != Count::Charge {
        mark(work, checked)?;
    }
    if sealed.kind == SealedType::Receipt || !paid {
        drop_silently(work, Some(device), word_of(envelope), code);
    } else {
        work.log(LogEvent::InboundRejected { device, r#type: word_of(envelope), code });
        receipts::reject(engine, work, &device, envelope.id, code)?;
    }
    Ok(Outcome::Done)
}

fn seen_before(work: &Work<'_, '_>, checked: &Checked) -> Result<bool, StoreError> {
    seen::has(work.tx, &checked.envelope().from.device, &checked.envelope().id)
}

fn mark(work: &mut Work<'_, '_>, checked: &Checked) -> Result<(), StoreError> {
    let envelope = checked.envelope();
    let until: Ms = envelope.exp.plus(CLOCK_SKEW_MS);
    seen::mark(work.tx, &envelope.from.device, &envelope.id, until)
}

fn drop_silently(
    work: &mut Work<'_, '_>,
    device: Option<MachineId>,
    kind: &'static str,
    code: Code,
) {
    work.log(LogEvent::InboundDropped { device, r#type: kind, code });
}

/// Room for the relay's next redelivery.
const REDELIVERY_MS: u64 = 60_000;
