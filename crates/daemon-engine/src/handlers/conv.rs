//! `conv.*`: the person's conversations, page by page and as they change.
//! Spec: §8.2 "Chats", "Resuming"; D1.7 rows 12, 21-23; D3.20

use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_ipc::event::Event;
use messaging_ipc::line::LINE_BYTES;
use messaging_ipc::params::conv::{ListConversations, MarkRead, PageCursor, Read, Subscribe};
use messaging_ipc::results::conv::{ConvPage, ConvSubscribed, Conversations, ReadState};
use messaging_ipc::scalars::{Conversation, Room};
use messaging_ipc::shapes::ChatLine;
use messaging_store::StoreError;

use super::{Answer, Call, Handled, field};
use crate::chats::{self, Names};
use crate::dealings;
use crate::engine::DaemonEngine;
use crate::input::Out;
use crate::store::dealings::Part;
use crate::store::kv;
use crate::store::lines::{self, Paging};
use crate::store::rooms::{self, RoomKey};
use crate::work::{Halt, Step, Work};

/// One page of a conversation, oldest first. Nothing is marked, and nobody hears of it.
pub(super) fn read(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Read,
) -> Handled<ConvPage> {
    match &params.conversation {
        Conversation::Agent { person, agent } => with_agent(work, call, &params, (person, agent)),
        Conversation::Room(room) => lines_of(engine, work, room, &params),
    }
}

/// What the session exchanged with another agent.
fn with_agent(
    work: &Work<'_, '_>,
    call: &Call,
    params: &Read,
    peer: (&PersonId, &SessionName),
) -> Handled<ConvPage> {
    let session = call.session()?.id;
    let part = match (&params.before, &params.after) {
        (Some(PageCursor::Entry(place)), _) => Part::Before(place.at, &place.id),
        (None, Some(PageCursor::Entry(place))) => Part::After(place.at, &place.id),
        (None, None) => Part::Latest,
        // The parameters' own rules refuse these before.
        _ => return Err(field("before", "an entry's time and id")),
    };
    let limit = params.limit.map_or(ENTRIES, |limit| limit.as_usize());
    let (entries, more) = dealings::page(work.tx, session, peer, part, limit)?;
    let conversation = params.conversation.clone();
    Ok(Answer::Now(ConvPage::Agent { conversation, entries, more }))
}

/// The lines of a direct conversation or a channel.
fn lines_of(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    room: &Room,
    params: &Read,
) -> Handled<ConvPage> {
    let key = chats::known(engine, work.tx, room)?;
    let thread = match &params.thread {
        Some(line) => Some(lines::thread_of(work.tx, &key, line)?.ok_or_else(no_thread)?),
        None => None,
    };
    let paging = match (&params.before, &params.after) {
        (_, Some(PageCursor::Line(seq))) => Paging::After(*seq),
        (Some(PageCursor::Line(seq)), _) => Paging::Before(*seq),
        _ => Paging::Before(u64::MAX),
    };
    let limit = params.limit.map_or(LINES, |limit| limit.as_usize());
    // One more tells whether there is more.
    let asked = u32::try_from(limit).unwrap_or(u32::MAX).saturating_add(1);
    let rows = lines::page(work.tx, &key, thread.as_ref(), paging, asked)?;
    let mut shown = rows.into_iter().map(|row| chats::line(row, room.clone()));
    let (lines, more) = match paging {
        Paging::After(_) => fitting(shown.by_ref(), limit),
        // The nearest to the cursor stay.
        Paging::Before(_) => {
            let (mut lines, more) = fitting(shown.by_ref().rev(), limit);
            lines.reverse();
            (lines, more)
        }
    };
    Ok(Answer::Now(ConvPage::Lines { conversation: room.clone(), lines, more }))
}

/// The first `limit` lines, fewer when one answer has no room for them, and whether some were left out.
pub(super) fn fitting(
    lines: impl Iterator<Item = ChatLine>,
    limit: usize,
) -> (Vec<ChatLine>, bool) {
    let mut room = PAGE_BYTES;
    let mut taken = Vec::new();
    for line in lines {
        let bytes = messaging_ipc::line::print(&line).len();
        if taken.len() == limit || (bytes > room && !taken.is_empty()) {
            return (taken, true);
        }
        room = room.saturating_sub(bytes);
        taken.push(line);
    }
    (taken, false)
}

fn no_thread() -> Halt {
    super::not_found("no line of this conversation is in that thread")
}

/// The conversations, newest first.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: ListConversations,
) -> Handled<Conversations> {
    let conversations = chats::conversations(work.tx, params.limit.as_usize())?;
    Ok(Answer::Now(Conversations { conversations }))
}

/// Moves a conversation's cursor forward, and never past the newest number here.
pub(super) fn mark_read(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: MarkRead,
) -> Handled<ReadState> {
    let key = chats::known(engine, work.tx, &params.conversation)?;
    let newest = kv::number(work.tx, kv::CHAT_SEQ)?;
    let up_to = params.up_to.min(newest);
    if up_to > rooms::read_up_to(work.tx, &key)? {
        rooms::mark_read(work.tx, &key, up_to)?;
    }
    let read_up_to = rooms::read_up_to(work.tx, &key)?;
    let unread = rooms::unread(work.tx, &key, read_up_to)?;
    Ok(Answer::Now(ReadState { read_up_to, unread }))
}

/// Sends this connection what changed since a number, then every change.
pub(super) fn subscribe(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Subscribe,
) -> Handled<ConvSubscribed> {
    let seq = kv::number(work.tx, kv::CHAT_SEQ)?;
    let missed = match params.since {
        Some(since) => missed(work, since, seq)?,
        None => Some(Vec::new()),
    };
    let gap = missed.is_none();
    for event in missed.unwrap_or_default() {
        work.wish(Out::IpcSend { conn: call.conn(), line: event.line(), answers: false });
    }
    engine.ipc.follow_conv(call.conn());
    Ok(Answer::Now(ConvSubscribed { seq, gap }))
}

/// What changed after a number; none when events alone cannot tell it.
fn missed(work: &Work<'_, '_>, since: u64, newest: u64) -> Result<Option<Vec<Event>>, StoreError> {
    if since > newest || since < kv::number(work.tx, kv::CHAT_DELETED_SEQ)? {
        return Ok(None);
    }
    let changed = lines::changed_after(work.tx, since, REPLAYED + 1)?;
    if changed.len() > REPLAYED as usize {
        return Ok(None);
    }
    let mut names = Names::default();
    let mut events = Vec::new();
    for row in &changed {
        events.extend(chats::event(&mut names, work, row)?);
    }
    Ok(Some(events))
}

/// The thread that a line of a conversation is in, for a line that joins it.
///
/// Errors: `not_found`.
pub(super) fn thread(
    work: &Work<'_, '_>,
    room: &RoomKey,
    line: Option<&Ulid>,
) -> Step<Option<Ulid>> {
    match line {
        Some(line) => lines::thread_of(work.tx, room, line)?.ok_or_else(no_thread).map(Some),
        None => Ok(None),
    }
}

/// Lines of a page, when the call does not say.
const LINES: usize = 50;
/// Entries of a page, when the call does not say.
const ENTRIES: usize = 30;
/// Lines that one subscription is told of again.
const REPLAYED: u32 = 500;
/// Bytes of the lines of one answer.
const PAGE_BYTES: usize = LINE_BYTES - 65_536;
