//! A relay that sends anything at all: nothing of it breaks a daemon, and an honest relay afterwards finds it well.
//! Spec: §7, §12

use messaging_core::random::{self, Random as _};
use messaging_core::testing::SeededRandom;
use messaging_wire::text;
use serde_json::{Map, Value, json};

use super::bench::{Bench, Session};
use super::forge::{mail, receipt};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

/// Frames that a relay may well send, to be bent.
fn frames(bench: &mut Bench) -> Vec<Value> {
    let env = bench.forge(0, 1, mail("web", "x"));
    let about = env["id"].as_str().unwrap().to_owned();
    let answer = bench.forge(0, 1, receipt(&about, "read"));
    let presence = bench.relay.presence_by(0).pop().unwrap();
    let entries: Vec<Value> = bench
        .relay
        .roster
        .entries()
        .iter()
        .map(|entry| serde_json::from_str(entry.canonical().as_str()).unwrap())
        .collect();
    let head = json!({"seq": 1, "hash": bench.relay.roster.head().unwrap().hash});
    let machine = bench.machine(0);
    vec![
        json!({"t": "deliver", "env": env}),
        json!({"t": "deliver", "env": answer}),
        json!({"t": "deliver", "env": presence}),
        json!({"t": "roster", "entries": entries}),
        json!({"t": "roster", "req": "r1", "entries": [], "more": true}),
        json!({"t": "roster.ok", "req": "r1", "head": head}),
        json!({"t": "welcome", "head": head, "online": [machine]}),
        json!({"t": "ack", "id": about, "stage": "relayed"}),
        json!({"t": "nack", "id": about, "code": "roster_conflict", "retryAfterMs": 5}),
        json!({"t": "error", "code": "internal"}),
        json!({"t": "peer", "machine": machine, "online": true}),
        json!({"t": "pong"}),
    ]
}

/// Changes one member or item, somewhere.
fn bend(value: &mut Value, rng: &mut SeededRandom) {
    let pick =
        |rng: &mut SeededRandom, n: usize| usize::try_from(random::below(rng, n as u64)).unwrap();
    match value {
        Value::Object(members) if !members.is_empty() && pick(rng, 5) > 0 => {
            let at = pick(rng, members.len());
            let name = members.keys().nth(at).unwrap().clone();
            match pick(rng, 8) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert(format!("{name}x"), json!(1))),
                _ => bend(members.get_mut(&name).unwrap(), rng),
            }
        }
        Value::Array(items) if !items.is_empty() && pick(rng, 5) > 0 => {
            let at = pick(rng, items.len());
            match pick(rng, 6) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => bend(&mut items[at], rng),
            }
        }
        other => {
            let odd = [
                Value::Null,
                json!(true),
                json!(0),
                json!(-1),
                json!(9_007_199_254_740_991_u64),
                json!(1.5),
                json!(""),
                json!("A".repeat(43)),
                json!("😀\u{202e}\u{0}"),
                json!([]),
                json!([[[[[[1]]]]]]),
                Value::Object(Map::new()),
                json!({"team": true}),
            ];
            *other = odd[pick(rng, odd.len())].clone();
        }
    }
}

fn is_well(bench: &mut Bench, alice: &Session, bob: &Session) {
    bench.advance(120_000);
    assert!(bench.engine(1).link.is_ready());
    let before = bench.texts(bob).len();
    bench.send(alice, "bob/web", "still here");
    bench.advance(120_000);
    assert_eq!(bench.texts(bob).len(), before + 1);
}

#[test]
fn bent_frames_break_nothing() {
    let mut rng = SeededRandom::new(11);
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let head = bench.engine(1).realm.head();
    for round in 0..1_000 {
        let frames = frames(&mut bench);
        let at = usize::try_from(random::below(&mut rng, frames.len() as u64)).unwrap();
        let mut frame = frames[at].clone();
        for _ in 0..=random::below(&mut rng, 3) {
            bend(&mut frame, &mut rng);
        }
        if bench.daemons[1].link.is_none() {
            bench.advance(31_000);
        }
        bench.frame(1, &frame.to_string());
        if round % 100 == 0 {
            bench.advance(1_000);
        }
    }
    assert_eq!(bench.engine(1).realm.head(), head, "nobody's roster moved");
    assert!(bench.engine(1).realm.divergence().is_empty());
    is_well(&mut bench, &alice, &bob);
}

#[test]
fn bytes_at_random_break_nothing() {
    let mut rng = SeededRandom::new(12);
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    for _ in 0..300 {
        let mut bytes = vec![0; 40];
        rng.fill(&mut bytes);
        if bench.daemons[1].link.is_none() {
            bench.advance(31_000);
        }
        bench.frame(1, &String::from_utf8_lossy(&bytes));
    }
    is_well(&mut bench, &alice, &bob);
}

#[test]
fn signed_envelopes_bent_by_their_sender_break_nothing() {
    let mut rng = SeededRandom::new(13);
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    for round in 0..500 {
        let mut env = bench.forge(0, 1, mail("web", "x"));
        bend(&mut env, &mut rng);
        // A value that does not canonicalize cannot be signed.
        if env.is_object() && messaging_core::jcs::canonical(&env).is_ok() {
            env = bench.sign(0, env);
        }
        if bench.daemons[1].link.is_none() {
            bench.advance(31_000);
        }
        bench.frame(1, &text::deliver(&env.to_string()));
        if round % 20 == 0 {
            bench.advance(5_000);
        }
    }
    // Whoever claims to have seen more stops the sends until it is out of the team; nothing else may.
    if !bench.engine(1).realm.sends_paused() {
        is_well(&mut bench, &alice, &bob);
    }
}

#[test]
fn payloads_bent_under_a_good_seal_break_nothing() {
    let mut rng = SeededRandom::new(14);
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    for round in 0..300 {
        let forged = mail("web", "x");
        let mut payload = forged.payload.clone();
        bend(&mut payload, &mut rng);
        let env = bench.forge(0, 1, forged);
        let env = bench.reseal(0, 1, env, &payload);
        bench.deliver(1, &env);
        if round % 20 == 0 {
            bench.advance(21_000);
        }
        assert!(bench.engine(1).link.is_ready());
    }
    bench.advance(600_000);
    is_well(&mut bench, &alice, &bob);
}
