//! Delegation: chains that narrow, and those that are refused before they leave.

use serde_json::{Value, json};

use super::{Asked, THREE, asked, record, request, update};
use crate::tests::bench::{Bench, Session};

const FIVE: [(&str, &str); 5] =
    [("alice", "a"), ("bob", "b"), ("carol", "c"), ("dave", "d"), ("erin", "e")];

fn team(names: &[(&str, &str)]) -> (Bench, Vec<Session>) {
    let mut bench = Bench::connected(names);
    let sessions = (0..names.len()).map(|at| bench.session(at, "api", json!({}))).collect();
    bench.advance(3_000);
    (bench, sessions)
}

/// Asks on behalf of a task.
fn hand_on(bench: &mut Bench, from: &Session, to: &str, of: &Asked, more: Value) -> Value {
    let mut wish = json!({"taskId": of.task});
    for (name, value) in more.as_object().unwrap() {
        wish[name] = value.clone();
    }
    let result = request(bench, from, to, "x", json!({"onBehalfOf": wish}));
    bench.advance(1_000);
    result
}

fn code(result: &Value) -> &str {
    assert_eq!(result["stage"], "rejected", "{result}");
    assert!(result.get("expect").is_none());
    result["code"].as_str().unwrap()
}

#[test]
fn a_chain_shows_who_asked_whom_and_only_narrows() {
    let (mut bench, s) = team(&THREE);
    let first = asked(&request(&mut bench, &s[0], "bob/api", "x", json!({})));
    bench.advance(1_000);
    let narrowed = json!({"scope": ["read", "repo:x"], "maxDepth": 3});
    let second = asked(&hand_on(&mut bench, &s[1], "carol/api", &first, narrowed));
    let chain = record(&mut bench, &s[2], &second)["chain"].clone();
    assert_eq!(chain["addresses"], json!(["alice/api@laptop", "bob/api@desk", "carol/api@pc"]));
    assert_eq!((&chain["depth"], &chain["maxDepth"]), (&json!(2), &json!(3)));
    assert_eq!(chain["scope"], json!(["read", "repo:x"]));
    // The requester's record holds the chain it sent, and the item the chain it came with.
    assert_eq!(record(&mut bench, &s[1], &second)["chain"], chain);
    let items = bench.ask(&s[2], "inbox.list", json!({})).unwrap();
    assert_eq!(items["items"][0]["chain"], chain);
    // A fresh request of the same session is a root of its own.
    let fresh = asked(&request(&mut bench, &s[1], "carol/api", "x", json!({})));
    bench.advance(1_000);
    assert_eq!(record(&mut bench, &s[2], &fresh)["chain"]["depth"], 1);
}

#[test]
fn what_the_recipient_would_refuse_is_not_sent() {
    let (mut bench, s) = team(&FIVE);
    let first = asked(&request(&mut bench, &s[0], "bob/api", "x", json!({})));
    bench.advance(1_000);
    let narrow = json!({"scope": ["read"], "maxDepth": 3});
    let second = asked(&hand_on(&mut bench, &s[1], "carol/api", &first, narrow));
    let sends = bench.relay.sent_by(2).len();
    let refused = [
        (json!({"scope": ["read", "write"]}), "dave/api"),
        (json!({"maxDepth": 4}), "dave/api"),
        // It comes round to who asked.
        (json!({}), "alice/api"),
        (json!({}), "bob/api"),
    ];
    for (wish, to) in refused {
        let result = hand_on(&mut bench, &s[2], to, &second, wish.clone());
        assert_eq!(code(&result), "forbidden", "{wish} {to}");
        let record = record(&mut bench, &s[2], &asked(&result));
        assert_eq!(record["status"]["state"], "TASK_STATE_REJECTED");
        let text = "delivery rejected: forbidden";
        assert_eq!(record["status"]["message"]["parts"][0]["text"], text);
        assert!(record.get("chain").is_none());
        assert_eq!(record["delivery"]["code"], "forbidden");
        let item = bench.ask(&s[2], "item.read", json!({"id": result["envelopeId"]})).unwrap();
        assert_eq!((&item["stage"], &item["code"]), (&json!("rejected"), &json!("forbidden")));
        let event = bench.daemons[2].events_of("task").pop().unwrap().clone();
        assert_eq!(event["origin"], "local");
    }
    assert_eq!(bench.relay.sent_by(2).len(), sends);
    assert_eq!(
        bench
            .count(2, "SELECT count(*) FROM tasks WHERE role = 'requester' AND grants IS NOT NULL"),
        0
    );
    let third = hand_on(&mut bench, &s[2], "dave/api", &second, json!({}));
    // Three grants are what its narrowest grant allows.
    let fourth = hand_on(&mut bench, &s[3], "erin/api", &asked(&third), json!({}));
    assert_eq!(code(&fourth), "forbidden");
}

