//! What strict reading and canonical writing cost, in bytes a second, on a frame and on the largest bodies.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use messaging_core::json::{self, parse};
use messaging_core::{b64, jcs};
use serde_json::{Value, json};

/// An envelope of 1.7 KB.
fn envelope() -> Value {
    let key = b64::encode(&[0x5a; 32]);
    let end = |person: &str, agent: &str| json!({"person": person, "device": key, "agent": agent});
    json!({
        "v": "messaging/1", "id": "01HF7YAT00BBBBBBBBBBBBBBBB", "type": "message", "realm": key,
        "from": end("bob", "builder"), "to": end("alice", "reviewer"), "ts": 1_767_229_200_000_u64,
        "exp": 1_767_834_000_000_u64, "class": "contact", "anchor": {"kind": "roster", "seq": 6, "hash": key},
        "enc": "x25519-aes256gcm", "epk": key, "nonce": "CQkJCQkJCQkJCQkJ", "body": b64::encode(&[0x3c; 720]),
        "sig": b64::encode(&[0x77; 64])
    })
}

/// 600 KB of small records: what costs a reader most.
fn records() -> Value {
    let record = |n: u32| json!({"id": n, "name": format!("record {n}"), "tags": ["a", "b"], "score": 0.5, "deep": {"ok": true, "note": "line\nline"}});
    (0..6_300).map(record).collect()
}

/// One text of 600 KB: what a body or a file is.
fn text() -> Value {
    json!({"text": "The quick brown fox jumps over the lazy dog. ".repeat(13_300)})
}

fn bench(c: &mut Criterion) {
    for (name, value) in
        [("1.7 KB envelope", envelope()), ("600 KB records", records()), ("600 KB text", text())]
    {
        let bytes = json::print(&value).into_bytes();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function("wire scan", |b| b.iter(|| parse(black_box(&bytes), 1 << 20)));
        group.bench_function("bare serde_json", |b| {
            b.iter(|| serde_json::from_slice::<Value>(black_box(&bytes)));
        });
        group.bench_function("jcs", |b| b.iter(|| jcs::canonical(black_box(&value))));
        group.bench_function("bare serde_json print", |b| {
            b.iter(|| serde_json::to_vec(black_box(&value)))
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
