//! A person's head: what the map commits them to, without their log.
//! Spec: §15.7, §15.9 "First bind", W2.11, W4.22 `verifyPersonHead`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::map::{MapLeaf, MapProof, MapValue};
use super::{At, holds, inconsistent};
use crate::code::Failure;
use crate::ids::HostedPerson;
use crate::json;

/// A person's value at a tree head, with its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonHead {
    /// The person.
    pub person: HostedPerson,
    /// The proof.
    pub map_proof: MapProof,
    /// What they are committed to.
    #[serde(flatten)]
    pub committed: CommittedPerson,
}

/// What the map says of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CommittedPerson {
    /// This value.
    Live {
        /// The value.
        value: MapValue,
    },
    /// They were erased.
    Erased {
        /// True.
        tombstone: bool,
    },
    /// It never held them.
    Absent {},
}

impl PersonHead {
    /// Reads a head.
    ///
    /// Errors: `invalid_request`, also for one with a value and a tombstone.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Members {
            person: HostedPerson,
            map_proof: MapProof,
            value: Option<MapValue>,
            tombstone: Option<bool>,
        }
        let Members { person, map_proof, value, tombstone } =
            json::decode(raw).map_err(|_| Failure::invalid("personHead"))?;
        let committed = match (value, tombstone) {
            (Some(value), None) => CommittedPerson::Live { value },
            (None, Some(true)) => CommittedPerson::Erased { tombstone: true },
            (None, None) => CommittedPerson::Absent {},
            _ => return Err(Failure::invalid("personHead.tombstone")),
        };
        Ok(Self { person, map_proof, committed })
    }
}

/// Verifies a head at an adopted tree head. Cost: 257 hashes.
///
/// Errors: `directory_inconsistent`.
pub fn verify_person_head(head: &PersonHead, at: At<'_>) -> Result<(), Failure> {
    at.sth.verify_last(at.head)?;
    let leaf = match &head.committed {
        CommittedPerson::Live { value } => MapLeaf::of(value)?,
        CommittedPerson::Erased { .. } => MapLeaf::erased(),
        CommittedPerson::Absent {} => MapLeaf::Absent,
    };
    if holds(at, &head.person, leaf, &head.map_proof) {
        Ok(())
    } else {
        Err(inconsistent("personHead.mapProof"))
    }
}
