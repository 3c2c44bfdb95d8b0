//! The receiver's order: what each wrong envelope is answered, and what is remembered of it.
//! Spec: §5 "Receiver verification order", W4.3, D3.8; rulings R1 and R2

use messaging_core::envelope::SealedType;
use messaging_core::ids::Ulid;
use messaging_core::keys::Identity;
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use messaging_core::roster::Op;
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::bench::Bench;
use super::forge::{Forged, mail, message, personal, receipt};
use crate::identity::RetainedKey;

const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];

fn bench() -> Bench {
    let mut bench = Bench::connected(&THREE);
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench
}

/// Delivers to bob what alice is said to have sent.
#[track_caller]
fn check(bench: &mut Bench, env: &Value, answer: Option<&str>, seen: bool) {
    bench.deliver(1, env);
    assert!(bench.acked(1, env), "not acknowledged");
    assert_eq!(bench.answer_to(1, 0, env).as_deref(), answer);
    assert_eq!(bench.is_seen(1, env), seen, "seen");
    // The same once more is acknowledged, and nothing else happens.
    bench.deliver(1, env);
    assert_eq!(bench.answer_to(1, 0, env).as_deref(), answer);
}

#[test]
fn good_mail_is_filed_answered_and_remembered() {
    let mut bench = bench();
    let env = bench.forge(0, 1, mail("web", "hi"));
    check(&mut bench, &env, Some("delivered"), true);
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 1);
}

#[test]
fn nothing_before_a_verified_signature_is_answered_or_remembered() {
    type Change = fn(&mut Value, Ms);
    let changes: [(&str, Change); 8] = [
        ("a member missing", |env, _| drop(env.as_object_mut().unwrap().remove("class"))),
        ("a class its ends contradict", |env, _| env["class"] = json!("self")),
        ("another realm", |env, _| env["realm"] = env["anchor"]["hash"].clone()),
        ("another kind of anchor", |env, _| {
            env["anchor"] = json!({"kind": "epoch", "size": 1, "root": env["realm"]});
        }),
        ("from the future", |env, now| {
            env["ts"] = json!(now.plus(CLOCK_SKEW_MS + 1));
            env["exp"] = json!(now.plus(CLOCK_SKEW_MS + 2));
        }),
        ("expired", |env, now| {
            env["ts"] = json!(now.minus(10));
            env["exp"] = json!(now);
        }),
        ("too long a life", |env, now| env["exp"] = json!(now.plus(TTL_MS + 1))),
        ("another person than the device's", |env, _| env["from"]["person"] = json!("carol")),
    ];
    for (name, change) in changes {
        let mut bench = bench();
        let mut env = bench.forge(0, 1, mail("web", "hi"));
        change(&mut env, bench.now.wall);
        let env = bench.sign(0, env);
        check(&mut bench, &env, None, false);
        assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 0, "{name}");
    }
}

#[test]
fn a_bad_signature_keeps_the_true_envelope_possible() {
    let mut bench = bench();
    let env = bench.forge(0, 1, mail("web", "hi"));
    let mut bad = env.clone();
    bad["unknown"] = json!(1);
    check(&mut bench, &bad, None, false);
    check(&mut bench, &env, Some("delivered"), true);
}

#[test]
fn a_stranger_is_dropped_in_silence() {
    let mut bench = bench();
    let mut env = bench.forge(0, 1, mail("web", "hi"));
    let stranger = Identity::generate(&mut SeededRandom::new(77));
    env["from"]["device"] = json!(stranger.machine());
    env.as_object_mut().unwrap().remove("sig");
    env["sig"] =
        json!(stranger.signing.sign_value(messaging_core::domain::Domain::Envelope, &env).unwrap());
    check(&mut bench, &env, None, false);
}

#[test]
fn an_envelope_for_another_device_is_answered_once() {
    let mut bench = bench();
    let mut env = bench.forge(0, 2, mail("web", "hi"));
    let env_for_carol = env.clone();
    check(&mut bench, &env_for_carol, Some("rejected invalid_request"), true);
    env["to"]["device"] = json!(bench.machine(1));
    env["to"]["person"] = json!("carol");
    env["id"] = json!(Ulid::from_parts(bench.now.wall, [9; 10]));
    let env = bench.sign(0, env);
    check(&mut bench, &env, Some("rejected invalid_request"), true);
}

