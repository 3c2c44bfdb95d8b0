//! A consent grant as a shape: its members, whom it is about, its levels, and the rules that are part of it.
//! Spec: §6.9 "Grants", W2.6

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code::Failure;
use crate::ids::{Hash, MachineId, PersonId, Sig, Ulid};
use crate::json;
use crate::limits::TRUST_MAX_MS;
use crate::time::Ms;
use crate::version::Version;

/// What a person lets another person, or a channel's members, send. Signed over the raw value.
///
/// A grant without any level clears what an earlier one said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsentGrant {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// The grant's id, kept when another device signs it anew.
    pub id: Ulid,
    /// Whose grant it is.
    pub person: PersonId,
    /// The device of that person that signed it.
    pub by: MachineId,
    /// Signed at.
    pub ts: Ms,
    /// Whom it is about.
    pub subject: Subject,
    /// Lines from the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatLevel>,
    /// Lines from the subject's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mail: Option<AgentMailLevel>,
    /// Mail and tasks to the person's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskLevel>,
    /// Until when asks run unattended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
    /// Whether others may find the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discoverable: Option<bool>,
    /// When another device signed it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resigned_at: Option<Ms>,
    /// `by`'s signature of the rest.
    pub sig: Sig,
}

/// Whom a grant is about: exactly one member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A person.
    Person(PersonId),
    /// The members of a channel.
    Channel(Ulid),
}

/// How lines are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatLevel {
    /// Shown.
    Open,
    /// Filed without a sound.
    Muted,
    /// Refused, with agent mail, asks and channel changes.
    Blocked,
}

/// How agents' lines are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentMailLevel {
    /// Shown.
    Open,
    /// Refused.
    Blocked,
}

/// How mail and tasks to the person's agents are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskLevel {
    /// Delivered.
    Open,
    /// Held for the person.
    Request,
    /// Refused.
    No,
}

impl ConsentGrant {
    /// Reads a grant and checks the rules of its shape.
    ///
    /// Neither the size nor the signature is looked at. Errors: `invalid_request`.
    pub fn read(value: &Value) -> Result<Self, Failure> {
        let grant: Self = json::decode(value)?;
        grant.check()?;
        Ok(grant)
    }

    /// The rules of W2.6. Errors: `invalid_request`.
    pub fn check(&self) -> Result<(), Failure> {
        let about_levels = self.chat.is_some() || self.agent_mail.is_some() || self.ask.is_some();
        let fits = match &self.subject {
            Subject::Channel(_) => {
                self.chat.is_none() && self.trusted_until.is_none() && self.discoverable.is_none()
            }
            Subject::Person(person) if *person == self.person => {
                !about_levels && self.trusted_until.is_none()
            }
            Subject::Person(_) => self.discoverable.is_none(),
        };
        if !fits {
            return Err(Failure::invalid("grant.subject"));
        }
        if let Some(until) = self.trusted_until {
            let window = self.ts < until && until <= self.ts.plus(TRUST_MAX_MS);
            if self.ask != Some(AskLevel::Open) || !window {
                return Err(Failure::invalid("grant.trustedUntil"));
            }
        }
        if self.resigned_at.is_some_and(|at| at < self.ts) {
            return Err(Failure::invalid("grant.resignedAt"));
        }
        Ok(())
    }

    /// Whether it says nothing, and so clears what was said.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.levels().is_empty()
    }

    /// What it says.
    #[must_use]
    pub fn levels(&self) -> Levels {
        Levels {
            chat: self.chat,
            agent_mail: self.agent_mail,
            ask: self.ask,
            trusted_until: self.trusted_until,
            discoverable: self.discoverable,
        }
    }

    /// Until when it trusts, unless that has passed.
    #[must_use]
    pub fn trusts_until(&self, now: Ms) -> Option<Ms> {
        self.trusted_until.filter(|until| self.ask == Some(AskLevel::Open) && *until > now)
    }
}

/// What a grant says, each level present or left to the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Levels {
    /// Lines from the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatLevel>,
    /// Lines from the subject's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mail: Option<AgentMailLevel>,
    /// Mail and tasks to the person's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskLevel>,
    /// Until when asks run unattended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
    /// Whether others may find the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discoverable: Option<bool>,
}

impl Levels {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those that keep something out. They outlive the device that signed them.
    #[must_use]
    pub fn restricting(&self) -> Self {
        Self {
            chat: self.chat.filter(|level| *level != ChatLevel::Open),
            agent_mail: self.agent_mail.filter(|level| *level == AgentMailLevel::Blocked),
            ask: self.ask.filter(|level| *level == AskLevel::No),
            trusted_until: None,
            discoverable: self.discoverable.filter(|found| !found),
        }
    }

