//! Exit statuses, JSON and every method of the agent tier, as a script meets them against a real daemon.
//! Spec: D6.1, D6.2, D6.4 `api`, §8.10

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use messaging_ipc::methods::Method;
use messaging_testkit::programs::Process;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{House, Machine, Ran, command, executable, failure, run, short_folder, wait};

#[test]
fn every_status_of_the_table_is_met() {
    let mut house = House::new();
    let alone = house.machine("alone");
    // 1: the code has no row of its own. 2: usage. 4: not set up.
    assert_eq!(alone.fails(&["send", "Bob/Api", "x"]), failure(2, "invalid_request"));
    assert_eq!(alone.fails(&["inbx"]).0, 2);
    assert_eq!(alone.fails(&["send", "bob/api", "x"]), failure(4, "no_identity"));
    assert_eq!(alone.fails(&["team", "list"]), failure(4, "no_identity"));

    let (alice, mut bob) = house.two();
    bob.agent("api");
    alice.knows("bob/api@desk");
    assert_eq!(alice.run(&["send", "bob/api", "x"]).status, 0);
    let url = house.relay.url();
    let again = ["team", "create", "--relay", &url, "--name", "t", "--person", "p", "--label", "l"];
    assert_eq!(alice.fails(&again), failure(1, "invalid_state"));
    assert_eq!(alice.fails(&["team", "remove", "bob@desk"]), failure(2, "invalid_request"));
    assert_eq!(bob.fails(&["team", "invite", "carol"]), failure(5, "forbidden"));
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    assert_eq!(alice.fails(&["read", unknown]), failure(6, "not_found"));
    assert_eq!(alice.fails(&["team", "revoke", unknown]), failure(5, "invite_invalid"));

    // 8: a wait that ended, after its result; 7: later; 3: no daemon.
    bob.stop();
    let waited = alice.run(&["send", "bob/api", "x", "--wait", "--timeout", "1", "--json"]);
    assert_eq!(waited.status, 8, "{waited:?}");
    assert_eq!(serde_json::from_str::<Value>(&waited.stdout).unwrap()["to"], "bob/api@desk");
    assert_eq!(bob.fails(&["inbox"]), failure(3, "daemon_unavailable"));
    house.relay.stop().unwrap();
    assert_eq!(alice.fails(&["team", "invite", "carol"]), failure(7, "relay_unavailable"));

    // 9: the doctor sees what is wrong, and says so on stdout.
    assert_eq!(alone.run(&["doctor"]).status, 0);
    let sick = bob.run(&["doctor", "--json"]);
    assert_eq!(sick.status, 9, "{sick:?}");
    assert_eq!(serde_json::from_str::<Value>(&sick.stdout).unwrap()["ok"], false);
}

