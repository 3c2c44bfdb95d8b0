//! The append-only Merkle tree of RFC 9162, and its verifiers.
//! Spec: §15.6, W3, W4.20
//!
//! A leaf is `H(00 ‖ data)`, a node `H(01 ‖ left ‖ right)`, the root of no leaves `H()`. The verifiers answer false to
//! anything malformed, and look at no more hashes than a path of the tree has.

mod verify;

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::map::{NodeHash, hash_node};

pub use verify::{verify_consistency, verify_inclusion};

/// The hash of a leaf's data.
#[must_use]
pub fn leaf_hash(data: &[u8]) -> NodeHash {
    let mut hash = Sha256::new();
    hash.update([0x00]);
    hash.update(data);
    hash.finalize().into()
}

/// A log of leaf hashes, with the roots of its full subtrees: it proves anything about any size it ever had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MerkleLog {
    /// `levels[l][i]` is the root of the full subtree of the `2^l` leaves from `i · 2^l` on.
    levels: Vec<Vec<NodeHash>>,
}

impl MerkleLog {
    /// The empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The log of these leaf hashes.
    pub fn of(leaves: impl IntoIterator<Item = NodeHash>) -> Self {
        let mut log = Self::new();
        leaves.into_iter().for_each(|leaf| log.push(leaf));
        log
    }

    /// How many leaves it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Appends a leaf's hash. Cost: two hashes on average.
    pub fn push(&mut self, leaf: NodeHash) {
        let mut hash = leaf;
        let mut level = 0;
        loop {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            let Some(row) = self.levels.get_mut(level) else { return };
            row.push(hash);
            // An even count: the last two are the children of a full subtree.
            match row.as_slice() {
                [.., left, right] if row.len().is_multiple_of(2) => hash = hash_node(left, right),
                _ => return,
            }
            level = level.saturating_add(1);
        }
    }

    /// A leaf's hash.
    #[must_use]
    pub fn leaf(&self, index: u64) -> Option<&NodeHash> {
        self.levels.first()?.get(usize::try_from(index).ok()?)
    }

    /// The root of the first `size` leaves; `None` past the end.
    #[must_use]
    pub fn root_at(&self, size: u64) -> Option<NodeHash> {
        if size == 0 {
            return Some(Sha256::digest([]).into());
        }
        (size <= self.size()).then(|| self.subtree(0, size)).flatten()
    }

    /// The root of all leaves.
    #[must_use]
    pub fn root(&self) -> NodeHash {
        self.root_at(self.size()).unwrap_or_default()
    }

    /// The root that the log would have with one more leaf: what an epoch is planned with, before it is stored.
    #[must_use]
    pub fn root_with(&self, leaf: NodeHash) -> NodeHash {
        // The full subtrees of the leaves so far, the smallest first, each hang to the left of what follows.
        let mut rest = self.size();
        let mut hash = leaf;
        for row in &self.levels {
            if rest & 1 == 1
                && let Some(left) = row.last().filter(|_| !row.len().is_multiple_of(2))
            {
                hash = hash_node(left, &hash);
            }
            rest >>= 1;
        }
        hash
    }

    /// The audit path of a leaf in the tree of the first `size` leaves, the leaf's sibling first; `None` past the end.
    #[must_use]
    pub fn prove_inclusion(&self, index: u64, size: u64) -> Option<Vec<NodeHash>> {
        if index >= size || size > self.size() {
            return None;
        }
        let mut path = Vec::with_capacity(32);
        let (mut from, mut to) = (0u64, size);
        let mut down = Vec::with_capacity(32);
        while to.saturating_sub(from) > 1 {
            let middle = from.saturating_add(split(to.saturating_sub(from)));
            if index < middle {
                down.push((middle, to));
                to = middle;
            } else {
                down.push((from, middle));
                from = middle;
            }
        }
        for (from, to) in down.into_iter().rev() {
            path.push(self.subtree(from, to)?);
        }
        Some(path)
    }

    /// The proof that the tree of the first `first` leaves is a start of that of the first `size`; `None` past the
    /// end, and from the empty tree, which proves nothing.
    #[must_use]
    pub fn prove_consistency(&self, first: u64, size: u64) -> Option<Vec<NodeHash>> {
        if first == 0 || first > size || size > self.size() {
            return None;
        }
        let (mut from, mut to) = (0u64, size);
        let mut down = Vec::with_capacity(32);
        // Down the edge of the first tree, until a subtree is wholly in it.
        while first < to {
            let middle = from.saturating_add(split(to.saturating_sub(from)));
            if first <= middle {
                down.push((middle, to));
                to = middle;
            } else {
                down.push((from, middle));
                from = middle;
            }
        }
        let mut proof = Vec::with_capacity(down.len().saturating_add(1));
        if from > 0 {
            proof.push(self.subtree(from, to)?);
        }
        for (from, to) in down.into_iter().rev() {
            proof.push(self.subtree(from, to)?);
        }
        Some(proof)
    }

    /// The root of the leaves from `from` to before `to`, which stand as a subtree in some tree of the log.
    fn subtree(&self, from: u64, to: u64) -> Option<NodeHash> {
        let (mut from, mut full) = (from, Vec::with_capacity(32));
        // From the left: the largest full subtrees that fit.
        while from < to {
            let level = to.saturating_sub(from).ilog2();
            let index = usize::try_from(from >> level).ok()?;
            full.push(*self.levels.get(usize::try_from(level).ok()?)?.get(index)?);
            from = from.saturating_add(1 << level);
        }
        full.into_iter().rev().reduce(|right, left| hash_node(&left, &right))
    }
}

/// How many of `count` leaves, more than one, stand to the left: the largest power of two below it.
fn split(count: u64) -> u64 {
    1 << count.saturating_sub(1).max(1).ilog2()
}

#[cfg(test)]
mod tests;
