//! Lines and rooms as clients see them, and rooms as clients name them.
//! Spec: §8.2 "Chats", D1.6

use std::collections::BTreeMap;

use messaging_core::code::Code;
use messaging_core::ids::{ChannelName, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_ipc::scalars::{Room, True};
use messaging_ipc::shapes::{ChatLine, ConversationKind, ConversationView};
use messaging_store::{StoreError, View};

use super::post;
use crate::engine::DaemonEngine;
use crate::store::channels::{self, ChannelRow};
use crate::store::lines::LineRow;
use crate::store::rooms::{self, RoomKey};
use crate::work::{Halt, Step};

/// The names of channels, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<Ulid, Option<ChannelName>>);

impl Names {
    /// A room by its name here; none for a channel that is gone.
    pub(crate) fn room(
        &mut self,
        view: &View<'_>,
        key: &RoomKey,
    ) -> Result<Option<Room>, StoreError> {
        let id = match key {
            RoomKey::Dm(person) => return Ok(Some(Room::Dm(person.clone()))),
            RoomKey::Channel(id) => id,
        };
        let name = match self.0.get(id) {
            Some(name) => name.clone(),
            None => {
                let name = channels::local_name(view, id)?;
                self.0.insert(*id, name.clone());
                name
            }
        };
        Ok(name.map(Room::Channel))
    }
}

/// The room that a client names, to write in.
///
/// Errors: `not_found` for a person who is not in the team, and a channel that is not held.
pub(crate) fn find(engine: &DaemonEngine, view: &View<'_>, room: &Room) -> Step<RoomKey> {
    match room {
        Room::Dm(person) if post::admissible(engine, person) => Ok(RoomKey::Dm(person.clone())),
        Room::Dm(_) => Err(post::no_person()),
        Room::Channel(name) => match channels::by_local(view, name)? {
            Some(held) => Ok(RoomKey::Channel(held.record.id)),
            None => Err(Halt::refused(Code::NotFound, "no channel is held under this name")),
        },
    }
}

/// The room that a client names, to read in: also what was said with somebody who left the team.
///
/// Errors: as [`find`].
pub(crate) fn known(engine: &DaemonEngine, view: &View<'_>, room: &Room) -> Step<RoomKey> {
    if let Room::Dm(person) = room {
        let key = RoomKey::Dm(person.clone());
        if rooms::last(view, &key)?.is_some() {
            return Ok(key);
        }
    }
    find(engine, view, room)
}

/// A line as clients see it.
pub(crate) fn line(row: LineRow, conversation: Room) -> ChatLine {
    ChatLine {
        id: row.id,
        conversation,
        seq: row.seq,
        at: row.at,
        person: row.person,
        device: row.device,
        label: row.label,
        agent: row.agent,
        direction: row.direction,
        text: PeerText::new(row.text),
        thread: row.thread,
        truncated: row.truncated.then_some(True),
        notice: row.notice.then_some(True),
        state: row.state,
        refused: (!row.refused.is_empty()).then_some(row.refused),
    }
}

/// A room that this machine holds, with its newest line.
struct Held {
    key: RoomKey,
    channel: Option<ChannelRow>,
    last: Option<(u64, messaging_core::time::Ms)>,
}

/// The rooms, those with the newest lines first.
fn held(view: &View<'_>) -> Result<Vec<Held>, StoreError> {
    let mut all = Vec::new();
    for person in rooms::dm_persons(view)? {
        let key = RoomKey::Dm(person);
        all.push(Held { last: rooms::last(view, &key)?, key, channel: None });
    }
    for row in channels::all(view)? {
        let key = RoomKey::Channel(row.record.id);
        all.push(Held { last: rooms::last(view, &key)?, key, channel: Some(row) });
    }
    all.sort_by_key(|held| std::cmp::Reverse(held.last));
    Ok(all)
}

/// At most `limit` conversations, newest first.
pub(crate) fn conversations(
    view: &View<'_>,
    limit: usize,
) -> Result<Vec<ConversationView>, StoreError> {
    held(view)?.into_iter().take(limit).map(|held| show(view, held)).collect()
}

/// One conversation; none for a channel that is gone.
pub(crate) fn conversation(
    view: &View<'_>,
    key: &RoomKey,
) -> Result<Option<ConversationView>, StoreError> {
    let channel = match key {
        RoomKey::Dm(_) => None,
        RoomKey::Channel(id) => match channels::get(view, id)? {
            Some(row) => Some(row),
            None => return Ok(None),
        },
    };
    let last = rooms::last(view, key)?;
    show(view, Held { key: key.clone(), channel, last }).map(Some)
}

fn show(view: &View<'_>, held: Held) -> Result<ConversationView, StoreError> {
    let read_up_to = rooms::read_up_to(view, &held.key)?;
    let unread = rooms::unread(view, &held.key, read_up_to)?;
    let shown = |conversation, kind| ConversationView {
        conversation,
        kind,
        read_up_to,
        unread,
        last_seq: held.last.map(|(seq, _)| seq),
        last_at: held.last.map(|(_, at)| at),
        person: None,
        id: None,
        name: None,
        persons: None,
        creator: None,
    };
    Ok(match (held.key, held.channel) {
        (RoomKey::Dm(person), _) => ConversationView {
            person: Some(person.clone()),
            ..shown(Room::Dm(person), ConversationKind::Dm)
        },
        (RoomKey::Channel(id), Some(row)) => ConversationView {
            id: Some(id),
            name: (row.record.name != row.local).then_some(row.record.name),
            persons: Some(row.record.persons),
            creator: Some(row.record.creator),
            ..shown(Room::Channel(row.local), ConversationKind::Channel)
        },
        (RoomKey::Channel(_), None) => return Err(StoreError::Corrupt),
    })
}

/// How many lines from others are not read, over every room.
pub(crate) fn unread(view: &View<'_>) -> Result<u64, StoreError> {
    let mut unread = 0;
    for held in held(view)? {
        let up_to = rooms::read_up_to(view, &held.key)?;
        unread += rooms::unread(view, &held.key, up_to)?;
    }
    Ok(unread)
}
