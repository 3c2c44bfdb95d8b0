//! The epoch log: its leaves, the signed heads over them, and what one head proves of another.
//! Spec: §15.6, W2.11, W3, W4.20, W4.21

mod adopt;
mod rotation;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::map::NodeHash;
use super::merkle_log::{leaf_hash, verify_inclusion};
use super::signed;
use crate::bounded::List;
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, Sig};
use crate::jcs::Canonical;
use crate::json;
use crate::keys::SigningKey;
use crate::realm::Anchor;
use crate::time::Ms;
use crate::version::Version;

pub use adopt::{Adopted, adopt_tree_head};
pub use rotation::KeyRotation;

/// Most hashes of one path: a log holds less than 2^64 leaves.
const PATH_HASHES: usize = 64;

/// The hashes of a path or a consistency proof, as they are sent.
pub type Path = List<Hash, 0, PATH_HASHES>;

/// What one epoch made of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EpochLeaf {
    /// Its number; the first is 0.
    pub epoch: u64,
    /// When it was made.
    pub ts: Ms,
    /// The map's root at it.
    pub map_root: Hash,
    /// The map's root at the epoch before; that of the empty map before the first.
    pub prev_map_root: Hash,
}

impl EpochLeaf {
    /// The data of the leaf.
    ///
    /// Errors: `invalid_request` for a number past 2^53 − 1.
    pub fn data(&self) -> Result<Canonical, Failure> {
        signed::text(self)
    }

    /// The hash of the leaf.
    ///
    /// Errors: as [`data`](Self::data).
    pub fn hash(&self) -> Result<NodeHash, Failure> {
        Ok(leaf_hash(self.data()?.as_bytes()))
    }
}

/// A leaf with its path in a tree head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochProof {
    /// Its place.
    pub index: u64,
    /// The leaf.
    pub leaf: EpochLeaf,
    /// The audit path, the leaf's sibling first.
    pub inclusion: Path,
}

impl EpochProof {
    /// Reads a proof.
    ///
    /// Errors: `invalid_request`.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        json::decode(raw).map_err(|_| Failure::invalid("epochProof"))
    }

    /// Verifies that the leaf is in the log of a tree head, at its own number.
    ///
    /// Cost: one hash an element. Errors: `directory_inconsistent`.
    pub fn verify(&self, sth: &TreeHead) -> Result<(), Failure> {
        let inconsistent = |at| Failure::new(Code::DirectoryInconsistent, at);
        if self.leaf.epoch != self.index {
            return Err(inconsistent("epochProof.leaf.epoch"));
        }
        let leaf = self.leaf.hash()?;
        let path = raw_path(&self.inclusion);
        if verify_inclusion(self.index, sth.size.get(), &leaf, &path, &sth.root.to_bytes()) {
            Ok(())
        } else {
            Err(inconsistent("epochProof.inclusion"))
        }
    }
}

/// The hashes of a path, raw.
pub(super) fn raw_path(path: &Path) -> Vec<NodeHash> {
    path.iter().map(Hash::to_bytes).collect()
}

/// A signed tree head: the directory's word for all its epochs so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreeHead {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// How many epochs it covers.
    pub size: NonZeroU64,
    /// The root over them.
    pub root: Hash,
    /// When it was signed: the time of its last leaf.
    pub ts: Ms,
    /// The epoch key's signature of the rest.
    pub sig: Sig,
}

impl TreeHead {
    /// Reads a tree head.
    ///
    /// Errors: `invalid_request`.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        json::decode(raw).map_err(|_| Failure::invalid("sth"))
    }

    /// Signs the head of a log. The key is the realm's epoch key.
    ///
    /// Errors: `invalid_request` for a number past 2^53 − 1.
    pub fn sign(
        realm: &Hash,
        size: NonZeroU64,
        root: &Hash,
        ts: Ms,
        key: &SigningKey,
    ) -> Result<Self, Failure> {
        let sig = Sig::from_bytes(&[0; 64]);
        let mut sth = Self { v: Version, realm: *realm, size, root: *root, ts, sig };
        sth.sig = key.sign(Domain::Epoch, &signed::covered(&sth)?);
        Ok(sth)
    }

    /// Whether a key signed it. Never fails otherwise than false. Cost: one signature check.
    #[must_use]
    pub fn is_signed_by(&self, key: &MachineId) -> bool {
        signed::is_signed(key, Domain::Epoch, self, &self.sig)
    }

    /// The number of its last epoch.
    #[must_use]
    pub fn last_epoch(&self) -> u64 {
        self.size.get().saturating_sub(1)
    }

    /// What envelopes of a sender who adopted it say.
    #[must_use]
    pub fn anchor(&self) -> Anchor {
        Anchor::Epoch { size: self.size.get(), root: self.root }
    }

    /// Verifies that a proof is of its last epoch, made when it was signed.
    ///
    /// Errors: `directory_inconsistent`. Spec: §15.7 step 1, R7
    pub fn verify_last(&self, head: &EpochProof) -> Result<(), Failure> {
        let inconsistent = |at| Failure::new(Code::DirectoryInconsistent, at);
        if head.index != self.last_epoch() {
            return Err(inconsistent("head.index"));
        }
        head.verify(self)?;
        if head.leaf.ts == self.ts { Ok(()) } else { Err(inconsistent("head.leaf.ts")) }
    }
}
