//! Sending, listing and reading through the terminal's mailbox.

use std::sync::atomic::{AtomicBool, Ordering};

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::b64;
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use messaging_ipc::event::Event;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID, status};
use crate::run::{fed, with};

fn sent(stage: &str) -> Value {
    json!({"results": [{"to": "bob/api@laptop", "envelopeId": ULID, "messageId": ULID, "contextId": ULID, "stage": stage,
        "expect": "next_turn"}]})
}

fn item() -> Value {
    json!({"id": ULID, "from": {"person": "bob", "device": MACHINE, "label": "laptop", "agent": "api",
        "address": "bob/api@laptop"}, "to": "cli", "kind": "message", "messageId": "m", "contextId": "c",
        "preview": "two\nlines\u{1b}]0;title\u{7}", "attachments": 1, "stage": "delivered", "wake": true,
        "sentAt": 1_767_225_600_000_u64, "at": 1_767_225_601_000_u64, "exp": 1_767_830_400_000_u64})
}

/// Bytes that shells, terminals and editors like to change.
const NASTY: &str = "`id` $HOME \"q\" 'a' \\n\r\nline\n\ttab \u{0}nul \u{1b}[31mred é世界\n\n";

fn message() -> Value {
    json!({"messageId": "m", "role": "ROLE_USER", "parts": [
        {"text": NASTY}, {"raw": b64::encode_standard(&[0, 1, 255]), "filename": "x.bin", "mediaType": "a/b"}
    ], "later": {"kept": true}})
}

