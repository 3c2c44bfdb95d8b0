//! Every proof of every small tree, against the recursion that RFC 9162 defines.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn leaf(number: u64) -> NodeHash {
    leaf_hash(&number.to_be_bytes())
}

/// `MTH`, as the RFC writes it.
fn root_of(leaves: &[NodeHash]) -> NodeHash {
    match leaves {
        [] => Sha256::digest([]).into(),
        [one] => *one,
        _ => {
            let at = leaves.len().next_power_of_two() / 2;
            hash_node(&root_of(&leaves[..at]), &root_of(&leaves[at..]))
        }
    }
}

fn at(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

fn log(size: u64) -> (MerkleLog, Vec<NodeHash>) {
    let leaves: Vec<NodeHash> = (0..size).map(leaf).collect();
    (MerkleLog::of(leaves.iter().copied()), leaves)
}

const MOST: u64 = 70;

#[test]
fn roots_are_those_of_the_definition_at_every_size() {
    let (log, leaves) = log(MOST);
    let mut growing = MerkleLog::new();
    for size in 0..=MOST {
        let expected = root_of(&leaves[..at(size)]);
        assert_eq!(log.root_at(size), Some(expected), "{size}");
        assert_eq!(growing.root(), expected);
        if size < MOST {
            assert_eq!(growing.root_with(leaf(size)), root_of(&leaves[..=at(size)]));
            growing.push(leaf(size));
        }
    }
    assert_eq!(log.root_at(MOST + 1), None);
}

#[test]
fn every_inclusion_of_every_size_verifies_and_at_no_other_place() {
    let (log, _) = log(MOST);
    for size in 1..=MOST {
        let root = log.root_at(size).unwrap();
        for index in 0..size {
            let path = log.prove_inclusion(index, size).unwrap();
            assert!(verify_inclusion(index, size, &leaf(index), &path, &root), "{index} of {size}");
            assert!(!verify_inclusion(index, size, &leaf(index + 1), &path, &root));
            for other in (0..size).filter(|other| *other != index) {
                assert!(!verify_inclusion(other, size, &leaf(index), &path, &root));
            }
            let longer: Vec<NodeHash> = path.iter().copied().chain([[0; 32]]).collect();
            assert!(!verify_inclusion(index, size, &leaf(index), &longer, &root));
            if let Some((_, shorter)) = path.split_last() {
                assert!(!verify_inclusion(index, size, &leaf(index), shorter, &root));
            }
        }
        assert_eq!(log.prove_inclusion(size, size), None);
        assert!(!verify_inclusion(0, 0, &leaf(0), &[], &root));
    }
}

#[test]
fn every_consistency_between_every_two_sizes_verifies_and_between_no_others() {
    let (log, _) = log(MOST);
    let root = |size| log.root_at(size).unwrap();
    for second in 1..=MOST {
        for first in 1..=second {
            let proof = log.prove_consistency(first, second).unwrap();
            let good = verify_consistency(first, second, &root(first), &root(second), &proof);
            assert!(good, "{first} to {second}");
            for other in (1..second).filter(|other| *other != first) {
                let good = verify_consistency(other, second, &root(other), &root(second), &proof);
                assert!(!good, "{first} to {second}, taken for {other}");
            }
            assert!(!verify_consistency(first, second, &root(first), &[0; 32], &proof));
            assert!(!verify_consistency(first, second, &[0; 32], &root(second), &proof));
            let longer: Vec<NodeHash> = proof.iter().copied().chain([[0; 32]]).collect();
            assert!(!verify_consistency(first, second, &root(first), &root(second), &longer));
        }
        assert_eq!(log.prove_consistency(0, second), None);
        let empty = log.root_at(0).unwrap();
        assert!(!verify_consistency(0, second, &empty, &root(second), &[]));
    }
}

proptest! {
    #[test]
    fn every_changed_byte_of_a_path_is_refused(
        size in 2u64..300, index in 0u64..300, node in any::<prop::sample::Index>(), byte in 0usize..32, bit in 0u8..8,
    ) {
        let index = index % size;
        let (log, _) = log(size);
        let root = log.root();
        let mut path = log.prove_inclusion(index, size).unwrap();
        let spoilt = node.index(path.len());
        path[spoilt][byte] ^= 1 << bit;
        prop_assert!(!verify_inclusion(index, size, &leaf(index), &path, &root));

        let first = index.max(1);
        let mut proof = log.prove_consistency(first, size).unwrap();
        let spoilt = node.index(proof.len());
        proof[spoilt][byte] ^= 1 << bit;
        let start = log.root_at(first).unwrap();
        prop_assert!(!verify_consistency(first, size, &start, &root, &proof));
    }

    #[test]
    fn no_input_makes_a_verifier_panic(
        a: u64, b: u64, path in prop::collection::vec(any::<NodeHash>(), 0..80), root: NodeHash,
    ) {
        prop_assert!(!verify_inclusion(a, b, &root, &path, &[1; 32]));
        prop_assert!(!verify_consistency(a, b.max(a.saturating_add(1)), &root, &[1; 32], &path));
    }
}

#[test]
fn a_path_of_any_length_is_given_up_after_the_trees_height() {
    let long = alloc::vec![[0; 32]; 1 << 16];
    assert!(!verify_inclusion(u64::MAX - 1, u64::MAX, &[0; 32], &long, &[0; 32]));
    assert!(!verify_consistency(u64::MAX - 1, u64::MAX, &[0; 32], &[0; 32], &long));
}