#[test]
fn four_grants_are_a_full_chain() {
    let names = [
        ("alice", "a"),
        ("bob", "b"),
        ("carol", "c"),
        ("dave", "d"),
        ("erin", "e"),
        ("frank", "f"),
    ];
    let (mut bench, s) = team(&names);
    let mut task = asked(&request(&mut bench, &s[0], "bob/api", "x", json!({})));
    bench.advance(1_000);
    for (at, to) in [(1, "carol/api"), (2, "dave/api"), (3, "erin/api")] {
        task = asked(&hand_on(&mut bench, &s[at], to, &task, json!({})));
        assert_eq!(record(&mut bench, &s[at + 1], &task)["chain"]["depth"], json!(at + 1));
    }
    let result = hand_on(&mut bench, &s[4], "frank/api", &task, json!({}));
    assert_eq!(code(&result), "forbidden");
}

#[test]
fn one_acts_on_behalf_of_a_live_task_that_one_executes() {
    let (mut bench, s) = team(&THREE);
    let first = asked(&request(&mut bench, &s[0], "bob/api", "x", json!({})));
    bench.advance(1_000);
    let other = bench.session(1, "other", json!({}));
    let send = |task: &str, kind: &str| json!({"to": "carol/api", "kind": kind, "parts": [{"text": "x"}], "onBehalfOf": {"taskId": task}});
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (session, params, expected) in [
        (&s[1], send(&first.task, "message"), "invalid_request"),
        (&s[1], send(unknown, "task"), "not_found"),
        (&s[0], send(&first.task, "task"), "not_found"),
        (&other, send(&first.task, "task"), "not_found"),
    ] {
        assert_eq!(bench.ask(session, "msg.send", params), Err(expected.into()));
    }
    update(&mut bench, &s[1], &first, json!({"state": "TASK_STATE_COMPLETED"})).unwrap();
    let answer = bench.ask(&s[1], "msg.send", send(&first.task, "task"));
    assert_eq!(answer, Err("invalid_state".into()));
}

#[test]
fn a_chain_that_ended_or_lost_a_signer_goes_no_further() {
    let (mut bench, s) = team(&THREE);
    let first = asked(&request(&mut bench, &s[0], "bob/api", "x", json!({})));
    bench.advance(1_000);
    bench.skip(7 * 86_400_000);
    bench.advance(5_000);
    let result = hand_on(&mut bench, &s[1], "carol/api", &first, json!({}));
    assert_eq!(code(&result), "expired");

    let (mut bench, s) = team(&THREE);
    let first = asked(&request(&mut bench, &s[1], "carol/api", "x", json!({})));
    bench.advance(1_000);
    bench.admin(0);
    let machine = bench.machine(1);
    bench.call(0, crate::tests::bench::CONN, "team.remove", json!({"machine": machine})).unwrap();
    bench.advance(1_000);
    let result = hand_on(&mut bench, &s[2], "alice/api", &first, json!({}));
    assert_eq!(code(&result), "not_member");
    // What was recorded stays as it was verified.
    assert_eq!(record(&mut bench, &s[2], &first)["chain"]["depth"], 1);
}