    /// Those that let something in. Only a device that the person still holds may keep them.
    #[must_use]
    pub fn widening(&self) -> Self {
        Self {
            chat: self.chat.filter(|level| *level == ChatLevel::Open),
            agent_mail: self.agent_mail.filter(|level| *level == AgentMailLevel::Open),
            ask: self.ask.filter(|level| *level != AskLevel::No),
            trusted_until: self.trusted_until,
            discoverable: self.discoverable.filter(|found| *found),
        }
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Shape {
            person: Option<PersonId>,
            channel: Option<Ulid>,
        }
        match Shape::deserialize(deserializer)? {
            Shape { person: Some(person), channel: None } => Ok(Self::Person(person)),
            Shape { person: None, channel: Some(channel) } => Ok(Self::Channel(channel)),
            _ => Err(serde::de::Error::custom("one subject")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: &str = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w";
    const ID: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";

    fn grant(subject: Value, levels: Value) -> Value {
        let mut grant = json!({
            "v": "messaging/1", "realm": KEY, "id": ID, "person": "bob", "by": KEY, "ts": 1_000, "subject": subject,
            "sig": "A".repeat(86)
        });
        for (name, level) in levels.as_object().unwrap() {
            grant[name] = level.clone();
        }
        grant
    }

    #[track_caller]
    fn good(subject: Value, levels: Value) {
        let value = grant(subject, levels);
        let read = ConsentGrant::read(&value).unwrap_or_else(|e| panic!("{value}: {e}"));
        assert_eq!(serde_json::to_value(read).unwrap(), value);
    }

    #[track_caller]
    fn bad(subject: Value, levels: Value) {
        let value = grant(subject, levels);
        assert!(ConsentGrant::read(&value).is_err(), "{value}");
    }

    #[test]
    fn a_persons_grant_sets_every_level_but_discoverable() {
        let carol = json!({"person": "carol"});
        good(carol.clone(), json!({}));
        good(carol.clone(), json!({"chat": "muted", "agentMail": "blocked", "ask": "request"}));
        good(carol.clone(), json!({"ask": "open", "trustedUntil": 1_001, "resignedAt": 1_000}));
        good(carol.clone(), json!({"ask": "open", "trustedUntil": 1_000 + TRUST_MAX_MS}));
        bad(carol.clone(), json!({"discoverable": true}));
        bad(carol.clone(), json!({"trustedUntil": 2_000}));
        bad(carol.clone(), json!({"ask": "request", "trustedUntil": 2_000}));
        bad(carol.clone(), json!({"ask": "open", "trustedUntil": 1_000}));
        bad(carol.clone(), json!({"ask": "open", "trustedUntil": 1_001 + TRUST_MAX_MS}));
        bad(carol.clone(), json!({"resignedAt": 999}));
        bad(carol.clone(), json!({"chat": "open", "agentMail": "muted"}));
        bad(carol.clone(), json!({"chat": null}));
        bad(carol, json!({"v": "messaging/2"}));
    }

    #[test]
    fn a_channels_grant_sets_asks_and_agent_mail_only() {
        let channel = json!({"channel": ID});
        good(channel.clone(), json!({"ask": "no", "agentMail": "open"}));
        for levels in [
            json!({"chat": "open"}),
            json!({"discoverable": false}),
            json!({"ask": "open", "trustedUntil": 2_000}),
        ] {
            bad(channel.clone(), levels);
        }
    }

    #[test]
    fn ones_own_grant_sets_discoverable_only() {
        let own = json!({"person": "bob"});
        good(own.clone(), json!({"discoverable": false}));
        good(own.clone(), json!({}));
        for levels in [json!({"chat": "open"}), json!({"agentMail": "open"}), json!({"ask": "no"})]
        {
            bad(own.clone(), levels);
        }
    }

    #[test]
    fn a_subject_is_exactly_one_member() {
        for subject in [
            json!({}),
            json!({"person": "carol", "channel": ID}),
            json!({"person": "carol", "note": 1}),
            json!({"channel": "eng"}),
            json!("carol"),
        ] {
            bad(subject, json!({}));
        }
    }

    #[test]
    fn each_level_either_keeps_out_or_lets_in() {
        let all = |levels: Value| {
            let read: Levels = serde_json::from_value(levels).unwrap();
            (
                serde_json::to_value(read.restricting()).unwrap(),
                serde_json::to_value(read.widening()).unwrap(),
            )
        };
        for (level, restricts) in [
            (json!({"chat": "open"}), false),
            (json!({"chat": "muted"}), true),
            (json!({"chat": "blocked"}), true),
            (json!({"agentMail": "open"}), false),
            (json!({"agentMail": "blocked"}), true),
            (json!({"ask": "open"}), false),
            (json!({"ask": "request"}), false),
            (json!({"ask": "no"}), true),
            (json!({"trustedUntil": 1}), false),
            (json!({"discoverable": true}), false),
            (json!({"discoverable": false}), true),
        ] {
            let expected =
                if restricts { (level.clone(), json!({})) } else { (json!({}), level.clone()) };
            assert_eq!(all(level.clone()), expected, "{level}");
        }
    }

    #[test]
    fn trust_that_ended_reads_as_absent() {
        let value =
            grant(json!({"person": "carol"}), json!({"ask": "open", "trustedUntil": 2_000}));
        let read = ConsentGrant::read(&value).unwrap();
        assert_eq!(read.trusts_until(Ms(1_999)), Some(Ms(2_000)));
        assert_eq!(read.trusts_until(Ms(2_000)), None);
    }
}
