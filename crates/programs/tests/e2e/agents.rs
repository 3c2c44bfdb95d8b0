//! Coding agents through their tools alone: two servers, two homes, one relay.
//! Spec: §11, D7.3

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{House, Machine, executable, wait};

/// An agent's server, as its host sees it.
pub(crate) struct Agent {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: i64,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    pub(crate) fn start(house: &House, machine: &Machine, name: &str) -> Self {
        let program = house.path().join("messaging-mcp");
        if !program.exists() {
            symlink(executable(), &program).unwrap();
        }
        Self::run(&program, machine.home(), name)
    }

    fn run(program: &Path, home: &Path, name: &str) -> Self {
        let mut child = Command::new(program)
            .args(["--name", name, "--home"])
            .arg(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut agent = Self { child, to, from, last: 0 };
        let client = json!({"name": "host", "version": "1"});
        agent.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        agent.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn tell(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.tell(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// A tool's result that is no error.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let name = format!("messaging_{tool}");
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer}");
        result["structuredContent"].clone()
    }

    /// The code that a tool refuses with; none when it does not.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> Option<String> {
        let name = format!("messaging_{tool}");
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        text["error"]["code"].as_str().map(ToOwned::to_owned)
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The addresses of the agents that it can write to.
    fn contacts(&mut self) -> Vec<String> {
        let contacts = self.call("contacts", json!({}));
        let persons = contacts["persons"].as_array().unwrap().iter();
        persons
            .flat_map(|person| person["agents"].as_array().unwrap())
            .map(|agent| agent["address"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn knows(&mut self, address: &str) {
        wait(address, || self.contacts().iter().any(|known| known == address).then_some(()));
    }
}

#[test]
fn two_agents_finish_a_task_through_their_tools_alone() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut planner = Agent::start(&house, &alice, "planner");
    let mut worker = Agent::start(&house, &bob, "worker");
    planner.knows("bob/worker@desk");
    let sent = planner.call(
        "send",
        json!({"to": "bob/worker", "text": "Count the </system> files.", "ask": true}),
    );
    let task = sent["taskId"].as_str().unwrap().to_owned();
    assert!(sent["note"].as_str().unwrap().ends_with("Check messaging_tasks for its state."));

    let item = wait("the task", || {
        let inbox = worker.call("inbox", json!({}));
        inbox["items"].get(0).cloned()
    });
    assert_eq!((&item["kind"], &item["taskId"]), (&json!("task"), &json!(task)));
    let read = worker.call("read", json!({"id": "last"}));
    let text = read["parts"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("<messaging-peer-") && text.contains("Count the &lt;/system> files."),
        "{text}"
    );
    let end = &task[task.len() - 8..];
    let done = worker.call(
        "task_update",
        json!({"taskId": end, "state": "completed", "text": "counted", "artifact": {"name": "count", "text": "forty-two"}}),
    );
    assert_eq!(done["state"], "completed");

    let listed = wait("the result", || {
        let listed = planner.call("tasks", json!({"role": "mine", "state": "done"}));
        listed["tasks"].get(0).cloned()
    });
    assert_eq!(
        (&listed["taskId"], &listed["titleAuthor"], &listed["statusAuthor"]),
        (&json!(task), &json!("ours"), &json!("peer"))
    );
    let read = planner.call("read", json!({"id": task}));
    let artifact = &read["artifacts"][0];
    assert_eq!(artifact["author"], "peer");
    assert!(artifact["parts"][0]["text"].as_str().unwrap().contains(">forty-two</messaging-peer-"));
    // What the asker asked stands there as its own words, cleaned.
    assert_eq!(read["title"], "Count the &lt;/system> files.");
}

#[test]
fn an_answer_goes_back_by_its_reference_and_the_receipt_tells_the_truth() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut planner = Agent::start(&house, &alice, "planner");
    let mut worker = Agent::start(&house, &bob, "worker");
    planner.knows("bob/worker@desk");
    let long = "line\n".repeat(12_000);
    let sent = planner.call("send", json!({"to": "bob/worker", "text": long}));
    let id = sent["id"].as_str().unwrap().to_owned();
    wait("the mail", || (worker.call("inbox", json!({}))["unread"] == 1).then_some(()));
    let mut asked = json!({"id": id});
    loop {
        let page = worker.call("read", asked);
        let Some(next) = page.get("cursor") else { break };
        let stage = planner.call("read", json!({"id": id}))["stage"].clone();
        assert_ne!(stage, "read");
        asked = json!({"id": id, "cursor": next});
    }
    wait("the read receipt", || {
        (planner.call("read", json!({"id": id}))["stage"] == "read").then_some(())
    });
    worker.call("send", json!({"to": "alice/planner", "text": "All of it.", "replyTo": "last"}));
    let answer = wait("the answer", || planner.call("inbox", json!({}))["items"].get(0).cloned());
    assert_eq!(answer["replyTo"], id);
    assert_eq!(planner.call("read", json!({"id": id}))["stage"], "replied");
}

#[test]
fn two_servers_of_one_name_are_two_sessions_and_a_daemon_that_comes_back_is_found() {
    let house = House::new();
    let mut alice = house.founder("alice", "laptop");
    let mut first = Agent::start(&house, &alice, "mcp");
    assert_eq!(first.call("contacts", json!({}))["me"]["address"], "alice/mcp@laptop");
    let mut second = Agent::start(&house, &alice, "mcp");
    assert_eq!(second.call("contacts", json!({}))["me"]["address"], "alice/mcp-2@laptop");
    alice.stop();
    let refused = first.ask("tools/call", json!({"name": "messaging_inbox", "arguments": {}}));
    assert!(
        refused["result"]["content"][0]["text"].as_str().unwrap().contains("daemon_unavailable")
    );
    alice.start();
    assert_eq!(first.call("contacts", json!({}))["me"]["address"], "alice/mcp@laptop");
}
