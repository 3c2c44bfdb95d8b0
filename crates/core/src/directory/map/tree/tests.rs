//! The map against a naive one, and its proofs against every changed byte.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::json;

use super::super::value::{MapLeaf, tombstone};
use super::*;
use crate::json;

/// Every level of every path, by the definition.
fn naive(leaves: &[(MapKey, NodeHash)], depth: usize) -> NodeHash {
    let height = DEPTH - depth;
    match leaves {
        [] => *empty_subtree(height),
        [(key, value)] if height == 0 => hash::leaf(key, value),
        _ => {
            let at = leaves.partition_point(|(key, _)| !key.bit(depth));
            node(&naive(&leaves[..at], depth + 1), &naive(&leaves[at..], depth + 1))
        }
    }
}

fn naive_root(held: &BTreeMap<MapKey, NodeHash>) -> Hash {
    let leaves: Vec<_> = held.iter().map(|(key, value)| (*key, *value)).collect();
    hash::as_text(&naive(&leaves, 0))
}

/// Keys that share long prefixes as well as keys that share none.
fn key() -> impl Strategy<Value = MapKey> {
    (any::<u8>(), prop_oneof![Just(0usize), Just(31), Just(17), Just(1)], any::<bool>()).prop_map(
        |(byte, at, high)| {
            let mut key = [if high { 0xff } else { 0 }; 32];
            key[at] = byte;
            MapKey(key)
        },
    )
}

/// A history: batches of changes.
fn history() -> impl Strategy<Value = Vec<Vec<(MapKey, NodeHash)>>> {
    let change = (key(), prop_oneof![Just(tombstone()), any::<NodeHash>()]);
    prop::collection::vec(prop::collection::vec(change, 0..12), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_map_is_the_naive_one_for_any_history(batches in history(), probe in key()) {
        let mut held = BTreeMap::new();
        let mut map = PersonMap::new();
        let mut old: Vec<(PersonMap, Hash)> = Vec::new();
        let mut kept: BTreeMap<MapKey, LeafEdge> = BTreeMap::new();
        for batch in batches {
            old.push((map.clone(), map.root()));
            held.extend(batch.iter().copied());
            let changed = map.update(batch);
            map = changed.map;
            kept.extend(changed.edges.into_iter().map(|edge| (edge.key, edge)));
            prop_assert_eq!(map.root(), naive_root(&held));
            prop_assert_eq!(map.len(), held.len());
        }
        for (map, root) in &old {
            prop_assert_eq!(map.root(), *root, "an old map stays what it was");
        }
        for (key, value) in &held {
            prop_assert_eq!(map.get(key), Some(*value));
            let root = map.prove(key).root(key, MapLeaf::Holds(*value));
            prop_assert_eq!(hash::as_text(&root), map.root());
        }
        let leaf = held.get(&probe).map_or(MapLeaf::Absent, |value| MapLeaf::Holds(*value));
        prop_assert_eq!(hash::as_text(&map.prove(&probe).root(&probe, leaf)), map.root());
        // What a store kept of each batch is what the map says now, and gives the map back.
        let kept: Vec<LeafEdge> = kept.into_values().collect();
        prop_assert_eq!(&kept, &map.leaves());
        let again = PersonMap::resume(&kept, &map.root()).expect("the same map");
        prop_assert_eq!(again.prove(&probe), map.prove(&probe));
    }

    #[test]
    fn proofs_of_a_map_read_back_and_are_well_formed(batches in history(), probe in key()) {
        let map = batches.into_iter().fold(PersonMap::new(), |map, batch| map.update(batch).map);
        let proof = map.prove(&probe);
        prop_assert_eq!(json::decode::<MapProof>(&json!(proof)), Ok(proof));
    }
}

fn spread(number: u32) -> MapKey {
    use sha2::{Digest as _, Sha256};
    MapKey(Sha256::digest(number.to_be_bytes()).into())
}

#[test]
fn a_batch_done_in_halves_is_the_same_map() {
    struct Other;
    impl Split for Other {
        fn both<A: Send, B: Send>(
            &self,
            left: impl FnOnce() -> A + Send,
            right: impl FnOnce() -> B + Send,
        ) -> (A, B) {
            let right = right();
            (left(), right)
        }
    }
    let changes = |from: u32, to: u32| (from..to).map(|n| (spread(n), [7; 32]));
    let first = PersonMap::new().update(changes(0, 1_200)).map;
    let split = PersonMap::new().update_split(changes(0, 1_200), &Other).map;
    assert_eq!(split.root(), first.root());
    let more = first.update(changes(600, 2_600));
    let mut edges = first.update_split(changes(600, 2_600), &Other).edges;
    edges.sort_by_key(|edge| edge.key);
    let mut expected = more.edges;
    expected.sort_by_key(|edge| edge.key);
    assert_eq!(edges, expected);
}

#[test]
fn every_changed_byte_of_a_proof_is_refused() {
    let map = PersonMap::new().update((0..40).map(|n| (spread(n), [7; 32]))).map;
    for (key, leaf) in [(spread(3), MapLeaf::Holds([7; 32])), (spread(99), MapLeaf::Absent)] {
        let text = json::print(&json!(map.prove(&key)));
        for at in 0..text.len() {
            for flip in [1u8, 2, 32] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= flip;
                let Ok(value) = json::parse(&bytes, 1 << 20) else { continue };
                let Ok(proof) = json::decode::<MapProof>(&value) else { continue };
                assert_ne!(hash::as_text(&proof.root(&key, leaf)), map.root(), "byte {at}");
            }
        }
    }
}

#[test]
fn a_store_that_lies_about_an_edge_does_not_start() {
    let map = PersonMap::new().update((0..9).map(|n| (spread(n), [7; 32]))).map;
    let mut leaves = map.leaves();
    assert!(PersonMap::resume(&leaves, &map.root()).is_some());
    leaves[4].hash[0] ^= 1;
    assert!(PersonMap::resume(&leaves, &map.root()).is_none());
    leaves[4].hash[0] ^= 1;
    leaves.swap(1, 2);
    assert!(PersonMap::resume(&leaves, &map.root()).is_none());
    assert!(PersonMap::resume(&[], &PersonMap::new().root()).is_some());
}

#[test]
fn a_malformed_proof_does_not_read() {
    let good = json!(
        PersonMap::new().update([(spread(1), [7; 32]), (spread(2), [7; 32])]).map.prove(&spread(1))
    );
    assert!(json::decode::<MapProof>(&good).is_ok());
    let none = Hash::from_bytes(&[0; 32]);
    let height = (0..DEPTH)
        .find(|height| {
            let bitmap = Hash::parse(good["bitmap"].as_str().unwrap()).unwrap().to_bytes();
            bitmap[height >> 3] & (0x80 >> (height & 7)) != 0
        })
        .unwrap();
    for (member, value) in [
        ("siblings", json!([])),
        ("siblings", json!([none, none])),
        ("siblings", json!([hash::as_text(empty_subtree(height))])),
        ("siblings", json!(["short"])),
        ("siblings", json!(none)),
        ("bitmap", json!(none)),
        ("bitmap", json!("short")),
        ("more", json!(1)),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        assert!(json::decode::<MapProof>(&bad).is_err(), "{bad}");
    }
    let many = json!({"bitmap": Hash::from_bytes(&[0xff; 32]), "siblings": alloc::vec![none; 257]});
    assert!(json::decode::<MapProof>(&many).is_err());
}