#[test]
fn an_unknown_type_or_version_is_answered_only_under_a_members_signature() {
    for (name, value) in [("type", "hologram"), ("v", "messaging/2")] {
        let mut bench = bench();
        let mut env = bench.forge(0, 1, mail("web", "hi"));
        env[name] = json!(value);
        let signed = bench.sign(0, env.clone());
        check(&mut bench, &signed, Some("rejected invalid_request"), true);

        env["id"] = json!(Ulid::from_parts(bench.now.wall, [8; 10]));
        let unsigned = env.clone();
        check(&mut bench, &unsigned, None, false);
        let by_another = bench.sign(2, env.clone());
        check(&mut bench, &by_another, None, false);
        env["to"]["device"] = json!(bench.machine(2));
        let for_another = bench.sign(0, env.clone());
        check(&mut bench, &for_another, None, false);
        env["to"]["device"] = json!(bench.machine(1));
        env["realm"] = env["anchor"]["hash"].clone();
        let of_another_realm = bench.sign(0, env);
        check(&mut bench, &of_another_realm, None, false);
    }
}

#[test]
fn a_refused_envelope_does_not_come_back_when_it_would_be_taken() {
    let mut bench = bench();
    let env = bench.forge(0, 1, mail("later", "hi"));
    check(&mut bench, &env, Some("rejected unknown_session"), true);
    bench.session(1, "later", json!({}));
    check(&mut bench, &env, Some("rejected unknown_session"), true);
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 0);
}

#[test]
fn what_does_not_open_is_answered_by_why() {
    let mut bench = bench();
    let mut env = bench.forge(0, 1, mail("web", "hi"));
    env["replyTo"] = json!(Ulid::from_parts(bench.now.wall, [1; 10]));
    let env = bench.sign(0, env);
    check(&mut bench, &env, Some("rejected bad_signature"), true);
    let mut long = bench.forge(0, 1, mail("web", "hi"));
    long["body"] = json!("A".repeat(messaging_core::limits::BODY_CHARS + 4));
    let long = bench.sign(0, long);
    check(&mut bench, &long, Some("rejected too_large"), true);
}

#[test]
fn what_was_sealed_before_a_rekey_opens_with_the_retained_key_or_names_the_stale_roster() {
    let mut bench = bench();
    let before = bench.forge(0, 1, mail("web", "early"));
    let lost = bench.forge(0, 1, mail("web", "lost"));
    // Bob rotates: the new key is current, the old one retained.
    let new = Identity::generate(&mut SeededRandom::new(5)).enc;
    let op = Op::MemberRekey { machine: bench.machine(1), enc: *new.public() };
    let signing = bench.daemons[1].keys.identity.signing.clone();
    let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    let keys = &mut bench.daemons[1].keys;
    let old = std::mem::replace(&mut keys.identity.enc, new);
    keys.retained.push(RetainedKey { secret: old, until: bench.now.wall.plus(TTL_MS) });
    bench.configure(1, |_| {});
    bench.relay.append(&entry);
    bench.settle();
    assert!(!bench.engine(1).is_restored());
    check(&mut bench, &before, Some("delivered"), true);
    let after = bench.forge(0, 1, mail("web", "late"));
    check(&mut bench, &after, Some("delivered"), true);

    bench.daemons[1].keys.retained.clear();
    bench.configure(1, |_| {});
    check(&mut bench, &lost, Some("rejected roster_conflict"), true);
}

#[test]
fn a_payload_out_of_shape_or_meaning_is_answered() {
    let mut bench = bench();
    for payload in [
        json!({"kind": "mail", "message": message("x")}),
        json!({"kind": "message", "message": message("x"), "conv": {"kind": "self", "what": "grant"}}),
    ] {
        let good = bench.forge(0, 1, mail("web", "x"));
        let env = bench.reseal(0, 1, good, &payload);
        check(&mut bench, &env, Some("rejected invalid_request"), true);
    }
}

#[test]
fn what_is_about_cards_is_answered_with_nothing() {
    let mut bench = bench();
    let mut wanted = json!({"kind": "message", "message": message("x"), "conv": {"kind": "card", "what": "get"}});
    wanted["message"]["parts"] = json!([{"data": {"get": true}}]);
    let env = bench.forge(0, 1, personal(SealedType::Message, wanted));
    check(&mut bench, &env, None, true);
    assert_eq!(bench.count(1, "SELECT count(*) FROM lines"), 0);
}

#[test]
fn a_message_request_has_no_place_in_a_team() {
    let mut bench = bench();
    let mut payload =
        json!({"kind": "message", "message": message("please"), "conv": {"kind": "request"}});
    payload["message"].as_object_mut().unwrap().remove("contextId");
    let env = bench.forge(0, 1, personal(SealedType::Message, payload));
    check(&mut bench, &env, Some("rejected invalid_request"), true);
}

