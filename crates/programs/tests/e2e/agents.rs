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
        Self::start_with(house, machine, name, &[])
    }

    fn start_with(house: &House, machine: &Machine, name: &str, flags: &[&str]) -> Self {
        let program = house.path().join("messaging-mcp");
        if !program.exists() {
            symlink(executable(), &program).unwrap();
        }
        Self::run(&program, machine.home(), name, flags)
    }

    fn run(program: &Path, home: &Path, name: &str, flags: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(["--name", name, "--home"])
            .arg(home)
            .args(flags)
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

#[test]
fn an_ask_that_waits_for_its_person_is_done_once_it_is_allowed() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let bob = house.stranger(&alice, "bob", "desk");
    let mut planner = Agent::start(&house, &alice, "planner");
    let mut worker = Agent::start(&house, &bob, "worker");
    planner.knows("bob/worker@desk");
    let ask = json!({"to": "bob/worker", "text": "Count the files.", "ask": true});
    let sent = planner.call("send", ask);
    let (id, task) = (sent["id"].as_str().unwrap(), sent["taskId"].as_str().unwrap());
    wait("the hold", || (planner.call("read", json!({"id": id}))["stage"] == "held").then_some(()));
    let note = &planner.call("read", json!({"id": id}))["note"];
    assert_eq!(note, "Their person answers a request card first.");
    assert_eq!(worker.call("inbox", json!({}))["items"], json!([]));

    bob.ok(&["request", "once", id, "--yes"]);
    let item = wait("the ask", || worker.call("inbox", json!({}))["items"].get(0).cloned());
    assert_eq!((&item["taskId"], &item["consent"]), (&json!(task), &json!("guarded")));
    let working = json!({"taskId": task, "state": "working", "text": "counting"});
    worker.call("task_update", working);
    let artifact = json!({"name": "count", "text": "forty-two"});
    worker.call("task_update", json!({"taskId": task, "state": "completed", "artifact": artifact}));
    let read = wait("the end", || {
        let read = planner.call("read", json!({"id": task}));
        (read["state"] == "completed").then_some(read)
    });
    let text = read["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(text.contains(">forty-two</messaging-peer-"), "{text}");
}

#[test]
fn two_agents_talk_in_a_channel_that_their_persons_opened_to_them() {
    let house = House::new();
    let (alice, bob) = house.two();
    alice.ok(&["channel", "create", "ops", "bob"]);
    wait("the channel", || (bob.run(&["channel", "show", "ops"]).status == 0).then_some(()));
    let opened = &["--channel", "ops"];
    let mut planner = Agent::start_with(&house, &alice, "planner", opened);
    let mut worker = Agent::start_with(&house, &bob, "worker", opened);
    let mut outsider = Agent::start(&house, &bob, "outsider");
    planner.call("send", json!({"to": "#ops", "text": "Who counts the files?"}));
    let lines = |agent: &mut Agent, count: usize| {
        wait("the lines", || {
            let read = agent.call("read", json!({"with": "#ops"}));
            let lines = read["lines"].as_array().unwrap().iter();
            let lines: Vec<Value> =
                lines.filter(|line| line.get("notice").is_none()).cloned().collect();
            (lines.len() == count).then_some(lines)
        })
    };
    let asked = lines(&mut worker, 1).remove(0);
    assert_eq!((&asked["author"], &asked["from"]["person"]), (&json!("peer"), &json!("alice")));
    let answer = json!({"to": "#ops", "text": "I do.", "replyTo": asked["id"]});
    worker.call("send", answer);
    let answered = lines(&mut planner, 2).remove(1);
    assert!(answered["text"].as_str().unwrap().contains(">I do.</messaging-peer-"));
    let found = planner.call("search", json!({"query": "counts"}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    for (tool, arguments) in [
        ("read", json!({"with": "#ops"})),
        ("send", json!({"to": "#ops", "text": "x"})),
        ("search", json!({"query": "files", "with": "#ops"})),
    ] {
        assert_eq!(outsider.refusal(tool, arguments).as_deref(), Some("forbidden"), "{tool}");
    }
}
