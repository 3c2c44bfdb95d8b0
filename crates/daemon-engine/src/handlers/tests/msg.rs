//! `msg.send`: addresses, defaults, repeated calls, refusals.

use messaging_core::limits::PLAINTEXT_BYTES;
use serde_json::{Value, json};

use crate::tests::bench::{Bench, Session};

/// Alice on two machines, Bob on one; `api` runs on both of Alice's, `only` on the first.
fn team() -> (Bench, Session) {
    let names = [("alice", "laptop"), ("alice", "server"), ("bob", "desk")];
    let mut bench = Bench::connected(&names);
    for (at, name) in [(0, "api"), (1, "api"), (0, "only")] {
        bench.session(at, name, json!({}));
    }
    let sender = bench.session(2, "sender", json!({}));
    bench.advance(10_000);
    (bench, sender)
}

fn send(bench: &mut Bench, from: &Session, to: &str, more: Value) -> Result<Value, String> {
    let mut params = json!({"to": to, "parts": [{"text": "t"}]});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    bench.ask(from, "msg.send", params).map(|sent| sent["results"][0].clone())
}

#[test]
fn addresses_resolve_as_the_table_says() {
    let (mut bench, sender) = team();
    let cases = [
        ("alice/only", Ok("alice/only@laptop")),
        ("alice/only@laptop", Ok("alice/only@laptop")),
        ("alice/api", Err("ambiguous_address")),
        ("alice/api@server", Ok("alice/api@server")),
        // That machine answers for its sessions itself.
        ("alice/only@server", Ok("alice/only@server")),
        ("alice/nobody@laptop", Ok("alice/nobody@laptop")),
        ("alice/nobody", Err("unknown_session")),
        ("alice/api@phone", Err("no_recipients")),
        ("carol/api", Err("no_recipients")),
        ("carol/api@desk", Err("no_recipients")),
        // This machine knows its own sessions.
        ("bob/sender", Ok("bob/sender@desk")),
        ("bob/nobody@desk", Err("unknown_session")),
        ("alice/*", Err("invalid_request")),
        ("alice/", Err("invalid_request")),
        ("/api", Err("invalid_request")),
        ("Alice/api", Err("invalid_request")),
        ("repo:x", Err("invalid_request")),
        ("*", Err("invalid_request")),
    ];
    for (to, expected) in cases {
        let sent = send(&mut bench, &sender, to, json!({}));
        let got = sent.as_ref().map(|sent| sent["to"].as_str().unwrap()).map_err(String::as_str);
        assert_eq!(got, expected, "{to}");
    }
}

#[test]
fn sessions_of_an_offline_machine_and_kept_ones_are_addressed_too() {
    let (mut bench, sender) = team();
    let kept = bench.session(1, "kept", json!({}));
    bench.leave(&kept);
    bench.advance(5_000);
    let sent = send(&mut bench, &sender, "alice/kept", json!({})).unwrap();
    assert_eq!((&sent["to"], &sent["expect"]), (&json!("alice/kept@server"), &json!("kept")));
    bench.cut(1);
    let sent = send(&mut bench, &sender, "alice/kept", json!({})).unwrap();
    assert_eq!((&sent["to"], &sent["expect"]), (&json!("alice/kept@server"), &json!("offline")));
}

#[test]
fn the_hint_is_the_first_rule_that_fits() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let sender = bench.session(1, "sender", json!({}));
    let sessions = [
        ("pull", json!({"tier": "pull"}), "on_read", "on_read"),
        ("busy", json!({"tier": "push", "state": "busy"}), "next_turn", "next_turn"),
        ("idle", json!({"tier": "push"}), "wake", "next_prompt"),
    ];
    for (name, more, ..) in &sessions {
        bench.session(0, name, more.clone());
    }
    // One that nobody holds and no host can wake; one whose host can.
    let host = json!({"kind": "opencode", "location": "/a", "sessionID": "s", "pid": 9});
    let push = |more: Value| {
        let mut base = json!({"agent": "opencode", "tier": "push"});
        for (name, value) in more.as_object().unwrap() {
            base[name] = value.clone();
        }
        base
    };
    for (name, more) in [("left", push(json!({}))), ("hosted", push(json!({"host": host})))] {
        let session = bench.session(0, name, more);
        bench.leave(&session);
    }
    bench.advance(10_000);
    let kept = [("left", json!({}), "kept", "kept"), ("hosted", json!({}), "wake", "kept")];
    for (name, _, hinted, unhinted) in sessions.iter().chain(&kept) {
        for (wake, expected) in [(true, hinted), (false, unhinted)] {
            let sent = send(&mut bench, &sender, &format!("alice/{name}"), json!({"wake": wake}));
            assert_eq!(sent.unwrap()["expect"], **expected, "{name} {wake}");
        }
        // The directory says what a hinted send would.
        let contacts = bench.call(1, sender.conn, "contacts.list", json!({})).unwrap();
        let entries = contacts["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["agent"] == **name).unwrap();
        assert_eq!(entry["expect"], **hinted, "{name}");
    }
    // Nobody lists it: there is nothing to expect.
    let sent = send(&mut bench, &sender, "alice/unlisted@laptop", json!({})).unwrap();
    assert!(sent.get("expect").is_none());
}

