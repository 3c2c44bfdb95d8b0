//! Conversations, channels, notices, agents and persons, against a scripted daemon.

use std::sync::{Arc, Mutex};

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use messaging_ipc::event::Event;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID, status};
use crate::run::{fed, with};
use crate::terminal::{calls, command, played, typed};

const NEW_YEAR: u64 = 1_767_225_600_000;

fn id(seq: u64) -> String {
    format!("01ARZ3NDEKTSV4RRFFQ69G5F{:02}", seq % 100)
}

fn line(seq: u64, text: &str, own: bool) -> Value {
    let mut line = json!({"id": id(seq), "conversation": "dm:bob", "seq": seq, "at": NEW_YEAR + seq * 60_000,
        "person": "bob", "device": MACHINE, "label": "laptop", "direction": "in", "text": text});
    if own {
        line["person"] = json!("alice");
        line["direction"] = json!("out");
        line["state"] = json!("sent");
    }
    line
}

fn event(seq: u64, of: u64, change: &str, person: &str) -> Event {
    serde_json::from_value(
        json!({"type": "conv", "conversation": "dm:bob", "id": id(of), "person": person, "seq": seq,
        "change": change}),
    )
    .unwrap()
}

fn channel() -> Value {
    json!({"conversation": "channel:ops", "kind": "channel", "readUpTo": 0, "unread": 2, "lastSeq": 9,
        "lastAt": NEW_YEAR, "id": ULID, "name": "operations", "persons": ["alice", "bob"], "creator": "bob"})
}

/// The conversation with bob, as a daemon holds it.
#[derive(Debug)]
struct Chat {
    lines: Mutex<Vec<Value>>,
    /// Texts whose first sending ends the connection.
    hang_up: Mutex<Vec<&'static str>>,
}

impl Chat {
    fn answer(&self, method: &str, params: &Value) -> Step {
        let mut lines = self.lines.lock().unwrap();
        match method {
            "daemon.status" => Step::Result(status(true)),
            "conv.list" => Step::Result(json!({"conversations": [
                {"conversation": "dm:bob", "kind": "dm", "readUpTo": 1, "unread": 1, "lastSeq": 3, "lastAt": NEW_YEAR,
                 "person": "bob"}, channel()]})),
            "conv.read" => {
                let after = params["after"].as_u64().unwrap_or(0);
                let limit = usize::try_from(params["limit"].as_u64().unwrap_or(50)).unwrap();
                let found = lines.iter().filter(|line| line["seq"].as_u64().unwrap() > after);
                let found: Vec<&Value> = found.take(limit).collect();
                Step::Result(
                    json!({"kind": "lines", "conversation": params["conversation"], "lines": found,
                    "more": params["before"].is_number()}),
                )
            }
            "conv.markRead" => Step::Result(json!({"readUpTo": params["upTo"], "unread": 0})),
            "conv.subscribe" => Step::Result(json!({"seq": 3, "gap": false})),
            "person.send" => {
                let text = params["text"].as_str().unwrap();
                let mut hang_up = self.hang_up.lock().unwrap();
                if let Some(at) = hang_up.iter().position(|stop| *stop == text) {
                    hang_up.remove(at);
                    return Step::HangUp;
                }
                let seq = u64::try_from(lines.len()).unwrap() + 1;
                lines.push(line(seq, text, true));
                let mut events = vec![event(seq, seq, "line", "alice")];
                // What these texts make of the lines that were sent before.
                let becomes = [("settle", "delivered"), ("refuse", "refused")];
                if let Some((_, state)) = becomes.iter().find(|(word, _)| *word == text) {
                    let open = lines.iter_mut().filter(|line| line["state"] == "sent");
                    for line in open.filter(|line| line["seq"] != seq) {
                        line["state"] = json!(state);
                        line["refused"] = json!(["bob"]);
                        let of = line["seq"].as_u64().unwrap();
                        events.push(event(seq + 1, of, "state", "alice"));
                    }
                }
                let sent = json!({"id": id(seq), "conversation": params["conversation"], "seq": seq, "at": NEW_YEAR});
                Step::Events(events, sent)
            }
            _ => Step::Refuse(Refusal::code(Code::NotFound)),
        }
    }
}