#[test]
fn an_interrupted_command_ends_with_130_and_harms_nothing() {
    let house = House::new();
    let (alice, mut bob) = house.two();
    bob.agent("api");
    bob.stop();
    let mut waiting = command(alice.home(), &["send", "bob/api@desk", "x", "--wait=read"]);
    let child = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It waits once its message is at the relay.
    let mut ipc = alice.terminal("onlooker").ipc;
    wait("the wait", || {
        let health = ipc.call("daemon.health", &json!({})).unwrap().unwrap();
        let sessions = ipc.call("contacts.list", &json!({})).unwrap().unwrap();
        let is_there = sessions["entries"].as_array()?.iter().any(|e| e["agent"] == "cli");
        (is_there && health["busy"] == false).then_some(())
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{ran:?}");
    assert_eq!(alice.run(&["inbox"]).status, 0);
}

#[test]
fn every_json_output_is_one_document() {
    let house = House::new();
    let (alice, bob) = house.two();
    bob.json(&["inbox"]);
    alice.knows("bob/cli@desk");
    let sent = alice.json(&["send", "bob/cli", "peer text \u{1b}[31m\u{200f}"]);
    let id = sent["envelopeId"].as_str().unwrap();
    wait("the mail", || (bob.json(&["inbox"])["unread"] == 1).then_some(()));
    let invite = alice.json(&["team", "invite", "carol"]);
    for words in [
        "status",
        "daemon status",
        "daemon start",
        "inbox",
        "inbox --all -n 5",
        "sent",
        "sent --unanswered -n 5",
        "mail search peer",
        "contact list",
        "device status",
        "device list",
        "identity show",
        "team list",
        "team card",
        "doctor",
        "config check",
        "config path",
        "version",
        "mailbox list",
    ] {
        let args: Vec<&str> = words.split(' ').collect();
        let value = bob.json(&args);
        assert!(value.is_object() || value.is_array(), "{words}: {value}");
    }
    // What could steer a terminal is escaped, and the value is whole.
    let text = bob.ok(&["read", id, "--json"]);
    assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["message"]["parts"][0]["text"], "peer text \u{1b}[31m\u{200f}");
    alice.json(&["team", "revoke", invite["inviteId"].as_str().unwrap()]);
    alice.json(&["team", "role", "bob@desk", "admin"]);
    assert_eq!(bob.json(&["mailbox", "remove", "--yes"])["ok"], true);
    bob.json(&["team", "leave", "--yes"]);
    // An error is one line on stderr, and stdout is empty.
    let failed = alice.run(&["send", "nobody/api", "x", "--json"]);
    assert_eq!((failed.status, failed.stdout.as_str()), (6, ""));
    assert_eq!(failed.stderr.lines().count(), 1);
    let error: Value = serde_json::from_str(&failed.stderr).unwrap();
    assert_eq!(error["error"]["code"], "no_recipients");
    assert!(error["error"]["remedy"].as_str().unwrap().starts_with("Next: "));
    assert_eq!(alice.json(&["daemon", "stop"])["stopped"], true);
}

/// A method, its parameters, and how it fails if it does.
type Called = (&'static str, Value, Option<(i32, &'static str)>);

/// What each method of the agent tier answers when it is called on a connection of its own: a result, or the status and the
/// code. A call that needs a session finds none there.
fn agent_methods() -> Vec<Called> {
    let key = "a-key-of-more-than-twenty-two";
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let no_session = Some((6, "not_found"));
    vec![
        ("session.register", json!({"key": key, "agent": "codex"}), None),
        ("session.update", json!({"key": key, "state": "busy"}), no_session),
        ("session.unregister", json!({"key": key}), no_session),
        ("device.status", json!({}), None),
        ("device.bind", json!({"token": "t"}), Some((1, "invalid_state"))),
        ("contacts.list", json!({}), None),
        ("msg.send", json!({"key": key, "to": "bob/api", "parts": [{"text": "x"}]}), no_session),
        ("sent.list", json!({"key": key}), no_session),
        ("inbox.list", json!({"key": key}), no_session),
        ("inbox.get", json!({"key": key, "id": id}), no_session),
        ("inbox.ack", json!({"key": key, "ids": [id], "stage": "read"}), no_session),
        ("item.read", json!({"key": key, "id": id}), no_session),
        ("conv.read", json!({"conversation": "dm:bob"}), None),
        ("search", json!({"query": "x"}), None),
        ("task.get", json!({"key": key, "taskId": id}), no_session),
        ("task.list", json!({"key": key}), no_session),
        (
            "task.update",
            json!({"key": key, "taskId": id, "state": "TASK_STATE_WORKING"}),
            no_session,
        ),
        ("task.cancel", json!({"key": key, "taskId": id}), no_session),
        ("events.subscribe", json!({"key": key}), no_session),
        ("daemon.status", json!({}), None),
        ("daemon.health", json!({}), None),
    ]
}

#[test]
fn every_method_of_the_agent_tier_can_be_called() {
    let house = House::new();
    let (alice, _bob) = house.two();
    let methods = agent_methods();
    let named: BTreeSet<&str> = methods.iter().map(|(name, ..)| *name).collect();
    let all: BTreeSet<&str> =
        Method::ALL.iter().filter(|method| method.is_agent()).map(|method| method.name()).collect();
    assert_eq!(named, all);
    for (name, params, expected) in methods {
        let text = params.to_string();
        let ran = alice.run(&["api", name, &text]);
        match expected {
            None => {
                assert_eq!(ran.status, 0, "{name}: {ran:?}");
                assert!(serde_json::from_str::<Value>(&ran.stdout).unwrap().is_object(), "{name}");
            }
            Some((status, code)) => assert_eq!(ran.failure(), failure(status, code), "{name}"),
        }
        // A parameter that does not exist is the caller's fault, whatever the method.
        let mut wrong = params;
        wrong["nonsense"] = json!(1);
        let ran = alice.fed(wrong.to_string().as_bytes(), &["api", name, "-"]);
        assert_eq!(ran.failure(), failure(1, "invalid_request"), "{name}");
    }
    assert_eq!(alice.fails(&["api", "no.such"]), failure(1, "invalid_request"));
    assert_eq!(alice.fails(&["api", "daemon.health", "[]"]), failure(2, "invalid_request"));
}

