//! Tasks from the terminal: asking, listing, looking, saying more, giving up.

use std::sync::atomic::{AtomicUsize, Ordering};

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use messaging_ipc::event::Event;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID};
use crate::run::with;

fn head(state: &str) -> Value {
    json!({"id": ULID, "contextId": "c", "role": "requester", "session": "cli",
        "peer": {"person": "bob", "device": MACHINE, "label": "laptop", "agent": "api", "address": "bob/api@laptop"},
        "title": "find\u{1b}[2J it", "status": {"state": state}, "requestId": ULID,
        "delivery": {"stage": "read", "at": 1_767_225_600_000_u64},
        "createdAt": 1_767_225_600_000_u64, "updatedAt": 1_767_225_601_000_u64})
}

fn task(state: &str) -> Value {
    let request = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "find it"}]});
    let mut task = head(state);
    task["history"] = json!([request]);
    task["request"] = request;
    task["artifacts"] =
        json!([{"artifactId": "a", "parts": [{"text": "found", "filename": "it.txt"}]}]);
    task["followUps"] = json!([]);
    task
}

fn daemon() -> FakeDaemon {
    FakeDaemon::start(|method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        "msg.send" => Step::Result(
            json!({"results": [{"to": "bob/api@laptop", "envelopeId": ULID, "messageId": ULID,
            "contextId": ULID, "taskId": ULID, "stage": "accepted"}]}),
        ),
        "task.list" => Step::Result(
            json!({"tasks": [head("TASK_STATE_INPUT_REQUIRED")], "total": 2, "nextCursor": "abc"}),
        ),
        "task.get" => Step::Result(json!({"task": task("TASK_STATE_WORKING")})),
        "task.cancel" => Step::Result(json!({"task": task("TASK_STATE_WORKING"), "sent": true})),
        "events.subscribe" => {
            let event = |state: &str, update: Value| -> Event {
                let event = json!({"type": "task", "key": params["key"], "origin": "peer", "task": task(state),
                    "update": update});
                serde_json::from_value(event).unwrap()
            };
            let artifact = json!({"kind": "artifact", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
                "append": false, "lastChunk": true});
            let done = json!({"kind": "status", "status": {"state": "TASK_STATE_COMPLETED"}});
            let events =
                vec![event("TASK_STATE_WORKING", artifact), event("TASK_STATE_COMPLETED", done)];
            Step::Events(events, json!({"ok": true}))
        }
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

fn params(daemon: &FakeDaemon, method: &str) -> Value {
    let seen = daemon.seen().into_iter().rev().find(|(name, _)| name == method);
    seen.unwrap_or_else(|| panic!("no {method}")).1
}

#[test]
fn a_task_is_asked_for_in_two_ways_and_told_by_its_id() {
    let daemon = daemon();
    let on_behalf = ["--on-behalf", ULID];
    for (args, parent) in [
        (vec!["task", "send", "bob/api", "find it"], false),
        (vec!["send", "bob/api", "find it", "--task"], false),
        (vec!["task", "send", "bob/api", "find it", on_behalf[0], on_behalf[1]], true),
    ] {
        let ran = with(&daemon, &args);
        let expected = format!("accepted to bob/api@laptop\ntask {ULID}\n");
        assert_eq!((ran.status, ran.stdout.as_str()), (0, expected.as_str()), "{}", ran.stderr);
        let send = params(&daemon, "msg.send");
        assert_eq!((&send["kind"], &send["to"]), (&json!("task"), &json!("bob/api")));
        assert_eq!(send.get("onBehalfOf"), parent.then(|| json!({"taskId": ULID})).as_ref());
    }
    let ran = with(&daemon, &["task", "send", "bob", "find it"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("a task is for an agent"), "{}", ran.stderr);
}

#[test]
fn tasks_are_listed_with_their_state_and_filtered() {
    let daemon = daemon();
    let args =
        ["task", "list", "--role", "mine", "--state", "input-required", "--with", "bob/api@laptop"];
    let ran = with(&daemon, &args);
    let expected = format!(
        "{ULID}\tinput-required\tbob/api@laptop\t2026-01-01T00:00:01Z\tfind[U+001B][2J it\n"
    );
    assert_eq!((ran.status, ran.stdout.as_str()), (0, expected.as_str()));
    assert_eq!(ran.stderr, "There is more: --cursor abc\n");
    let list = params(&daemon, "task.list");
    assert_eq!(list["role"], "requester");
    assert_eq!(list["state"], json!(["TASK_STATE_INPUT_REQUIRED"]));
    assert_eq!(list["peer"], "bob/api@laptop");
    assert_eq!(with(&daemon, &["task", "list", "--with", "bob"]).status, 2);
    assert_eq!(with(&daemon, &["task", "ls", "--json"]).json()["total"], 2);
}

#[test]
fn a_task_is_shown_saved_and_found_by_read() {
    let daemon = daemon();
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("out");
    let ran = with(&daemon, &["task", "show", ULID, "--save", into.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("State\tworking\nAsked of\tbob/api@laptop\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("saved it.txt\n"), "{}", ran.stdout);
    assert_eq!(std::fs::read(into.join("it.txt")).unwrap(), b"found");
    assert_eq!(with(&daemon, &["task", "show", ULID, "--json"]).json()["task"]["id"], ULID);
    let read = with(&daemon, &["read", ULID]);
    assert!(read.stdout.starts_with(&format!("Task\t{ULID}\n")), "{}", read.stdout);
}

#[test]
fn following_prints_each_change_until_the_end() {
    let daemon = daemon();
    let ran = with(&daemon, &["task", "show", ULID, "--follow"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.ends_with("artifact: a, whole now\ncompleted\n"), "{}", ran.stdout);
    let ran = with(&daemon, &["task", "show", ULID, "--follow", "--json"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{}", ran.stdout);
    assert_eq!(lines[0]["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(lines[2]["update"]["status"]["state"], "TASK_STATE_COMPLETED");
}

const OTHER: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
const START: u64 = 1_767_225_601_000;

/// A daemon that goes away after every look at its tasks. While it was away the first time, the task was completed; the
/// third time it does not let the mailbox in any more.
fn daemon_that_goes_away() -> FakeDaemon {
    let at = |mut task: Value, id: &str, at: u64| {
        (task["id"], task["updatedAt"]) = (json!(id), json!(at));
        task
    };
    let event = |task: Value| -> Event {
        let update = json!({"kind": "status", "status": task["status"]});
        let event = json!({"type": "task", "key": "the-key-of-the-session-of-a-terminal", "origin": "peer", "task": task,
            "update": update});
        serde_json::from_value(event).unwrap()
    };
    let before = event(at(task("TASK_STATE_SUBMITTED"), ULID, START - 1));
    let news = event(at(task("TASK_STATE_WORKING"), ULID, START + 1));
    let mut others = at(task("TASK_STATE_FAILED"), OTHER, START + 2);
    others["role"] = json!("executor");
    let events = vec![before, event(others), news];
    let (looks, registers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    FakeDaemon::start(move |method, params| match method {
        "session.register" if registers.fetch_add(1, Ordering::Relaxed) == 2 => {
            Step::Refuse(Refusal::code(Code::Forbidden))
        }
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        "events.subscribe" => Step::Result(json!({"ok": true})),
        "task.list" if looks.fetch_add(1, Ordering::Relaxed) == 0 => {
            let page = json!({"tasks": [head("TASK_STATE_SUBMITTED")], "total": 1});
            Step::Farewell(events.clone(), page)
        }
        "task.list" => {
            let done = at(head("TASK_STATE_COMPLETED"), ULID, START + 3);
            let mut others = at(head("TASK_STATE_FAILED"), OTHER, START + 2);
            others["role"] = json!("executor");
            Step::Farewell(Vec::new(), json!({"tasks": [done, others], "total": 2}))
        }
        "task.get" if looks.fetch_add(1, Ordering::Relaxed) == 0 => {
            let stands = at(task("TASK_STATE_SUBMITTED"), ULID, START);
            Step::Farewell(vec![events[2].clone()], json!({"task": stands}))
        }
        "task.get" => {
            let done = at(task("TASK_STATE_COMPLETED"), ULID, START + 3);
            Step::Result(json!({"task": done}))
        }
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

#[test]
fn a_list_that_is_followed_prints_each_change_once_and_goes_on_when_the_daemon_was_away() {
    let args = ["task", "list", "--follow", "--role", "mine", "--state", "submitted"];
    let daemon = daemon_that_goes_away();
    let ran = with(&daemon, &args);
    assert_eq!(ran.status, 5, "{ran:?}");
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|row| row.split('\t').collect()).collect();
    // A task that was shown is followed out of the states that were asked for.
    let states: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(states, ["submitted", "working", "completed"], "{}", ran.stdout);
    assert!(rows.iter().all(|row| row[0] == ULID && row[4] == "find[U+001B][2J it"), "{rows:?}");
    let again = params(&daemon, "task.list");
    assert_eq!((&again["updatedAfter"], &again["role"]), (&json!(START + 1), &json!("requester")));
    assert_eq!(again.get("state"), None);

    let ran = with(&daemon_that_goes_away(), &[&args[..], &["--json"]].concat());
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{}", ran.stdout);
    assert_eq!(lines[0]["tasks"][0]["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!((&lines[1]["type"], &lines[1]["task"]["id"]), (&json!("task"), &json!(ULID)));
    assert_eq!((&lines[2]["total"], &lines[2]["tasks"][0]["id"]), (&json!(1), &json!(ULID)));
    assert_eq!(with(&daemon, &["task", "list", "--follow", "--cursor", "abc"]).status, 2);
}

#[test]
fn a_task_that_is_followed_is_shown_anew_when_it_changed_while_the_daemon_was_away() {
    let args = ["task", "show", ULID, "--follow"];
    let ran = with(&daemon_that_goes_away(), &[&args[..], &["--json"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<&Value> = lines.iter().map(|line| &line["task"]["status"]["state"]).collect();
    assert_eq!(states, ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    let ran = with(&daemon_that_goes_away(), &args);
    assert!(ran.stdout.contains("\nworking\nTask\t"), "{}", ran.stdout);
}

#[test]
fn a_reply_goes_to_whoever_does_the_task_and_a_cancel_has_its_reason() {
    let daemon = daemon();
    let ran = with(&daemon, &["task", "reply", ULID, "the blue one"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let send = params(&daemon, "msg.send");
    assert_eq!((&send["to"], &send["taskId"]), (&json!("bob/api@laptop"), &json!(ULID)));
    assert_eq!(send["parts"], json!([{"text": "the blue one"}]));
    let ran = with(&daemon, &["task", "cancel", ULID, "--reason", "found it"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "asked to cancel; it is working\n"));
    assert_eq!(params(&daemon, "task.cancel")["reason"], "found it");
}
