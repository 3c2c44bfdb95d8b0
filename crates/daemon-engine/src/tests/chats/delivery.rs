//! How far a line came: each copy settles once, and the line follows.
//! Spec: §6.8 "Delivery", D3.19

use messaging_core::code::Code;
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use messaging_core::roster::Op;
use serde_json::{Value, json};

use super::super::forge::receipt;
use super::super::roster::entry;
use super::{ALICE, BOB, BOB_PHONE, Bench, CAROL, CONN, bench, found, lines, said, say, texts};

fn state(bench: &mut Bench, at: usize, room: &str) -> (Value, Value) {
    let line = lines(bench, at, room).pop().unwrap();
    (line["state"].clone(), line["refused"].clone())
}

/// A daemon's answer to the newest copy for a machine, as that machine would send it.
fn answers(bench: &mut Bench, by: usize, stage: &str, code: Option<&str>) {
    let label = super::TEAM[by].1;
    let (_, env, _) = said(bench, ALICE).into_iter().rfind(|(to, _, _)| to == label).unwrap();
    let mut forged = receipt(env["id"].as_str().unwrap(), stage);
    if let Some(code) = code {
        forged.payload["code"] = json!(code);
    }
    let env = bench.forge(by, ALICE, forged);
    bench.deliver(ALICE, &env);
}

#[test]
fn a_line_is_sent_until_every_other_person_has_it_on_one_machine() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    bench.relay.holds_back = true;
    say(&mut bench, ALICE, "channel:ops", "hello").unwrap();
    assert_eq!(state(&mut bench, ALICE, "channel:ops"), (json!("sent"), Value::Null));
    answers(&mut bench, BOB, "delivered", None);
    assert_eq!(state(&mut bench, ALICE, "channel:ops").0, "sent", "carol has it not");
    answers(&mut bench, CAROL, "delivered", None);
    assert_eq!(state(&mut bench, ALICE, "channel:ops").0, "delivered");
    answers(&mut bench, BOB_PHONE, "rejected", Some("internal"));
    assert_eq!(state(&mut bench, ALICE, "channel:ops").0, "delivered", "bob has it");
}

#[test]
fn a_line_is_refused_once_every_copy_to_some_person_failed_and_names_them() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    bench.relay.holds_back = true;
    say(&mut bench, ALICE, "channel:ops", "hello").unwrap();
    answers(&mut bench, BOB, "rejected", Some("forbidden"));
    assert_eq!(state(&mut bench, ALICE, "channel:ops"), (json!("sent"), Value::Null));
    answers(&mut bench, BOB_PHONE, "rejected", Some("forbidden"));
    assert_eq!(state(&mut bench, ALICE, "channel:ops"), (json!("refused"), json!(["bob"])));
    answers(&mut bench, CAROL, "rejected", Some("refused"));
    let refused = (json!("refused"), json!(["bob", "carol"]));
    assert_eq!(state(&mut bench, ALICE, "channel:ops"), refused);
    assert_eq!(texts(&mut bench, BOB, "channel:ops").len(), 1, "only the notice of the channel");
}

#[test]
fn a_copy_settles_once_and_only_by_the_word_of_its_machine() {
    let mut bench = bench();
    bench.relay.holds_back = true;
    say(&mut bench, ALICE, "dm:bob", "hello").unwrap();
    let mut copies = said(&bench, ALICE).into_iter();
    let (_, env, _) = copies.rfind(|(label, _, _)| label == "desk").unwrap();
    for by in [BOB_PHONE, CAROL] {
        let forged = receipt(env["id"].as_str().unwrap(), "delivered");
        let forged = bench.forge(by, ALICE, forged);
        bench.deliver(ALICE, &forged);
        assert_eq!(state(&mut bench, ALICE, "dm:bob").0, "sent", "not the machine it went to");
    }
    answers(&mut bench, BOB, "rejected", Some("internal"));
    answers(&mut bench, BOB, "delivered", None);
    answers(&mut bench, BOB_PHONE, "rejected", Some("internal"));
    assert_eq!(state(&mut bench, ALICE, "dm:bob").0, "refused", "the first word counted");
}