#[test]
fn a_session_of_scripts_goes_through_one_connection() {
    let house = House::new();
    let (alice, bob) = house.two();
    let (mut writer, mut api) = (alice.agent("writer"), bob.agent("api"));
    let id = writer.send("bob/api@desk", "one");
    assert_eq!(api.event("inbox")["item"]["id"], json!(id));
    assert_eq!(api.call("inbox.ack", json!({"ids": [id], "stage": "read"}))["acked"], json!([id]));
    assert_eq!(api.call("inbox.ack", json!({"ids": [id], "stage": "read"}))["acked"], json!([]));
    writer.reaches(&id, "read");
    let told: Vec<Value> = writer.events_left();
    let stages: Vec<&Value> =
        told.iter().filter(|e| e["type"] == "delivery").map(|e| &e["stage"]).collect();
    assert_eq!(stages, ["relayed", "delivered", "read"]);
    // A session that ends is kept, and its mail with it; the next one of its kind takes it over.
    writer.send("bob/api@desk", "two");
    api.event("inbox");
    api.call("session.unregister", json!({}));
    wait("the kept session", || (alice.knows("bob/api@desk")["kept"] == true).then_some(()));
    let mut ipc = bob.ipc();
    let register =
        json!({"key": "another-key-of-the-next-client", "agent": "codex", "name": "api"});
    let taken = ipc.call("session.register", &register).unwrap().unwrap();
    assert_eq!((&taken["takenOver"], &taken["unread"]), (&json!(true), &json!(1)));
}

/// The executable under another name, as a link.
fn link(folder: &Path, name: &str, to: &Path) -> Command {
    let path = folder.join(name);
    symlink(to, &path).unwrap();
    Process::command(&path, path.to_str().unwrap())
}

#[test]
fn messagingd_alone_is_the_command_line_too() {
    let folder = short_folder();
    let daemon = Path::new(env!("CARGO_BIN_EXE_messagingd"));
    let home = folder.path().join("home");
    let cli = |words: &[&str]| {
        let mut command = Process::command(daemon, daemon.to_str().unwrap());
        command.arg("cli").arg("--home").arg(&home).args(words);
        run(command, b"")
    };
    // The daemon that it starts is itself.
    let started = cli(&["daemon", "start", "--json"]);
    assert_eq!(started.status, 0, "{started:?}");
    let pid = serde_json::from_str::<Value>(&started.stdout).unwrap()["pid"].to_string();
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    if cfg!(target_os = "linux") {
        assert_eq!(program.unwrap(), daemon.canonicalize().unwrap());
    }
    assert_eq!(cli(&["status"]).status, 0);

    let mut linked = link(folder.path(), "messaging", daemon);
    linked.arg("--home").arg(&home).args(["daemon", "stop"]);
    let stopped = run(linked, b"");
    assert_eq!(stopped.stdout, format!("stopped, process {pid}\n"), "{stopped:?}");
    assert_eq!(cli(&["status"]).failure(), failure(3, "daemon_unavailable"));
}

#[test]
fn each_program_says_what_it_is() {
    let version = env!("CARGO_PKG_VERSION");
    let schema = "(store schema 1, protocol messaging/1)";
    let relay = format!("messaging-relay {version} {schema}\n");
    let daemon = format!("messagingd {version} {schema}\n");
    for (name, words) in [("messaging-relay", &relay), ("messagingd", &daemon)] {
        let mut command = Process::command(executable(), name);
        command.arg("--version");
        let said = run(command, b"");
        assert_eq!((said.status, &said.stdout), (0, words));
    }
    let folder = short_folder();
    let machine = Machine::at(&folder.path().join("home"));
    assert!(machine.ok(&["--version"]).contains(version));
    assert_eq!(machine.json(&["version"])["version"], version);
}