#[test]
fn task_traffic_about_no_known_task_is_not_found() {
    let mut bench = bench();
    let task = "01HF7YAT00CCCCCCCCCCCCCCCC";
    let status =
        json!({"taskId": task, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let request = Ulid::from_parts(bench.now.wall, [2; 10]);
    let update = Forged { reply_to: Some(request), ..personal(SealedType::TaskStatus, status) };
    let env = bench.forge(0, 1, update);
    check(&mut bench, &env, Some("rejected not_found"), true);
    let env = bench.forge(0, 1, personal(SealedType::TaskCancel, json!({"taskId": task})));
    check(&mut bench, &env, Some("rejected not_found"), true);
    let mut follow_up = mail("web", "more");
    follow_up.payload["message"]["taskId"] = json!(task);
    let env = bench.forge(0, 1, follow_up);
    check(&mut bench, &env, Some("rejected not_found"), true);
}

#[test]
fn a_receipt_counts_only_from_the_machine_that_was_written_to() {
    let mut bench = bench();
    let alice = bench.session(0, "api", json!({}));
    bench.relay.holds_back = true;
    let id = bench.send(&alice, "bob/web", "hi");
    assert_eq!(bench.stage(&alice, &id), "relayed");
    let forged = bench.forge(2, 0, receipt(&id, "read"));
    bench.deliver(0, &forged);
    assert!(bench.acked(0, &forged));
    assert_eq!(bench.stage(&alice, &id), "relayed");
    let about_nothing = bench.forge(1, 0, receipt("01HF7YAT00DDDDDDDDDDDDDDDD", "read"));
    bench.deliver(0, &about_nothing);
    assert!(bench.acked(0, &about_nothing));
    let real = bench.forge(1, 0, receipt(&id, "delivered"));
    bench.deliver(0, &real);
    assert_eq!(bench.stage(&alice, &id), "delivered");
    let late = bench.forge(1, 0, receipt(&id, "held"));
    bench.deliver(0, &late);
    let back = bench.forge(1, 0, receipt(&id, "delivered"));
    bench.deliver(0, &back);
    assert_eq!(bench.stage(&alice, &id), "held");
    assert!(
        bench.receipts(0, 1).is_empty() && bench.receipts(0, 2).is_empty(),
        "no receipt for a receipt"
    );
}

#[test]
fn an_id_that_another_machine_used_for_a_stored_item_is_refused() {
    let mut bench = bench();
    let first = bench.forge(0, 1, mail("web", "first"));
    check(&mut bench, &first, Some("delivered"), true);
    let mut second = bench.forge(2, 1, mail("web", "second"));
    second["id"] = first["id"].clone();
    let payload = json!({"kind": "message", "message": message("second")});
    let env = bench.reseal(2, 1, second, &payload);
    bench.deliver(1, &env);
    assert_eq!(bench.answer_to(1, 2, &env).as_deref(), Some("rejected invalid_request"));
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 1);
}

#[test]
fn a_frame_that_is_no_envelope_breaks_nothing() {
    let mut bench = bench();
    bench.frame(1, r#"{"t":"deliver","env":{"id":"nonsense"}}"#);
    bench.frame(1, r#"{"t":"deliver","env":7}"#);
    bench.frame(1, r#"{"t":"later"}"#);
    assert!(bench.engine(1).link.is_ready());
    let env = bench.forge(0, 1, mail("web", "hi"));
    check(&mut bench, &env, Some("delivered"), true);
    bench.frame(1, "{");
    assert!(!bench.engine(1).link.is_ready(), "what is no frame ends the link");
    bench.advance(2_000);
    assert!(bench.engine(1).link.is_ready());
}

#[test]
fn an_item_whose_mark_is_gone_is_neither_filed_again_nor_refused() {
    let mut bench = bench();
    let alice = bench.session(0, "api", json!({}));
    let id = bench.send(&alice, "bob/web", "once");
    let env = bench.relay.sent_by(0).pop().unwrap();
    assert_eq!(env["id"], json!(id));
    bench.advance(1_000);
    let store = bench.kill(1);
    let store = super::bench::write(store, |tx| {
        tx.execute("DELETE FROM seen", ())?;
        Ok(())
    });
    bench.start(1, store);
    bench.advance(2_000);
    // Its session is gone too: that is no reason to say that it was not delivered.
    bench.deliver(1, &env);
    assert!(bench.is_seen(1, &env));
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 1);
    assert_eq!(bench.answer_to(1, 0, &env).as_deref(), Some("delivered"), "the first answer alone");
    assert_eq!(bench.stage(&alice, &id), "delivered");
}

#[test]
fn what_ends_at_the_addressee_is_paid_for_or_leaves_no_trace() {
    let mut bench = bench();
    bench.advance(61_000);
    let sent: Vec<Value> = (0..70)
        .map(|_| {
            let env = bench.forge(0, 2, mail("web", "x"));
            bench.deliver(1, &env);
            assert!(bench.acked(1, &env));
            env
        })
        .collect();
    bench.advance(30_000);
    let traces = sent.iter().filter(|env| bench.is_seen(1, env)).count();
    assert_eq!(traces, 60, "a mark for each answer that its sender's budget paid for");
    assert_eq!(bench.receipts(1, 0).len(), 60);
}
