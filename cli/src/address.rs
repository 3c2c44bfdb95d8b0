//! Whom a person means: `me`, `me/<agent>`, `<person>`, `<person>/<agent>[@label]`, `#<channel>`.
//! Spec: D6.1 "Addresses"

use messaging_core::code::Code;
use messaging_core::ids::{Address, PersonId, SessionName};
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::scalars::Target;

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

async fn own_person(link: &Link<'_>) -> Result<PersonId, Fault> {
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
    fn groups_and_malformed_addresses_are_usage_errors() {
        for text in ["", "bob/*", "*", "me/", "repo:x", "channel:", "Bob", "bob/api@", "a b"] {
            let fault = Recipient::parse(text).unwrap_err();
            assert_eq!(fault.exit, crate::exit::Exit::Usage, "{text}");
        }
    }
}
