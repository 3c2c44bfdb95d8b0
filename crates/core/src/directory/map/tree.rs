//! The whole map, as a persistent value: an old map stays what it was, and shares what did not change.
//! Spec: §15.5, §15.10 "Epochs"
//!
//! Paths without a fork are folded: the tree holds one leaf a person and one branch less, and beside each child the
//! hash that stands in the branch's own hash. So a proof of a person is read off the path and hashes nothing, and a
//! batch of changes hashes each node above them once.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::hash::{self, DEPTH, MapKey, NodeHash, climb, empty_subtree, node};
use super::proof::MapProof;
use crate::ids::Hash;

/// A map of persons to values.
#[derive(Clone, Debug)]
pub struct PersonMap {
    top: Option<Link>,
    root: NodeHash,
    len: usize,
}

/// A map after a batch of changes.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The map.
    pub map: PersonMap,
    /// The edges of the leaves that the batch wrote or moved, in no particular order.
    pub edges: Vec<LeafEdge>,
}

/// The hash of the folded path above a leaf: all but one in twenty of a map's hashes are in these.
///
/// A store that keeps them starts without making them again: see [`PersonMap::resume`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafEdge {
    /// The leaf's key.
    pub key: MapKey,
    /// The leaf's value.
    pub value: NodeHash,
    /// The hash of the subtree that holds the leaf alone, where it meets a branch.
    pub hash: NodeHash,
}

/// How two independent halves of a batch are done: one after the other, or on two threads that the caller lends.
pub trait Split: Sync {
    /// Does both.
    fn both<A: Send, B: Send>(
        &self,
        left: impl FnOnce() -> A + Send,
        right: impl FnOnce() -> B + Send,
    ) -> (A, B);
}

/// One after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct InOrder;

impl Split for InOrder {
    fn both<A: Send, B: Send>(
        &self,
        left: impl FnOnce() -> A + Send,
        right: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        (left(), right())
    }
}

#[derive(Clone, Debug)]
enum Link {
    Leaf(Arc<Leaf>),
    Branch(Arc<Branch>),
}

#[derive(Debug)]
struct Leaf {
    key: MapKey,
    value: NodeHash,
}

#[derive(Debug)]
struct Branch {
    /// The bit on which its persons differ first.
    at: u8,
    left: Link,
    right: Link,
    /// The children's hashes one level below.
    left_hash: NodeHash,
    right_hash: NodeHash,
}

/// A change: the person's key and their new value.
type Change = (MapKey, NodeHash);

impl Default for PersonMap {
    fn default() -> Self {
        Self::new()
    }
}

impl PersonMap {
    /// The empty map.
    #[must_use]
    pub fn new() -> Self {
        Self { top: None, root: *empty_subtree(DEPTH), len: 0 }
    }

    /// How many persons it holds, erased ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its root, which commits to everybody.
    #[must_use]
    pub fn root(&self) -> Hash {
        hash::as_text(&self.root)
    }

    /// A person's value.
    #[must_use]
    pub fn get(&self, key: &MapKey) -> Option<NodeHash> {
        let leaf = self.nearest(key, |_| ())?;
        (leaf.key == *key).then_some(leaf.value)
    }

    /// This map with these changes; of two for one person the later one counts. Nobody ever leaves a map.
    ///
    /// Cost: about 256 hashes a change, less one for each level that changes share.
    #[must_use]
    pub fn update(&self, changes: impl IntoIterator<Item = (MapKey, NodeHash)>) -> Changed {
        self.update_split(changes, &InOrder)
    }

    /// As [`update`](Self::update), with the halves of large batches done as `split` does them.
    #[must_use]
    pub fn update_split(
        &self,
        changes: impl IntoIterator<Item = (MapKey, NodeHash)>,
        split: &impl Split,
    ) -> Changed {
        let mut sorted: Vec<Change> = changes.into_iter().collect();
        sorted.reverse();
        sorted.sort_by_key(|(key, _)| *key);
        sorted.dedup_by_key(|(key, _)| *key);
        let mut edges = Vec::with_capacity(sorted.len());
        let Some((top, root, new)) = put(self.top.as_ref(), &sorted, 0, &mut edges, split) else {
            return Changed { map: self.clone(), edges };
        };
        Changed { map: Self { top: Some(top), root, len: self.len.saturating_add(new) }, edges }
    }

