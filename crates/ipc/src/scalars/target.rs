//! Where a message goes and which conversation is meant, as written in parameters and results.
//! Spec: §8.2 "msg.send", D1.5

use super::Rule;
use messaging_core::ids::{Address, ChannelName, PersonId, SessionName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::fmt;

/// What `msg.send` takes as `to`: one agent, a person, or a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `person/session[@label]`: mail or a task.
    Agent(Address),
    /// A person: a line in the conversation with them.
    Person(PersonId),
    /// `#channel`: a line in the channel.
    Channel(ChannelName),
}

impl Target {
    /// Reads the three forms.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let rule = Rule("an address, a person or a channel");
        let parsed = if let Some(name) = text.strip_prefix('#') {
            ChannelName::parse(name).ok().map(Self::Channel)
        } else if text.contains('/') {
            Address::parse(text).ok().map(Self::Agent)
        } else {
            PersonId::parse(text).ok().map(Self::Person)
        };
        parsed.ok_or(rule)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(address) => address.fmt(f),
            Self::Person(person) => person.fmt(f),
            Self::Channel(name) => write!(f, "#{name}"),
        }
    }
}

/// One conversation of the person: `dm:<person>` or `channel:<local name>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// The direct conversation with a person.
    Dm(PersonId),
    /// A channel, by the name this machine holds it under.
    Channel(ChannelName),
}

impl Room {
    /// Reads the two forms.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let rule = Rule("dm:<person> or channel:<name>");
        let parsed = match text.split_once(':') {
            Some(("dm", person)) => PersonId::parse(person).ok().map(Self::Dm),
            Some(("channel", name)) => ChannelName::parse(name).ok().map(Self::Channel),
            _ => None,
        };
        parsed.ok_or(rule)
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dm(person) => write!(f, "dm:{person}"),
            Self::Channel(name) => write!(f, "channel:{name}"),
        }
    }
}

/// A [`Room`], or what a session exchanged with one other agent: `agent:<person>/<session>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversation {
    /// A direct conversation or a channel.
    Room(Room),
    /// Mail and tasks with another agent, on any machine of its person.
    Agent {
        /// The other agent's person.
        person: PersonId,
        /// The other agent.
        agent: SessionName,
    },
}

impl Conversation {
    /// Reads the three forms.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let Some(address) = text.strip_prefix("agent:") else {
            return Room::parse(text).map(Self::Room);
        };
        let rule = Rule("agent:<person>/<agent>");
        let (person, agent) = address.split_once('/').ok_or(rule)?;
        Ok(Self::Agent {
            person: PersonId::parse(person).map_err(|_| rule)?,
            agent: SessionName::parse(agent).map_err(|_| rule)?,
        })
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Room(room) => room.fmt(f),
            Self::Agent { person, agent } => write!(f, "agent:{person}/{agent}"),
        }
    }
}

/// Lets an enum with `parse` and `Display` travel as one JSON string with the given schema pattern.
macro_rules! displayed {
    ($name:ident, $pattern:literal) => {
        impl core::str::FromStr for $name {
            type Err = Rule;
            fn from_str(text: &str) -> Result<Self, Rule> {
                Self::parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::parse(&<String as serde::Deserialize>::deserialize(from)?).map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}
displayed!(Target, "^(#[a-z0-9]|[a-z])[a-z0-9._/@-]*$");
displayed!(Room, "^(dm|channel):[a-z0-9_-]+$");
displayed!(Conversation, "^(dm|channel|agent):[a-z0-9._/-]+$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_and_print_alike() {
        for text in ["bob/api", "bob/api@laptop", "bob", "#ops", "p_aaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
        for bad in
            ["", "*", "bob/*", "bob/", "/api", "bob/api@", "#", "#Ops", "Bob", "repo:x", "bob /api"]
        {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn conversations_read_and_print_alike() {
        for text in ["dm:bob", "channel:ops", "agent:bob/api"] {
            assert_eq!(Conversation::parse(text).unwrap().to_string(), text);
        }
        for bad in ["bob", "dm:", "channel:#x", "agent:bob", "agent:bob/api@laptop", "DM:bob"] {
            assert!(Conversation::parse(bad).is_err(), "{bad}");
        }
        assert!(Room::parse("agent:bob/api").is_err());
    }
}
