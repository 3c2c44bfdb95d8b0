//! This machine's word on what it received: stored, handed over, read, or refused.
//! Spec: §6.4, D3.14

use messaging_core::code::Code;
use messaging_core::envelope::SealedType;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::jcs;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::stage::{Stage, Track};
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::outbound::{self, Letter, Target};
use crate::store::inbox::{self, InboxRow};
use crate::work::{Work, judged};
use crate::{outbox, stages};

/// Moves an inbox item to `handed_to_agent` or `read` and tells its sender. A stage that was reached changes nothing.
///
/// Returns whether the stage moved.
pub(crate) fn advance(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    item: &InboxRow,
    stage: ReceiptStage,
) -> Result<bool, StoreError> {
    let next = Stage::from(stage);
    if !item.stage.advances_to(next, Track::Mail) {
        return Ok(false);
    }
    let read_at = (next == Stage::Read).then(|| work.wall());
    inbox::set_stage(work.tx, item.seq, next, read_at)?;
    send(engine, work, &item.from_device, &Receipt::of(item.id, stage))?;
    Ok(true)
}

/// Tells a sender that its envelope is refused; while the outbox is full, it is not told: a member that stopped the sends
/// must not fill the disk with answers.
pub(crate) fn reject(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &MachineId,
    id: Ulid,
    code: Code,
) -> Result<(), StoreError> {
    if !engine.is_me(to) && judged(outbox::check_room(work.tx))?.is_err() {
        return Ok(());
    }
    send(engine, work, to, &Receipt::rejected(id, code))
}

/// Queues a receipt; to this very machine it is applied at once. A machine that is no member any more is told nothing.
pub(crate) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &MachineId,
    receipt: &Receipt,
) -> Result<(), StoreError> {
    if engine.home.machine.as_ref() == Some(to) {
        stages::receipt(engine, work, to, receipt)?;
        return Ok(());
    }
    let Some(member) = engine.realm.member(to) else { return Ok(()) };
    let target = Target::of(member, None);
    let Ok(payload) = jcs::to_value(receipt) else { return Ok(()) };
    let letter = Letter {
        kind: SealedType::Receipt,
        from_agent: None,
        to: &target,
        reply_to: None,
        payload: &payload,
        at: work.wall(),
    };
    // A member whose key nobody can seal to, or a removal meanwhile, leaves the sender without an answer, and nothing else.
    judged(outbound::post(engine, work, &letter)).map(drop)
}