    /// The proof of what this map holds for a key. A person's own proof is read and not hashed; that a person is
    /// absent may cost up to 256 hashes.
    #[must_use]
    pub fn prove(&self, key: &MapKey) -> MapProof {
        let mut path: Vec<&Branch> = Vec::with_capacity(32);
        let Some(leaf) = self.nearest(key, |branch| path.push(branch)) else {
            return MapProof::of(core::iter::empty());
        };
        let shared = key.shared(&leaf.key);
        // Below the bit on which the path is left, the neighbours are no longer the person's.
        let below = path.iter().position(|branch| branch.place() > shared).unwrap_or(path.len());
        let (on, off) = path.split_at(below);
        let left_at = (shared < DEPTH).then(|| {
            let height = DEPTH.saturating_sub(1).saturating_sub(shared);
            let subtree = match off.first() {
                Some(branch) => climb(&leaf.key, branch.hash(), branch.height(), height),
                None => climb(&leaf.key, hash::leaf(&leaf.key, &leaf.value), 0, height),
            };
            (height, subtree)
        });
        let siblings = on.iter().rev().map(|branch| {
            let sibling =
                if key.bit(branch.place()) { branch.left_hash } else { branch.right_hash };
            (branch.height().saturating_sub(1), sibling)
        });
        MapProof::of(left_at.into_iter().chain(siblings))
    }

    /// The map of leaves whose edges a store kept, in the order of their keys.
    ///
    /// `None` unless it has this root: a stored edge is believed for no other reason. Cost: about one hash a person,
    /// against 245 for making the map anew.
    #[must_use]
    pub fn resume(leaves: &[LeafEdge], root: &Hash) -> Option<Self> {
        if !leaves.is_sorted_by(|a, b| a.key < b.key) {
            return None;
        }
        let map = match gather(leaves, 0) {
            None => Self::new(),
            Some((top, root)) => Self { top: Some(top), root, len: leaves.len() },
        };
        (map.root() == *root).then_some(map)
    }

    /// Every leaf and its edge, in the order of the keys: what [`resume`](Self::resume) takes.
    #[must_use]
    pub fn leaves(&self) -> Vec<LeafEdge> {
        let mut leaves = Vec::with_capacity(self.len);
        if let Some(top) = &self.top {
            top.visit(self.root, &mut leaves);
        }
        leaves
    }

    /// The leaf that a walk by the bits of `key` ends at: the key's own if the map holds it.
    fn nearest<'a>(&'a self, key: &MapKey, mut pass: impl FnMut(&'a Branch)) -> Option<&'a Leaf> {
        let mut link = self.top.as_ref()?;
        loop {
            match link {
                Link::Leaf(leaf) => return Some(leaf),
                Link::Branch(branch) => {
                    pass(branch);
                    link = if key.bit(branch.place()) { &branch.right } else { &branch.left };
                }
            }
        }
    }
}

impl Branch {
    fn place(&self) -> usize {
        usize::from(self.at)
    }

    fn height(&self) -> usize {
        DEPTH.saturating_sub(self.place())
    }

    fn hash(&self) -> NodeHash {
        node(&self.left_hash, &self.right_hash)
    }
}

impl Link {
    /// A key below it: its leading bits are those of the folded path.
    fn key(&self) -> &MapKey {
        match self {
            Link::Leaf(leaf) => &leaf.key,
            Link::Branch(branch) => {
                let mut below = &branch.left;
                loop {
                    match below {
                        Link::Leaf(leaf) => return &leaf.key,
                        Link::Branch(branch) => below = &branch.left,
                    }
                }
            }
        }
    }

    /// The bit on which it forks.
    fn fork(&self) -> usize {
        match self {
            Link::Leaf(_) => DEPTH,
            Link::Branch(branch) => branch.place(),
        }
    }

    /// Its hash at a height to which its path was not folded before; a leaf's edge is written down.
    fn hash_at(&self, height: usize, edges: &mut Vec<LeafEdge>) -> NodeHash {
        match self {
            Link::Leaf(leaf) => edge(leaf, height, edges),
            Link::Branch(branch) => climb(self.key(), branch.hash(), branch.height(), height),
        }
    }