fn daemon() -> FakeDaemon {
    FakeDaemon::start(|method, params| match method {
        "daemon.status" => Step::Result(status(true)),
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        "session.unregister" | "events.subscribe" => Step::Result(json!({"ok": true})),
        "msg.send" => Step::Result(sent("accepted")),
        "inbox.list" => Step::Result(json!({"items": [item()], "unread": 1, "more": true})),
        "inbox.get" => Step::Result(json!({"item": item(), "message": message()})),
        "item.read" => {
            Step::Result(json!({"kind": "received", "item": item(), "message": message()}))
        }
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

fn params(daemon: &FakeDaemon, method: &str) -> Value {
    daemon
        .seen()
        .into_iter()
        .rev()
        .find(|(name, _)| name == method)
        .unwrap_or_else(|| panic!("no {method}"))
        .1
}

#[test]
fn a_send_goes_from_the_terminals_own_mailbox() {
    let daemon = daemon();
    let ran = with(
        &daemon,
        &[
            "send",
            "bob/api",
            "hello",
            "--reply",
            ULID,
            "--no-wake",
            "--key",
            "k1",
            "--context",
            "c1",
        ],
    );
    assert_eq!(
        (ran.status, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "accepted to bob/api@laptop (will see it at its next turn)\n", "")
    );
    let register = params(&daemon, "session.register");
    assert_eq!(
        (&register["agent"], &register["name"], &register["tier"]),
        (&json!("cli"), &json!("cli"), &json!("pull"))
    );
    let send = params(&daemon, "msg.send");
    assert_eq!(send["key"], register["key"]);
    assert_eq!(
        (
            &send["to"],
            &send["parts"],
            &send["replyTo"],
            &send["wake"],
            &send["idempotencyKey"],
            &send["contextId"]
        ),
        (
            &json!("bob/api"),
            &json!([{"text": "hello"}]),
            &json!(ULID),
            &json!(false),
            &json!("k1"),
            &json!("c1")
        )
    );
    // The next command uses the same key.
    with(&daemon, &["send", "bob/api", "again"]);
    assert_eq!(params(&daemon, "session.register")["key"], register["key"]);
    let ran = with(&daemon, &["send", "bob/api", "x", "--json"]);
    assert_eq!(ran.json()["envelopeId"], ULID);
}

#[test]
fn a_body_is_sent_byte_for_byte_from_every_source() {
    let daemon = daemon();
    let long: String = (0..200).map(|n| format!("{n} {NASTY}")).collect();
    for text in [NASTY, long.as_str(), "no line feed at the end"] {
        assert_eq!(fed(daemon.home(), text.as_bytes(), &["send", "bob/api", "-"]).status, 0);
        assert_eq!(params(&daemon, "msg.send")["parts"], json!([{"text": text}]));
        assert_eq!(fed(daemon.home(), text.as_bytes(), &["send", "bob/api"]).status, 0);
        assert_eq!(params(&daemon, "msg.send")["parts"], json!([{"text": text}]));
        let path = daemon.home().join("body.txt");
        std::fs::write(&path, text).unwrap();
        assert_eq!(with(&daemon, &["send", "bob/api", "-f", path.to_str().unwrap()]).status, 0);
        let raw = b64::encode_standard(text.as_bytes());
        assert_eq!(
            params(&daemon, "msg.send")["parts"],
            json!([{"raw": raw, "filename": "body.txt"}])
        );
    }
    let argument = NASTY.replace('\u{0}', "");
    assert_eq!(with(&daemon, &["send", "bob/api", &argument]).status, 0);
    assert_eq!(params(&daemon, "msg.send")["parts"], json!([{"text": argument}]));
    assert_eq!(with(&daemon, &["send", "bob/api", "--", "--not-an-option"]).status, 0);
    assert_eq!(params(&daemon, "msg.send")["parts"], json!([{"text": "--not-an-option"}]));
}

#[test]
fn what_cannot_be_sent_is_not_sent() {
    let daemon = daemon();
    let ran = fed(daemon.home(), b"\xff\xfe", &["send", "bob/api"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("UTF-8"));
    let ran = fed(daemon.home(), &vec![b'x'; 524_289], &["send", "bob/api"]);
    assert_eq!((ran.status, ran.stderr.starts_with("too_large: ")), (1, true), "{}", ran.stderr);
    let nine: Vec<&str> = std::iter::repeat_n(["-f", "/dev/null"], 9).flatten().collect();
    let ran = with(&daemon, &[&["send", "bob/api", "x"][..], &nine].concat());
    assert_eq!(ran.status, 2);
    assert!(daemon.seen().iter().all(|(method, _)| method != "msg.send"));
}

#[test]
fn me_is_the_person_of_this_device() {
    let daemon = daemon();
    with(&daemon, &["send", "me/api", "x"]);
    assert_eq!(params(&daemon, "msg.send")["to"], "alice/api");
}

#[test]
fn a_line_is_the_persons_own() {
    let daemon = FakeDaemon::start(|method, params| match method {
        "person.send" => Step::Result(
            json!({"id": ULID, "conversation": params["conversation"], "seq": 1, "at": 1}),
        ),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    });
    for (to, room) in [("bob", "dm:bob"), ("#ops", "channel:ops"), ("channel:ops", "channel:ops")] {
        let ran = with(&daemon, &["send", to, "hello", "--reply", ULID]);
        assert_eq!((ran.status, ran.stdout), (0, format!("sent to {to}\n")));
        assert_eq!(
            params(&daemon, "person.send"),
            json!({"conversation": room, "text": "hello", "thread": ULID})
        );
    }
}

#[test]
fn a_refused_send_prints_its_result_and_ends_with_its_codes_status() {
    let daemon = FakeDaemon::start(|method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        _ => {
            let mut result = sent("rejected");
            result["results"][0]["code"] = json!("unknown_session");
            Step::Result(result)
        }
    });
    let ran = with(&daemon, &["send", "bob/api", "x"]);
    assert_eq!(
        (ran.status, ran.stdout.as_str()),
        (6, "rejected by bob/api@laptop: unknown_session\n")
    );
    assert_eq!(ran.stderr, "Next: check `messaging contact list`.\n");
    let ran = with(&daemon, &["send", "bob/api", "x", "--json"]);
    assert_eq!((ran.status, ran.json()["code"].as_str()), (6, Some("unknown_session")));
}

#[test]
fn a_wait_follows_the_message_and_ends_at_its_time() {
    let delivery = |key: &Value, id: &str, stage: &str| -> Event {
        serde_json::from_value(
            json!({"type": "delivery", "key": key, "envelopeId": id, "stage": stage, "at": 1}),
        )
        .unwrap()
    };
    let reads = AtomicBool::new(true);
    let daemon = FakeDaemon::start(move |method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        "events.subscribe" => Step::Result(json!({"ok": true})),
        _ => {
            let key = &params["key"];
            let other = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
            let mut events = vec![delivery(key, other, "read"), delivery(key, ULID, "delivered")];
            if reads.swap(false, Ordering::Relaxed) {
                events.push(delivery(key, ULID, "read"));
            }
            Step::Events(events, sent("accepted"))
        }
    });
    let ran = with(&daemon, &["send", "bob/api", "x", "--wait=read"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "read by bob/api@laptop\n"));
    let order: Vec<String> = daemon.seen().into_iter().map(|(method, _)| method).collect();
    assert_eq!(
        order,
        ["session.register", "events.subscribe", "msg.send"],
        "nothing can be missed"
    );
    let ran = with(&daemon, &["send", "bob/api", "x", "--wait=read", "--timeout", "1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (8, "delivered to bob/api@laptop\n"));
    let ran = with(&daemon, &["send", "bob/api", "x", "--wait"]);
    assert_eq!(ran.status, 0);
}

#[test]
fn the_inbox_is_a_table_of_safe_text() {
    let daemon = daemon();
    let ran = with(&daemon, &["inbox", "--header"]);
    insta::assert_snapshot!("the_inbox_is_a_table_of_safe_text", ran.transcript(daemon.home()));
    assert_eq!(params(&daemon, "inbox.list")["unreadOnly"], true);
    with(&daemon, &["inbox", "--all", "-n", "7"]);
    let list = params(&daemon, "inbox.list");
    assert_eq!((&list["unreadOnly"], &list["limit"]), (&json!(false), &json!(7)));
    let ran = with(&daemon, &["inbox", "--json"]);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'));
    assert_eq!(ran.json()["items"][0]["preview"], item()["preview"]);
}

#[test]
fn reading_shows_safe_text_and_raw_gives_every_byte() {
    let daemon = daemon();
    let ran = with(&daemon, &["read", ULID]);
    insta::assert_snapshot!(
        "reading_shows_safe_text_and_raw_gives_every_byte",
        ran.transcript(daemon.home())
    );
    assert_eq!(params(&daemon, "item.read")["id"], ULID);
    let ran = with(&daemon, &["read", ULID, "--raw"]);
    assert!(!ran.stdout.contains('\u{1b}'));
    assert_eq!(ran.json(), message());
}

#[test]
fn peeking_marks_nothing_read() {
    let daemon = daemon();
    let ran = with(&daemon, &["read", ULID, "--peek"]);
    assert_eq!(ran.status, 0);
    assert!(daemon.seen().iter().all(|(method, _)| method != "item.read" && method != "inbox.ack"));
}

#[test]
fn saving_writes_every_byte_before_it_marks_read_and_nothing_over_what_is_there() {
    let daemon = daemon();
    let into = daemon.home().join("saved");
    let ran = with(&daemon, &["read", ULID, "--save", into.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(std::fs::read(into.join("part-1.txt")).unwrap(), NASTY.as_bytes());
    assert_eq!(std::fs::read(into.join("x.bin")).unwrap(), [0, 1, 255]);
    let reads = |daemon: &FakeDaemon| {
        daemon.seen().iter().filter(|(method, _)| method == "item.read").count()
    };
    assert_eq!(reads(&daemon), 1);
    let ran = with(&daemon, &["read", ULID, "--save", into.to_str().unwrap()]);
    assert_eq!((ran.status, reads(&daemon)), (2, 1), "a save that failed marks nothing read");
}

#[test]
fn a_sent_message_shows_how_far_it_came() {
    let daemon = FakeDaemon::start(|method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        _ => Step::Result(
            json!({"kind": "sent", "envelopeId": ULID, "to": "bob/api@laptop", "stage": "rejected",
            "code": "refused", "history": [{"stage": "accepted", "at": 1_767_225_600_000_u64},
                {"stage": "rejected", "code": "refused", "at": 1_767_225_601_000_u64}]}),
        ),
    });
    let ran = with(&daemon, &["read", ULID]);
    insta::assert_snapshot!("a_sent_message_shows_how_far_it_came", ran.transcript(daemon.home()));
}

#[test]
fn mailboxes_are_made_on_use_and_removed_with_their_session() {
    let daemon = daemon();
    assert_eq!(with(&daemon, &["mailbox", "list"]).stdout, "");
    with(&daemon, &["inbox", "--as", "work"]);
    with(&daemon, &["inbox"]);
    assert_eq!(with(&daemon, &["mailbox", "ls"]).stdout, "cli\nwork\n");
    let ran = with(&daemon, &["mailbox", "rm", "work", "--yes"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "removed work\n"));
    assert_eq!(
        params(&daemon, "session.unregister")["key"],
        params(&daemon, "session.register")["key"]
    );
    assert_eq!(with(&daemon, &["mailbox", "list", "--json"]).stdout, "{\"mailboxes\":[\"cli\"]}\n");
    assert_eq!(with(&daemon, &["mailbox", "remove", "work", "--yes"]).status, 6);
}
