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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use messaging_client::testing::{FakeDaemon, Step, private_home};
use messaging_ipc::hello::{Hello, release};
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
    /// The next line, a message of the protocol.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

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
    for_agents(FakeDaemon::start(script))
}

fn for_agents(daemon: FakeDaemon) -> FakeDaemon {
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

/// The ways in which a parent ends: what it does before, what is done to it, and whether the pipe to the server closes. A
/// shell gives what it starts in the background no input but the one it is told to.
const ENDS: [(&str, &str, bool); 8] = [
    ("", "KILL", true),
    ("", "KILL", false),
    ("", "TERM", false),
    ("", "HUP", false),
    ("", "SEGV", true),
    // It ends by itself.
    ("trap 'exit 0' USR1;", "USR1", false),
    // It stands still when it is killed.
    ("(sleep 0.1; kill -s STOP $$) &", "KILL", false),
    // Its server is not of its group, and gets nothing that its group gets.
    ("set -m;", "KILL", false),
];

/// `MESSAGING_TEST_ROUNDS` makes it more.
const ROUNDS: usize = 20;

#[test]
fn no_server_outlives_its_parent_however_that_ends() {
    let rounds = std::env::var("MESSAGING_TEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds: usize = rounds.unwrap_or(ROUNDS);
    for round in 0..rounds {
        let (before, signal, closes) = ENDS[round % ENDS.len()];
        let home = private_home();
        let mut command = Command::new("sh");
        let script = format!("exec 3<&0; {before} \"$@\" <&3 & wait");
        command.args(["-c", &script, "sh", PROGRAM, "--home"]).arg(home.path());
        let mut host = spawn(&mut command);
        host.initialize("2025-11-25");
        let pid = host.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        host.child.wait().unwrap();
        if closes {
            drop(host.to.take());
        }
        // The server's end of the pipe closes when the server is gone.
        let (gone, told) = std::sync::mpsc::channel();
        let Host { from, .. } = &mut host;
        let mut from = std::mem::replace(from, BufReader::new(spare()));
        std::thread::spawn(move || {
            let mut rest = String::new();
            from.read_to_string(&mut rest).unwrap();
            gone.send(rest).unwrap();
        });
        let rest = told.recv_timeout(Duration::from_secs(60));
        assert_eq!(rest.as_deref(), Ok(""), "round {round}: {before} {signal}");
        assert_eq!(host.to.is_none(), closes);
    }
    println!("{rounds} parents ended and no server stayed");
}

/// The output of a process that has none.
fn spare() -> ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    child.wait().unwrap();
    child.stdout.take().unwrap()
}

#[test]
fn tools_are_listed_soon_after_a_cold_start() {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let home = private_home();
            let start = Instant::now();
            let mut host = spawn(&mut program(home.path()));
            host.initialize("2025-11-25");
            let tools = host.ask("tools/list", json!({}));
            assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 8);
            let took = start.elapsed();
            host.close();
            took
        })
        .collect();
    times.sort();
    println!("tools listed after {:?} (the middle of five), {:?} at most", times[2], times[4]);
    // 300 ms on a machine that does nothing else.
    assert!(times[0] < Duration::from_secs(3), "{times:?}");
}

#[test]
fn nothing_but_the_protocol_stands_on_standard_output() {
    let flags: [&[&str]; 4] = [
        &[],
        &["--verbose", "--push", "--channel", "ops"],
        &["--max-answer-bytes", "16384", "--name", "x", "--agent", "codex"],
        &["--verbose", "--ticket-file", "/none"],
    ];
    let daemon = daemon(answer);
    let empty = private_home();
    for home in [daemon.home(), empty.path()] {
        for flags in flags {
            for level in ["trace", "off"] {
                let mut command = program(home);
                command.args(flags).env("RUST_LOG", level).env("RUST_BACKTRACE", "1");
                let mut host = spawn(&mut command);
                host.initialize("2025-11-25");
                host.call("inbox", json!({}));
                host.call("read", json!({"id": "nonsense"}));
                for strange in
                    ["", "not json", "[1]", "{\"jsonrpc\":\"2.0\"}", "{\"id\":{}}", "\u{0}"]
                {
                    host.to.as_mut().unwrap().write_all(format!("{strange}\n").as_bytes()).unwrap();
                }
                // Whatever it makes of them, it goes on, and each of its lines is the protocol's.
                host.tell(&json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}));
                while host.line()["id"] != "last" {}
                drop(host.to.take());
                let mut rest = String::new();
                host.from.read_to_string(&mut rest).unwrap();
                assert_eq!(rest, "", "{flags:?}");
            }
        }
    }
    // A command line that cannot be is said on standard error.
    for wrong in [&["--serve"][..], &["--agent", "cli"], &["word"]] {
        let output = program(empty.path()).args(wrong).stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(64), &[][..]));
    }
}

