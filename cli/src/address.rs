//! Whom a person means: `me`, `me/<agent>`, `<person>`, `<person>/<agent>[@label]`, `#<channel>`.
//! Spec: D6.1 "Addresses"

use messaging_core::code::Code;
use messaging_core::ids::{Address, ChannelName, PersonId, SessionName};
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::consent::Subject;
use messaging_ipc::scalars::{Room, Target};

use crate::context::Link;
use crate::fault::Fault;

/// A recipient as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// The person themself.
    Me,
    /// One of the person's own agents.
    MyAgent(SessionName),
    /// Somebody by name.
    Named(Target),
}

impl Recipient {
    /// Reads the five forms; `channel:<name>` is another way to write `#<name>`.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let fault = || {
            Fault::usage(
                "the recipient is no address",
                "write <person>/<agent>, <person>, '#<channel>', me or me/<agent>.",
            )
        };
        if text == "me" {
            return Ok(Self::Me);
        }
        if let Some(agent) = text.strip_prefix("me/") {
            return SessionName::parse(agent).map(Self::MyAgent).map_err(|_| fault());
        }
        let named = match text.strip_prefix("channel:") {
            Some(name) => Target::parse(&format!("#{name}")),
            None => Target::parse(text),
        };
        named.map(Self::Named).map_err(|_| fault())
    }

    /// Whether it names an agent.
    pub(crate) fn is_agent(&self) -> bool {
        matches!(self, Self::MyAgent(_) | Self::Named(Target::Agent(_)))
    }

    /// The conversation that it names.
    ///
    /// Errors: usage for an agent, which has a mailbox and no conversation with the person.
    pub(crate) async fn room(self, link: &Link<'_>) -> Result<Room, Fault> {
        match self.resolve(link).await? {
            Target::Person(person) => Ok(Room::Dm(person)),
            Target::Channel(name) => Ok(Room::Channel(name)),
            Target::Agent(_) => Err(Fault::usage(
                "this is an agent, and a conversation is with a person or a channel",
                "name a person or '#<channel>'; `messaging agents read` shows what your agents wrote.",
            )),
        }
    }

    /// Whom a grant is about.
    ///
    /// Errors: usage for an agent: what is granted to a person is granted to their agents.
    pub(crate) async fn subject(self, link: &Link<'_>) -> Result<Subject, Fault> {
        match self.resolve(link).await? {
            Target::Person(person) => Ok(Subject { person: Some(person), channel: None }),
            Target::Channel(name) => Ok(Subject { person: None, channel: Some(name) }),
            Target::Agent(_) => Err(Fault::usage(
                "a grant is for a person with all their agents, or for a channel",
                "name the person, as in bob, or '#<channel>'.",
            )),
        }
    }

    /// The person that it names.
    ///
    /// Errors: usage for an agent or a channel.
    pub(crate) async fn person(self, link: &Link<'_>) -> Result<PersonId, Fault> {
        match self.resolve(link).await? {
            Target::Person(person) => Ok(person),
            Target::Channel(_) | Target::Agent(_) => {
                Err(Fault::usage("this is no person", "name a person, as in bob."))
            }
        }
    }

    /// Whether it names a person.
    pub(crate) fn is_person(&self) -> bool {
        matches!(self, Self::Me | Self::Named(Target::Person(_)))
    }

    /// Puts the person's own name in the place of `me`.
    pub(crate) async fn resolve(self, link: &Link<'_>) -> Result<Target, Fault> {
        Ok(match self {
            Self::Named(target) => target,
            Self::Me => Target::Person(own_person(link).await?),
            Self::MyAgent(session) => {
                Target::Agent(Address { person: own_person(link).await?, session, label: None })
            }
        })
    }
}

/// How a conversation is written: `bob`, `#ops`.
pub(crate) fn room_name(room: &Room) -> String {
    match room {
        Room::Dm(person) => person.to_string(),
        Room::Channel(name) => format!("#{name}"),
    }
}

/// The channel that `#ops`, `channel:ops` or `ops` names.
pub(crate) fn channel(text: &str) -> Result<ChannelName, &'static str> {
    let name = text.strip_prefix('#').or_else(|| text.strip_prefix("channel:")).unwrap_or(text);
    ChannelName::parse(name).map_err(|_| "no channel's name")
}

/// The person's own id.
///
/// Errors: `no_identity` on a device that is not set up.
pub(crate) async fn own_person(link: &Link<'_>) -> Result<PersonId, Fault> {
    let status = link.call::<call::DaemonStatus>(&Nothing {}).await?;
    match status.identity {
        Some(identity) => Ok(identity.person),
        None => Err(Fault::new(Code::NoIdentity, "this device is not set up, so nobody is \"me\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_are_told_apart() {
        assert_eq!(Recipient::parse("me").unwrap(), Recipient::Me);
        assert!(matches!(Recipient::parse("me/api").unwrap(), Recipient::MyAgent(_)));
        for (text, agent) in
            [("bob/api", true), ("bob/api@desk", true), ("bob", false), ("#ops", false)]
        {
            assert_eq!(Recipient::parse(text).unwrap().is_agent(), agent);
        }
        assert_eq!(Recipient::parse("channel:ops").unwrap(), Recipient::parse("#ops").unwrap());
    }

    #[test]
    fn a_channel_is_named_in_three_ways() {
        for text in ["ops", "#ops", "channel:ops"] {
            assert_eq!(channel(text).unwrap().as_str(), "ops");
        }
        for text in ["", "#", "#Ops", "##ops", "dm:ops", "a b"] {
            assert!(channel(text).is_err(), "{text}");
        }
    }

    #[test]
    fn groups_and_malformed_addresses_are_usage_errors() {
        for text in ["", "bob/*", "*", "me/", "repo:x", "channel:", "Bob", "bob/api@", "a b"] {
            let fault = Recipient::parse(text).unwrap_err();
            assert_eq!(fault.exit, crate::exit::Exit::Usage, "{text}");
        }
    }
}
