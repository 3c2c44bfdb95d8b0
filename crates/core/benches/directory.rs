//! What the key directory's trees cost, beside the bare hashes that they cannot do without.
//!
//! The rows to compare, each with the one below it that starts with `bare_`:
//!
//! * `map_proof_check`, `map_proof_check_from_json` with `bare_257_hashes`; `map_proof_make` hashes nothing;
//! * `epoch_1k_of_1m`, `epoch_10k_of_1m` and `epoch_10k_of_1m_two_threads` with `bare_epoch_1k` and `bare_epoch_10k`,
//!   which chain as many hashes as the changed paths have nodes;
//! * `log_…` of 100,000 epochs with `bare_17_hashes`.
//!
//! Size: `MAP_PERSONS` sets how many persons the large map has.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up should stop")]

use std::hint::black_box;
use std::thread;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use messaging_core::directory::{
    MapKey, MapLeaf, MapProof, MerkleLog, NodeHash, PersonMap, Split, leaf_hash,
    verify_consistency, verify_inclusion,
};
use messaging_core::json;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Persons of the large map.
fn persons() -> u32 {
    std::env::var("MAP_PERSONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

fn key(number: u32) -> MapKey {
    MapKey::from_bytes(Sha256::digest(number.to_be_bytes()).into())
}

fn changes(from: u32, count: u32, byte: u8) -> Vec<(MapKey, NodeHash)> {
    (from..from.saturating_add(count)).map(|number| (key(number), [byte; 32])).collect()
}

/// Chained hashes of 65 bytes, as a tree's nodes are.
fn chain(count: usize) -> NodeHash {
    let mut hash = [7; 32];
    for _ in 0..count {
        let mut node = Sha256::new();
        node.update([1]);
        node.update(hash);
        node.update([9; 32]);
        hash = node.finalize().into();
    }
    hash
}

/// How many nodes the paths of these keys have, each counted once: what an update of them must hash.
fn nodes(changes: &[(MapKey, NodeHash)]) -> usize {
    let mut keys: Vec<NodeHash> = changes.iter().map(|(key, _)| key.to_bytes()).collect();
    keys.sort_unstable();
    let shared = |a: &NodeHash, b: &NodeHash| {
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let bits = a.get(same).zip(b.get(same)).map_or(0, |(a, b)| (a ^ b).leading_zeros());
        same * 8 + bits as usize
    };
    let first = keys.len().min(1) * 257;
    keys.iter().zip(keys.iter().skip(1)).map(|(a, b)| 256 - shared(a, b)).sum::<usize>() + first
}

/// Halves on two threads.
struct Threads;

impl Split for Threads {
    fn both<A: Send, B: Send>(
        &self,
        left: impl FnOnce() -> A + Send,
        right: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        thread::scope(|scope| {
            let right = scope.spawn(right);
            (left(), right.join().expect("a half"))
        })
    }
}

fn proofs(c: &mut Criterion, map: &PersonMap) {
    let key = key(3);
    let proof = map.prove(&key);
    let value = map.get(&key).expect("a person");
    let text = json::print(&json!(proof));
    let root = proof.root(&key, MapLeaf::Holds(value));
    assert_eq!(messaging_core::ids::Hash::from_bytes(&root), map.root());
    c.bench_function("map_proof_check", |b| {
        b.iter(|| black_box(&proof).root(black_box(&key), MapLeaf::Holds(value)));
    });
    c.bench_function("map_proof_check_from_json", |b| {
        b.iter(|| {
            let value_of = json::parse(black_box(text.as_bytes()), 1 << 20).expect("JSON");
            let proof: MapProof = json::decode(&value_of).expect("a proof");
            proof.root(&key, MapLeaf::Holds(value))
        });
    });
    c.bench_function("bare_257_hashes", |b| b.iter(|| chain(black_box(257))));
    c.bench_function("map_proof_make", |b| b.iter(|| map.prove(black_box(&key))));
}

fn epochs(c: &mut Criterion, map: &PersonMap) {
    for (name, count) in [("1k", 1_000), ("10k", 10_000)] {
        let changed = changes(0, count, 8);
        c.bench_function(&format!("epoch_{name}_of_1m"), |b| {
            b.iter_batched(
                || changed.clone(),
                |changed| map.update(changed),
                BatchSize::PerIteration,
            );
        });
        let bound = nodes(&changed);
        c.bench_function(&format!("bare_epoch_{name}"), |b| b.iter(|| chain(black_box(bound))));
    }
    let changed = changes(0, 10_000, 8);
    c.bench_function("epoch_10k_of_1m_two_threads", |b| {
        b.iter_batched(
            || changed.clone(),
            |changed| map.update_split(changed, &Threads),
            BatchSize::PerIteration,
        );
    });
}

fn log(c: &mut Criterion) {
    const SIZE: u64 = 100_000;
    let leaf = |number: u64| leaf_hash(&number.to_be_bytes());
    let log = MerkleLog::of((0..SIZE).map(leaf));
    let (index, first) = (61_803, 38_197);
    let path = log.prove_inclusion(index, SIZE).expect("a path");
    let proof = log.prove_consistency(first, SIZE).expect("a proof");
    let (start, root, one) = (log.root_at(first).expect("a size"), log.root(), leaf(index));
    assert!(verify_inclusion(index, SIZE, &one, &path, &root));
    assert!(verify_consistency(first, SIZE, &start, &root, &proof));
    c.bench_function("log_prove_inclusion", |b| {
        b.iter(|| log.prove_inclusion(black_box(index), SIZE));
    });
    c.bench_function("log_verify_inclusion", |b| {
        b.iter(|| verify_inclusion(black_box(index), SIZE, &one, &path, &root));
    });
    c.bench_function("log_prove_consistency", |b| {
        b.iter(|| log.prove_consistency(black_box(first), SIZE));
    });
    c.bench_function("log_verify_consistency", |b| {
        b.iter(|| verify_consistency(black_box(first), SIZE, &start, &root, &proof));
    });
    c.bench_function("bare_17_hashes", |b| b.iter(|| chain(black_box(17))));
}

fn benches(c: &mut Criterion) {
    log(c);
    let map = PersonMap::new().update(changes(0, persons(), 7)).map;
    proofs(c, &map);
    let leaves = map.leaves();
    let root = map.root();
    c.bench_function("map_resume", |b| b.iter(|| PersonMap::resume(black_box(&leaves), &root)));
    epochs(c, &map);
}

criterion_group!(all, benches);
criterion_main!(all);
