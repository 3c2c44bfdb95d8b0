//! What a line is on the wire, and where it goes.
//! Spec: §6.8 "Wire", D3.6

use messaging_store::{FaultPlan, How, StoreError};
use serde_json::{Value, json};

use super::{
    ALICE, ALICE_PAD, BOB, BOB_PHONE, CAROL, CONN, agent_says, bench, found, lines, room, said,
    say, texts,
};

/// The machines that something went to, by their labels.
fn labels(said: &[(String, Value, Value)]) -> Vec<&str> {
    let mut labels: Vec<&str> = said.iter().map(|(label, _, _)| label.as_str()).collect();
    labels.sort_unstable();
    labels
}

#[test]
fn a_line_goes_to_every_machine_of_the_other_person_and_to_none_of_ones_own() {
    let mut bench = bench();
    let sent = say(&mut bench, ALICE, "dm:bob", "hello").unwrap();
    let said = said(&bench, ALICE);
    assert_eq!(labels(&said), ["desk", "phone"]);
    for (_, env, payload) in &said {
        assert!(env["to"].get("agent").is_none() && env["from"].get("agent").is_none(), "{env}");
        let message = json!({
            "messageId": sent["id"], "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        assert_eq!(*payload, json!({"kind": "message", "message": message}));
    }
    for at in [BOB, BOB_PHONE] {
        assert_eq!(texts(&mut bench, at, "dm:alice"), ["hello"]);
    }
    for at in [ALICE_PAD, CAROL] {
        assert_eq!(bench.count(at, "SELECT count(*) FROM lines"), 0);
    }
}

#[test]
fn an_agents_line_names_the_agent_and_a_persons_own_does_not() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    let result = agent_says(&mut bench, &api, "bob", "from the agent").unwrap();
    say(&mut bench, ALICE, "dm:bob", "from the person").unwrap();
    let here = lines(&mut bench, ALICE, "dm:bob");
    let there = lines(&mut bench, BOB, "dm:alice");
    for lines in [&here, &there] {
        assert_eq!(lines[0]["agent"], "api");
        assert!(lines[1].get("agent").is_none());
        assert_eq!((&lines[0]["person"], &lines[0]["label"]), (&json!("alice"), &json!("laptop")));
    }
    assert_eq!((&here[0]["direction"], &there[0]["direction"]), (&json!("out"), &json!("in")));
    let id = &here[0]["id"];
    assert_eq!(
        result["results"],
        json!([{"to": "bob", "envelopeId": id, "messageId": id, "contextId": id, "stage": "accepted"}])
    );
}

#[test]
fn a_line_to_oneself_goes_to_ones_own_other_machines_outgoing_and_without_a_state() {
    let mut bench = bench();
    say(&mut bench, ALICE, "dm:alice", "note").unwrap();
    assert_eq!(labels(&said(&bench, ALICE)), ["pad"]);
    for at in [ALICE, ALICE_PAD] {
        let lines = lines(&mut bench, at, "dm:alice");
        assert_eq!(lines[0]["direction"], "out", "{at}");
        assert!(lines[0].get("state").is_none());
        assert_eq!(room(&mut bench, at, "dm:alice")["unread"], 0);
        assert_eq!(bench.count(at, "SELECT count(*) FROM notices"), 0);
    }
}

#[test]
fn what_an_agent_writes_to_its_own_person_is_incoming_and_unread_on_every_machine() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    agent_says(&mut bench, &api, "alice", "done").unwrap();
    for at in [ALICE, ALICE_PAD] {
        let lines = lines(&mut bench, at, "dm:alice");
        assert_eq!((&lines[0]["direction"], &lines[0]["agent"]), (&json!("in"), &json!("api")));
        assert!(lines[0].get("state").is_none());
        assert_eq!(room(&mut bench, at, "dm:alice")["unread"], 1);
        let notices = super::super::notices::notices(&mut bench, at);
        assert_eq!(notices[0]["conversation"], "dm:alice");
        assert_eq!(notices[0]["line"], "done");
    }
}

