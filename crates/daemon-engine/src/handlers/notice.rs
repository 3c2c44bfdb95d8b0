//! `notice.*`: what the person is told about, as a list and as it comes.
//! Spec: §8.2 "Notices", D1.7 rows 38-40

use messaging_ipc::event::Event;
use messaging_ipc::params::notice::{AckNotices, ListNotices, Subscribe};
use messaging_ipc::results::notice::{NoticeSubscribed, Notices, NoticesAcked};

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::input::Out;
use crate::notices;
use crate::store::notices as rows;
use crate::work::Work;

/// Sends this connection the notices that were not seen, then each new one.
pub(super) fn subscribe(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Subscribe,
) -> Handled<NoticeSubscribed> {
    // An id that is not here was forgotten: everything since then may be new.
    let after = match &params.after {
        Some(id) => rows::seq_of(work.tx, id.as_str())?.unwrap_or(0),
        None => 0,
    };
    let waiting = rows::after(work.tx, after, REPLAYED)?;
    let replayed = waiting.len() as u64;
    for row in waiting {
        let notice = notices::view(engine, work.tx, row, params.lines)?;
        let line = Event::Notice { notice }.line();
        work.wish(Out::IpcSend { conn: call.conn(), line, answers: false });
    }
    engine.ipc.follow_notices(call.conn(), params.lines);
    Ok(Answer::Now(NoticeSubscribed { replayed }))
}

/// The notices that were not seen, and the counts.
pub(super) fn list(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: ListNotices,
) -> Handled<Notices> {
    let limit = u32::try_from(params.limit.value()).unwrap_or(u32::MAX);
    let rows = rows::newest(work.tx, limit)?;
    let view = |row| notices::view(engine, work.tx, row, params.lines);
    let listed = rows.into_iter().map(view).collect::<Result<Vec<_>, _>>()?;
    Ok(Answer::Now(Notices { notices: listed, counts: notices::counts(work.tx, work.wall())? }))
}

/// Marks notices seen. A request that one was about still waits.
pub(super) fn ack(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: AckNotices,
) -> Handled<NoticesAcked> {
    let at = work.wall();
    let mut acked = 0;
    for id in params.ids.iter() {
        if rows::ack(work.tx, id.as_str(), at)? {
            acked += 1;
        }
    }
    Ok(Answer::Now(NoticesAcked { acked }))
}

/// Notices that one subscription is sent again.
const REPLAYED: u32 = 500;
