//! `people.*`, `contact.*`, `card.get`, `agents.*`: persons, and the person's view of their own agents.
//! Spec: D1.7 rows 25, 26, 33–37

use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::limits::REQUEST_CHARS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::scalars::{Conversation, Count, Email, Str};
use crate::shapes::EntryCursor;

/// Finds persons by a start of their name, or by a whole email.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// 1 to 64 UTF-16 units, or an email.
    pub query: PeopleQuery,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 25, 10>,
}

impl Params for Search {}

/// What to look for: the start of a name, or a whole email.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum PeopleQuery {
    /// A whole email, which may be longer than a name.
    Email(Email),
    /// The start of a name.
    Name(Str<1, 64>),
}

impl<'de> Deserialize<'de> for PeopleQuery {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if let Ok(email) = Email::parse(&text) {
            return Ok(Self::Email(email));
        }
        Str::new(text).map(Self::Name).map_err(|_| serde::de::Error::custom("a name or an email"))
    }
}

/// Names one person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePerson {
    /// The person.
    pub person: PersonId,
}

impl Params for OnePerson {}

/// Asks a stranger to accept the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactRequest {
    /// Their exact email.
    pub email: Email,
    /// What to write.
    pub text: Str<1, REQUEST_CHARS>,
    /// The suggestion that this settles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Ulid>,
}

impl Params for ContactRequest {}

/// Whether a request would find anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactPreview {
    /// Their exact email.
    pub email: Email,
    /// Not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Str<1, REQUEST_CHARS>>,
    /// Not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Ulid>,
}

impl Params for ContactPreview {}

/// What one of the person's agents exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadAgent {
    /// The agent.
    pub agent: SessionName,
    /// One conversation of it, `agent:<person>/<agent>`; the list of all when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The latest before this entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<EntryCursor>,
    /// At most this many.
    #[serde(default)]
    pub limit: Count<1, 100, 30>,
}

impl Params for ReadAgent {
    fn check(&self) -> Result<(), &'static str> {
        match &self.conversation {
            Some(Conversation::Room(_)) => Err("conversation"),
            Some(Conversation::Agent { .. }) | None => Ok(()),
        }
    }
}
