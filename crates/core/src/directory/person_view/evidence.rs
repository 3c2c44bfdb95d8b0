//! What a client keeps when the directory contradicts itself, and what it remembers so that it notices.
//! Spec: §15.7 "carries its evidence", R7

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::device_log::LogEntry;
use super::super::keys_statement::{KeysSeq, KeysStatement};
use super::super::tree_head::{EpochLeaf, EpochProof, TreeHead};
use super::inconsistent;
use crate::code::Failure;
use crate::ids::MachineId;
use crate::time::Ms;

/// Proof that the directory said two things, or did not commit to what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Two signed entries, of which a log can hold one.
    Fork {
        /// The one held.
        held: Box<LogEntry>,
        /// The one served.
        served: Box<LogEntry>,
    },
    /// A keys statement older than the held one, or none where one was held.
    Rollback {
        /// The device.
        device: MachineId,
        /// The number held.
        held: KeysSeq,
        /// The number served.
        served: Option<KeysSeq>,
    },
    /// A signed tree head whose map does not hold what was served.
    Uncommitted {
        /// The tree head.
        sth: Box<TreeHead>,
        /// Its last leaf.
        head: Box<EpochProof>,
    },
}

impl Evidence {
    /// The evidence as JSON, for a file or an alarm.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Fork { held, served } => json!({
                "kind": "fork",
                "held": held.to_value().unwrap_or_default(),
                "served": served.to_value().unwrap_or_default(),
            }),
            Self::Rollback { device, held, served } => match served {
                Some(served) => {
                    json!({"kind": "rollback", "device": device, "held": held, "served": served})
                }
                None => json!({"kind": "rollback", "device": device, "held": held}),
            },
            Self::Uncommitted { sth, head } => {
                json!({"kind": "uncommitted", "sth": sth, "head": head})
            }
        }
    }
}

/// Why a view was refused, with the evidence when it contradicts what is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewFailure {
    /// The refusal.
    pub failure: Failure,
    /// What to keep.
    pub evidence: Option<Box<Evidence>>,
}

impl From<Failure> for ViewFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, evidence: None }
    }
}

impl core::fmt::Display for ViewFailure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.failure.fmt(f)
    }
}

impl core::error::Error for ViewFailure {}

impl ViewFailure {
    pub(super) fn with(failure: Failure, evidence: Evidence) -> Self {
        Self { failure, evidence: Some(Box::new(evidence)) }
    }

    /// Two entries where a log has one. Only a served one that its author signed proves anything.
    pub(super) fn fork(held: &LogEntry, served: &LogEntry) -> Self {
        let failure = inconsistent("view.log");
        if !served.is_signed() {
            return failure.into();
        }
        let (held, served) = (Box::new(held.clone()), Box::new(served.clone()));
        Self::with(failure, Evidence::Fork { held, served })
    }

    pub(super) fn rollback(held: &KeysStatement, served: Option<&KeysStatement>) -> Self {
        let served = served.map(|served| served.seq);
        let evidence = Evidence::Rollback { device: held.device, held: held.seq, served };
        Self::with(inconsistent("view.keys"), evidence)
    }
}

/// Sizes and times of the tree heads that a client adopted.
///
/// With a key that the account service retired and somebody stole, a directory could sign a token of the past and date
/// an epoch back to it; but not before a head that the client saw, nor under one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptHeads(BTreeMap<u64, Ms>);

impl KeptHeads {
    /// Nothing is remembered.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a store remembered: the number of each head's last epoch, and its time.
    pub fn of(heads: impl IntoIterator<Item = (u64, Ms)>) -> Self {
        Self(heads.into_iter().collect())
    }

    /// Remembers a head that was adopted. Cost: 16 bytes a head, to be thinned out by whoever keeps them for years.
    pub fn keep(&mut self, sth: &TreeHead) {
        self.0.insert(sth.last_epoch(), sth.ts);
    }

    /// The number of each head's last epoch, and its time.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, Ms)> {
        self.0.iter().map(|(epoch, ts)| (*epoch, *ts))
    }

    /// Whether an epoch's time lies between those of the heads around it.
    ///
    /// Errors: `directory_inconsistent`.
    pub fn check(&self, leaf: &EpochLeaf) -> Result<(), Failure> {
        let after = self.0.range(leaf.epoch..).next();
        if after.is_some_and(|(_, ts)| leaf.ts > *ts) {
            return Err(inconsistent("epochProof.leaf.ts"));
        }
        let before = self.0.range(..=leaf.epoch).next_back();
        if before.is_some_and(|(_, ts)| leaf.ts < *ts) {
            return Err(inconsistent("epochProof.leaf.ts"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Hash;

    #[test]
    fn an_epoch_is_dated_between_the_heads_that_were_seen() {
        let heads = KeptHeads::of([(4, Ms(400)), (9, Ms(900))]);
        let root = Hash::from_bytes(&[0; 32]);
        for (epoch, ts, good) in [
            (0, 0, true),
            (3, 400, true),
            (3, 401, false),
            (4, 399, false),
            (4, 400, true),
            (4, 401, false),
            (5, 399, false),
            (7, 400, true),
            (7, 900, true),
            (7, 901, false),
            (10, 899, false),
            (10, u64::MAX, true),
        ] {
            let leaf = EpochLeaf { epoch, ts: Ms(ts), map_root: root, prev_map_root: root };
            assert_eq!(heads.check(&leaf).is_ok(), good, "{epoch} at {ts}");
            assert!(KeptHeads::new().check(&leaf).is_ok());
        }
    }
}
