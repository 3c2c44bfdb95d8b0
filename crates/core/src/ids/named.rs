//! Names with a grammar: persons, labels, sessions, channels, and the rest of the spec's scalars.
//! Spec: §3, W0 "Scalars"

use alloc::string::String;
use core::fmt;

use super::text_id_traits;
use crate::code::Failure;
use crate::json::utf16_len;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $check:expr, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Reads the text.
            ///
            /// Errors: `invalid_request` when the text is outside the grammar.
            pub fn parse(text: &str) -> Result<Self, Failure> {
                let fits: fn(&str) -> bool = $check;
                if fits(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(Failure::invalid(stringify!($name)))
                }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        text_id_traits!($name, schemars::json_schema!($schema));
    };
}

named! {
    /// A person's name in a realm whose persons are named by its admins: `[a-z][a-z0-9-]{0,31}`.
    RosterPerson, is_roster_person, { "type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$" }
}
named! {
    /// A hosted person's id: `p_` and 26 base32 characters.
    HostedPerson, is_hosted_person, { "type": "string", "pattern": "^p_[a-z2-7]{26}$" }
}
named! {
    /// A person, in either kind of realm. `_` keeps the two forms apart.
    PersonId, |t| is_roster_person(t) || is_hosted_person(t),
    { "type": "string", "pattern": "^([a-z][a-z0-9-]{0,31}|p_[a-z2-7]{26})$" }
}
named! {
    /// A machine's short name within its person.
    Label, |t| grammar(t, 32, lower_digit, |b| lower_digit(b) || b == b'-'),
    { "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$" }
}
named! {
    /// An agent session's name on its machine. It is a claim of that machine: nothing is authorized by it alone.
    SessionName, |t| grammar(t, 64, lower_digit, |b| lower_digit(b) || matches!(b, b'.' | b'_' | b'-')),
    { "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }
}
named! {
    /// A channel's name.
    ChannelName, |t| grammar(t, 32, lower_digit, |b| lower_digit(b) || b == b'-'),
    { "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$" }
}
named! {
    /// A scope label of a delegation grant. Peers choose it: show it only as their text.
    ScopeLabel, |t| grammar(t, 64, lower_digit, |b| lower_digit(b) || matches!(b, b'.' | b'_' | b':' | b'/' | b'-')),
    { "type": "string", "pattern": "^[a-z0-9][a-z0-9._:/-]{0,63}$" }
}
named! {
    /// A team's name: 1 to 64 UTF-16 units of any text.
    TeamName, |t| (1..=64).contains(&utf16_len(t)), { "type": "string", "minLength": 1, "maxLength": 64 }
}
named! {
    /// The kind of an agent's client, for example `claude-code`.
    ClientKind, |t| grammar(t, 32, lower_digit, |b| lower_digit(b) || matches!(b, b'.' | b'_' | b'-')),
    { "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,31}$" }
}
named! {
    /// An account of the issuer.
    AccountId, |t| prefixed(t, "acc_"), { "type": "string", "pattern": "^acc_[A-Za-z0-9._:-]{1,123}$" }
}
named! {
    /// A host of the issuer.
    HostId, |t| prefixed(t, "hst_"), { "type": "string", "pattern": "^hst_[A-Za-z0-9._:-]{1,123}$" }
}
named! {
    /// A request's name on a relay connection, echoed by its reply.
    Req, |t| grammar(t, 64, word, word), { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" }
}
named! {
    /// An email address as far as the protocol looks at one: 3 to 254 characters, one `@` with text on both sides.
    Email, is_email, { "type": "string", "minLength": 3, "maxLength": 254 }
}
named! {
    /// A relay's connect URL: `wss://`, or `ws://` to this machine. Spec: §4 "Invites" 2
    RelayUrl, crate::url::is_relay_url, { "type": "string", "maxLength": 512 }
}

impl RosterPerson {
    /// The name `u`, for somebody of whom nothing else can be made a name.
    pub(crate) fn only_u() -> Self {
        Self("u".into())
    }
}

impl From<RosterPerson> for PersonId {
    fn from(person: RosterPerson) -> Self {
        Self(person.0)
    }
}

impl From<HostedPerson> for PersonId {
    fn from(person: HostedPerson) -> Self {
        Self(person.0)
    }
}

impl From<&HostedPerson> for PersonId {
    fn from(person: &HostedPerson) -> Self {
        Self(person.0.clone())
    }
}

impl From<&RosterPerson> for PersonId {
    fn from(person: &RosterPerson) -> Self {
        Self(person.0.clone())
    }
}

impl From<super::Ulid> for Req {
    fn from(id: super::Ulid) -> Self {
        Self(id.as_str().into())
    }
}

impl PersonId {
    /// Whether this is a hosted person's id.
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        is_hosted_person(&self.0)
    }
}

fn grammar(text: &str, max: usize, first: fn(u8) -> bool, rest: fn(u8) -> bool) -> bool {
    match text.as_bytes().split_first() {
        Some((head, tail)) => {
            text.len() <= max && first(*head) && tail.iter().all(|byte| rest(*byte))
        }
        None => false,
    }
}

fn lower_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_roster_person(text: &str) -> bool {
    grammar(text, 32, |b| b.is_ascii_lowercase(), |b| lower_digit(b) || b == b'-')
}

fn is_hosted_person(text: &str) -> bool {
    text.strip_prefix("p_").is_some_and(|rest| {
        rest.len() == 26 && rest.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'2'..=b'7'))
    })
}

fn prefixed(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| grammar(rest, 123, |b| word(b) || b == b':', |b| word(b) || b == b':'))
}

fn is_email(text: &str) -> bool {
    let sided = text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@')
    });
    sided
        && (3..=254).contains(&utf16_len(text))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_of_the_two_realms_never_collide() {
        assert!(RosterPerson::parse("alice-2").is_ok());
        for bad in ["", "Alice", "2a", "-a", "a_b", "a b", &"a".repeat(33)] {
            assert!(RosterPerson::parse(bad).is_err(), "{bad}");
        }
        let hosted = "p_elmokocvhtjapy3fc3soeimutu";
        assert!(RosterPerson::parse(hosted).is_err());
        assert!(PersonId::parse(hosted).unwrap().is_hosted());
        assert!(!PersonId::parse("alice").unwrap().is_hosted());
        assert!(PersonId::parse("p_short").is_err());
    }

    #[test]
    fn grammars_hold_at_their_bounds() {
        assert!(Label::parse(&"a".repeat(32)).is_ok());
        assert!(Label::parse(&"a".repeat(33)).is_err());
        assert!(SessionName::parse(&"9".repeat(64)).is_ok());
        assert!(SessionName::parse("a.b_c-d").is_ok());
        assert!(SessionName::parse(".a").is_err());
        assert!(SessionName::parse("*").is_err());
        assert!(ScopeLabel::parse("repo:src/lib.rs").is_ok());
        assert!(TeamName::parse(&"é".repeat(64)).is_ok());
        assert!(TeamName::parse(&"😀".repeat(33)).is_err());
        assert!(TeamName::parse("").is_err());
        assert!(Req::parse("").is_err());
        assert!(Email::parse("a@b").is_ok());
        assert!(Email::parse("a@b@c").is_err());
        assert!(Email::parse("a b@c").is_err());
        assert!(AccountId::parse("acc_alice").is_ok());
        assert!(AccountId::parse("acc_").is_err());
    }
}
