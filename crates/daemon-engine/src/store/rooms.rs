//! Rooms as the store names them, and how far the person has read in each (`read_cursors`).
//! Spec: §6.8 "Order and read state", D3.29
//!
//! A channel is named by its id here, so that no row depends on the name that this machine holds it under.

use std::fmt;
use std::str::FromStr;

use messaging_core::code::Failure;
use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::columns::{Columns, stored};

/// A direct conversation or a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RoomKey {
    /// With a person.
    Dm(PersonId),
    /// By the channel's id.
    Channel(Ulid),
}

impl RoomKey {
    /// Whether it is a direct conversation or a channel.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Dm(_) => "dm",
            Self::Channel(_) => "channel",
        }
    }

    /// The person or the channel.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Dm(person) => person.as_str(),
            Self::Channel(id) => id.as_str(),
        }
    }
}

impl fmt::Display for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.id())
    }
}

impl FromStr for RoomKey {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.split_once(':') {
            Some(("dm", person)) => PersonId::parse(person).map(Self::Dm),
            Some(("channel", id)) => Ulid::parse(id).map(Self::Channel),
            _ => Err(Failure::invalid("room")),
        }
    }
}

/// Where something happened that the person is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A room.
    Room(RoomKey),
    /// With a person's agent.
    Agent(PersonId, SessionName),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Room(room) => room.fmt(f),
            Self::Agent(person, agent) => write!(f, "agent:{person}/{agent}"),
        }
    }
}

impl FromStr for Place {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let Some(address) = text.strip_prefix("agent:") else {
            return text.parse().map(Self::Room);
        };
        let (person, agent) = address.split_once('/').ok_or(Failure::invalid("room"))?;
        Ok(Self::Agent(PersonId::parse(person)?, SessionName::parse(agent)?))
    }
}

/// How far the person has read in a room, 0 at first.
pub(crate) fn read_up_to(view: &View<'_>, room: &RoomKey) -> Result<u64, StoreError> {
    let cursor = view.row(
        "SELECT up_to FROM read_cursors WHERE room = ?1",
        params![room.to_string()],
        |row| Columns::of(row).count(),
    )?;
    Ok(cursor.unwrap_or_default())
}

/// Moves a room's cursor forward; it never goes back.
pub(crate) fn mark_read(tx: &mut Tx<'_>, room: &RoomKey, up_to: u64) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO read_cursors (room, up_to) VALUES (?1, ?2)
         ON CONFLICT (room) DO UPDATE SET up_to = max(up_to, excluded.up_to)",
        params![room.to_string(), stored(up_to)],
    )?;
    Ok(())
}

/// Forgets how far the person has read in a room that is gone.
pub(crate) fn forget_cursor(tx: &mut Tx<'_>, room: &RoomKey) -> Result<(), StoreError> {
    tx.execute("DELETE FROM read_cursors WHERE room = ?1", params![room.to_string()])?;
    Ok(())
}

/// The persons with whom there are direct lines. Cost: one look-up a person, whatever the number of lines.
pub(crate) fn dm_persons(view: &View<'_>) -> Result<Vec<PersonId>, StoreError> {
    view.rows(
        "WITH RECURSIVE rooms (found) AS (
           SELECT min(room_id) FROM lines WHERE room_kind = 'dm'
           UNION ALL
           SELECT (SELECT min(room_id) FROM lines WHERE room_kind = 'dm' AND room_id > rooms.found)
           FROM rooms WHERE rooms.found IS NOT NULL)
         SELECT found FROM rooms WHERE found IS NOT NULL",
        (),
        |row| Columns::of(row).value(),
    )
}

/// The newest line of a room: its number and its time.
pub(crate) fn last(view: &View<'_>, room: &RoomKey) -> Result<Option<(u64, Ms)>, StoreError> {
    view.row(
        "SELECT seq, at FROM lines WHERE room_kind = ?1 AND room_id = ?2 ORDER BY seq DESC LIMIT 1",
        params![room.kind(), room.id()],
        |row| {
            let mut c = Columns::of(row);
            Ok((c.count()?, c.ms()?))
        },
    )
}

/// How many lines from others were filed in a room after the cursor.
pub(crate) fn unread(view: &View<'_>, room: &RoomKey, up_to: u64) -> Result<u64, StoreError> {
    let count = view.row(
        "SELECT count(*) FROM lines WHERE room_kind = ?1 AND room_id = ?2 AND seq > ?3 AND direction = 'in'",
        params![room.kind(), room.id(), stored(up_to)],
        |row| Columns::of(row).count(),
    )?;
    Ok(count.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_it_was_written() {
        for text in ["dm:bob", "channel:01HF7YAT00AAAAAAAAAAAAAAAA", "agent:bob/api-2"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for bad in ["", "bob", "dm:", "channel:eng", "agent:bob", "agent:bob/"] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }
}