#[test]
fn ids_default_to_fresh_ones_and_a_reply_joins_its_context() {
    let (mut bench, sender) = team();
    let only = bench.session(0, "replier", json!({}));
    bench.advance(5_000);
    let first = send(&mut bench, &sender, "alice/replier", json!({})).unwrap();
    assert_eq!(first["messageId"], first["contextId"]);
    assert_ne!(first["messageId"], first["envelopeId"]);
    bench.advance(2_000);
    let reply = json!({"replyTo": first["envelopeId"]});
    let answer = send(&mut bench, &only, "bob/sender", reply.clone()).unwrap();
    assert_eq!(answer["contextId"], first["contextId"]);
    bench.advance(2_000);
    assert_eq!(bench.stage(&sender, first["envelopeId"].as_str().unwrap()), "replied");
    // One's own sent message can be followed up.
    let more = send(&mut bench, &sender, "alice/replier", reply).unwrap();
    assert_eq!(more["contextId"], first["contextId"]);
    let own = json!({"messageId": "m-1", "contextId": "c-1"});
    let named = send(&mut bench, &sender, "alice/replier", own).unwrap();
    assert_eq!((&named["messageId"], &named["contextId"]), (&json!("m-1"), &json!("c-1")));
    let unknown = json!({"replyTo": "01ARZ3NDEKTSV4RRFFQ69G5FAV"});
    assert_eq!(send(&mut bench, &sender, "alice/replier", unknown), Err("not_found".into()));
}

#[test]
fn a_repeated_call_sends_once_and_another_content_is_refused() {
    let (mut bench, sender) = team();
    let params = json!({"idempotencyKey": "k"});
    let first = send(&mut bench, &sender, "alice/only", params.clone()).unwrap();
    bench.advance(2_000);
    let sends = bench.relay.heard_from(2, "send");
    assert_eq!(send(&mut bench, &sender, "alice/only", params).unwrap(), first);
    bench.advance(2_000);
    assert_eq!(bench.relay.heard_from(2, "send"), sends);
    for other in [
        json!({"idempotencyKey": "k", "parts": [{"text": "other"}]}),
        json!({"idempotencyKey": "k", "contextId": "c"}),
        json!({"idempotencyKey": "k", "replyTo": first["envelopeId"]}),
    ] {
        assert_eq!(send(&mut bench, &sender, "alice/only", other), Err("invalid_request".into()));
    }
    assert_eq!(
        send(&mut bench, &sender, "alice/api@server", json!({"idempotencyKey": "k"})),
        Err("invalid_request".into())
    );
    // Another session's keys are its own.
    let other = bench.session(2, "other", json!({}));
    let again = send(&mut bench, &other, "alice/only", json!({"idempotencyKey": "k"})).unwrap();
    assert_ne!(again["envelopeId"], first["envelopeId"]);
}

#[test]
fn a_repeated_call_survives_a_restart() {
    let (mut bench, sender) = team();
    let params = json!({"idempotencyKey": "k"});
    let first = send(&mut bench, &sender, "alice/only", params.clone()).unwrap();
    let store = bench.kill(2);
    bench.start(2, store);
    bench.advance(2_000);
    let sender = bench.resume(&sender);
    assert_eq!(send(&mut bench, &sender, "alice/only", params).unwrap(), first);
}

