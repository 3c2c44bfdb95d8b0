//! `inbox.*`.
//! Spec: §8.2 "inbox.list", D1.7

use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::receipt::ReceiptStage;
use messaging_ipc::params::inbox::{Ack, AckStage, GetItem, ListItems};
use messaging_ipc::results::inbox::{Acked, InboxEntry, InboxPage};
use messaging_ipc::shapes::A2aObject;
use messaging_store::{StoreError, View};
use serde_json::Value;

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::receipts;
use crate::store::inbox::{self, InboxRow};
use crate::store::sessions::SessionRow;
use crate::views;
use crate::work::{Halt, Step, Work};

/// One page, newest first.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: ListItems,
) -> Handled<InboxPage> {
    let session = call.session()?.id;
    let limit = params.limit.as_usize();
    let before = params.before.as_ref().map(|cursor| (cursor.at, &cursor.id));
    // One more than asked for says whether there are more.
    let mut rows = inbox::page(work.tx, session, params.unread_only, before, limit + 1)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Answer::Now(InboxPage {
        items: rows.iter().map(views::item).collect(),
        unread: inbox::unread(work.tx, session)?,
        more,
    }))
}

/// Looks at an item; nothing changes and nobody hears of it.
pub(super) fn get(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: GetItem,
) -> Handled<InboxEntry> {
    let row = own(work.tx, call.session()?, &params.id)?.ok_or_else(unknown)?;
    let message = if params.message { Some(message(work.tx, &row)?) } else { None };
    Ok(Answer::Now(InboxEntry { item: views::item(&row), message }))
}

/// Takes items to a stage. One unknown id, and nothing changes; a stage that was reached already is no news.
pub(super) fn ack(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Ack,
) -> Handled<Acked> {
    let session = call.session()?;
    let mut rows = Vec::new();
    for id in params.ids.iter() {
        rows.push(own(work.tx, session, id)?.ok_or_else(unknown)?);
    }
    let stage = match params.stage {
        AckStage::HandedToAgent => ReceiptStage::HandedToAgent,
        AckStage::Read => ReceiptStage::Read,
    };
    let mut acked = Vec::new();
    for row in rows {
        // An id that was named twice has moved by now, and does not move again.
        let row = own(work.tx, session, &row.id)?.unwrap_or(row);
        if receipts::advance(engine, work, &row, stage)? {
            acked.push(row.id);
        }
    }
    Ok(Answer::Now(Acked { acked }))
}

/// An item of this session's inbox.
pub(super) fn own(
    view: &View<'_>,
    session: &SessionRow,
    id: &Ulid,
) -> Result<Option<InboxRow>, StoreError> {
    Ok(inbox::by_id(view, id)?.filter(|row| row.session == session.id))
}

/// The A2A message of an item, with its provenance.
pub(super) fn message(view: &View<'_>, row: &InboxRow) -> Step<A2aObject> {
    match inbox::message(view, row.seq)? {
        Some(Value::Object(members)) => Ok(A2aObject::new(members)),
        _ => Err(StoreError::Corrupt.into()),
    }
}

fn unknown() -> Halt {
    Halt::refused(Code::NotFound, "no such item in this session's inbox")
}
