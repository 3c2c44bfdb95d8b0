//! Addresses of agent sessions: `person/session`, and fully qualified `person/session@label`.
//! Spec: §3 "Address"

use alloc::string::String;
use core::fmt;

use super::{Label, PersonId, SessionName, text_id_traits};
use crate::code::Failure;

/// An address as a person or an agent writes it: `person/session[@label]`.
///
/// There are no group addresses: `person/*`, `repo:name` and `*` are malformed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The person.
    pub person: PersonId,
    /// The session's name.
    pub session: SessionName,
    /// The machine's label, when the writer picked one.
    pub label: Option<Label>,
}

impl Address {
    /// Reads `person/session[@label]`.
    ///
    /// Errors: `invalid_request`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let malformed = Failure::invalid("address");
        let (person, rest) = text.split_once('/').ok_or(malformed)?;
        let (session, label) = match rest.split_once('@') {
            Some((session, label)) => (session, Some(label)),
            None => (rest, None),
        };
        Ok(Self {
            person: PersonId::parse(person).map_err(|_| malformed)?,
            session: SessionName::parse(session).map_err(|_| malformed)?,
            label: label.map(Label::parse).transpose().map_err(|_| malformed)?,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.person, self.session)?;
        match &self.label {
            Some(label) => write!(f, "@{label}"),
            None => Ok(()),
        }
    }
}

/// A fully qualified address, `person/session@label`: it names one session of one machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionAddress {
    text: String,
    slash: usize,
    at: usize,
}

impl SessionAddress {
    /// Reads `person/session@label`.
    ///
    /// Errors: `invalid_request`, also when the label is missing.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let Address { person, session, label } = Address::parse(text)?;
        let label = label.ok_or(Failure::invalid("address label"))?;
        Ok(Self::new(&person, &session, &label))
    }

    /// The address of these parts.
    #[must_use]
    pub fn new(person: &PersonId, session: &SessionName, label: &Label) -> Self {
        let slash = person.as_str().len();
        let at = slash.saturating_add(1).saturating_add(session.as_str().len());
        Self { text: alloc::format!("{person}/{session}@{label}"), slash, at }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The person's part.
    #[must_use]
    pub fn person(&self) -> &str {
        self.text.get(..self.slash).unwrap_or_default()
    }

    /// The session's part.
    #[must_use]
    pub fn session(&self) -> &str {
        self.text.get(self.slash.saturating_add(1)..self.at).unwrap_or_default()
    }

    /// The label's part.
    #[must_use]
    pub fn label(&self) -> &str {
        self.text.get(self.at.saturating_add(1)..).unwrap_or_default()
    }
}

impl fmt::Debug for SessionAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

text_id_traits!(
    SessionAddress,
    schemars::json_schema!({
        "type": "string",
        "pattern": "^([a-z][a-z0-9-]{0,31}|p_[a-z2-7]{26})/[a-z0-9][a-z0-9._-]{0,63}@[a-z0-9][a-z0-9-]{0,31}$"
    })
);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_and_writes_both_forms() {
        for text in ["bob/api", "bob/api@desk", "p_elmokocvhtjapy3fc3soeimutu/a.b_c@x-1"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        let full = SessionAddress::parse("bob/api@desk").unwrap();
        assert_eq!((full.person(), full.session(), full.label()), ("bob", "api", "desk"));
        assert!(SessionAddress::parse("bob/api").is_err());
    }

    #[test]
    fn group_forms_and_near_misses_are_malformed() {
        for bad in [
            "",
            "bob",
            "bob/",
            "/api",
            "bob/*",
            "*",
            "repo:x",
            "bob/api@",
            "bob/api@desk@x",
            "bob/a/b",
            "Bob/api",
            "bob/api@Desk",
            " bob/api",
            "bob/api ",
            "bob//api",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
