//! `item.read`.
//! Spec: §8.2 "item.read", D1.7

use messaging_core::code::Code;
use messaging_core::ids::SessionAddress;
use messaging_core::receipt::ReceiptStage;
use messaging_ipc::params::inbox::ReadItem;
use messaging_ipc::results::inbox::ItemRead;

use super::{Answer, Call, Handled, inbox};
use crate::engine::DaemonEngine;
use crate::receipts;
use crate::store::{sent, sent_text};
use crate::tasks::view;
use crate::views;
use crate::work::{Halt, Work};

/// Reads one item: a received one is read from now on, a sent one tells how far it got.
pub(super) fn read(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: ReadItem,
) -> Handled<ItemRead> {
    let session = call.session()?;
    if let Some(row) = inbox::own(work.tx, session, &params.id)? {
        let message = inbox::message(work.tx, &row)?;
        receipts::advance(engine, work, &row, ReceiptStage::Read)?;
        let row = inbox::own(work.tx, session, &params.id)?.unwrap_or(row);
        return Ok(Answer::Now(ItemRead::Received { item: views::item(&row), message }));
    }
    let row = sent::get(work.tx, &params.id)?.filter(|row| row.session == Some(session.id));
    match row.as_ref().and_then(|row| Some((row, row.to_agent.as_ref()?))) {
        Some((row, agent)) => Ok(Answer::Now(ItemRead::Sent {
            envelope_id: row.id,
            to: SessionAddress::new(&row.to_person, agent, &row.to_label).to_string(),
            stage: row.stage,
            code: row.code,
            history: views::history(row),
            message: match sent_text::get(work.tx, &row.id)? {
                Some(message) => Some(view::object(&message)?),
                None => None,
            },
        })),
        None => {
            Err(Halt::refused(Code::NotFound, "no such item in this session's inbox or outbox"))
        }
    }
}
