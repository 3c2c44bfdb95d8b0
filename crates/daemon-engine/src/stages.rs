//! How far what this machine sent has come: stages move forward only, each with its time.
//! Spec: §8.4, D3.14

use messaging_core::code::Code;
use messaging_core::envelope::SealedType;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::stage::{Stage, Track};
use messaging_store::StoreError;

use crate::chats;
use crate::consent::cards;
use crate::engine::DaemonEngine;
use crate::store::sent::{self, Step};
use crate::subscriptions;
use crate::tasks::requester;
use crate::work::Work;

/// Moves a sent message to a stage, unless it is there or past it, or its delivery has ended.
///
/// An envelope with a line has its record with the line; what has none (receipts, presence) is left alone.
pub(crate) fn advance(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
    stage: Stage,
    code: Option<Code>,
) -> Result<(), StoreError> {
    let Some(mut row) = sent::get(work.tx, id)? else {
        return chats::advance(engine, work, id, stage, code);
    };
    if !row.stage.advances_to(stage, Track::Mail) {
        return Ok(());
    }
    let at = work.wall();
    row.stage = stage;
    row.code = code;
    row.history.push(Step { stage, code, at });
    // An update of a task is read by no agent: once it is stored there, nothing more comes.
    let is_message = row.r#type == SealedType::Message;
    let settled = stage.is_final()
        || matches!(stage, Stage::Read | Stage::Replied)
        || (stage == Stage::Delivered && !is_message);
    sent::set_stage(work.tx, &row, settled.then_some(at))?;
    if !is_message {
        return Ok(());
    }
    subscriptions::delivery(engine, work, &row)?;
    requester::delivery(engine, work, &row)
}

/// Ends what the relay took and nobody received in time, and what waited for a person who did not answer in time.
///
/// Whoever has only just come back may still hear otherwise: nothing is concluded before the relay had a while to deliver
/// what it holds.
pub(crate) fn expire(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if !engine.link.has_listened(work.mono(), LISTEN_MS) {
        return Ok(());
    }
    for id in sent::overdue(work.tx, work.wall().minus(CLOCK_SKEW_MS), AT_ONCE)? {
        advance(engine, work, &id, Stage::Expired, None)?;
    }
    chats::expire(engine, work)
}

/// Applies a receipt that `from` signed. One about something that was not sent to that machine is nobody's business.
///
/// Spec: §5 "Counterpart binding". Returns whether it was about something sent there.
pub(crate) fn receipt(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    from: &MachineId,
    receipt: &Receipt,
) -> Result<bool, StoreError> {
    match sent::get(work.tx, &receipt.reference)? {
        Some(row) if row.to_device == *from => {}
        Some(_) => return Ok(false),
        None => {
            let known = chats::receipt(engine, work, from, receipt)?;
            if known {
                cards::rejected(engine, work, from, receipt.code)?;
            }
            return Ok(known);
        }
    }
    let stage = match receipt.stage {
        ReceiptStage::Delivered => Stage::Delivered,
        ReceiptStage::Held => Stage::Held,
        ReceiptStage::HandedToAgent => Stage::HandedToAgent,
        ReceiptStage::Read => Stage::Read,
        ReceiptStage::Rejected => Stage::Rejected,
    };
    advance(engine, work, &receipt.reference, stage, receipt.code)?;
    cards::rejected(engine, work, from, receipt.code)?;
    Ok(true)
}

/// Marks what a message answers as replied, when it comes from the machine that was written to.
///
/// A follow-up that names its task's request is no reply. Spec: §8.4
pub(crate) fn replied(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    from: &MachineId,
    reply_to: &Ulid,
    task_id: Option<&Ulid>,
) -> Result<(), StoreError> {
    match sent::get(work.tx, reply_to)? {
        Some(row) if row.to_device == *from => {
            if task_id.is_some() && row.task_id.as_ref() == task_id {
                return Ok(());
            }
            advance(engine, work, reply_to, Stage::Replied, None)
        }
        _ => Ok(()),
    }
}

/// How long a relay has to deliver what it holds, ms.
const LISTEN_MS: u64 = 60_000;
/// How many are ended in one turn.
const AT_ONCE: usize = 500;
