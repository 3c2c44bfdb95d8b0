//! A person view as it is sent.
//! Spec: §15.7, W2.11

use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::device_log::{LogEntry, LogSeq};
use super::super::keys_statement::KeysStatement;
use super::super::map::{MapProof, MapValue};
use super::super::tree_head::EpochProof;
use crate::bounded::List;
use crate::code::Failure;
use crate::ids::HostedPerson;
use crate::jcs;
use crate::json;
use crate::limits::DEVICES_PER_PERSON;

/// Where an entry was first committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EpochWitness {
    /// The entry's number.
    pub seq: LogSeq,
    /// The epoch.
    pub epoch: EpochProof,
    /// The person's value at it.
    pub value: MapValue,
    /// The proof that the map of that epoch holds the value.
    pub map_proof: MapProof,
}

/// What the directory says of a person at a tree head.
///
/// Reading one checks its shape and sizes, entries and statements included, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonView {
    /// The person.
    pub person: HostedPerson,
    /// The entries after those the client knows.
    pub log: Vec<LogEntry>,
    /// The latest statement of each current device that has one.
    pub keys: Vec<KeysStatement>,
    /// The person's map proof at the tree head's last epoch.
    pub map_proof: MapProof,
    /// One for each entry of `log` that carries a token.
    pub epochs: Vec<EpochWitness>,
    /// Whether they were erased.
    pub tombstone: bool,
}

/// The members as they are written; entries are read one by one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Members {
    person: HostedPerson,
    log: Vec<Value>,
    keys: List<KeysStatement, 0, DEVICES_PER_PERSON>,
    map_proof: MapProof,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epochs: Option<Vec<EpochWitness>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tombstone: Option<bool>,
}

impl PersonView {
    /// Reads a view.
    ///
    /// Errors: `invalid_request`, also for a tombstone with a log, statements or witnesses, and for one that is
    /// false; `too_large` for an entry past its limit.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        let members: Members = json::decode(raw).map_err(|_| Failure::invalid("view"))?;
        if members.tombstone == Some(false) {
            return Err(Failure::invalid("view.tombstone"));
        }
        let tombstone = members.tombstone.is_some();
        let is_bare = members.log.is_empty() && members.keys.is_empty() && members.epochs.is_none();
        if tombstone && !is_bare {
            return Err(Failure::invalid("view.tombstone"));
        }
        let log: Result<Vec<LogEntry>, Failure> = members.log.iter().map(LogEntry::read).collect();
        Ok(Self {
            person: members.person,
            log: log?,
            keys: members.keys.into_vec(),
            map_proof: members.map_proof,
            epochs: members.epochs.unwrap_or_default(),
            tombstone,
        })
    }

    /// The view as it is sent.
    ///
    /// Errors: `invalid_request` for more statements than a person has devices.
    pub fn to_value(&self) -> Result<Value, Failure> {
        let log: Result<Vec<Value>, Failure> = self.log.iter().map(LogEntry::to_value).collect();
        jcs::to_value(&Members {
            person: self.person.clone(),
            log: log?,
            keys: List::new(self.keys.clone())?,
            map_proof: self.map_proof.clone(),
            epochs: (!self.epochs.is_empty()).then(|| self.epochs.clone()),
            tombstone: self.tombstone.then_some(true),
        })
    }
}
