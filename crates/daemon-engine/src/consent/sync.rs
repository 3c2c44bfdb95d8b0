//! Grants between the devices of one person: sent when they change, all of them to a device that is new, and merged.
//! Spec: §6.9 "Sync", D3.13, rulings R4 and R6

use messaging_core::code::Code;
use messaging_core::consent::{
    GrantDraft, Levels, VerifiedGrant, prefer, resign, sign_lapse, verify_grant,
};
use messaging_core::conv::Sync;
use messaging_core::envelope::{Envelope, SealedType};
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::limits::{CLOCK_SKEW_MS, GRANTS_PER_PERSON, GRANTS_PER_SYNC};
use messaging_store::StoreError;
use serde_json::{Value, json};
use std::cmp::Ordering;

use super::{counts, is_own};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::outbound::{self, Letter, Target};
use crate::store::grants::{self, Lapsed, LapsedLevels};
use crate::work::{Work, judged};

/// Sends grants to each of the person's other current devices.
pub(crate) fn tell(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    what: Sync,
    grants: &[VerifiedGrant],
) -> Result<(), StoreError> {
    for target in others(engine) {
        send(engine, work, &target, what, grants)?;
    }
    Ok(())
}

/// The person's other current devices.
pub(super) fn others(engine: &DaemonEngine) -> Vec<Target> {
    let Some((machine, person)) = engine.own() else { return Vec::new() };
    let devices = engine.realm.machines_of(&person).filter(|member| member.machine != machine);
    devices.map(|member| Target::of(member, None)).collect()
}

/// Sends grants to one device, in as many envelopes as needed.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &Target,
    what: Sync,
    grants: &[VerifiedGrant],
) -> Result<(), StoreError> {
    for some in grants.chunks(GRANTS_PER_SYNC) {
        let raw: Vec<&Value> = some.iter().map(VerifiedGrant::raw).collect();
        let message = json!({
            "messageId": work.ulid(), "role": "ROLE_USER", "parts": [{"data": {"grants": raw}}]
        });
        let what = match what {
            Sync::Grant => "grant",
            Sync::Snapshot => "snapshot",
        };
        let payload =
            json!({"kind": "message", "message": message, "conv": {"kind": "self", "what": what}});
        let letter = Letter {
            kind: SealedType::Message,
            from_agent: None,
            to,
            reply_to: None,
            payload: &payload,
            at: work.wall(),
        };
        // A device whose key nobody can seal to does not hear of it; what it is sent later is everything.
        judged(outbound::post(engine, work, &letter))?.ok();
    }
    Ok(())
}

/// Takes grants from another device of the person. Each stands for itself: one that does not hold is skipped and logged,
/// and the rest is merged. Nothing is answered; what comes back of what a removed device had replaced is told to all of them.
pub(crate) fn receive(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    raw: &[Value],
) -> Result<(), StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(()) };
    let mut again = Vec::new();
    for raw in raw {
        match merge(engine, work, &own, raw)? {
            Ok(part) => again.extend(part),
            Err(code) => work.log(LogEvent::GrantSkipped { device: envelope.from.device, code }),
        }
    }
    if again.is_empty() { Ok(()) } else { tell(engine, work, Sync::Grant, &again) }
}