fn daemon(hang_up: &[&'static str]) -> FakeDaemon {
    let lines = vec![
        line(1, "Is the build green?", false),
        line(2, "Looking.", true),
        line(3, "Well?\nIs it?", false),
    ];
    let chat = Arc::new(Chat { lines: Mutex::new(lines), hang_up: Mutex::new(hang_up.to_vec()) });
    FakeDaemon::start(move |method, params| chat.answer(method, params))
}

fn last(daemon: &FakeDaemon, method: &str) -> Value {
    let seen = daemon.seen().into_iter().rev().find(|(name, _)| name == method);
    seen.unwrap_or_else(|| panic!("no {method}")).1
}

#[test]
fn conversations_and_lines_are_listed_on_a_pipe_and_nothing_counts_as_read() {
    let daemon = daemon(&[]);
    let ran = with(&daemon, &["chat", "--header"]);
    insta::assert_snapshot!("conversations", ran.transcript(daemon.home()));
    let ran = with(&daemon, &["chat", "bob", "--header"]);
    insta::assert_snapshot!("a_transcript_on_a_pipe", ran.transcript(daemon.home()));
    let page = with(&daemon, &["dm", "bob", "--json"]).json();
    assert_eq!(page["lines"][0]["text"], "Is the build green?");
    assert_eq!(calls(&daemon, "conv.markRead"), 0);
}

#[test]
fn a_page_is_named_by_its_place_and_its_thread() {
    let daemon = daemon(&[]);
    for (args, params) in [
        (&["chat", "bob"][..], json!({"conversation": "dm:bob"})),
        (&["chat", "me", "-n", "7"], json!({"conversation": "dm:alice", "limit": 7})),
        (&["chat", "#ops", "--before", "9"], json!({"conversation": "channel:ops", "before": 9})),
        (
            &["chat", "channel:ops", "--after", "9", "--thread", ULID],
            json!({"conversation": "channel:ops", "after": 9, "thread": ULID}),
        ),
    ] {
        assert_eq!(with(&daemon, args).status, 0, "{args:?}");
        assert_eq!(last(&daemon, "conv.read"), params, "{args:?}");
    }
    let ran = with(&daemon, &["chat", "bob", "--before", "9"]);
    assert_eq!(ran.stderr, "There is more: --before 1\n");
    for args in [
        &["chat", "bob/api"][..],
        &["chat", "bob", "--before", "1", "--after", "2"],
        &["chat", "bob", "--before", "1", "--follow"],
        &["chat", "--follow"],
        &["dm", "#ops"],
        &["dm", "bob/api", "hello"],
        &["dm", "bob", "hello", "--follow"],
    ] {
        assert_eq!(with(&daemon, args).status, 2, "{args:?}");
    }
}

#[test]
fn at_a_terminal_the_lines_shown_count_as_read() {
    for (args, read) in [
        (&["chat", "bob"][..], true),
        (&["chat", "bob", "--keep-unread"], false),
        (&["chat", "bob", "--thread", ULID], false),
    ] {
        let daemon = daemon(&[]);
        let mut command = command(&daemon, args);
        command.env("TZ", "UTC").env("NO_COLOR", "1");
        let (screen, status) = typed(command, "", "");
        assert_eq!(status, Some(0), "{screen}");
        assert_eq!(
            screen,
            "-- Thursday, 1 January 2026 --\n00:01   bob: Is the build green?\n00:02 · you: Looking.\n\
             -- new --\n00:03   bob: Well?\n        | Is it?\n"
        );
        assert_eq!(calls(&daemon, "conv.markRead"), usize::from(read), "{args:?}");
        if read {
            let mark = json!({"conversation": "dm:bob", "upTo": 3});
            assert_eq!(last(&daemon, "conv.markRead"), mark);
        }
    }
}

#[test]
fn lines_are_typed_into_a_conversation_that_is_followed() {
    let daemon = daemon(&[]);
    let mut follow = command(&daemon, &["chat", "bob", "--follow"]);
    follow.env("TZ", "UTC").env("NO_COLOR", "1");
    let steps = [
        ("Is it?", "green\r"),
        ("you: green", "settle\r"),
        ("\u{1b}[6C✓", "refuse\r"),
        ("refused by bob: settle", "\u{4}"),
    ];
    let (screen, status) = played(follow, &steps);
    assert_eq!(status, Some(0), "{screen:?}");
    assert!(screen.contains("00:04 · you: green\n"), "{screen:?}");
    // The marks of the lines sent before were set where they stand.
    assert_eq!(screen.matches("\u{1b}[6C✓").count(), 2, "{screen:?}");
    assert_eq!(screen.matches("\u{1b}[6C✗").count(), 1, "{screen:?}");
    let sent: Vec<Value> = daemon
        .seen()
        .into_iter()
        .filter(|(name, _)| name == "person.send")
        .map(|(_, p)| p)
        .collect();
    assert_eq!(sent.len(), 3);
    assert_eq!((&sent[0]["text"], &sent[0]["conversation"]), (&json!("green"), &json!("dm:bob")));
    assert_ne!(sent[0]["clientId"], sent[1]["clientId"]);
    assert_eq!(last(&daemon, "conv.markRead")["upTo"], 6);
}

#[test]
fn a_daemon_that_went_away_is_waited_for_and_a_line_is_sent_once() {
    let daemon = daemon(&["lost"]);
    let mut follow = command(&daemon, &["chat", "bob", "-f"]);
    follow.env("TZ", "UTC").env("NO_COLOR", "1");
    let steps = [
        ("Is it?", "lost\r"),
        ("went away", ""),
        // The line is there again, to be sent with Enter.
        ("daemon is back", "\r"),
        ("you: lost", "\u{4}"),
    ];
    let (screen, status) = played(follow, &steps);
    assert_eq!(status, Some(0), "{screen:?}");
    assert!(screen.contains("-- not sent: daemon_unavailable"), "{screen:?}");
    let sent: Vec<Value> = daemon
        .seen()
        .into_iter()
        .filter(|(name, _)| name == "person.send")
        .map(|(_, p)| p)
        .collect();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1], "the same line under the same key");
}

