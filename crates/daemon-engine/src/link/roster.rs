//! Brings the roster up to what the relay, or a member, says there is: pages, broadcasts, and what is wrong with them.
//! Spec: §4 "Live entries", "Sequencing and forks"; §7 "Paging"; D3.7, D3.28

use messaging_core::ids::Req;
use messaging_core::limits::ROSTER_PAGE_ENTRIES;
use messaging_core::roster::{HeadRelation, Live, RosterHead};
use messaging_core::time::Mono;
use messaging_store::StoreError;
use messaging_wire::{ClientFrame, RosterPage, RosterSync};
use serde_json::Value;

use super::{Phase, Wait, fail, ready};
use crate::engine::DaemonEngine;
use crate::realm::{self, Entered};
use crate::work::Work;
use crate::{appends, inbound, outbox};

/// Entries that are being fetched.
#[derive(Debug)]
pub(super) struct Sync {
    pub(super) req: Req,
    /// The page that is due starts after this entry.
    after: u64,
    /// The number to reach.
    target: u64,
    /// The number to reach when the page was asked for. What lies past it the relay may not have had then.
    asked: u64,
    /// How many pages may still come: a relay cannot keep a client paging for ever.
    pages: u64,
    /// When the page is overdue.
    pub(super) by: Mono,
}

/// Compares the relay's head with the chain after a welcome. Spec: §7 "Welcome, client side"
pub(super) fn catch_up(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    head: &RosterHead,
) -> Result<(), StoreError> {
    let own = engine.realm.head().map_or(0, |head| head.seq);
    match engine.realm.roster().relation(head) {
        HeadRelation::Ahead => {
            ask(engine, work, own, head.seq);
            Ok(())
        }
        HeadRelation::Consistent => {
            if head.seq < own {
                engine.link.report(work, "the relay's roster is behind this machine's");
            }
            ready(engine, work)
        }
        HeadRelation::Diverged { .. } => {
            engine.link.report(work, "the relay's roster contradicts this machine's");
            ready(engine, work)?;
            // The entry itself shows whether members were shown two histories.
            if let Some(before) = head.seq.checked_sub(1)
                && engine.link.is_ready()
            {
                ask(engine, work, before, head.seq);
            }
            Ok(())
        }
    }
}

/// Fetches the entries up to `target`, for an envelope whose sender has seen them. One that is under way goes on first.
pub(crate) fn sync_to(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, target: u64) {
    match &mut engine.link.sync {
        Some(sync) => sync.target = sync.target.max(target),
        None => {
            let own = engine.realm.head().map_or(0, |head| head.seq);
            ask(engine, work, own, target);
        }
    }
}

/// Fetches what is new, after the relay refused an envelope for its head.
pub(crate) fn sync_for_outbox(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    sync_past_head(engine, work);
}

/// Fetches what is new, after the relay refused an entry for its head.
pub(crate) fn sync_for_append(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    sync_past_head(engine, work);
}

fn sync_past_head(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let own = engine.realm.head().map_or(0, |head| head.seq);
    sync_to(engine, work, own.saturating_add(1));
}

fn ask(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, after: u64, target: u64) {
    let pages = target.saturating_sub(after).div_ceil(ROSTER_PAGE_ENTRIES as u64).max(1);
    request(engine, work, after, target, pages);
}

fn request(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    after: u64,
    target: u64,
    pages: u64,
) {
    let req = engine.link.req();
    let frame = ClientFrame::RosterSync(RosterSync { req: req.clone(), after: Some(after) });
    engine.link.send(work, frame.print());
    let by = work.mono().plus(PAGE_MS);
    engine.link.sync = Some(Sync { req, after, target, asked: target, pages, by });
}

/// Entries came: a page that was asked for, or a broadcast.
pub(super) fn page(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    page: RosterPage,
) -> Result<(), StoreError> {
    match (&page.req, &engine.link.sync) {
        (None, _) => broadcast(engine, work, &page.entries),
        (Some(req), Some(sync)) if *req == sync.req => take_page(engine, work, page),
        _ => Ok(()),
    }
}

fn take_page(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    page: RosterPage,
) -> Result<(), StoreError> {
    let Some(Sync { mut after, target, asked, pages, .. }) = engine.link.sync.take() else {
        return Ok(());
    };
    for raw in &page.entries {
        if raw.get("seq").and_then(Value::as_u64) != after.checked_add(1) {
            break;
        }
        match realm::enter(engine, work, raw, None)? {
            Entered::Applied | Entered::Held => after = after.saturating_add(1),
            Entered::Fork => {
                engine.link.report(work, FORK);
                return finish(engine, work, asked);
            }
            Entered::Gap | Entered::Refused(_) => {
                return fail(engine, work, JUNK, Wait::Long);
            }
        }
        if !matches!(engine.link.phase, Phase::Welcomed { .. }) {
            // The entry removed this machine: the link is closed.
            return Ok(());
        }
    }
    let whole =
        page.entries.last().and_then(|raw| raw.get("seq")).and_then(Value::as_u64) == Some(after);
    if after < target && page.more && whole && pages > 1 {
        request(engine, work, after, target, pages - 1);
        return Ok(());
    }
    if after < target && asked < target {
        ask(engine, work, after, target);
        return Ok(());
    }
    finish(engine, work, asked)
}

/// No more pages come: whoever waited for the roster, up to `asked`, goes on with what there is.
fn finish(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    asked: u64,
) -> Result<(), StoreError> {
    if let Phase::Welcomed { roster_first: true, .. } = engine.link.phase {
        return ready(engine, work);
    }
    outbox::synced(engine, work)?;
    appends::synced(engine, work)?;
    inbound::synced(engine, work, asked)
}

/// A new entry, told as it happened. Spec: §4 "Live entries"
fn broadcast(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    entries: &[Value],
) -> Result<(), StoreError> {
    for raw in entries {
        match realm::enter(engine, work, raw, Some(Live::broadcast(work.wall())))? {
            Entered::Applied => inbound::resume(engine, work)?,
            Entered::Held => {}
            Entered::Gap => {
                if let Some(seq) = raw.get("seq").and_then(Value::as_u64) {
                    sync_to(engine, work, seq);
                }
            }
            Entered::Fork => engine.link.report(work, FORK),
            Entered::Refused(_) => engine.link.report(work, JUNK),
        }
    }
    Ok(())
}

const FORK: &str = "the relay showed two histories of the team";
const JUNK: &str = "the relay sent a roster entry that does not verify";
/// For the relay to send one page.
const PAGE_MS: u64 = 30_000;