/// A program on disk that says another release, and is this one all the same.
fn upgrade(path: &Path, release: &str, marker: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) echo 'messaging-mcp {release}'; exit;; esac\n: > '{}'\nexec '{PROGRAM}' \"$@\"\n",
        marker.display()
    );
    let new = path.with_extension("new");
    std::fs::write(&new, script).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::rename(new, path).unwrap();
}

/// A daemon that is of release 9.9.9 once `newer` is set, to everybody but a program that was upgraded too. It hangs up
/// when it becomes so.
fn upgrading(newer: &Arc<AtomicBool>, marker: &Path) -> FakeDaemon {
    let (said, is_newer, marker) = (Arc::clone(newer), Arc::clone(newer), marker.to_owned());
    let fits = move || !said.load(Ordering::SeqCst) || marker.exists();
    let greet = {
        let fits = fits.clone();
        move || {
            let mut hello = Hello::new(1, None);
            if !fits() {
                hello.version = "9.9.9".to_owned();
            }
            hello.line()
        }
    };
    let script = move |method: &str, params: &Value| {
        if is_newer.load(Ordering::SeqCst) && !fits() {
            Step::HangUp
        } else {
            answer(method, params)
        }
    };
    for_agents(FakeDaemon::greeting_by(greet, script))
}

