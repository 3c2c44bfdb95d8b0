//! Events of a session, to the connections that asked for them and still hold its key, and of the person's conversations.
//! Spec: §8.2 "events.subscribe", D2

use messaging_core::time::Ms;
use messaging_ipc::event::{Event, Origin, TaskChange};
use messaging_ipc::scalars::SessionKey;
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::input::Out;
use crate::store::inbox::InboxRow;
use crate::store::sent::SentRow;
use crate::store::sessions::SessionId;
use crate::store::tasks::TaskRow;
use crate::tasks::view;
use crate::views;
use crate::work::Work;

/// An item was filed for a session.
pub(crate) fn inbox(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &InboxRow,
) -> Result<(), StoreError> {
    let item = views::item(row);
    tell(engine, work, row.session, |key| Event::Inbox { key, item: item.clone() });
    Ok(())
}

/// A message that a session sent reached its present stage.
pub(crate) fn delivery(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &SentRow,
) -> Result<(), StoreError> {
    let Some(session) = row.session else { return Ok(()) };
    let at = row.history.last().map_or(Ms(0), |step| step.at);
    tell(engine, work, session, |key| Event::Delivery {
        key,
        envelope_id: row.id,
        stage: row.stage,
        code: row.code,
        at,
    });
    Ok(())
}

/// A task came to be or changed; `caller` is the session whose own call did it.
pub(crate) fn task(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    update: Option<TaskChange>,
    caller: Option<SessionId>,
) -> Result<(), StoreError> {
    if engine.ipc.subscribers(row.session).next().is_none() {
        return Ok(());
    }
    let record = view::record(work.tx, row)?;
    let origin = if caller == Some(row.session) { Origin::Local } else { Origin::Peer };
    tell(engine, work, row.session, |key| Event::Task {
        key,
        origin,
        task: record.clone(),
        update: update.clone(),
    });
    Ok(())
}

/// Something changed in a conversation of the person.
pub(crate) fn conv(engine: &DaemonEngine, work: &mut Work<'_, '_>, event: &Event) {
    for conn in engine.ipc.conv_followers() {
        work.wish(Out::IpcSend { conn, line: event.line(), answers: false });
    }
}

fn tell(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    session: SessionId,
    event: impl Fn(SessionKey) -> Event,
) {
    for (conn, key) in engine.ipc.subscribers(session) {
        let line = event(key.clone()).line();
        work.wish(Out::IpcSend { conn, line, answers: false });
    }
}
