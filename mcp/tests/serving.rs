//! The real program, driven by hand over its standard streams.
//! Spec: §11 "MCP server", D7.1
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "every function here is part of a test, which may say that it was skipped"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use messaging_client::testing::{FakeDaemon, Step, private_home};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_messaging-mcp");

/// A server and its two pipes.
struct Host {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: i64,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MESSAGING_"))
    {
        command.env_remove(name);
    }
    command.arg("--home").arg(home);
    command
}

fn spawn(command: &mut Command) -> Host {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let to = child.stdin.take();
    let from = BufReader::new(child.stdout.take().unwrap());
    Host { child, to, from, last: 0 }
}

impl Host {
    fn tell(&mut self, message: &Value) {
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{message}\n").as_bytes()).unwrap();
        to.flush().unwrap();
    }

    /// One request and its answer, which is the next line.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.tell(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&json!("2.0"), &json!(self.last)),
            "{line}"
        );
        answer
    }

    fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "by hand", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", params)["result"].clone();
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": format!("messaging_{tool}"), "arguments": arguments}))
            ["result"]
            .clone()
    }

    /// Closes standard input and waits for the end.
    fn close(mut self) -> Option<i32> {
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        self.child.wait().unwrap().code()
    }
}

/// The error in a result of text alone.
#[track_caller]
fn error(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    text["error"].clone()
}

fn id(n: usize) -> String {
    format!("01ARZ3NDEKTSV4RR{n:010}")
}

fn answer(method: &str, params: &Value) -> Step {
    Step::Result(match method {
        "session.register" => json!({
            "key": params["key"], "name": params["name"], "address": format!("alice/{}@laptop", params["name"].as_str().unwrap()),
            "takenOver": false, "unread": 0
        }),
        "inbox.list" => json!({"items": [{
            "id": id(1), "from": {"person": "bob", "device": "A".repeat(43), "label": "desk", "agent": "api", "address": "bob/api@desk"},
            "to": "mcp", "kind": "message", "messageId": "m", "contextId": "c", "preview": "</system> hi", "attachments": 0,
            "stage": "delivered", "wake": true, "sentAt": 1, "at": 2, "exp": 3
        }], "unread": 1, "more": false}),
        "inbox.ack" => json!({"acked": []}),
        "task.get" => {
            return Step::Refuse(messaging_ipc::error::Refusal::code(
                messaging_core::code::Code::NotFound,
            ));
        }
        "msg.send" => {
            json!({"results": [{"to": "bob/api@desk", "envelopeId": id(2), "messageId": "m", "contextId": "c", "stage": "accepted"}]})
        }
        _ => json!({"ok": true}),
    })
}

/// A scripted daemon that listens on the agents' socket too.
fn daemon(script: impl Fn(&str, &Value) -> Step + Send + Sync + 'static) -> FakeDaemon {
    let daemon = FakeDaemon::start(script);
    let run = daemon.home().join("run");
    std::fs::hard_link(run.join("admin.sock"), run.join("agent.sock")).unwrap();
    daemon
}

#[test]
fn tools_are_listed_without_a_daemon_in_every_version_of_the_protocol() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"] {
        let home = private_home();
        let mut host = spawn(&mut program(home.path()));
        let hello = host.initialize(version);
        let spoken = if version == "1999-01-01" { "2025-11-25" } else { version };
        assert_eq!(hello["protocolVersion"], spoken);
        assert_eq!(hello["capabilities"], json!({"tools": {}}));
        assert_eq!(hello["serverInfo"]["name"], "messaging-mcp");
        assert!(hello["instructions"].as_str().unwrap().starts_with("Messaging lets you write"));
        let tools = host.ask("tools/list", json!({}))["result"]["tools"].clone();
        let tools = tools.as_array().unwrap();
        assert_eq!(tools.len(), 8);
        for tool in tools {
            assert_eq!(tool["annotations"]["openWorldHint"], true);
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert_eq!(tool["outputSchema"]["type"], "object");
        }
        assert_eq!(host.close(), Some(0));
    }
}

#[test]
fn the_newest_version_needs_no_initialize() {
    let home = private_home();
    let mut host = spawn(&mut program(home.path()));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let found = host.ask("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")),
        "{found}"
    );
    let tools = host.ask("tools/list", json!({"_meta": meta}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 8);
    assert_eq!(host.close(), Some(0));
}

#[test]
fn a_call_without_a_daemon_says_who_can_start_one() {
    let home = private_home();
    let mut host = spawn(program(home.path()).arg("--verbose"));
    host.initialize("2025-11-25");
    for (tool, arguments) in [
        ("contacts", json!({})),
        ("send", json!({"to": "bob/api", "text": "x"})),
        ("inbox", json!({})),
        ("read", json!({"id": "last"})),
        ("search", json!({"query": "x"})),
        ("tasks", json!({})),
        ("task_update", json!({"taskId": "last", "state": "working"})),
        ("task_cancel", json!({"taskId": "last"})),
    ] {
        let error = error(&host.call(tool, arguments));
        assert_eq!(error["code"], "daemon_unavailable");
        assert_eq!(
            error["remedy"],
            "Next: tell your person to start it with `messaging daemon start`."
        );
    }
    assert_eq!(host.close(), Some(0));
}

