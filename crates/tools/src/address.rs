//! Where a tool's message goes, as an agent writes it.
//! Spec: §11 "Addresses", D7.3 `Addr`

use messaging_core::ids::{Address, ChannelName, Label, PersonId, SessionName};
use serde::{Deserialize, Deserializer};

/// `me`, `me/<agent>`, `<person>`, `<person>/<agent>[@label]` or `#<channel>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolAddress {
    /// The session's own person.
    Me,
    /// An agent of the session's own person.
    MyAgent(SessionName, Option<Label>),
    /// A person.
    Person(PersonId),
    /// An agent.
    Agent(Address),
    /// A channel, by its local name.
    Channel(ChannelName),
}

/// The longest address.
const CHARS: usize = 200;

impl ToolAddress {
    /// Reads an address; `None` for anything else, group forms included.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > CHARS {
            return None;
        }
        if let Some(name) = text.strip_prefix('#') {
            return ChannelName::parse(name).ok().map(Self::Channel);
        }
        if let Some(agent) = text.strip_prefix("me/") {
            let (name, label) = match agent.split_once('@') {
                Some((name, label)) => (name, Some(Label::parse(label).ok()?)),
                None => (agent, None),
            };
            return Some(Self::MyAgent(SessionName::parse(name).ok()?, label));
        }
        match text {
            "me" => Some(Self::Me),
            _ if text.contains('/') => Address::parse(text).ok().map(Self::Agent),
            _ => PersonId::parse(text).ok().map(Self::Person),
        }
    }
}

impl<'de> Deserialize<'de> for ToolAddress {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?)
            .ok_or_else(|| serde::de::Error::custom("an address"))
    }
}

/// An address whose person is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The session's own person.
    Own(PersonId),
    /// Another person.
    Person(PersonId),
    /// An agent.
    Agent(Address),
    /// A channel.
    Channel(ChannelName),
}

impl ToolAddress {
    /// The address with `me` resolved. `None` when it needs to know who `me` is and `own` does not say.
    pub(crate) fn place(self, own: Option<&PersonId>) -> Option<Place> {
        Some(match self {
            Self::Me => Place::Own(own?.clone()),
            Self::MyAgent(session, label) => {
                Place::Agent(Address { person: own?.clone(), session, label })
            }
            Self::Person(person) if Some(&person) == own => Place::Own(person),
            Self::Person(person) => Place::Person(person),
            Self::Agent(address) => Place::Agent(address),
            Self::Channel(name) => Place::Channel(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_grammar_and_groups_are_none() {
        for good in [
            "me",
            "me/api",
            "me/api@laptop",
            "bob",
            "bob/api",
            "bob/api@laptop",
            "#ops",
            "p_aaaaaaaaaaaaaaaaaaaaaaaaaa/x",
        ] {
            assert!(ToolAddress::parse(good).is_some(), "{good}");
        }
        for bad in
            ["", "*", "bob/*", "repo:x", "#", "#Ops", "me/", "bob/", "Bob", "bob@laptop", "bob/a/b"]
        {
            assert!(ToolAddress::parse(bad).is_none(), "{bad}");
        }
        assert!(ToolAddress::parse(&format!("bob/{}", "a".repeat(300))).is_none());
    }

    #[test]
    fn ones_own_name_is_me() {
        let own = PersonId::parse("alice").unwrap();
        let place = |text| ToolAddress::parse(text).unwrap().place(Some(&own));
        assert_eq!(place("me"), Some(Place::Own(own.clone())));
        assert_eq!(place("alice"), Some(Place::Own(own.clone())));
        assert_eq!(place("me/api"), place("alice/api"));
        assert_eq!(ToolAddress::parse("me").unwrap().place(None), None);
    }
}
