//! Asks that wait for the person: held with their envelope and what was sealed in it, until they answer or the ask ends.
//! Spec: §6.9 "Holds", D3.11

use messaging_core::code::Code;
use messaging_core::delegation::DelegationSummary;
use messaging_core::envelope::Envelope;
use messaging_core::ids::{MachineId, SessionName, Ulid};
use messaging_core::jcs;
use messaging_core::limits::{HELD_PER_SENDER, HELD_TOTAL};
use messaging_core::payload::MessagePayload;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_ipc::shapes::DelegationSummary as ChainView;
use messaging_store::StoreError;
use serde::Deserialize;
use serde_json::Value;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::held::{self, HeldRow, Shown};
use crate::store::inbox::ItemKind;
use crate::store::sessions::SessionId;
use crate::tasks::executor;
use crate::work::Work;
use crate::{inbound, notices, receipts};

/// An ask that the person is to answer.
pub(crate) struct Asked<'a> {
    pub(crate) envelope: &'a Envelope,
    /// The envelope as it arrived.
    pub(crate) wire: &'a Value,
    /// What was sealed in it.
    pub(crate) payload: &'a Value,
    /// The same, read.
    pub(crate) message: &'a MessagePayload,
    /// The agent that asks.
    pub(crate) from: &'a SessionName,
    /// The agent that is asked.
    pub(crate) to: &'a SessionName,
    pub(crate) kind: ItemKind,
    pub(crate) session: SessionId,
}

/// Holds an ask and tells its sender so; no agent hears of it.
///
/// The refusal, which has written nothing, is `rate_limited` when one person, or everybody together, has as many held as
/// there may be.
pub(crate) fn keep(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    asked: &Asked<'_>,
) -> Result<Result<(), Code>, StoreError> {
    let envelope = asked.envelope;
    let person = &envelope.from.person;
    let (of_person, in_all) = held::counts(work.tx, person)?;
    if of_person >= HELD_PER_SENDER as u64 || in_all >= HELD_TOTAL as u64 {
        return Ok(Err(Code::RateLimited));
    }
    let row = HeldRow {
        device: envelope.from.device,
        id: envelope.id,
        session: Some(asked.session),
        person: person.clone(),
        kind: asked.kind,
        task: asked.message.message.task_id,
        shown: Some(shown(asked)),
        at: work.wall(),
        exp: envelope.exp,
    };
    held::insert(work.tx, &row, asked.wire, asked.payload)?;
    receipts::send(engine, work, &row.device, &Receipt::of(row.id, ReceiptStage::Held))?;
    notices::request(engine, work, &row.id, person, Some(asked.from))?;
    work.log(LogEvent::InboundHeld { device: row.device });
    Ok(Ok(()))
}

fn shown(asked: &Asked<'_>) -> Shown {
    let message = &asked.message.message;
    let chain = asked.message.delegation.as_deref().and_then(DelegationSummary::of);
    Shown {
        from: asked.from.clone(),
        to: asked.to.clone(),
        context: message.context().as_str().to_owned(),
        preview: inbound::preview(message),
        chain: chain
            .and_then(|chain| jcs::to_value(&chain).ok())
            .and_then(|chain| ChainView::deserialize(chain).ok()),
    }
}

/// The requester wants no more of a task that the person has not answered: they are not asked any more, and its requester
/// hears that it has ended. Says whether such a task waited.
pub(crate) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    device: &MachineId,
    task: &Ulid,
) -> Result<bool, StoreError> {
    let rows = held::of_task(work.tx, device, task)?;
    for row in &rows {
        held::delete(work.tx, row)?;
        if let Some(shown) = &row.shown {
            executor::never_began(engine, work, device, (task, &row.id, &shown.context))?;
        }
    }
    Ok(!rows.is_empty())
}

/// Drops what ended unanswered. Its sender's own clock settles the other side.
pub(crate) fn expire(work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.wall();
    held::expire(work.tx, now).map(drop)
}
