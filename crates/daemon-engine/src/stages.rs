//! How far what this machine sent has come: stages move forward only, each with its time.
//! Spec: §8.4, D3.14

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::stage::{Stage, Track};
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::store::sent::{self, Step};
use crate::subscriptions;
use crate::work::Work;

/// Moves a sent message to a stage, unless it is there or past it, or its delivery has ended.
///
/// Envelopes without a record (receipts, presence) are left alone.
pub(crate) fn advance(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
    stage: Stage,
    code: Option<Code>,
) -> Result<(), StoreError> {
    let Some(mut row) = sent::get(work.tx, id)? else { return Ok(()) };
    if !row.stage.advances_to(stage, Track::Mail) {
        return Ok(());
    }
    let at = work.wall();
    row.stage = stage;
    row.code = code;
    row.history.push(Step { stage, code, at });
    let settled = stage.is_final() || matches!(stage, Stage::Read | Stage::Replied);
    sent::set_stage(work.tx, &row, settled.then_some(at))?;
    subscriptions::delivery(engine, work, &row)
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
        _ => return Ok(false),
    }
    let stage = match receipt.stage {
        ReceiptStage::Delivered => Stage::Delivered,
        ReceiptStage::Held => Stage::Held,
        ReceiptStage::HandedToAgent => Stage::HandedToAgent,
        ReceiptStage::Read => Stage::Read,
        ReceiptStage::Rejected => Stage::Rejected,
    };
    advance(engine, work, &receipt.reference, stage, receipt.code)?;
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
