//! Rooms as the store names them, and how far the person has read in each (`read_cursors`).
//! Spec: §6.8 "Order and read state", D3.29
//!
//! A channel is named by its id here, so that no row depends on the name that this machine holds it under.

use std::fmt;
use std::str::FromStr;

use messaging_core::code::Failure;
use messaging_core::ids::{PersonId, SessionName, Ulid};

/// A direct conversation or a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RoomKey {
    /// With a person.
    Dm(PersonId),
    /// By the channel's id.
    Channel(Ulid),
}

impl fmt::Display for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dm(person) => write!(f, "dm:{person}"),
            Self::Channel(id) => write!(f, "channel:{id}"),
        }
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
