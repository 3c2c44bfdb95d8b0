//! What arrives: judged one by one in a fixed order, and acknowledged once it is stored or dropped.
//! Spec: §5 "Receiver verification order", §8.3, W4.3, D3.8
//!
//! A delivery that cannot be judged yet, because the roster is behind or the sender's budget is spent, waits here in order
//! of arrival, unacknowledged. What does not fit is let go: the relay sends it again.

mod file;
mod judge;
mod line;
mod release;
mod task;
mod waiting;

use messaging_core::envelope::{Checked, Envelope, Glance};
use messaging_core::ids::MachineId;
use messaging_core::time::Mono;
use messaging_store::StoreError;
use messaging_wire::{Deliver, text};
use serde_json::Value;

use crate::consent;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::link;
use crate::store::evidence;
use crate::work::Work;

pub(crate) use file::preview;
use judge::{Outcome, Via};
pub(crate) use release::{Released, release};
use waiting::{Waiting, WaitingRoom};

/// What waits to be judged.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    room: WaitingRoom,
}

impl Inbound {
    /// The link is gone: the relay delivers again on the next one.
    pub(crate) fn unlinked(&mut self) {
        self.room.clear();
    }

    /// When a sender's budget has room for what waits.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.room.next_at()
    }
}

/// An envelope came from the relay.
pub(crate) fn arrived(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    deliver: Deliver,
) -> Result<(), StoreError> {
    let Some(glance) = Glance::of(&deliver.env) else {
        engine.link.report(work, "the relay delivered an envelope without an id");
        return Ok(());
    };
    let waiting = Waiting::new(deliver.env, glance);
    let room = &mut engine.inbound.room;
    if room.holds(&waiting) {
        // Sent again while it waits.
        return Ok(());
    }
    if !engine.link.is_ready() || room.must_queue_behind_roster(&waiting) {
        room.wait_for_roster(waiting);
        return Ok(());
    }
    if let Some(waiting) = room.queue_behind_budget(waiting) {
        take(engine, work, waiting, Patience::MayWait)?;
    }
    Ok(())
}

/// An envelope that this machine sealed to itself: judged like any other, without a relay to ask.
pub(crate) fn local(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    checked: Checked,
) -> Result<(), StoreError> {
    judge::judge(engine, work, checked, Via::Local).map(drop)
}

/// The roster has more, or the link is ready: what waited for it is judged.
pub(crate) fn resume(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if !engine.link.is_ready() {
        return Ok(());
    }
    take_all(engine, work, Patience::MayWait)
}

/// The entries up to `asked` were asked for, and came or did not: what waited for them is judged for good.
pub(crate) fn synced(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    asked: u64,
) -> Result<(), StoreError> {
    if !engine.link.is_ready() {
        return Ok(());
    }
    take_all(engine, work, Patience::EndsAt(asked))
}

fn take_all(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    patience: Patience,
) -> Result<(), StoreError> {
    // The entries may have removed a device of the person: what it kept out is still kept out of what waited for them.
    consent::signers::tend(engine, work)?;
    for waiting in engine.inbound.room.leave_roster() {
        if engine.inbound.room.must_queue_behind_roster(&waiting) {
            engine.inbound.room.wait_for_roster(waiting);
        } else if let Some(waiting) = engine.inbound.room.queue_behind_budget(waiting) {
            take(engine, work, waiting, patience)?;
        }
    }
    Ok(())
}

/// Judges what waited for a budget that has room again.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if !engine.link.is_ready() {
        return Ok(());
    }
    while let Some(waiting) = engine.inbound.room.leave_budget(work.mono()) {
        if engine.inbound.room.must_queue_behind_roster(&waiting) {
            // An earlier one of this sender went there when its turn came.
            engine.inbound.room.wait_for_roster(waiting);
        } else {
            take(engine, work, waiting, Patience::MayWait)?;
        }
    }
    Ok(())
}

/// Whether an envelope whose sender has seen more than this machine may wait for the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    MayWait,
    /// For entries up to this one it has waited already.
    EndsAt(u64),
}

/// Judges one delivery, and tells the relay when it is done with.
fn take(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    waiting: Waiting,
    patience: Patience,
) -> Result<(), StoreError> {
    let Waiting { env, glance, .. } = waiting;
    match judge::arrived(engine, work, env, &glance)? {
        Outcome::Done => acknowledge(engine, work, &glance),
        Outcome::Unacked => {}
        Outcome::Deferred { env, budget, until } => {
            if let Some(device) = glance.device {
                log_deferred(work, device, &env);
                engine.inbound.room.wait_for_budget(Waiting::new(env, glance), budget, until);
            }
        }
        Outcome::Behind { env, signer, seq } => match patience {
            Patience::EndsAt(asked) if seq <= asked => withhold(engine, work, &env, signer, seq)?,
            // Its proof is kept already; the relay sends it again.
            _ if engine.realm.just_asked_for(&signer, work.mono()) => {}
            Patience::EndsAt(_) | Patience::MayWait => {
                engine.inbound.room.wait_for_roster(Waiting::new(env, glance));
                link::sync_to(engine, work, seq);
            }
        },
    }
    Ok(())
}

/// The relay did not provide entries that a member has seen: the envelope stays unacknowledged, and proves it.
///
/// Spec: §5 "Roster head check" `ahead`
fn withhold(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    env: &Value,
    signer: MachineId,
    seq: u64,
) -> Result<(), StoreError> {
    evidence::keep(work.tx, evidence::Kind::Ahead, work.wall(), &env.to_string())?;
    engine.realm.pause_for(signer, seq, work.mono());
    engine.link.report(work, "the relay withholds roster entries that a member has seen");
    Ok(())
}

fn acknowledge(engine: &DaemonEngine, work: &mut Work<'_, '_>, glance: &Glance) {
    engine.link.send(work, text::recv_ack(&glance.id, glance.device.as_ref()));
}

fn log_deferred(work: &mut Work<'_, '_>, device: MachineId, env: &Value) {
    let kind = env.get("type").and_then(Value::as_str);
    work.log(LogEvent::InboundDeferred { device, r#type: type_word(kind) });
}

/// A type as our own word.
fn type_word(kind: Option<&str>) -> &'static str {
    kind.and_then(messaging_core::envelope::EnvelopeType::parse)
        .map_or("other", messaging_core::envelope::EnvelopeType::as_str)
}

/// The type of an envelope as our own word.
fn word_of(envelope: &Envelope) -> &'static str {
    envelope.kind().as_str()
}
