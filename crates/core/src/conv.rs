//! What a message is when it is not plain mail or a direct line: the `conv` of its payload.
//! Spec: §5 "Meaning", §6.8, §6.9, W2.4
//!
//! Channel changes and syncs are open objects. A request's and a card's are strict: nothing can ride along in them.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::a2a::Object;
use crate::code::Failure;
use crate::ids::{ChannelName, PersonId, Ulid};
use crate::json::{self, Misshape};
use crate::limits::CHANNEL_PERSONS;

/// The `conv` of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Conv {
    /// A change of a channel, or a post to it.
    Channel(ChannelConv),
    /// A sync between two devices of one person.
    #[serde(rename = "self")]
    Sync {
        /// What is synced.
        what: Sync,
    },
    /// A message request.
    #[schemars(extend("additionalProperties" = false))]
    Request {},
    /// A contact card, or the wish for one.
    #[schemars(extend("additionalProperties" = false))]
    Card {
        /// Which of the two.
        what: Card,
    },
}

/// What a sync between two devices of one person holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Grants that just changed.
    Grant,
    /// Every grant, for a device that is new.
    Snapshot,
}

/// What a card message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Card {
    /// A card.
    Card,
    /// A request for the other side's card.
    Get,
}

/// An operation on a channel, which is known by its id and shown by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChannelConv {
    /// The channel's id.
    pub id: Ulid,
    /// The channel's own name.
    pub name: ChannelName,
    /// What happens to it.
    #[serde(flatten)]
    pub op: ChannelOp,
}

/// An operation on a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum ChannelOp {
    /// The full record, for a machine that does not hold the channel.
    Create {
        /// Its persons, the sender among them.
        persons: Persons,
        /// Who created it; perhaps not in `persons` any more.
        creator: PersonId,
    },
    /// Persons are added.
    Invite {
        /// Who.
        persons: Persons,
    },
    /// The sender leaves.
    Leave,
    /// Persons are removed.
    Remove {
        /// Who.
        persons: Persons,
    },
    /// A line.
    Post,
}

impl ChannelOp {
    /// The operation's name on the wire.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Invite { .. } => "invite",
            Self::Leave => "leave",
            Self::Remove { .. } => "remove",
            Self::Post => "post",
        }
    }
}

/// 1 to 32 persons, none of them twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Persons(Vec<PersonId>);

impl Persons {
    /// Takes a list of persons.
    ///
    /// Errors: `invalid_request` for none, more than 32, or one twice.
    pub fn new(persons: Vec<PersonId>) -> Result<Self, Failure> {
        let mut sorted: Vec<&PersonId> = persons.iter().collect();
        sorted.sort_unstable();
        let distinct = sorted.is_sorted_by(|a, b| a < b);
        if distinct && (1..=CHANNEL_PERSONS).contains(&persons.len()) {
            Ok(Self(persons))
        } else {
            Err(Failure::invalid("conv.persons"))
        }
    }
}

impl Deref for Persons {
    type Target = [PersonId];
    fn deref(&self) -> &[PersonId] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Persons {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Persons {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Persons".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array", "minItems": 1, "maxItems": CHANNEL_PERSONS, "uniqueItems": true,
            "items": generator.subschema_for::<PersonId>()
        })
    }
}

impl<'de> Deserialize<'de> for Conv {
    // By hand, since a member that one operation knows is just an unknown member of another.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::Object(Object::deserialize(deserializer)?);
        Self::read(&value).map_err(de::Error::custom)
    }
}

