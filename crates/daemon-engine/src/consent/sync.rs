//! Grants between the devices of one person: sent when they change, all of them to a device that is new, and merged.
//! Spec: §6.9 "Sync", D3.13, rulings R4 and R6

use messaging_core::code::Code;
use messaging_core::consent::{VerifiedGrant, prefer, resign, verify_grant};
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
use crate::store::grants;
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
/// and the rest is merged. Nothing is answered.
pub(crate) fn receive(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    raw: &[Value],
) -> Result<(), StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(()) };
    for raw in raw {
        if let Err(code) = merge(engine, work, &own, raw)? {
            work.log(LogEvent::GrantSkipped { device: envelope.from.device, code });
        }
    }
    Ok(())
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

/// Keeps a grant when it counts for more than the one held for its subject.
fn merge(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    own: &PersonId,
    raw: &Value,
) -> Result<Result<(), Code>, StoreError> {
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
    let held = grants::get(work.tx, &grant.subject)?;
    if held.is_none() && grants::count(work.tx)? >= GRANTS_PER_PERSON as u64 {
        return Ok(Err(Code::RateLimited));
    }
    let grant = match standing(engine, work, grant)? {
        Some(grant) => grant,
        None => return Ok(Ok(())),
    };
    let current = |by: &MachineId| is_own(engine, own, by);
    if held.is_some_and(|held| prefer(&grant, &held, current) != Ordering::Greater) {
        return Ok(Ok(()));
    }
    grants::put(work.tx, &grant)?;
    grants::reviewed(work.tx, &grant)?;
    Ok(Ok(()))
}
