//! The official clients of the protocol, from their registries, against the real program.
//! Spec: D7.1 "Result", D7.4
//!
//! They are installed once, into the target folder. Where a registry cannot be reached the test says so and passes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "every function here is part of a test, which may say that it was skipped"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_messaging-mcp");

fn id(n: usize) -> String {
    format!("01ARZ3NDEKTSV4RR{n:010}")
}

fn peer() -> Value {
    json!({"person": "bob", "device": "A".repeat(43), "label": "desk", "agent": "api", "address": "bob/api@desk"})
}

fn task() -> Value {
    json!({
        "id": id(5), "contextId": "c", "role": "executor", "session": "mcp", "peer": peer(), "title": "t",
        "status": {"state": "TASK_STATE_WORKING"}, "request": {"parts": [{"text": "t"}]}, "requestId": id(6),
        "history": [{"parts": [{"text": "t"}]}], "artifacts": [], "createdAt": 1, "updatedAt": 2
    })
}

fn item() -> Value {
    json!({
        "id": id(1), "from": peer(), "to": "mcp", "kind": "message", "messageId": "m", "contextId": "c", "preview": "hi",
        "attachments": 0, "stage": "delivered", "wake": true, "sentAt": 1, "at": 2, "exp": 3
    })
}

/// A daemon that does everything, and refuses a send whose text is a code with that code.
fn script(method: &str, params: &Value) -> Step {
    Step::Result(match method {
        "session.register" => json!({
            "key": params["key"], "name": "mcp", "address": "alice/mcp@laptop", "takenOver": false, "unread": 0
        }),
        "contacts.list" => json!({"entries": [], "conversations": [], "reach": []}),
        "daemon.status" => json!({
            "version": "0", "protocol": 1, "storeSchema": 1, "pid": 1, "startedAt": 1, "state": "running",
            "realm": {"kind": "roster"}, "relay": {"state": "offline"}
        }),
        "msg.send" => {
            if let Some(code) = params["parts"][0]["text"].as_str().and_then(Code::parse) {
                return Step::Refuse(Refusal::code(code));
            }
            json!({"results": [{
                "to": "bob/api@desk", "envelopeId": id(2), "messageId": "m", "contextId": "c", "stage": "accepted", "expect": "on_read"
            }]})
        }
        "inbox.list" => json!({"items": [item()], "unread": 1, "more": false}),
        "inbox.get" if params["id"] == id(1).as_str() => {
            json!({"item": item(), "message": {"parts": [{"text": "hi"}]}})
        }
        "item.read" => {
            json!({"kind": "received", "item": item(), "message": {"parts": [{"text": "hi"}]}})
        }
        "inbox.get" => return Step::Refuse(Refusal::code(Code::NotFound)),
        "inbox.ack" => json!({"acked": []}),
        "conv.read" => {
            json!({"kind": "lines", "conversation": "channel:ops", "lines": [], "more": false})
        }
        "search" => json!({"hits": [], "more": false}),
        "task.list" => json!({"tasks": [], "total": 0}),
        "task.cancel" => json!({"task": task(), "sent": true}),
        "task.get" | "task.update" => json!({"task": task()}),
        _ => json!({"ok": true}),
    })
}

fn daemon() -> FakeDaemon {
    let daemon = FakeDaemon::start(script);
    let run = daemon.home().join("run");
    std::fs::hard_link(run.join("admin.sock"), run.join("agent.sock")).unwrap();
    daemon
}