impl Conv {
    fn read(value: &Value) -> Result<Self, Misshape> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        #[derive(Deserialize)]
        struct SyncWhat {
            what: Sync,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct OnlyKind {
            #[serde(rename = "kind")]
            _kind: String,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct CardWhat {
            #[serde(rename = "kind")]
            _kind: String,
            what: Card,
        }

        let kind = json::decode::<Kind>(value)?.kind;
        match kind.as_str() {
            "channel" => Ok(Self::Channel(ChannelConv::read(value)?)),
            "self" => Ok(Self::Sync { what: json::decode::<SyncWhat>(value)?.what }),
            "request" => json::decode::<OnlyKind>(value).map(|_| Self::Request {}),
            "card" => Ok(Self::Card { what: json::decode::<CardWhat>(value)?.what }),
            _ => Err(Misshape { path: "kind".into() }),
        }
    }
}

impl ChannelConv {
    fn read(value: &Value) -> Result<Self, Misshape> {
        #[derive(Deserialize)]
        struct Base {
            op: String,
            id: Ulid,
            name: ChannelName,
        }
        #[derive(Deserialize)]
        struct Create {
            persons: Persons,
            creator: PersonId,
        }
        #[derive(Deserialize)]
        struct Some {
            persons: Persons,
        }

        fn part<T: DeserializeOwned>(value: &Value) -> Result<T, Misshape> {
            json::decode(value)
        }

        let Base { op, id, name } = part(value)?;
        let op = match op.as_str() {
            "create" => {
                let Create { persons, creator } = part(value)?;
                ChannelOp::Create { persons, creator }
            }
            "invite" => ChannelOp::Invite { persons: part::<Some>(value)?.persons },
            "leave" => ChannelOp::Leave,
            "remove" => ChannelOp::Remove { persons: part::<Some>(value)?.persons },
            "post" => ChannelOp::Post,
            _ => return Err(Misshape { path: "op".into() }),
        };
        Ok(Self { id, name, op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde_json::json;
    use std::vec;

    const ID: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";

    fn channel(op: &str) -> Value {
        json!({"kind": "channel", "op": op, "id": ID, "name": "eng"})
    }

    fn with(mut value: Value, name: &str, member: Value) -> Value {
        value[name] = member;
        value
    }

    #[test]
    fn each_form_reads_and_writes() {
        let persons = json!(["alice", "p_elmokocvhtjapy3fc3soeimutu"]);
        for value in [
            with(with(channel("create"), "persons", persons.clone()), "creator", json!("bob")),
            with(channel("invite"), "persons", persons.clone()),
            channel("leave"),
            with(channel("remove"), "persons", persons),
            channel("post"),
            json!({"kind": "self", "what": "grant"}),
            json!({"kind": "self", "what": "snapshot"}),
            json!({"kind": "request"}),
            json!({"kind": "card", "what": "card"}),
            json!({"kind": "card", "what": "get"}),
        ] {
            let conv: Conv = decode(&value).unwrap();
            assert_eq!(serde_json::to_value(&conv).unwrap(), value);
        }
    }

    #[test]
    fn a_member_of_another_operation_is_an_unknown_member() {
        let post = with(with(channel("post"), "persons", json!("everyone")), "what", json!(1));
        assert!(matches!(
            decode(&post),
            Ok(Conv::Channel(ChannelConv { op: ChannelOp::Post, .. }))
        ));
        let sync = json!({"kind": "self", "what": "grant", "op": 7});
        assert_eq!(decode::<Conv>(&sync), Ok(Conv::Sync { what: Sync::Grant }));
    }

    #[test]
    fn requests_and_cards_are_strict() {
        for value in [
            json!({"kind": "request", "what": "card"}),
            json!({"kind": "request", "note": "more text"}),
            json!({"kind": "card", "what": "get", "note": "x"}),
        ] {
            assert!(decode::<Conv>(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let many: Vec<String> = (0..33).map(|n| std::format!("p{n}")).collect();
        for value in [
            json!({}),
            json!({"kind": "later"}),
            json!({"kind": null}),
            json!(["channel"]),
            json!({"kind": "channel", "id": ID, "name": "eng"}),
            channel("rename"),
            with(channel("post"), "id", json!("x")),
            with(channel("post"), "name", json!("Eng")),
            with(channel("post"), "name", json!("e".repeat(33))),
            channel("invite"),
            with(channel("invite"), "persons", json!([])),
            with(channel("invite"), "persons", json!(["bob", "bob"])),
            with(channel("invite"), "persons", json!(["Bob"])),
            with(channel("invite"), "persons", json!(many)),
            with(channel("create"), "persons", json!(["bob"])),
            with(channel("create"), "creator", json!("bob")),
            json!({"kind": "self"}),
            json!({"kind": "self", "what": "card"}),
            json!({"kind": "card"}),
            json!({"kind": "card", "what": "grant"}),
        ] {
            assert!(decode::<Conv>(&value).is_err(), "{value}");
        }
        let full: Vec<PersonId> =
            many.iter().take(32).map(|p| PersonId::parse(p).unwrap()).collect();
        assert!(Persons::new(full).is_ok());
        assert!(Persons::new(vec![]).is_err());
    }
}
