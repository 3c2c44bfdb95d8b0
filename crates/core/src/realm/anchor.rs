//! Anchors: what the sender of an envelope had seen of the realm.
//! Spec: §5 "Realm and anchor", "Roster head check"; W2.1

use alloc::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::ids::Hash;
use crate::json;
use crate::roster::RosterHead;

/// The two kinds of realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RealmKind {
    /// A team and its roster.
    Roster,
    /// A key directory and its epochs.
    Directory,
}

/// What a sender had seen of its realm when it built an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Anchor {
    /// The head of the sender's roster.
    Roster {
        /// The entry's number.
        seq: u64,
        /// The entry's hash.
        hash: Hash,
    },
    /// The tree head that the sender had adopted.
    Epoch {
        /// How many epochs it covers, at least 1.
        size: u64,
        /// The root over them.
        root: Hash,
    },
}

impl Anchor {
    /// The kind of realm that has such anchors.
    #[must_use]
    pub fn kind(&self) -> RealmKind {
        match self {
            Anchor::Roster { .. } => RealmKind::Roster,
            Anchor::Epoch { .. } => RealmKind::Directory,
        }
    }
}

impl From<RosterHead> for Anchor {
    fn from(RosterHead { seq, hash }: RosterHead) -> Self {
        Anchor::Roster { seq, hash }
    }
}

/// How an anchor stands to what the receiver has verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The sender has seen more.
    Ahead,
    /// The receiver's history holds it.
    Consistent,
    /// The receiver's history has something else there: the two were shown different histories.
    Diverged {
        /// What the receiver has there.
        ours: Hash,
    },
    /// It is older than what the receiver has, and whether it is a start of it takes a proof that is not at hand.
    Unsettled,
    /// It is the anchor of another kind of realm.
    OtherKind,
}

impl<'de> Deserialize<'de> for Anchor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The kind decides which members are known; the others may hold anything.
        let value = Value::deserialize(deserializer)?;
        let anchor = match value.get("kind").and_then(Value::as_str) {
            Some("roster") => {
                json::decode(&value).map(|RosterHead { seq, hash }| Anchor::Roster { seq, hash })
            }
            Some("epoch") => {
                json::decode(&value).map(|Epoch { size, root }| Anchor::Epoch { size, root })
            }
            _ => return Err(de::Error::custom("kind")),
        };
        match anchor {
            Ok(Anchor::Epoch { size: 0, .. }) | Err(_) => Err(de::Error::custom("anchor")),
            Ok(anchor) => Ok(anchor),
        }
    }
}

#[derive(Deserialize)]
struct Epoch {
    size: u64,
    root: Hash,
}

impl JsonSchema for Anchor {
    fn schema_name() -> Cow<'static, str> {
        "Anchor".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hash = generator.subschema_for::<Hash>();
        json_schema!({ "oneOf": [
            {
                "type": "object",
                "properties": {
                    "kind": { "const": "roster" },
                    "seq": { "type": "integer", "minimum": 0 },
                    "hash": hash,
                },
                "required": ["kind", "seq", "hash"],
            },
            {
                "type": "object",
                "properties": {
                    "kind": { "const": "epoch" },
                    "size": { "type": "integer", "minimum": 1 },
                    "root": hash,
                },
                "required": ["kind", "size", "root"],
            },
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hash() -> Hash {
        Hash::from_bytes(&[1; 32])
    }

    #[test]
    fn both_kinds_go_both_ways() {
        for (value, anchor) in [
            (
                json!({"kind": "roster", "seq": 0, "hash": hash()}),
                Anchor::Roster { seq: 0, hash: hash() },
            ),
            (
                json!({"kind": "epoch", "size": 1, "root": hash()}),
                Anchor::Epoch { size: 1, root: hash() },
            ),
        ] {
            assert_eq!(json::decode::<Anchor>(&value), Ok(anchor));
            assert_eq!(json!(anchor), value);
        }
        let later = json!({"kind": "roster", "seq": 1.0, "hash": hash(), "size": "anything"});
        assert_eq!(json::decode::<Anchor>(&later), Ok(Anchor::Roster { seq: 1, hash: hash() }));
    }

    #[test]
    fn other_shapes_are_refused() {
        for value in [
            json!({}),
            json!([]),
            json!(null),
            json!({"kind": "tree", "size": 1, "root": hash()}),
            json!({"kind": "roster", "size": 1, "root": hash()}),
            json!({"kind": "roster", "seq": -1, "hash": hash()}),
            json!({"kind": "roster", "seq": 1.5, "hash": hash()}),
            json!({"kind": "roster", "seq": null, "hash": hash()}),
            json!({"kind": "roster", "seq": 1, "hash": "short"}),
            json!({"kind": "epoch", "size": 0, "root": hash()}),
            json!({"kind": "epoch", "size": 1}),
        ] {
            assert!(json::decode::<Anchor>(&value).is_err(), "{value}");
        }
    }
}