    fn visit(&self, hash: NodeHash, leaves: &mut Vec<LeafEdge>) {
        match self {
            Link::Leaf(leaf) => leaves.push(LeafEdge { key: leaf.key, value: leaf.value, hash }),
            Link::Branch(branch) => {
                branch.left.visit(branch.left_hash, leaves);
                branch.right.visit(branch.right_hash, leaves);
            }
        }
    }
}

fn edge(leaf: &Leaf, height: usize, edges: &mut Vec<LeafEdge>) -> NodeHash {
    let hash = climb(&leaf.key, hash::leaf(&leaf.key, &leaf.value), 0, height);
    edges.push(LeafEdge { key: leaf.key, value: leaf.value, hash });
    hash
}

/// A subtree, its hash at a height, and how many persons are new in it.
type Put = (Link, NodeHash, usize);

/// Batches of this size are split: below it, a thread costs more than it brings.
const SPLIT_FROM: usize = 512;

/// The subtree of `old` and `changes`, whose keys share their first `depth` bits; its hash is that at their end.
///
/// `None` when there is neither. `changes` are in order, one a key. The recursion is at most 256 deep.
fn put(
    old: Option<&Link>,
    changes: &[Change],
    depth: usize,
    edges: &mut Vec<LeafEdge>,
    split: &impl Split,
) -> Option<Put> {
    let height = DEPTH.saturating_sub(depth);
    let (Some((first, value)), Some((last, _))) = (changes.first(), changes.last()) else {
        return old.map(|old| (old.clone(), old.hash_at(height, edges), 0));
    };
    let old_fork = old.map_or(DEPTH, |old| old.fork().min(old.key().shared(first)));
    let at = old_fork.min(first.shared(last));
    let Ok(place) = u8::try_from(at) else {
        // One person: new, or with another value.
        let leaf = Leaf { key: *first, value: *value };
        let hash = edge(&leaf, height, edges);
        return Some((Link::Leaf(Arc::new(leaf)), hash, usize::from(old.is_none())));
    };
    let (left, right) = changes.split_at(changes.partition_point(|(key, _)| !key.bit(at)));
    let side =
        |link: &Link, changes: &[Change], known: Option<NodeHash>, edges: &mut Vec<LeafEdge>| {
            match known {
                Some(hash) if changes.is_empty() => Some((link.clone(), hash, 0)),
                _ => put(Some(link), changes, at.saturating_add(1), edges, split),
            }
        };
    let below = at.saturating_add(1);
    let done = match old {
        Some(Link::Branch(branch)) if branch.place() == at => {
            if left.len().min(right.len()) >= SPLIT_FROM {
                let mut more = Vec::with_capacity(right.len());
                let done = split.both(
                    || side(&branch.left, left, Some(branch.left_hash), edges),
                    || side(&branch.right, right, Some(branch.right_hash), &mut more),
                );
                edges.append(&mut more);
                done
            } else {
                let left = side(&branch.left, left, Some(branch.left_hash), edges);
                (left, side(&branch.right, right, Some(branch.right_hash), edges))
            }
        }
        Some(old) if old.key().bit(at) => {
            let left = put(None, left, below, edges, split);
            (left, put(Some(old), right, below, edges, split))
        }
        old => {
            if old.is_none() && left.len().min(right.len()) >= SPLIT_FROM {
                let mut more = Vec::with_capacity(right.len());
                let done = split.both(
                    || put(None, left, below, edges, split),
                    || put(None, right, below, &mut more, split),
                );
                edges.append(&mut more);
                done
            } else {
                let left = put(old, left, below, edges, split);
                (left, put(None, right, below, edges, split))
            }
        }
    };
    let (Some((left, left_hash, left_new)), Some((right, right_hash, right_new))) = done else {
        // Never: a fork has persons on both sides.
        return None;
    };
    let branch = Branch { at: place, left, right, left_hash, right_hash };
    let hash = climb(first, branch.hash(), branch.height(), height);
    Some((Link::Branch(Arc::new(branch)), hash, left_new.saturating_add(right_new)))
}

/// The subtree of leaves with known edges, which share their first `depth` bits.
fn gather(leaves: &[LeafEdge], depth: usize) -> Option<(Link, NodeHash)> {
    let (first, last) = (leaves.first()?, leaves.last()?);
    let at = first.key.shared(&last.key);
    let Ok(place) = u8::try_from(at) else {
        let leaf = Leaf { key: first.key, value: first.value };
        return Some((Link::Leaf(Arc::new(leaf)), first.hash));
    };
    let (left, right) = leaves.split_at(leaves.partition_point(|leaf| !leaf.key.bit(at)));
    let (left, left_hash) = gather(left, at.saturating_add(1))?;
    let (right, right_hash) = gather(right, at.saturating_add(1))?;
    let branch = Branch { at: place, left, right, left_hash, right_hash };
    let hash = climb(&first.key, branch.hash(), branch.height(), DEPTH.saturating_sub(depth));
    Some((Link::Branch(Arc::new(branch)), hash))
}

#[cfg(test)]
mod tests;
