//! Brings the roster up to what the relay, or a member, says there is: pages, broadcasts, and what is wrong with them.
//! Spec: §4 "Live entries", "Sequencing and forks"; §7 "Paging"; D3.7, D3.28

use messaging_core::code::{Code, Failure};
use messaging_core::ids::Req;
use messaging_core::limits::ROSTER_PAGE_ENTRIES;
use messaging_core::roster::{HeadRelation, Live, RosterHead};
use messaging_core::time::Mono;
use messaging_store::StoreError;
use messaging_wire::{ClientFrame, RosterPage, RosterSync};
use serde_json::Value;

use super::talk::ready;
use super::{Phase, Wait, fail};
use crate::engine::DaemonEngine;
use crate::realm::{self, Entered};
use crate::work::Work;
use crate::{appends, inbound, outbox};

/// A page that was asked for.
#[derive(Debug)]
pub(super) struct Sync {
    pub(super) req: Req,
    /// When it is overdue.
    pub(super) by: Mono,
    plan: Plan,
}

/// What is being fetched.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// The page that is due starts after this entry.
    after: u64,
    /// The number to reach.
    target: u64,
    /// The number to reach when it was first asked for. What lies past it the relay may not have had then.
    asked: u64,
    /// How many pages may still come: a relay cannot keep a client paging for ever.
    pages: u64,
    /// Only to see whether the relay has another entry than this chain: nothing new can come of it.
    probe: bool,
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
            engine.link.report(work, CONTRADICTS);
            ready(engine, work)?;
            if engine.link.is_ready() {
                probe(engine, work, head.seq, head.seq);
            }
            Ok(())
        }
    }
}

/// Fetches the entries up to `target`, for an envelope whose sender has seen them. One that is under way goes on first.
pub(crate) fn sync_to(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, target: u64) {
    match &mut engine.link.sync {
        // What waits longer than a probe takes asks again.
        Some(Sync { plan, .. }) if plan.probe => {}
        Some(Sync { plan, .. }) => plan.target = plan.target.max(target),
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
    let plan = Plan { after, target, asked: target, pages, probe: false };
    request(engine, work, plan);
}

/// Asks for the relay's entry at `seq`: should this chain have another one there, members were shown two histories.
fn probe(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, seq: u64, asked: u64) {
    let after = seq.saturating_sub(1);
    request(engine, work, Plan { after, target: seq, asked, pages: 1, probe: true });
}

fn request(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, plan: Plan) {
    let req = engine.link.req();
    let frame = ClientFrame::RosterSync(RosterSync { req: req.clone(), after: Some(plan.after) });
    engine.link.send(work, frame.print());
    let by = work.mono().plus(PAGE_MS);
    engine.link.sync = Some(Sync { req, by, plan });
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
    let Some(Sync { mut plan, .. }) = engine.link.sync.take() else { return Ok(()) };
    for raw in &page.entries {
        if raw.get("seq").and_then(Value::as_u64) != plan.after.checked_add(1) {
            break;
        }
        match realm::enter(engine, work, raw, None)? {
            Entered::Applied | Entered::Held => plan.after = plan.after.saturating_add(1),
            Entered::Fork => {
                engine.link.report(work, FORK);
                return finish(engine, work, plan.asked);
            }
            Entered::Gap | Entered::Refused(_) if plan.probe => {
                engine.link.report(work, CONTRADICTS);
                return finish(engine, work, plan.asked);
            }
            Entered::Refused(Failure { code: Code::RosterConflict, .. }) => {
                // It follows another entry than this chain's last one.
                let own = engine.realm.head().map_or(0, |head| head.seq);
                probe(engine, work, own, plan.asked);
                return Ok(());
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
    if plan.probe && plan.after >= plan.target {
        // The last entry is the same: what the relay sent after it is none of the team's.
        return fail(engine, work, JUNK, Wait::Long);
    }
    let last = page.entries.last().and_then(|raw| raw.get("seq")).and_then(Value::as_u64);
    if plan.after < plan.target && page.more && last == Some(plan.after) && plan.pages > 1 {
        request(engine, work, Plan { pages: plan.pages - 1, ..plan });
        return Ok(());
    }
    if plan.after < plan.target && plan.asked < plan.target {
        ask(engine, work, plan.after, plan.target);
        return Ok(());
    }
    if plan.after < plan.asked && !plan.probe {
        engine.link.report(work, WITHHELD);
    }
    finish(engine, work, plan.asked)
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
const CONTRADICTS: &str = "the relay's roster contradicts this machine's";
const WITHHELD: &str = "the relay did not send all roster entries that were asked for";
const JUNK: &str = "the relay sent a roster entry that does not verify";
/// For the relay to send one page.
const PAGE_MS: u64 = 30_000;
