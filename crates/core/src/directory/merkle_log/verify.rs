//! Whether a proof leads from one root to another.
//! Spec: §15.6, W4.20

use super::super::map::{NodeHash, hash_node};

/// Whether the leaf at `index` of the tree of `size` leaves with `root` has this hash.
///
/// Cost: one hash an element, of which at most 64 are looked at.
#[must_use]
pub fn verify_inclusion(
    index: u64,
    size: u64,
    leaf: &NodeHash,
    path: &[NodeHash],
    root: &NodeHash,
) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last) = (index, size.saturating_sub(1));
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = hash_node(sibling, &hash);
            // Up the right edge, where nothing is beside the path.
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            hash = hash_node(&hash, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

/// Whether the tree of `first` leaves with `first_root` is a start of the tree of `second` leaves with `second_root`.
///
/// Between equal sizes the proof is empty and the roots are equal; from the empty tree nothing is proven. Cost: two
/// hashes an element, of which at most 65 are looked at.
#[must_use]
pub fn verify_consistency(
    first: u64,
    second: u64,
    first_root: &NodeHash,
    second_root: &NodeHash,
    proof: &[NodeHash],
) -> bool {
    if first == 0 || first > second {
        return false;
    }
    if first == second {
        return proof.is_empty() && first_root == second_root;
    }
    // A full tree stands in the second one as it is.
    let (start, rest) = match proof.split_first() {
        None => return false,
        Some(_) if first.is_power_of_two() => (first_root, proof),
        Some((start, rest)) => (start, rest),
    };
    let (mut at, mut last) = (first.saturating_sub(1), second.saturating_sub(1));
    while at & 1 == 1 {
        (at, last) = (at >> 1, last >> 1);
    }
    let (mut of_first, mut of_second) = (*start, *start);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            of_first = hash_node(sibling, &of_first);
            of_second = hash_node(sibling, &of_second);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            of_second = hash_node(&of_second, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && of_first == *first_root && of_second == *second_root
}