#[test]
fn a_final_refusal_by_the_relay_settles_a_copy() {
    let mut bench = bench();
    for _ in 0..2 {
        bench.relay.nacks.push_back((Code::NotMember, None));
    }
    say(&mut bench, ALICE, "dm:bob", "hello").unwrap();
    assert_eq!(state(&mut bench, ALICE, "dm:bob"), (json!("refused"), json!(["bob"])));
}

#[test]
fn a_recipient_that_leaves_the_team_settles_its_copies() {
    let mut bench = bench();
    bench.relay.holds_back = true;
    say(&mut bench, ALICE, "dm:carol", "hello").unwrap();
    let machine = bench.machine(CAROL);
    let remove = entry(&bench, &Op::MemberRemove { machine }, bench.now.wall);
    bench.relay.append(&remove);
    bench.settle();
    let refused = (json!("refused"), json!(["carol"]));
    assert_eq!(state(&mut bench, ALICE, "dm:carol"), refused, "and the conversation can be read");
}

#[test]
fn a_line_that_nobody_took_in_time_expires_once() {
    let mut bench = bench();
    bench.relay.holds_back = true;
    say(&mut bench, ALICE, "dm:bob", "hello").unwrap();
    bench.now.wall = bench.now.wall.plus(TTL_MS + CLOCK_SKEW_MS + 1);
    bench.advance(180_000);
    assert_eq!(state(&mut bench, ALICE, "dm:bob"), (json!("refused"), json!(["bob"])));
    answers(&mut bench, BOB, "delivered", None);
    assert_eq!(state(&mut bench, ALICE, "dm:bob").0, "refused");
}

#[test]
fn a_change_of_state_is_told_under_a_new_number_and_the_line_keeps_its_own() {
    let mut bench = bench();
    bench.call(ALICE, CONN, "conv.subscribe", json!({})).unwrap();
    bench.relay.holds_back = true;
    let sent = say(&mut bench, ALICE, "dm:bob", "hello").unwrap();
    assert_eq!(sent["seq"], 1);
    answers(&mut bench, BOB, "delivered", None);
    let events: Vec<Value> = bench.daemons[ALICE].events_of("conv").into_iter().cloned().collect();
    let told = |seq: u64, change: &str| {
        json!({"type": "conv", "conversation": "dm:bob", "id": sent["id"], "person": "alice", "seq": seq,
            "change": change})
    };
    assert_eq!(events, [told(1, "line"), told(2, "state")]);
    assert_eq!(lines(&mut bench, ALICE, "dm:bob")[0]["seq"], 1);
    assert_eq!(say(&mut bench, ALICE, "dm:bob", "next").unwrap()["seq"], 3);
}

#[test]
fn a_change_that_reached_no_machine_of_a_person_is_said_in_the_channel_and_never_sent() {
    let mut bench = bench();
    bench.relay.holds_back = true;
    found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    let before = said(&bench, ALICE).len();
    answers(&mut bench, BOB, "rejected", Some("rate_limited"));
    assert_eq!(texts(&mut bench, ALICE, "channel:ops"), ["alice created #ops"]);
    answers(&mut bench, BOB_PHONE, "rejected", Some("rate_limited"));
    answers(&mut bench, CAROL, "delivered", None);
    let lines = lines(&mut bench, ALICE, "channel:ops");
    assert_eq!(lines[1]["text"], "#ops reached no device of bob: rate_limited");
    assert_eq!((&lines[1]["notice"], lines.len()), (&json!(true), 2));
    assert!(lines[1].get("state").is_none());
    assert_eq!(said(&bench, ALICE).len(), before);
    assert_eq!(super::room(&mut bench, ALICE, "channel:ops")["unread"], 0);
}
