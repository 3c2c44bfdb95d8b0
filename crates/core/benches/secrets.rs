//! What looking for credentials costs, in bytes a second: on ordinary text, and on texts made to be slow.
//!
//! Each hostile text is measured at three sizes. The rate is the same at all of them: the cost is linear.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use messaging_core::b64;
use messaging_core::secrets::{find, scan};
use serde_json::json;

/// As much of `unit`, repeated, as `size` bytes hold.
fn filled(unit: &str, size: usize) -> String {
    unit.repeat(size / unit.len())
}

/// The prefixes come in two pieces: no file holds a text that would be refused.
fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let pem = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let auth = ["authorization: ", "bearer "].concat();
    let half = size / 2;
    vec![
        ("prefixes that lead nowhere", filled("sk-ant- ghp_ AKIA xoxb- eyJ npm_ AIza ", size)),
        ("one endless tail", ["sk-ant-", &filled("x", size)].concat()),
        ("tails that almost mix", filled(&[" ghp_", &"x1".repeat(18)].concat(), size)),
        ("segments without an end", filled("eyJaaaaaaaa.", size)),
        ("headers", filled(&pem, size)),
        ("headers and breaks", filled(&[&pem, "\n"].concat(), size)),
        ("headers as fields", filled(&["A: ", &pem, "\n"].concat(), size)),
        (
            "a header and half of blanks",
            [pem.as_str(), &" ".repeat(half), &"\n".repeat(half)].concat(),
        ),
        ("fields with breaks between", filled(&["A: ", &pem, &"\n".repeat(1_000)].concat(), size)),
        ("words before a key", filled("-----BEGIN A A A A A ", size)),
        ("backslashes", filled("\\", size)),
        ("a header and backslashes", [pem.as_str(), "\n", &filled("\\", size)].concat()),
        ("names of secrets", filled("aws_secret_access_key ", size)),
        ("a name and blanks", filled(&["secretaccesskey", &" ".repeat(10_000)].concat(), size)),
        ("headers of requests", filled(&auth, size)),
        ("dashes", filled("-", size)),
    ]
}

fn bench(c: &mut Criterion) {
    let sizes = [131_072, 262_144, 524_288];
    let mut group = c.benchmark_group("hostile");
    group.sample_size(10);
    for size in sizes {
        for (name, text) in hostile(size) {
            assert_eq!(find(&text), None, "{name}");
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new(name, size), &text, |b, text| {
                b.iter(|| find(black_box(text)));
            });
        }
    }
    group.finish();

    let prose = filled(
        "The quick brown fox jumps over the lazy dog; see src/main.rs:42 and api_key=none. ",
        524_288,
    );
    let noise = (0..393_216_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]);
    let raw = b64::encode_standard(&noise.collect::<Vec<u8>>());
    let mut group = c.benchmark_group("ordinary, 512 KiB");
    group.sample_size(20);
    for (name, params) in [
        ("prose", json!({"parts": [{"text": prose}]})),
        ("an image", json!({"parts": [{"raw": raw}]})),
    ] {
        group.throughput(Throughput::Bytes(524_288));
        group.bench_function(name, |b| b.iter(|| scan(black_box(&params), &["key"])));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
