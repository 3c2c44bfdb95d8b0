//! `grant.*` and `request.*`: what the person allows, and their answers.
//! Spec: D1.7 rows 27–32

use messaging_core::ids::{ChannelName, PersonId, Ulid};
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Params;
use crate::shapes::{AgentMail, Ask, ChatLevel};

/// Whom a grant is about: exactly one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// A person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonId>,
    /// A channel, by its local name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelName>,
}

impl Subject {
    fn is_one(&self) -> bool {
        self.person.is_some() != self.channel.is_some()
    }
}

/// The grants of this person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListGrants {
    /// Only about this subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
}

impl Params for ListGrants {
    fn check(&self) -> Result<(), &'static str> {
        if self.subject.as_ref().is_none_or(Subject::is_one) { Ok(()) } else { Err("subject") }
    }
}

/// The whole new grant for a subject; no level at all is a clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SetGrant {
    /// Whom it is about.
    pub subject: Subject,
    /// Lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatLevel>,
    /// Agents' lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mail: Option<AgentMail>,
    /// Requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// Trust until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
    /// Trust for the usual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<bool>,
    /// Whether an exact email finds the person; the own grant only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discoverable: Option<bool>,
}

impl Params for SetGrant {
    fn check(&self) -> Result<(), &'static str> {
        if self.subject.is_one() { Ok(()) } else { Err("subject") }
    }
}

/// The answers to what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Deliver this one.
    Once,
    /// Deliver, and ask no more.
    Always,
    /// Accept a message request.
    Accept,
    /// Decline.
    Decline,
    /// Decline and block.
    Block,
}

/// The person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// What is answered.
    pub id: Ulid,
    /// The answer.
    pub answer: Answer,
    /// Whether it goes to every request of the kind from that person.
    #[serde(default)]
    pub all: bool,
}

impl Params for AnswerRequest {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::decode;
    use serde_json::json;

    #[test]
    fn a_subject_is_a_person_or_a_channel() {
        for (subject, good) in [
            (json!({"person": "bob"}), true),
            (json!({"channel": "ops"}), true),
            (json!({}), false),
            (json!({"person": "bob", "channel": "ops"}), false),
            (json!({"person": "bob", "other": 1}), false),
        ] {
            assert_eq!(decode::<SetGrant>(Some(&json!({"subject": subject}))).is_ok(), good);
            assert_eq!(decode::<ListGrants>(Some(&json!({"subject": subject}))).is_ok(), good);
        }
    }
}
