//! What the person sets: a grant is checked, signed by this device, kept, and told to their other devices.
//! Spec: §6.9 "Grants", D1.7 rows 27 to 29, D3.13

use messaging_core::code::Code;
use messaging_core::consent::{GrantDraft, Levels, Subject, VerifiedGrant};
use messaging_core::conv::Sync;
use messaging_core::ids::PersonId;
use messaging_core::limits::GRANTS_PER_PERSON;
use messaging_store::StoreError;

use super::{cards, sentences, sync};
use crate::engine::DaemonEngine;
use crate::notices::{self, Alert};
use crate::store::grants;
use crate::work::{Halt, Step, Work};

/// Signs the grant that replaces what is held about a subject; nothing is written.
///
/// Its time is after that of the grant it replaces, and of the last that lapsed, also when the clock went back: otherwise a block would lose to what it
/// was set against. Errors: `not_found` for a person who is not in the team; `invalid_request` for a rule of §6.9;
/// `rate_limited` for one grant too many.
pub(crate) fn prepare(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    subject: &Subject,
    levels: Levels,
) -> Step<VerifiedGrant> {
    let held = grants::get(work.tx, subject)?;
    if let (Subject::Person(person), None) = (subject, &held)
        && engine.realm.machines_of(person).next().is_none()
    {
        return Err(Halt::refused(Code::NotFound, "no such person in the team"));
    }
    if held.is_none() && grants::count(work.tx)? >= GRANTS_PER_PERSON as u64 {
        return Err(Halt::refused(Code::RateLimited, "as many grants as there may be"));
    }
    let ready = engine.ready()?;
    let own = PersonId::from(&ready.me.person);
    let team = ready.roster.team_id().ok_or(StoreError::Other)?;
    let now = work.wall();
    let lapsed = grants::last_lapsed(work.tx, subject)?.map(|lapsed| lapsed.ts);
    let before = held.map(|held| held.ts).max(lapsed);
    let ts = before.map_or(now, |before| now.max(before.plus(1)));
    let draft = GrantDraft { realm: *team, id: work.ulid(), person: &own, ts, subject, levels };
    Ok(draft.sign(&ready.keys.identity.signing)?)
}

/// Keeps a grant that was prepared in this turn, and tells the person's other devices, and whomever it is about.
pub(crate) fn keep(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    grant: &VerifiedGrant,
) -> Result<(), StoreError> {
    grants::put(work.tx, grant)?;
    grants::reviewed(work.tx, grant)?;
    sync::tell(engine, work, Sync::Grant, std::slice::from_ref(grant))?;
    cards::tell_about(engine, work, &grant.subject)
}

/// Sends what this device dated ahead again when its time has come: until then the others took it for one from the future.
/// So it is with what was signed while the clock was ahead, or right after (R4).
pub(crate) fn tell_again(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(), StoreError> {
    let Some((own, _)) = engine.own() else { return Ok(()) };
    let now = work.wall();
    let come = grants::come(work.tx, &own, now)?;
    if come.is_empty() { Ok(()) } else { sync::tell(engine, work, Sync::Grant, &come) }
}

/// Tells the person of trust that ends soon, once for each grant.
pub(crate) fn warn(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.wall();
    for grant in grants::trusting(work.tx)? {
        let (Some(until), Subject::Person(person)) = (grant.trusts_until(now), &grant.subject)
        else {
            continue;
        };
        if until.since(now) <= TRUST_WARNING_MS {
            let alert = Alert {
                source: format!("trust{}", grant.id),
                person: Some(person.clone()),
                device: None,
                text: sentences::trust_ends(until),
                at: now,
            };
            notices::alert(engine, work, alert)?;
            grants::warned(work.tx, &grant.subject)?;
        }
    }
    Ok(())
}

/// How long before its end the person is told of trust, ms (7 days).
const TRUST_WARNING_MS: u64 = 7 * 86_400_000;

/// What is said about a person now; nothing is no level.
pub(crate) fn levels(work: &Work<'_, '_>, subject: &Subject) -> Result<Levels, StoreError> {
    let held = grants::get(work.tx, subject)?;
    Ok(held.map(|held| held.levels()).unwrap_or_default())
}
