//! Text of others that tries to steer the terminal: it shows as visible labels, in its own place, in every command.
//! Spec: D6.1 "Peer text", D7.2

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_core::peer_text::is_hidden;
use messaging_ipc::error::Refusal;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID, status};
use crate::run::with;
use crate::terminal::{command, typed};

/// Clears the screen, links, reverses, hides, goes up, and writes what we write: a prompt, columns, lines of ours.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7} \u{202e}gnp\u{2066}\u{200b}\u{feff}\u{e0041}\u{9b}1A\u{7f}\u{2028}\r\nGo on? [y/N] y\n-- new --\n00:02 \u{2713} you: yes\nTeam  ours\tx";
const PLAIN: &str = "plain";

const NEW_YEAR: u64 = 1_767_225_600_000;

/// A text that is not longer than a team's name may be.
fn short(text: &str) -> &str {
    if text == HOSTILE {
        "\u{1b}[2J\u{202e}gnp\u{200b}\u{e0041}\r\nGo on? [y/N] y\n-- new --\tx"
    } else {
        text
    }
}

/// A daemon that says `text` wherever another person's text, or their realm's, can stand.
fn daemon(text: &'static str) -> FakeDaemon {
    let peer = json!({"person": "bob", "device": MACHINE, "label": "laptop", "agent": "web", "address": "bob/web@laptop"});
    let message = json!({"messageId": text, "role": "ROLE_USER", "parts": [{"text": text},
        {"raw": "AAAA", "filename": text, "mediaType": text}, {"url": text}]});
    let line = json!({"id": ULID, "conversation": "dm:bob", "seq": 1, "at": NEW_YEAR, "person": "bob", "device": MACHINE,
        "direction": "in", "text": text});
    let mut notice_line = line.clone();
    notice_line["notice"] = json!(true);
    notice_line["seq"] = json!(2);
    let mut own = line.clone();
    own["direction"] = json!("out");
    own["state"] = json!("refused");
    own["refused"] = json!(["bob"]);
    own["seq"] = json!(3);
    let item = json!({"id": ULID, "to": "cli", "kind": "message", "from": peer, "messageId": text, "contextId": text,
        "preview": text, "attachments": 2, "stage": "delivered", "wake": true, "sentAt": NEW_YEAR, "at": NEW_YEAR,
        "exp": NEW_YEAR});
    let held = json!({"kind": "task", "id": ULID, "person": "bob", "device": MACHINE, "label": "laptop", "agent": "web",
        "address": "bob/web@laptop", "to": "api", "preview": text, "heldAt": NEW_YEAR, "exp": NEW_YEAR});
    let task_head = json!({"id": ULID, "contextId": text, "role": "requester", "session": "cli", "peer": peer,
        "title": text, "status": {"state": "TASK_STATE_WORKING", "message": message}, "requestId": ULID,
        "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR});
    let mut task = task_head.clone();
    task["request"] = message.clone();
    task["history"] = json!([message, message]);
    task["artifacts"] = json!([{"artifactId": text, "name": text, "parts": [{"text": text}]}]);
    FakeDaemon::start(move |method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        "daemon.status" => {
            let mut status = status(true);
            status["team"]["name"] = json!(short(text));
            Step::Result(status)
        }
        "daemon.health" => Step::Result(
            json!({"state": "running", "relay": "offline", "directory": "ok", "alarm": null,
            "busy": false, "version": env!("CARGO_PKG_VERSION"), "storeSchema": 1}),
        ),
        "device.status" => Step::Result(json!({"kind": "roster", "binding": "bound"})),
        "notice.list" => Step::Result(json!({"counts": {"unread": 1, "requests": 1}, "notices": [
            {"id": "a_dev4", "category": "alert", "from": {"name": text, "email": text, "org": text}, "line": text,
             "at": NEW_YEAR}]})),
        "contacts.list" => Step::Result(json!({"conversations": [], "reach": [], "entries": [
            {"address": "bob/web@laptop", "person": "bob", "device": MACHINE, "label": "laptop", "agent": "web",
             "client": "codex", "state": "busy", "tier": "push", "since": NEW_YEAR, "online": true, "features": [text],
             "doing": text, "repo": text, "branch": text, "name": text, "handle": text}]})),
        "inbox.list" => Step::Result(json!({"items": [item], "unread": 1, "more": false})),
        "inbox.get" => Step::Result(json!({"item": item, "message": message})),
        "item.read" => Step::Result(json!({"kind": "received", "item": item, "message": message})),
        "task.list" => Step::Result(json!({"tasks": [task_head], "total": 1})),
        "task.get" => Step::Result(json!({"task": task})),
        "sent.list" => Step::Result(
            json!({"more": false, "items": [{"id": ULID, "to": "bob/web@laptop", "messageId": "m",
            "contextId": text, "preview": text, "stage": "delivered", "stageAt": NEW_YEAR, "at": NEW_YEAR,
            "exp": NEW_YEAR}]}),
        ),
        "mail.search" => Step::Result(
            json!({"hits": [{"id": ULID, "at": NEW_YEAR, "direction": "in", "session": "api",
            "peer": peer, "messageId": text, "contextId": text, "stage": "read", "sentAt": NEW_YEAR,
            "excerpt": text}]}),
        ),
        "conv.list" => Step::Result(json!({"conversations": []})),
        "conv.read" => Step::Result(json!({"kind": "lines", "conversation": "dm:bob",
            "lines": [line, notice_line, own], "more": false})),
        "conv.markRead" => Step::Result(json!({"readUpTo": 1, "unread": 0})),
        "search" => Step::Result(json!({"hits": [line, own], "more": false})),
        "request.list" => Step::Result(json!({"requests": [held,
            {"kind": "contact", "id": "01ARZ3NDEKTSV4RRFFQ69G5FAW", "person": "carol", "device": MACHINE, "label": "pc",
             "name": text, "email": text, "org": text, "text": text, "at": NEW_YEAR, "exp": NEW_YEAR},
            {"kind": "suggestion", "id": "01ARZ3NDEKTSV4RRFFQ69G5FAX", "agent": "api", "email": text, "at": NEW_YEAR}]})),
        "request.answer.preview" => {
            Step::Result(json!({"kind": "task", "from": {"name": text}, "count": 1,
            "sentence": format!("Deliver this request from {text} to api once, guarded.")}))
        }
        "request.answer" => Step::Result(json!({"answered": [ULID]})),
        "grant.list" => Step::Result(json!({"grants": [], "review": []})),
        "grant.set.preview" => {
            Step::Result(json!({"sentence": format!("For {text}: lines blocked.")}))
        }
        "grant.set" => {
            Step::Result(json!({"grant": {"subject": {"person": "bob"}, "id": ULID, "ts": NEW_YEAR,
            "by": MACHINE}}))
        }
        "team.list" => Step::Result(
            json!({"team": MACHINE, "name": short(text), "relay": "ws://127.0.0.1:1/v1/connect", "card": "messaging-team.x",
            "seq": 1, "hash": MACHINE, "invites": [], "members": [{"machine": MACHINE, "enc": MACHINE, "person": "bob",
            "label": "laptop", "role": "member", "online": true, "self": true, "addedAt": NEW_YEAR}]}),
        ),
        "people.search" => Step::Result(
            json!({"more": false, "persons": [{"person": "bob", "relation": "stranger",
            "name": text, "handle": text, "email": text, "org": text}]}),
        ),
        "people.get" => {
            Step::Result(json!({"devices": [], "person": {"person": "bob", "relation": "stranger",
            "name": text, "handle": text, "email": text, "org": text}}))
        }
        "agents.read" => {
            Step::Result(json!({"kind": "entries", "conversation": "agent:bob/web", "more": false,
            "entries": [
                {"type": "mail", "id": ULID, "at": NEW_YEAR, "direction": "in", "peer": peer, "preview": text,
                 "attachments": 0, "stage": "read", "messageId": text, "contextId": text},
                {"type": "task", "id": ULID, "at": NEW_YEAR, "direction": "in", "role": "executor", "peer": peer,
                 "title": text, "state": "TASK_STATE_WORKING", "updatedAt": NEW_YEAR}]}))
        }
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

/// Every command that shows text of others in rows and columns: each text is one cell, however many lines it has.
const ROWS: &[&[&str]] = &[
    &["status"],
    &["contact", "list"],
    &["inbox"],
    &["task", "list"],
    &["sent"],
    &["mail", "search", "x"],
    &["chat", "bob"],
    &["dm", "bob"],
    &["search", "x"],
    &["notices", "--lines"],
    &["people", "search", "x"],
    &["people", "show", "bob"],
    &["request", "list"],
    &["agents", "read", "api", "bob/web"],
];

/// Every command that shows a whole text, line by line behind a margin.
const TEXTS: &[&[&str]] = &[
    &["read", ULID],
    &["read", ULID, "--peek"],
    &["task", "show", ULID],
    &["request", "show", ULID],
    &["request", "show", "01ARZ3NDEKTSV4RRFFQ69G5FAW"],
];

/// Every command that asks a question in which a name of others stands.
const QUESTIONS: &[&[&str]] = &[
    &["request", "once", ULID],
    &["request", "block", ULID],
    &["grant", "block", "bob"],
    &["grant", "set", "bob", "--ask", "no"],
    &["team", "leave"],
];

/// What a terminal must not be sent: all that is hidden but the ends of our own rows and cells.
#[track_caller]
fn check_safe(what: &str, shown: &str) {
    for c in shown.chars() {
        assert!(matches!(c, '\n' | '\t') || !is_hidden(c), "{what}: {c:?} in {shown:?}");
    }
}

fn at_a_terminal(daemon: &FakeDaemon, args: &[&str]) -> String {
    let mut command = command(daemon, args);
    command.env("NO_COLOR", "1").env("TZ", "UTC");
    typed(command, "", "").0
}

/// Where a row begins: our words up to the first gap, or the indentation of what goes on.
fn beginning(row: &str) -> &str {
    row.split(['\t', ' ']).next().unwrap_or_default()
}

#[test]
fn text_of_others_stays_one_cell_and_shows_what_it_hides() {
    let (hostile, plain) = (daemon(HOSTILE), daemon(PLAIN));
    for args in ROWS {
        let what = args.join(" ");
        let (shown, calm) = (with(&hostile, args), with(&plain, args));
        assert_eq!((shown.status, &shown.stderr), (calm.status, &calm.stderr), "{what}: {shown:?}");
        assert_eq!(shown.status, 0, "{what}: {shown:?}");
        check_safe(&what, &shown.stdout);
        assert!(shown.stdout.contains("[U+001B][2J"), "{what}: {}", shown.stdout);
        let cells = |text: &str| -> Vec<usize> {
            text.lines().map(|row| row.matches('\t').count()).collect()
        };
        assert_eq!(cells(&shown.stdout), cells(&calm.stdout), "{what}: {}", shown.stdout);
        insta::with_settings!({description => what.clone(), omit_expression => true}, {
            let name = what.replace([' ', '/'], "_").replace(ULID, "ID");
            insta::assert_snapshot!(format!("hostile_{name}"), shown.transcript(hostile.home()));
        });
    }
}

#[test]
fn at_a_terminal_no_row_begins_with_text_of_others() {
    let (hostile, plain) = (daemon(HOSTILE), daemon(PLAIN));
    for args in ROWS.iter().chain(TEXTS) {
        let what = args.join(" ");
        let (shown, calm) = (at_a_terminal(&hostile, args), at_a_terminal(&plain, args));
        check_safe(&what, &shown);
        let ours: Vec<&str> = calm.lines().map(beginning).collect();
        for row in shown.lines() {
            assert!(
                row.starts_with("  ") || ours.contains(&beginning(row)),
                "{what}: {row:?} in {shown}"
            );
            let columns = unicode_columns(row);
            assert!(columns <= 80, "{what}: {columns} columns: {row:?}");
        }
        let outdented = |text: &str| text.lines().filter(|row| !row.starts_with("  ")).count();
        assert_eq!(outdented(&shown), outdented(&calm), "{what}: {shown}");
    }
}

/// Columns of a row of these tests, whose characters all take one.
fn unicode_columns(row: &str) -> usize {
    row.chars().count()
}

#[test]
fn a_whole_text_stands_behind_a_margin() {
    let hostile = daemon(HOSTILE);
    for args in TEXTS {
        let what = args.join(" ");
        let shown = with(&hostile, args);
        assert_eq!(shown.status, 0, "{what}: {shown:?}");
        check_safe(&what, &shown.stdout);
        assert!(
            shown.stdout.contains("\n  Go on? [y/N] y\n  -- new --\n"),
            "{what}: {}",
            shown.stdout
        );
        insta::with_settings!({description => what.clone(), omit_expression => true}, {
            let name = what.replace([' ', '/'], "_").replace(ULID, "ID");
            insta::assert_snapshot!(format!("hostile_{name}"), shown.transcript(hostile.home()));
        });
    }
}

#[test]
fn json_is_whole_for_a_program_and_harmless_for_a_terminal() {
    let hostile = daemon(HOSTILE);
    for args in ROWS.iter().chain(TEXTS) {
        let what = args.join(" ");
        let shown = with(&hostile, &[args, &["--json"][..]].concat());
        assert_eq!((shown.status, shown.stdout.lines().count()), (0, 1), "{what}: {shown:?}");
        check_safe(&what, &shown.stdout);
        let document = shown.json();
        assert!(
            holds(&document, HOSTILE) || holds(&document, short(HOSTILE)),
            "{what}: {}",
            shown.stdout
        );
    }
    let raw = with(&hostile, &["read", ULID, "--raw"]);
    check_safe("raw", &raw.stdout);
    assert!(holds(&raw.json(), HOSTILE));
}

fn holds(document: &Value, text: &str) -> bool {
    match document {
        Value::String(value) => value == text,
        Value::Array(values) => values.iter().any(|value| holds(value, text)),
        Value::Object(members) => members.values().any(|value| holds(value, text)),
        _ => false,
    }
}

#[test]
fn no_name_asks_or_answers_in_our_place() {
    let hostile = daemon(HOSTILE);
    for args in QUESTIONS {
        let what = args.join(" ");
        let mut command = command(&hostile, args);
        command.env("NO_COLOR", "1");
        let (screen, status) = typed(command, "\nGo on? [y/N] ", "n\n");
        check_safe(&what, &screen);
        assert_eq!(status, Some(1), "{what}: {screen}");
        let questions = screen.lines().filter(|row| row.starts_with("Go on?")).count();
        assert_eq!(questions, 1, "{what}: {screen}");
        assert!(screen.contains("[U+001B]"), "{what}: {screen}");
        assert!(screen.contains("\nGo on? [y/N] n\n"), "{what}: {screen}");
    }
    let sure = with(&hostile, &["grant", "block", "bob", "--yes"]);
    check_safe("--yes", &sure.stdout);
    assert_eq!(sure.stdout.lines().count(), 1, "{}", sure.stdout);
}