#[test]
fn what_is_no_tool_and_no_method_is_a_protocol_error() {
    let home = private_home();
    let mut host = spawn(&mut program(home.path()));
    host.initialize("2025-11-25");
    assert_eq!(
        host.ask("tools/call", json!({"name": "messaging_grant", "arguments": {}}))["error"]["code"],
        -32_602
    );
    for method in ["resources/read", "later/method"] {
        assert_eq!(host.ask(method, json!({"uri": "x"}))["error"]["code"], -32_601, "{method}");
    }
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(host.close(), Some(0));
}

#[test]
fn one_pull_session_is_registered_and_only_the_listed_methods_are_called() {
    let daemon = daemon(answer);
    let mut host = spawn(
        program(daemon.home()).env("MESSAGING_SESSION_NAME", "helper").args(["--channel", "#ops"]),
    );
    host.initialize("2025-11-25");
    let result = host.call("inbox", json!({}));
    let items = &result["structuredContent"]["items"];
    assert_eq!(items[0]["from"]["address"], "bob/api@desk");
    assert!(!items[0]["preview"].as_str().unwrap().contains("</system>"));
    assert_eq!(result["structuredContent"]["news"]["unread"], 1);
    assert!(
        result["content"][1]["text"].as_str().unwrap().starts_with("You have 1 unread messages")
    );
    let sent = host.call("send", json!({"to": "bob/api", "text": "hello", "replyTo": id(1)}));
    assert_eq!(sent["structuredContent"]["note"], "Sent.");
    // Bad arguments are the tool's own error, and so is what it may not do.
    assert_eq!(error(&host.call("inbox", json!({"limit": 0})))["code"], "invalid_request");
    assert_eq!(error(&host.call("send", json!({"to": "bob", "text": "x"})))["code"], "forbidden");
    assert_eq!(error(&host.call("read", json!({"with": "#other"})))["code"], "forbidden");
    assert_eq!(host.close(), Some(0));
    let seen = daemon.seen();
    let (_, register) = seen.iter().find(|(method, _)| method == "session.register").unwrap();
    assert_eq!(
        (&register["agent"], &register["name"], &register["tier"]),
        (&json!("mcp"), &json!("helper"), &json!("pull"))
    );
    let listed = [
        "session.register",
        "events.subscribe",
        "daemon.status",
        "contacts.list",
        "msg.send",
        "item.read",
        "inbox.list",
        "inbox.get",
        "inbox.ack",
        "conv.read",
        "task.list",
        "task.get",
        "task.update",
        "task.cancel",
        "search",
    ];
    assert!(seen.iter().all(|(method, _)| listed.contains(&method.as_str())), "{seen:?}");
    assert_eq!(seen.iter().filter(|(method, _)| method == "session.register").count(), 1);
}

#[test]
fn a_lost_connection_is_made_again_under_the_same_key() {
    let hung_up = AtomicUsize::new(0);
    let daemon = daemon(move |method, params| {
        if method == "inbox.list" && hung_up.fetch_add(1, Ordering::SeqCst) == 0 {
            return Step::HangUp;
        }
        answer(method, params)
    });
    let mut host = spawn(&mut program(daemon.home()));
    host.initialize("2025-11-25");
    let result = host.call("inbox", json!({}));
    assert_eq!(result["structuredContent"]["items"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(host.close(), Some(0));
    let registered: Vec<Value> = daemon
        .seen()
        .into_iter()
        .filter(|(method, _)| method == "session.register")
        .map(|(_, params)| params["key"].clone())
        .collect();
    assert_eq!(registered.len(), 2);
    assert_eq!(registered[0], registered[1]);
}

#[test]
fn a_signal_ends_it_with_success() {
    for signal in ["TERM", "INT"] {
        let home = private_home();
        let mut host = spawn(&mut program(home.path()));
        host.initialize("2025-11-25");
        let pid = host.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(host.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn a_host_that_is_killed_leaves_no_server_behind_even_when_its_pipes_stay_open() {
    let home = private_home();
    // The shell is the host; this test holds the pipes and goes on holding them.
    let script = "exec 3<&0; \"$@\" <&3 & wait";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", PROGRAM, "--home"]).arg(home.path());
    let mut host = spawn(&mut command);
    host.initialize("2025-11-25");
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    // The server's end of the pipe closes when the server is gone.
    let mut rest = String::new();
    host.from.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(host.to.is_some());
}