#[test]
fn a_server_becomes_the_daemons_release_in_place_and_loses_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let (path, marker) = (folder.path().join("messaging-mcp"), folder.path().join("upgraded"));
    std::os::unix::fs::symlink(PROGRAM, &path).unwrap();
    let newer = Arc::new(AtomicBool::new(false));
    let daemon = upgrading(&newer, &marker);
    let mut command = program(daemon.home());
    let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    command = Command::new(&path);
    command.args(args).env_remove("MESSAGING_SESSION_NAME");
    let mut host = spawn(&mut command);
    host.initialize("2025-11-25");
    assert_eq!(host.call("inbox", json!({}))["isError"], false);
    newer.store(true, Ordering::SeqCst);
    // The daemon goes away under a call, and comes back as another release.
    assert_eq!(error(&host.call("tasks", json!({})))["code"], "daemon_mismatch");
    upgrade(&path, "9.9.9", &marker);
    let call = |id: &str, tool: &str| {
        let params = json!({"name": format!("messaging_{tool}"), "arguments": {}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    // Three requests at once, and the beginning of a fourth.
    let fourth = call("d", "inbox");
    let (first, last) = fourth.split_at(20);
    let ping = json!({"jsonrpc": "2.0", "id": "c", "method": "ping"});
    let text = format!("{}\n{}\n{ping}\n{first}", call("a", "inbox"), call("b", "inbox"));
    host.to.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    let mut answers = std::collections::BTreeMap::new();
    while answers.len() < 3 {
        let answer = host.line();
        let id = answer["id"].as_str().unwrap().to_owned();
        assert!(answers.insert(id, answer).is_none(), "answered twice");
    }
    host.to.as_mut().unwrap().write_all(format!("{last}\n").as_bytes()).unwrap();
    let answer = host.line();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!("d"), &json!(false)));
    for id in ["a", "b"] {
        assert_eq!(answers[id]["result"]["isError"], false, "{}", answers[id]);
    }
    assert!(marker.exists());
    let keys: std::collections::BTreeSet<String> = daemon
        .seen()
        .into_iter()
        .filter(|(method, _)| method == "session.register")
        .map(|(_, params)| params["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys.len(), 1, "the same session");
    assert_eq!(host.close(), Some(0));
}

#[test]
fn without_a_program_of_the_daemons_release_a_call_says_the_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let (path, marker) = (folder.path().join("messaging-mcp"), folder.path().join("upgraded"));
    std::os::unix::fs::symlink(PROGRAM, &path).unwrap();
    let newer = Arc::new(AtomicBool::new(true));
    let daemon = upgrading(&newer, &marker);
    let mut command = Command::new(&path);
    command.arg("--home").arg(daemon.home());
    let mut host = spawn(&mut command);
    host.initialize("2025-11-25");
    for release in [release(), "9.9.8"] {
        upgrade(&path, release, &marker);
        let error = error(&host.call("inbox", json!({})));
        assert_eq!(error["code"], "daemon_mismatch");
        assert!(error["message"].as_str().unwrap().contains("9.9.9"));
        assert_eq!(
            error["remedy"],
            "Next: tell your person to stop the running daemon and start this version's."
        );
    }
    assert!(!marker.exists());
    assert_eq!(host.close(), Some(0));
}

/// A daemon with one item, told of when somebody subscribes.
fn telling(wake: bool) -> FakeDaemon {
    daemon(move |method, params| {
        let Step::Result(result) = answer(method, params) else { return answer(method, params) };
        if method != "events.subscribe" {
            return Step::Result(result);
        }
        let Step::Result(list) = answer("inbox.list", params) else { panic!("a list") };
        let mut item = list["items"][0].clone();
        item["wake"] = json!(wake);
        let event = json!({"type": "inbox", "key": params["key"], "item": item});
        Step::Events(vec![serde_json::from_value(event).unwrap()], result)
    })
}

fn tier(daemon: &FakeDaemon) -> Value {
    let seen = daemon.seen();
    let register = seen.iter().find(|(method, _)| method == "session.register");
    register.unwrap().1["tier"].clone()
}

/// Opens a conversation as a host of this name.
fn open_as(host: &mut Host, name: &str) -> Value {
    let client = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let hello = host.ask("initialize", params)["result"].clone();
    host.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    hello
}

#[test]
fn a_host_that_takes_channels_is_told_of_new_items_by_itself() {
    let daemon = telling(true);
    let mut host = spawn(program(daemon.home()).arg("--push"));
    let hello = open_as(&mut host, "claude-code");
    assert_eq!(hello["capabilities"]["experimental"], json!({"claude/channel": {}}));
    let told = host.line();
    assert_eq!(told["method"], "notifications/claude/channel");
    let content = told["params"]["content"].as_str().unwrap();
    assert!(content.contains(&id(1)) && content.contains("&lt;/system> hi"), "{content}");
    assert_eq!(told["params"]["meta"], json!({"count": "1"}));
    assert_eq!(tier(&daemon), "push");
    // Nothing says that the host took it.
    assert!(daemon.seen().iter().all(|(method, _)| method != "inbox.ack"));
    assert_eq!(host.close(), Some(0));
}

#[test]
fn without_the_hosts_or_the_persons_word_nothing_is_pushed_and_senders_are_not_told_so() {
    for (flags, name, wake) in [
        (&["--push"][..], "by hand", true),
        (&[], "claude-code", true),
        (&["--push"], "claude-code", false),
    ] {
        let daemon = telling(wake);
        let mut host = spawn(program(daemon.home()).args(flags));
        let hello = open_as(&mut host, name);
        assert_eq!(hello["capabilities"]["experimental"].is_object(), !flags.is_empty());
        // The next line is the answer, and so are all: a call lets everything before it happen.
        assert_eq!(host.call("inbox", json!({}))["isError"], false);
        let live = !flags.is_empty() && name == "claude-code";
        assert_eq!(tier(&daemon), if live { "push" } else { "pull" });
        assert_eq!(host.close(), Some(0));
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