#[test]
fn a_post_goes_to_every_machine_of_every_member_but_this_one() {
    let mut bench = bench();
    let channel = found(&mut bench, ALICE, "ops", &["bob"]);
    let before = said(&bench, ALICE).len();
    let sent = say(&mut bench, ALICE, "channel:ops", "hello").unwrap();
    let said = &said(&bench, ALICE)[before..];
    assert_eq!(labels(said), ["desk", "pad", "phone"]);
    let conv = json!({"kind": "channel", "op": "post", "id": channel["id"], "name": "ops"});
    assert!(said.iter().all(|(_, _, payload)| payload["conv"] == conv));
    assert!(said.iter().all(|(_, _, payload)| payload["message"]["messageId"] == sent["id"]));
    let own = lines(&mut bench, ALICE_PAD, "channel:ops").pop().unwrap();
    assert_eq!((&own["text"], &own["direction"]), (&json!("hello"), &json!("out")));
    assert!(own.get("state").is_none(), "the machine that wrote it knows how far it came");
    assert_eq!(room(&mut bench, ALICE_PAD, "channel:ops")["unread"], 0, "all of it is one's own");
}

#[test]
fn a_reply_joins_the_thread_of_the_line_it_names() {
    let mut bench = bench();
    let first = say(&mut bench, ALICE, "dm:bob", "question").unwrap()["id"].clone();
    let reply = |bench: &mut super::Bench, at, room: &str, to: &Value| {
        let params = json!({"conversation": room, "text": "more", "thread": to});
        bench.call(at, CONN, "person.send", params).map(|sent| sent["id"].clone())
    };
    let second = reply(&mut bench, BOB, "dm:alice", &first).unwrap();
    let third = reply(&mut bench, ALICE, "dm:bob", &second).unwrap();
    let (_, _, payload) = said(&bench, ALICE).pop().unwrap();
    assert_eq!(payload["message"]["contextId"], first, "a reply to a reply is in the same thread");
    for (at, room) in [(ALICE, "dm:bob"), (BOB, "dm:alice")] {
        let threads: Vec<Value> =
            lines(&mut bench, at, room).iter().map(|line| line["thread"].clone()).collect();
        assert_eq!(threads, [Value::Null, first.clone(), first.clone()]);
    }
    let api = bench.session(ALICE, "api", json!({}));
    let params = json!({"to": "bob", "parts": [{"text": "x"}], "replyTo": third});
    let result = bench.ask(&api, "msg.send", params).unwrap();
    assert_eq!(result["results"][0]["contextId"], first);
    let unknown = json!("01HF7YAT00AAAAAAAAAAAAAAAA");
    assert_eq!(reply(&mut bench, ALICE, "dm:bob", &unknown), Err("not_found".into()));
    assert_eq!(
        reply(&mut bench, ALICE, "dm:carol", &first),
        Err("not_found".into()),
        "another room"
    );
}

#[test]
fn a_line_is_stored_with_its_envelopes_or_not_at_all() {
    let mut bench = bench();
    bench.relay.up = false;
    bench.cut(ALICE);
    for step in 0..12 {
        let faults = FaultPlan::nth(step, How::Lost, StoreError::Full);
        bench.set_faults(ALICE, faults);
        let sent = say(&mut bench, ALICE, "dm:bob", "hello");
        bench.set_faults(ALICE, FaultPlan::none());
        let rows = |table: &str| bench.count(ALICE, &format!("SELECT count(*) FROM {table}"));
        let (lines, copies) = (rows("lines"), rows("line_copies"));
        let queued = rows("outbox WHERE type = 'message'");
        assert_eq!((copies, queued), (2 * lines, 2 * lines), "{step}: {sent:?}");
    }
}

#[test]
fn lines_are_refused_in_a_fixed_order_and_nothing_is_stored() {
    let mut bench = bench();
    let secret = "AKIAIOSFODNN7EXAMPLQ";
    let long = "x".repeat(8_001);
    for (room, text, code) in [
        ("dm:nobody", long.as_str(), "not_found"),
        ("channel:nothing", long.as_str(), "not_found"),
        ("dm:bob", long.as_str(), "too_large"),
        ("dm:bob", secret, "secret_refused"),
    ] {
        assert_eq!(say(&mut bench, ALICE, room, text), Err(code.into()), "{room}");
    }
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 0);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM outbox WHERE type = 'message'"), 0);
    let longest = "😀".repeat(4_000);
    say(&mut bench, ALICE, "dm:bob", &longest).unwrap();
    assert_eq!(texts(&mut bench, BOB, "dm:alice"), [longest]);
}