/// What lapsed here while nothing later was said, for a device that may hold something older.
pub(super) fn lapses(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<Vec<VerifiedGrant>, StoreError> {
    let Ok(ready) = engine.ready() else { return Ok(Vec::new()) };
    let (own, key) = (PersonId::from(&ready.me.person), &ready.keys.identity.signing);
    let team = ready.roster.team_id().ok_or(StoreError::Other)?;
    let now = work.wall();
    let mut lapses = Vec::new();
    for (subject, LapsedLevels { ts, id, .. }) in grants::lapsed(work.tx)? {
        let levels = Levels::default();
        let draft = GrantDraft { realm: *team, id, person: &own, ts, subject: &subject, levels };
        let place = draft.sign(key);
        lapses.extend(place.and_then(|place| sign_lapse(&place, key, now.max(ts))));
    }
    Ok(lapses)
}

/// Another device says that nothing is left of a grant: of what that one had replaced, only what keeps out stays here.
/// Returns that part.
fn lapse(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    lapsed: &VerifiedGrant,
) -> Result<Option<VerifiedGrant>, StoreError> {
    let place = (lapsed.ts, lapsed.id);
    let known = grants::last_lapsed(work.tx, &lapsed.subject)?;
    let held = grants::get(work.tx, &lapsed.subject)?;
    if known.is_some_and(|known| (known.ts, known.id) >= place)
        || held.as_ref().is_some_and(|held| (held.ts, held.id) > place)
    {
        return Ok(None);
    }
    let said = LapsedLevels { ts: lapsed.ts, id: lapsed.id, levels: Levels::default() };
    let subject = lapsed.subject.clone();
    grants::review(work.tx, &Lapsed { subject, said, at: work.wall() })?;
    // The grant itself waits for this machine to see that its signer was removed.
    let Some(held) = held.filter(|held| (held.ts, held.id) < place) else { return Ok(None) };
    if held.levels().widening().is_empty() && !held.is_clear() {
        return Ok(None);
    }
    let Ok(ready) = engine.ready() else { return Ok(None) };
    let at = work.wall().max(held.ts);
    let part = resign(&held, &ready.keys.identity.signing, at, false);
    let part = part.ok().and_then(|part| part.grant);
    match &part {
        Some(part) => grants::put(work.tx, part)?,
        None => grants::delete(work.tx, &held.subject)?,
    }
    Ok(part)
}

/// What a grant still says beside the last one about its subject that lapsed with its device.
///
/// One that is older was replaced, and what it let in does not come back. What it keeps out does, also when a lost device
/// had lifted it: blocks never lapse. A part of a grant is signed by this device.
fn standing(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    grant: VerifiedGrant,
) -> Result<Option<VerifiedGrant>, StoreError> {
    let lapsed = grants::last_lapsed(work.tx, &grant.subject)?;
    if lapsed.is_none_or(|lapsed| (grant.ts, grant.id) >= (lapsed.ts, lapsed.id)) {
        return Ok(Some(grant));
    }
    let levels = grant.levels();
    if levels.restricting().is_empty() || levels.widening().is_empty() {
        return Ok(Some(grant).filter(|_| !levels.restricting().is_empty()));
    }
    let held = grants::get(work.tx, &grant.subject)?;
    if held.is_some_and(|held| (held.ts, held.id) >= (grant.ts, grant.id)) {
        return Ok(None);
    }
    let Ok(ready) = engine.ready() else { return Ok(None) };
    let at = work.wall().max(grant.ts);
    let part = resign(&grant, &ready.keys.identity.signing, at, false);
    Ok(part.ok().and_then(|part| part.grant))
}

/// Keeps a grant when it counts for more than the one held for its subject. Returns what came back with it of what had
/// been replaced by something that lapsed.
fn merge(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    own: &PersonId,
    raw: &Value,
) -> Result<Result<Option<VerifiedGrant>, Code>, StoreError> {
    let Some(realm) = engine.realm.id() else { return Ok(Err(Code::NotMember)) };
    let grant = match verify_grant(raw.clone(), realm, own) {
        Ok(grant) => grant,
        Err(failure) => return Ok(Err(failure.code)),
    };
    if !counts(engine, own, &grant) {
        return Ok(Err(Code::NotMember));
    }
    // One from the future would win over every later change.
    if grant.ts > work.wall().plus(CLOCK_SKEW_MS) {
        return Ok(Err(Code::Expired));
    }
    if grant.is_clear() && grant.resigned_at.is_some() {
        return lapse(engine, work, &grant).map(Ok);
    }
    let held = grants::get(work.tx, &grant.subject)?;
    if held.is_none() && grants::count(work.tx)? >= GRANTS_PER_PERSON as u64 {
        return Ok(Err(Code::RateLimited));
    }
    let lapsed = grants::last_lapsed(work.tx, &grant.subject)?;
    let is_older = lapsed.is_some_and(|lapsed| (grant.ts, grant.id) < (lapsed.ts, lapsed.id));
    let grant = match standing(engine, work, grant)? {
        Some(grant) => grant,
        None => return Ok(Ok(None)),
    };
    let current = |by: &MachineId| is_own(engine, own, by);
    if held.is_some_and(|held| prefer(&grant, &held, current) != Ordering::Greater) {
        return Ok(Ok(None));
    }
    grants::put(work.tx, &grant)?;
    grants::reviewed(work.tx, &grant)?;
    // Whoever heard of what replaced it has to hear of it again.
    Ok(Ok(Some(grant).filter(|_| is_older)))
}