#[test]
fn what_only_fits_elsewhere_is_refused_before_anything_is_stored() {
    let (mut bench, sender) = team();
    let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let big = "x".repeat(16_384);
    for (more, code) in [
        (json!({"onBehalfOf": {"taskId": ulid}}), "invalid_request"),
        (json!({"kind": "task", "taskId": ulid}), "invalid_request"),
        (json!({"taskId": ulid}), "not_found"),
        (json!({"request": {"contact": "a@b.example"}}), "invalid_request"),
        (json!({"metadata": {"k": big}}), "invalid_request"),
        (json!({"parts": []}), "invalid_request"),
        (json!({"parts": vec![json!({"text": "t"}); 101]}), "invalid_request"),
        (json!({"parts": [{"text": "t", "raw": "AA=="}]}), "invalid_request"),
        (json!({"parts": [{"raw": "not base64!"}]}), "invalid_request"),
        (json!({"nonsense": 1}), "invalid_request"),
    ] {
        assert_eq!(
            send(&mut bench, &sender, "alice/only", more.clone()),
            Err(code.into()),
            "{more}"
        );
    }
    assert_eq!(bench.count(2, "SELECT count(*) FROM sent"), 0);
    assert_eq!(bench.count(2, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn a_message_at_the_limit_passes_and_one_over_is_too_large() {
    for (unit, weight) in [("x", 1), ("ä", 2), ("\"", 2), ("\u{1}", 6), ("😀", 4)] {
        let (mut bench, sender) = team();
        // The frame of the payload around the text, measured with a text of nothing.
        let ids = json!({"messageId": "m", "contextId": "m", "wake": false});
        let frame = json!({"kind": "message", "message": {
            "messageId": "m", "contextId": "m", "role": "ROLE_USER", "parts": [{"text": ""}]}});
        let room = PLAINTEXT_BYTES - frame.to_string().len();
        let text = |bytes: usize| {
            let mut text = unit.repeat(bytes / weight);
            text.push_str(&"y".repeat(bytes % weight));
            text
        };
        for (bytes, fits) in [(room - 1, true), (room, true), (room + 1, false)] {
            let mut params = ids.clone();
            params["parts"] = json!([{"text": text(bytes)}]);
            let sent = send(&mut bench, &sender, "alice/only", params);
            match sent {
                Ok(_) => assert!(fits, "{unit:?} {bytes}"),
                Err(code) => assert_eq!((fits, &*code), (false, "too_large"), "{unit:?} {bytes}"),
            }
        }
        bench.advance(60_000);
        assert_eq!(bench.count(0, "SELECT count(*) FROM inbox"), 2, "{unit:?}");
        assert!(bench.engine(2).link.is_ready(), "nothing made the link go round");
    }
}

#[test]
fn bodies_arrive_exactly_as_they_were_written() {
    let (mut bench, sender) = team();
    let only = bench.session(0, "exact", json!({}));
    bench.advance(5_000);
    let lines: String = (0..200).map(|n| format!("line {n} `$HOME` \"quoted\" 'x'\r\n")).collect();
    let body = format!("{lines}\u{0}\t\u{7f}\u{2028}é😀\\");
    let sent =
        send(&mut bench, &sender, "alice/exact", json!({"parts": [{"text": body}]})).unwrap();
    bench.advance(2_000);
    let read = bench.ask(&only, "item.read", json!({"id": sent["envelopeId"]})).unwrap();
    assert_eq!(read["message"]["parts"][0]["text"], body);
}

#[test]
fn the_senders_word_on_provenance_is_dropped() {
    let (mut bench, sender) = team();
    let only = bench.session(0, "careful", json!({}));
    bench.advance(5_000);
    let metadata = json!({"urn:messaging:ext:provenance:v1": {"person": "mallory"}, "kept": 1});
    let sent = send(&mut bench, &sender, "alice/careful", json!({"metadata": metadata})).unwrap();
    bench.advance(2_000);
    let read = bench.ask(&only, "item.read", json!({"id": sent["envelopeId"]})).unwrap();
    let metadata = &read["message"]["metadata"];
    assert_eq!(metadata["urn:messaging:ext:provenance:v1"]["person"], "bob");
    assert_eq!(metadata["kept"], 1);
}

#[test]
fn mail_to_this_machine_is_delivered_at_once_without_a_relay() {
    let mut bench = Bench::offline(&[("alice", "laptop")]);
    let a = bench.session(0, "first", json!({}));
    let b = bench.session(0, "second", json!({}));
    let sent = send(&mut bench, &a, "alice/second", json!({})).unwrap();
    assert_eq!(sent["stage"], "delivered");
    assert_eq!(bench.texts(&b), ["t"]);
    bench.ask(&b, "item.read", json!({"id": sent["envelopeId"]})).unwrap();
    assert_eq!(bench.stage(&a, sent["envelopeId"].as_str().unwrap()), "read");
}

#[test]
fn a_send_without_a_relay_is_accepted_and_goes_out_in_order_later() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let api = bench.session(0, "api", json!({}));
    let sender = bench.session(1, "sender", json!({}));
    bench.advance(5_000);
    bench.relay.up = false;
    bench.cut(1);
    let texts: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
    for text in &texts {
        let sent = send(&mut bench, &sender, "alice/api", json!({"parts": [{"text": text}]}));
        assert_eq!(sent.unwrap()["stage"], "accepted");
    }
    bench.relay.up = true;
    bench.advance(60_000);
    assert_eq!(bench.texts(&api), texts);
}

#[test]
fn a_machine_that_lists_a_name_twice_has_one_such_session() {
    let (mut bench, sender) = team();
    let session =
        json!({"agent": "twin", "client": "c", "state": "idle", "tier": "pull", "since": 1});
    let body = json!({"seq": bench.now.wall.0 * 2, "label": "laptop", "features": [],
        "sessions": [session, session]});
    let env = bench.forge_presence(0, &serde_json::from_value(body).unwrap());
    bench.deliver(2, &env);
    let sent = send(&mut bench, &sender, "alice/twin", json!({})).unwrap();
    assert_eq!(sent["to"], "alice/twin@laptop");
}
