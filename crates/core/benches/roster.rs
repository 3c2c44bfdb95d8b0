//! What replaying a long chain costs, beside the signature checks that it cannot do without.
//!
//! The rows to compare: `roster_replay_10k` with `roster_signatures_10k`.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up should stop")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use messaging_core::domain::Domain;
use messaging_core::ids::EncKey;
use messaging_core::jcs;
use messaging_core::keys::{Identity, PublicKey, SigningKey};
use messaging_core::roster::{Live, Member, Op, Role, Roster, sign_genesis};
use messaging_core::time::Ms;
use serde_json::Value;

const START: Ms = Ms(1_790_000_000_000);

fn identity(n: u8) -> Identity {
    Identity::from_secrets([n; 32], [n.wrapping_add(100); 32])
}

fn member(n: u8, role: Role) -> Member {
    Member {
        machine: *identity(n).machine(),
        enc: *identity(n).enc.public(),
        person: format!("person-{n}").parse().expect("a person"),
        role,
        label: "desk".parse().expect("a label"),
    }
}

/// A team of 20 machines, each of which rekeys itself in turn until there are `count` entries.
fn chain(count: usize) -> (Vec<Value>, Roster) {
    let machines: Vec<Identity> = (1..=20).map(identity).collect();
    let name = "bench".parse().expect("a name");
    let founder = member(1, Role::Admin);
    let genesis = sign_genesis(&name, &founder, START, &machines[0].signing).expect("a genesis");
    let mut roster = Roster::from_entries([&genesis]).expect("a team");
    let mut entries = vec![genesis];
    let mut put = |key: &SigningKey, op: &Op| {
        let entry = roster.sign_next(op, START.plus(1), key).expect("an entry");
        roster.apply(&entry, None).expect("a good entry");
        entries.push(entry);
        entries.len()
    };
    for n in 2..=20 {
        put(&machines[0].signing, &Op::MemberAdd { member: member(n, Role::Member) });
    }
    for turn in 0_u64.. {
        let machine = &machines[usize::try_from(turn % 20).expect("an index")];
        let mut enc = [0; 32];
        enc[..8].copy_from_slice(&turn.to_le_bytes());
        let op = Op::MemberRekey { machine: *machine.machine(), enc: EncKey::from_bytes(&enc) };
        if put(&machine.signing, &op) == count {
            break;
        }
    }
    (entries, roster)
}

fn replay(c: &mut Criterion) {
    let (entries, roster) = chain(10_000);
    c.bench_function("roster_replay_10k", |b| {
        b.iter(|| Roster::from_entries(black_box(&entries)).expect("a good chain"));
    });
    // The same 10,000 signatures over ready texts: what no replay can go below.
    let ready: Vec<_> = roster
        .entries()
        .iter()
        .zip(&entries)
        .map(|(entry, raw)| {
            let text = jcs::canonical_without(raw, "sig").expect("an entry");
            let sig = raw["sig"].as_str().and_then(|sig| sig.parse().ok()).expect("a signature");
            (PublicKey::of(entry.by()).expect("a key"), text, sig)
        })
        .collect();
    c.bench_function("roster_signatures_10k", |b| {
        b.iter(|| {
            let good = |(key, text, sig): &(PublicKey, _, _)| key.verify(Domain::Roster, text, sig);
            assert!(black_box(&ready).iter().all(good));
        });
    });
}

fn append(c: &mut Criterion) {
    let (_, roster) = chain(10_000);
    let admin = identity(1);
    let op = Op::MemberRekey { machine: *admin.machine(), enc: EncKey::from_bytes(&[1; 32]) };
    let entry = roster.sign_next(&op, START.plus(2), &admin.signing).expect("an entry");
    let live = Some(Live::append(START));
    c.bench_function("roster_append_at_10k", |b| {
        b.iter_batched_ref(
            || roster.clone(),
            |roster| roster.apply(black_box(&entry), live).expect("a good entry"),
            BatchSize::LargeInput,
        );
    });
    c.bench_function("roster_clone_10k", |b| b.iter(|| black_box(&roster).clone()));
    let old: Value =
        serde_json::from_str(roster.entries()[9_000].canonical().as_str()).expect("an entry");
    c.bench_function("roster_check_at_9k", |b| {
        b.iter(|| roster.check_at(black_box(&old)).expect("held"));
    });
}

criterion_group! {
    name = whole;
    config = Criterion::default().sample_size(10);
    targets = replay
}
criterion_group!(single, append);
criterion_main!(whole, single);
