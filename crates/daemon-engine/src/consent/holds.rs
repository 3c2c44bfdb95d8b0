//! Asks that wait for the person: held with their envelope and what was sealed in it, until they answer or the ask ends.
//! Spec: §6.9 "Holds", D3.11

use messaging_core::code::Code;
use messaging_core::envelope::Envelope;
use messaging_core::ids::SessionName;
use messaging_core::limits::{HELD_PER_SENDER, HELD_TOTAL};
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_store::StoreError;
use serde_json::Value;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::held::{self, HeldRow};
use crate::store::inbox::ItemKind;
use crate::store::sessions::SessionId;
use crate::work::Work;
use crate::{notices, receipts};

/// An ask that the person is to answer.
pub(crate) struct Asked<'a> {
    pub(crate) envelope: &'a Envelope,
    /// The envelope as it arrived.
    pub(crate) wire: &'a Value,
    /// What was sealed in it.
    pub(crate) payload: &'a Value,
    /// The agent that asks.
    pub(crate) from: &'a SessionName,
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
        at: work.wall(),
        exp: envelope.exp,
    };
    held::insert(work.tx, &row, asked.wire, asked.payload)?;
    receipts::send(engine, work, &row.device, &Receipt::of(row.id, ReceiptStage::Held))?;
    notices::request(engine, work, &row.id, person, Some(asked.from))?;
    work.log(LogEvent::InboundHeld { device: row.device });
    Ok(Ok(()))
}

/// Drops what ended unanswered. Its sender's own clock settles the other side.
pub(crate) fn expire(work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.wall();
    held::expire(work.tx, now).map(drop)
}