#[test]
fn following_prints_a_document_for_each_line_until_the_channel_is_gone() {
    let subscribed = Arc::new(Mutex::new(false));
    let daemon = FakeDaemon::start(move |method, params| match method {
        "conv.read" => {
            let after = params["after"].as_u64().unwrap_or(0);
            let known = if *subscribed.lock().unwrap() && after > 0 { 2 } else { 1 };
            let lines: Vec<Value> = (after + 1..=known)
                .map(|seq| {
                    let mut line = line(seq, "x\u{1b}[2J", false);
                    line["conversation"] = json!("channel:ops");
                    line
                })
                .collect();
            let page = json!({"kind": "lines", "conversation": "channel:ops", "lines": lines, "more": false});
            Step::Result(page)
        }
        "conv.subscribe" => {
            *subscribed.lock().unwrap() = true;
            let new = json!({"type": "conv", "conversation": "channel:ops", "id": id(2), "person": "bob", "seq": 2,
                "change": "line"});
            let mut other = new.clone();
            other["conversation"] = json!("dm:bob");
            let gone = json!({"type": "conv", "conversation": "channel:ops", "person": "bob", "seq": 3,
                "change": "channel", "deleted": true});
            let events = [other, new, gone].map(|event| serde_json::from_value(event).unwrap());
            Step::Events(events.to_vec(), json!({"seq": 1, "gap": false}))
        }
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    });
    let ran = with(&daemon, &["chat", "#ops", "--follow", "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let told: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 3, "{}", ran.stdout);
    assert_eq!((&told[0]["change"], &told[0]["line"]["seq"]), (&json!("line"), &json!(1)));
    assert_eq!(told[1]["line"]["text"], "x\u{1b}[2J");
    assert_eq!(told[2]["deleted"], true);
    assert!(!ran.stdout.contains('\u{1b}'));
    let ran = with(&daemon, &["chat", "#ops", "--follow"]);
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert!(ran.stderr.contains("no longer in #ops"), "{ran:?}");
}

#[test]
fn a_line_can_answer_another_and_go_to_oneself() {
    let daemon = daemon(&[]);
    let ran = with(&daemon, &["send", "bob", "yes", "--reply", ULID]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "sent to bob\n"), "{}", ran.stderr);
    let sent = json!({"conversation": "dm:bob", "text": "yes", "thread": ULID});
    assert_eq!(last(&daemon, "person.send"), sent);
    assert_eq!(with(&daemon, &["send", "me", "a note"]).status, 0);
    assert_eq!(last(&daemon, "person.send")["conversation"], "dm:alice");
    assert_eq!(with(&daemon, &["dm", "bob", "--", "-x"]).status, 0);
    assert_eq!(last(&daemon, "person.send")["text"], "-x");
    assert_eq!(fed(daemon.home(), b"from a pipe", &["dm", "bob", "-"]).status, 0);
    assert_eq!(last(&daemon, "person.send")["text"], "from a pipe");
    assert_eq!(with(&daemon, &["send", "bob", "x", "--as", "other"]).status, 2);
}

/// A daemon with everything that is not a conversation.
fn others() -> FakeDaemon {
    FakeDaemon::start(|method, params| match method {
        "daemon.status" => Step::Result(status(true)),
        "conv.list" => Step::Result(json!({"conversations": [channel()]})),
        "channel.create" | "channel.invite" | "channel.remove" => {
            let mut view = channel();
            view["conversation"] = json!(format!("channel:{}", params["name"].as_str().unwrap()));
            Step::Result(json!({"channel": view}))
        }
        "channel.leave" => Step::Result(json!({"ok": true})),
        "search" => Step::Result(json!({"hits": [line(7, "a green build", true)], "more": true})),
        "agents.list" => {
            Step::Result(json!({"agents": [{"agent": "api", "conversations": 2, "unread": 1,
            "lastAt": NEW_YEAR, "state": "busy"}]}))
        }
        "agents.read" if params.get("conversation").is_none() => {
            Step::Result(json!({"kind": "conversations",
            "conversations": [{"conversation": "agent:bob/web", "unread": 1, "lastAt": NEW_YEAR}]}))
        }
        "agents.read" => {
            let peer = json!({"person": "bob", "device": MACHINE, "label": "laptop", "agent": "web",
                "address": "bob/web@laptop"});
            Step::Result(
                json!({"kind": "entries", "conversation": params["conversation"], "more": true, "entries": [
                {"type": "mail", "id": ULID, "at": NEW_YEAR, "direction": "out", "peer": peer, "stage": "rejected",
                 "code": "refused", "messageId": "m", "contextId": "c"},
                {"type": "mail", "id": ULID, "at": NEW_YEAR, "direction": "in", "peer": peer, "stage": "read",
                 "preview": "hello", "attachments": 0, "messageId": "m", "contextId": "c"},
                {"type": "task", "id": ULID, "at": NEW_YEAR, "direction": "in", "role": "executor", "peer": peer,
                 "title": "find it", "state": "TASK_STATE_WORKING", "updatedAt": NEW_YEAR}]}),
            )
        }
        "people.search" => {
            Step::Result(json!({"persons": [{"person": "bob", "relation": "org", "online": true}],
            "more": false}))
        }
        "people.get" => Step::Result(
            json!({"person": {"person": params["person"], "relation": "org", "online": true},
            "devices": [{"device": MACHINE, "label": "laptop", "vouch": "roster", "current": true, "since": NEW_YEAR,
                "online": true}],
            "reach": {"person": "bob", "can": {"chat": true, "agentMail": true, "ask": "open",
                "trustedUntil": NEW_YEAR}, "source": "card", "at": NEW_YEAR},
            "deviceChanges": [{"change": "added", "device": MACHINE, "label": "laptop", "vouch": "roster",
                "at": NEW_YEAR}]}),
        ),
        "notice.list" => {
            let count = params["limit"].as_u64().unwrap();
            let notice = json!({"id": format!("m_{ULID}"), "category": "message", "conversation": "dm:bob",
                "from": {"name": "bob"}, "at": NEW_YEAR});
            let alert = json!({"id": "a_dev4", "category": "alert", "at": NEW_YEAR,
                "line": "New device on your account: 'phone', admitted by the team's admin."});
            let notices = [alert, notice].into_iter().take(usize::try_from(count).unwrap());
            Step::Result(
                json!({"notices": notices.collect::<Vec<_>>(), "counts": {"unread": 3, "requests": 1}}),
            )
        }
        "notice.ack" => Step::Result(json!({"acked": params["ids"].as_array().unwrap().len()})),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

#[test]
fn each_list_is_a_table() {
    let daemon = others();
    for args in [
        &["channel", "list", "--header"][..],
        &["channel", "show", "ops"],
        &["agents", "--header"],
        &["agents", "read", "api", "--header"],
        &["agents", "read", "api", "bob/web", "--header"],
        &["people", "search", "bo", "--header"],
        &["people", "show", "bob", "--header"],
        &["notices", "--header"],
        &["search", "green build", "--header"],
    ] {
        let ran = with(&daemon, args);
        insta::with_settings!({description => args.join(" "), omit_expression => true}, {
            insta::assert_snapshot!(args.join("_").replace([' ', '/'], "_"), ran.transcript(daemon.home()));
        });
        assert!(with(&daemon, &[args, &["--json"][..]].concat()).json().is_object(), "{args:?}");
    }
}

#[test]
fn channels_are_changed_by_their_name() {
    let daemon = others();
    for (args, method, params, text) in [
        (
            &["channel", "create", "ops", "bob", "carol"][..],
            "channel.create",
            json!({"name": "ops", "persons": ["bob", "carol"]}),
            "created #ops\n",
        ),
        (
            &["channel", "create", "#notes"],
            "channel.create",
            json!({"name": "notes", "persons": []}),
            "created #notes\n",
        ),
        (
            &["channel", "invite", "#ops", "dave"],
            "channel.invite",
            json!({"name": "ops", "persons": ["dave"]}),
            "added dave: #ops\n",
        ),
        (
            &["channel", "rm", "channel:ops", "dave", "erin"],
            "channel.remove",
            json!({"name": "ops", "persons": ["dave", "erin"]}),
            "removed dave, erin: #ops\n",
        ),
        (
            &["channel", "leave", "ops", "--yes"],
            "channel.leave",
            json!({"name": "ops"}),
            "left #ops\n",
        ),
    ] {
        let ran = with(&daemon, args);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, text), "{args:?}: {}", ran.stderr);
        assert_eq!(last(&daemon, method), params);
    }
    let left = calls(&daemon, "channel.leave");
    assert_eq!(with(&daemon, &["channel", "leave", "ops"]).status, 2);
    assert_eq!(with(&daemon, &["channel", "leave", "other", "--yes"]).status, 6);
    assert_eq!(with(&daemon, &["channel", "invite", "ops"]).status, 2);
    assert_eq!(with(&daemon, &["channel", "create", "No!"]).status, 2);
    let many: Vec<String> = (0..32).map(|n| format!("p{n}")).collect();
    let mut args = vec!["channel", "create", "ops"];
    args.extend(many.iter().map(String::as_str));
    assert_eq!(with(&daemon, &args).status, 2);
    assert_eq!(calls(&daemon, "channel.leave"), left);
    let (screen, status) = typed(command(&daemon, &["channel", "leave", "ops"]), "[y/N]", "y\n");
    assert_eq!(status, Some(0));
    assert!(screen.contains("Leave #ops: its lines are deleted from your machines."), "{screen}");
}

#[test]
fn looking_on_is_asked_for_as_the_note_says() {
    let daemon = others();
    let ran = with(&daemon, &["agents", "read", "api", "bob/web"]);
    let place = format!("{NEW_YEAR}:{ULID}");
    assert_eq!(ran.stderr, format!("There is more: --before {place}\n"));
    assert_eq!(with(&daemon, &["agents", "read", "api", "bob/web", "--before", &place]).status, 0);
    let asked = last(&daemon, "agents.read");
    assert_eq!(asked["before"], json!({"at": NEW_YEAR, "id": ULID}));
    assert_eq!(asked["conversation"], "agent:bob/web");
    assert_eq!(with(&daemon, &["agents", "read", "api", "bob"]).status, 2);
    assert_eq!(with(&daemon, &["agents", "read", "api", "--before", &place]).status, 2);
    assert_eq!(with(&daemon, &["search", "x y", "--in", "#ops", "-n", "3"]).status, 0);
    let search = json!({"query": "x y", "conversation": "channel:ops", "limit": 3});
    assert_eq!(last(&daemon, "search"), search);
    assert_eq!(with(&daemon, &["search", ""]).status, 2);
    with(&daemon, &["people", "search", "Bob@Example.com", "-n", "3"]);
    assert_eq!(last(&daemon, "people.search"), json!({"query": "bob@example.com", "limit": 3}));
}

#[test]
fn notices_are_acknowledged_by_id_or_all_at_once() {
    let daemon = others();
    let ran = with(&daemon, &["notices", "ack", "a_dev4"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "acknowledged 1 notice\n"));
    let ran = with(&daemon, &["notices", "ack", "--all", "--json"]);
    assert_eq!(ran.json(), json!({"acked": 2}));
    assert_eq!(last(&daemon, "notice.ack")["ids"], json!(["a_dev4", format!("m_{ULID}")]));
    for args in [&["notices", "ack"][..], &["notices", "ack", "x", "--all"]] {
        assert_eq!(with(&daemon, args).status, 2, "{args:?}");
    }
    with(&daemon, &["notices", "--lines", "-n", "9"]);
    assert_eq!(last(&daemon, "notice.list"), json!({"lines": true, "limit": 9}));
}
