//! What the map holds of a person: the head of their log and their keys, or that they were erased.
//! Spec: §15.5, W2.11, W3 "map value", "tombstone value"

use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::{LogHead, signed};
use super::hash::NodeHash;
use crate::bounded::List;
use crate::code::Failure;
use crate::ids::Hash;
use crate::limits::DEVICES_PER_PERSON;

/// What a live person's value commits to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapValue {
    /// The head of their device log.
    pub log: LogHead,
    /// The hashes of their current devices' keys statements, in the order of the devices' ids.
    pub keys: List<Hash, 0, DEVICES_PER_PERSON>,
}

impl MapValue {
    /// A value.
    ///
    /// Errors: `invalid_request` for more than [`DEVICES_PER_PERSON`] keys.
    pub fn new(log: LogHead, keys: Vec<Hash>) -> Result<Self, Failure> {
        Ok(Self { log, keys: List::new(keys)? })
    }

    /// The hash that stands in the map.
    ///
    /// Errors: `invalid_request` for a number past 2^53 − 1.
    pub fn digest(&self) -> Result<NodeHash, Failure> {
        Ok(signed::text(self)?.digest())
    }
}

/// What the map holds for an erased person. A person never leaves the map.
#[must_use]
pub fn tombstone() -> NodeHash {
    Sha256::digest(b"messaging/1/tombstone").into()
}

/// What a proof is about: what the map is said to hold for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapLeaf {
    /// This value.
    Holds(NodeHash),
    /// Nothing: the directory never had the person.
    Absent,
}

impl MapLeaf {
    /// The tombstone of an erased person.
    #[must_use]
    pub fn erased() -> Self {
        Self::Holds(tombstone())
    }

    /// A live person's value.
    ///
    /// Errors: as [`MapValue::digest`].
    pub fn of(value: &MapValue) -> Result<Self, Failure> {
        value.digest().map(Self::Holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::LogSeq;

    #[test]
    fn values_are_those_of_the_atlas() {
        assert_eq!(
            Hash::from_bytes(&tombstone()).as_str(),
            "1MwoBsw0vsYqN_P_pdXlkH8xAH86E_HgmU8oJm4Ggpw"
        );
        let x: NodeHash = Sha256::digest(b"x").into();
        let log = LogHead { seq: LogSeq(0), hash: Hash::from_bytes(&x) };
        let value = MapValue::new(log, Vec::new()).unwrap().digest().unwrap();
        assert_eq!(
            Hash::from_bytes(&value).as_str(),
            "bHVrxS2w_XlhoXjKXmQxn9eLXZiD8ed-qVz1DKJ8NC4"
        );
        assert!(MapValue::new(log, alloc::vec![Hash::from_bytes(&x); 11]).is_err());
    }
}