/// Every tool with success; then a send for every code, and the tools' own refusals.
fn calls() -> Vec<(Value, Option<&'static str>)> {
    let call = |tool: &str, arguments: Value| json!([format!("messaging_{tool}"), arguments]);
    let mut calls = vec![
        (call("contacts", json!({})), None),
        (call("send", json!({"to": "bob/api", "text": "hello"})), None),
        (call("inbox", json!({})), None),
        (call("read", json!({"id": "last"})), None),
        (call("read", json!({"id": id(5)})), None),
        (call("read", json!({"with": "#ops"})), None),
        (call("search", json!({"query": "x"})), None),
        (call("tasks", json!({})), None),
        (call("task_update", json!({"taskId": id(5), "state": "working"})), None),
        (call("task_cancel", json!({"taskId": id(5)})), None),
        (call("inbox", json!({"limit": 1_000})), Some("invalid_request")),
        (call("send", json!({"to": "bob", "text": "x"})), Some("forbidden")),
    ];
    for code in Code::ALL {
        // Who cannot be found is said in the tools' own word.
        let shown = if *code == Code::NoRecipients { Code::UnknownAddress } else { *code };
        // A refusal under a code that is a success, or the client's own, does not come from a daemon.
        if !matches!(code, Code::Duplicate | Code::DaemonUnavailable | Code::DaemonMismatch) {
            calls.push((
                call("send", json!({"to": "bob/api", "text": code.as_str()})),
                Some(shown.as_str()),
            ));
        }
    }
    calls
}

/// A folder for what is installed, beside what is built.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a step of an installation; false, and says why, when it cannot be done here.
fn installed(what: &str, command: &mut Command) -> bool {
    let done = command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success());
    if !done {
        println!(
            "skipped: {what} cannot be installed here (no such program, or its registry is out of reach)"
        );
    }
    done
}

#[track_caller]
fn check(output: std::process::Output) {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["tools"].as_array().unwrap().len(), 8);
    let answers = said["answers"].as_array().unwrap();
    let calls = calls();
    assert_eq!(answers.len(), calls.len());
    for (answer, (call, code)) in answers.iter().zip(calls) {
        assert_eq!(answer["error"], code.is_some(), "{call}: {answer}");
        let text: Value = serde_json::from_str(answer["text"].as_str().unwrap()).unwrap();
        match code {
            None => assert_eq!(text, answer["structured"], "{call}"),
            Some(code) => {
                assert!(answer["structured"].is_null(), "{call}");
                assert_eq!(text["error"]["code"], code, "{call}");
                let message = text["error"]["message"].as_str().unwrap();
                assert!(message.starts_with(&format!("{code}: ")), "{message}");
                assert!(text["error"]["remedy"].as_str().unwrap().starts_with("Next: "));
            }
        }
    }
}

/// The calls as the drivers take them.
fn calls_text() -> String {
    Value::from(calls().into_iter().map(|(call, _)| call).collect::<Vec<_>>()).to_string()
}

fn driver(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

#[test]
fn the_official_python_client_reads_every_result_and_every_refusal() {
    let folder = folder("python-client");
    let python = folder.join("bin/python");
    let module = ["-c", "import mcp, jsonschema"];
    let there =
        Command::new(&python).args(module).output().is_ok_and(|output| output.status.success());
    let ready = there
        || installed(
            "a Python environment",
            Command::new("python3").args(["-m", "venv"]).arg(&folder),
        ) && installed(
            "the Python client",
            Command::new(&python).args(["-m", "pip", "install", "-q", "mcp==2.3.0", "jsonschema"]),
        );
    if !ready {
        return;
    }
    for mode in ["auto", "legacy"] {
        let daemon = daemon();
        let mut command = Command::new(&python);
        command.arg(driver("drive.py")).args([
            mode,
            &calls_text(),
            PROGRAM,
            "--channel",
            "ops",
            "--home",
        ]);
        check(command.arg(daemon.home()).output().unwrap());
    }
}

#[test]
fn the_official_typescript_client_reads_every_result_and_every_refusal() {
    let folder = folder("typescript-client");
    let package = "@modelcontextprotocol/sdk";
    let ready = folder.join("node_modules").join(package).is_dir()
        || installed(
            "the TypeScript client",
            Command::new("npm")
                .args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"])
                .arg(&folder)
                .arg(format!("{package}@1.32.2")),
        );
    if !ready {
        return;
    }
    // It finds its package beside itself.
    let script = folder.join("drive.mjs");
    std::fs::copy(driver("drive.mjs"), &script).unwrap();
    let daemon = daemon();
    let mut command = Command::new("node");
    command.arg(&script).args([&calls_text(), PROGRAM, "--channel", "ops", "--home"]);
    check(command.arg(daemon.home()).output().unwrap());
}