#[test]
fn a_line_by_an_agent_is_one_text_and_nothing_else() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    let id = "01HF7YAT00AAAAAAAAAAAAAAAA";
    for (name, value) in [
        ("kind", json!("task")),
        ("contextId", json!("c")),
        ("taskId", json!(id)),
        ("messageId", json!(id)),
        ("metadata", json!({})),
        ("extensions", json!([])),
        ("referenceTaskIds", json!([])),
        ("onBehalfOf", json!({"taskId": id})),
        ("wake", json!(true)),
        ("parts", json!([{"text": "a"}, {"text": "b"}])),
        ("parts", json!([{"data": 1}])),
        ("parts", json!([{"text": ""}])),
        ("parts", json!([{"text": "a", "filename": "f"}])),
        ("request", json!({"contact": "a@b.example"})),
    ] {
        let mut params = json!({"to": "bob", "parts": [{"text": "x"}]});
        params[name] = value;
        assert_eq!(bench.ask(&api, "msg.send", params), Err("invalid_request".into()), "{name}");
    }
    let many = json!({"to": "#nothing", "parts": [{"text": "x"}]});
    assert_eq!(bench.ask(&api, "msg.send", many), Err("not_found".into()));
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 0);
}

#[test]
fn a_repeat_with_its_id_gives_the_first_result_and_another_line_is_refused() {
    let mut bench = bench();
    let send = |bench: &mut super::Bench, room: &str, text: &str| {
        let params = json!({"conversation": room, "text": text, "clientId": "one"});
        bench.call(ALICE, CONN, "person.send", params)
    };
    let first = send(&mut bench, "dm:bob", "hello").unwrap();
    assert_eq!(send(&mut bench, "dm:bob", "hello").unwrap(), first);
    assert_eq!(send(&mut bench, "dm:bob", "other"), Err("invalid_request".into()));
    assert_eq!(send(&mut bench, "dm:carol", "hello"), Err("invalid_request".into()));
    assert_eq!(texts(&mut bench, BOB, "dm:alice"), ["hello"]);
    let api = bench.session(ALICE, "api", json!({}));
    let params = json!({"to": "bob", "parts": [{"text": "hello"}], "idempotencyKey": "one"});
    let by_agent = bench.ask(&api, "msg.send", params.clone()).unwrap();
    assert_eq!(bench.ask(&api, "msg.send", params).unwrap(), by_agent, "each has keys of its own");
    assert_eq!(texts(&mut bench, BOB, "dm:alice").len(), 2);
    // A week later the id is forgotten.
    bench.now.wall = bench.now.wall.plus(messaging_core::limits::TTL_MS);
    let again = send(&mut bench, "dm:bob", "other").unwrap();
    assert_ne!(again["id"], first["id"]);
}

#[test]
fn a_suggestion_is_a_line_to_ones_person_and_a_request_that_waits() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    let suggest = |bench: &mut super::Bench, email: &str| {
        let params =
            json!({"to": "alice", "parts": [{"text": "ask them"}], "request": {"contact": email}});
        bench.ask(&api, "msg.send", params)
    };
    let line = suggest(&mut bench, "Ada@b.example").unwrap()["results"][0]["envelopeId"].clone();
    suggest(&mut bench, "ada@b.example").unwrap();
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 2, "the line is filed again");
    let list = bench.call(ALICE, CONN, "notice.list", json!({})).unwrap();
    assert_eq!(list["counts"], json!({"unread": 2, "requests": 1}), "and the wish is not");
    let id = format!("r_{}", line.as_str().unwrap());
    let notices = list["notices"].as_array().unwrap();
    let request = notices.iter().find(|notice| notice["id"] == id).unwrap();
    assert_eq!(request["category"], "request");
    assert_eq!(request["conversation"], "agent:alice/api");
    assert_eq!(request["from"], json!({"name": "alice"}));
    bench.call(ALICE, CONN, "notice.ack", json!({"ids": [id]})).unwrap();
    let counts = bench.call(ALICE, CONN, "notice.list", json!({})).unwrap()["counts"].clone();
    assert_eq!(counts["requests"], 1, "seeing it answers nothing");
    for n in 1..10 {
        suggest(&mut bench, &format!("n{n}@b.example")).unwrap();
    }
    assert_eq!(
        suggest(&mut bench, "n10@b.example"),
        Err("rate_limited".into()),
        "ten of one agent"
    );
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM suggestions"), 10);
    bench.leave(&api);
    bench.now.wall = bench.now.wall.plus(25 * 3_600_000);
    bench.advance(61_000);
    assert_eq!(
        bench.count(ALICE, "SELECT count(*) FROM suggestions"),
        0,
        "they end with the session"
    );
}
