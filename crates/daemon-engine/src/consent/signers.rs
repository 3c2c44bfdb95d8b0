//! Grants outlive the devices that signed them only as far as they restrict: what a removed device let in lapses.
//! Spec: §6.9 "Signers", D3.13
//!
//! Whenever the verified view changes, and whenever the link comes up, every grant whose signer is no current device of
//! the person is signed anew by this one. Several devices may do so at once: the merge settles it.

use messaging_core::consent::{Resigned, Subject, VerifiedGrant, resign, sign_lapse};
use messaging_core::conv::Sync;
use messaging_core::ids::PersonId;
use messaging_core::time::Ms;
use messaging_store::StoreError;

use super::{cards, counts, sync};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::grants::{self, Lapsed, LapsedLevels};
use crate::work::Work;

/// Does what [`Consent::look`](super::Consent::look) asked for.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if !engine.consent.due || engine.ready().is_err() {
        return Ok(());
    }
    engine.consent.due = false;
    if std::mem::take(&mut engine.consent.parted) {
        // One device may have replaced a grant by what the removed one said, and another not have heard of it: what is left
        // of each is told to all of them again, so that they come to the same.
        grants::tell_all_again(work.tx)?;
    }
    let (again, about) = sign_anew(engine, work)?;
    if !again.is_empty() {
        sync::tell(engine, work, Sync::Grant, &again)?;
    }
    for subject in &about {
        cards::tell_about(engine, work, subject)?;
    }
    snapshots(engine, work)
}

/// Signs anew what a device said that the person removed. Returns what is to be told, and about whom something changed.
fn sign_anew(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(Vec<VerifiedGrant>, Vec<Subject>), StoreError> {
    let Ok(ready) = engine.ready() else { return Ok(Default::default()) };
    let own = PersonId::from(&ready.me.person);
    let orphans: Vec<VerifiedGrant> =
        grants::all(work.tx)?.into_iter().filter(|grant| !counts(engine, &own, grant)).collect();
    if orphans.is_empty() {
        return Ok(Default::default());
    }
    let (mut again, mut about) = (Vec::new(), Vec::new());
    let (mut kept, mut lapsed) = (0, 0);
    for orphan in orphans {
        // A clock that is behind the grant's time signs it at that time.
        let at = work.wall().max(orphan.ts);
        let outcome = resign(&orphan, &ready.keys.identity.signing, at, false);
        // A grant that was verified can be signed anew: it only gets smaller. Should it not be, it stays, and counts not.
        let Ok(Resigned { grant, lapsed: levels }) = outcome else { continue };
        let mut gone = false;
        match grant {
            Some(grant) => {
                grants::put(work.tx, &grant)?;
                kept += 1;
                again.push(grant);
            }
            None => {
                grants::delete(work.tx, &orphan.subject)?;
                gone = true;
                // A device that never heard of it holds what it had replaced.
                again.extend(sign_lapse(&orphan, &ready.keys.identity.signing, at));
            }
        }
        lapsed += u64::from(!levels.is_empty());
        about.push(orphan.subject.clone());
        if gone || !levels.is_empty() {
            // Also of a clear, of which nothing waits: what it withdrew must not come back.
            let said = LapsedLevels { ts: orphan.ts, id: orphan.id, levels };
            let subject = orphan.subject.clone();
            grants::review(work.tx, &Lapsed { subject, said, at: work.wall() })?;
        }
    }
    work.log(LogEvent::GrantsResigned { kept, lapsed });
    Ok((again, about))
}

/// Sends every grant to each of the person's devices that was never sent them, or not for so long that what it was sent
/// since may have expired on the way.
fn snapshots(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.wall();
    let told = grants::peers(work.tx)?;
    let recent = |at: &Ms| now.since(*at) < AGAIN_MS;
    let due: Vec<_> = sync::others(engine)
        .into_iter()
        .filter(|to| !told.iter().any(|(device, at)| *device == to.device && recent(at)))
        .collect();
    if due.is_empty() {
        return Ok(());
    }
    let mut all = grants::all(work.tx)?;
    all.extend(sync::lapses(engine, work)?);
    for to in due {
        sync::send(engine, work, &to, Sync::Snapshot, &all)?;
        grants::told(work.tx, &to.device, now)?;
    }
    Ok(())
}

/// How long a snapshot is good for: less than what is sent lives, ms (6 days).
const AGAIN_MS: u64 = 6 * 86_400_000;
