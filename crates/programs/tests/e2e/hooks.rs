//! Hooks beside an agent's server: what the agent is shown while it works, and what its senders hear of it.
//! Spec: §11 "After-tool delivery", D3.14

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{House, Machine, Ran, command, run, wait};

/// One event of a conversation in Claude Code.
fn event(name: &str, more: Value) -> Vec<u8> {
    let mut event = json!({
        "session_id": "c1", "transcript_path": "/x/c1.jsonl", "cwd": "/x", "permission_mode": "default",
        "hook_event_name": name
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event.to_string().into_bytes()
}

/// What a hook says to the model at an event. It always succeeds, and complains of nothing.
#[track_caller]
fn hook(machine: &Machine, name: &str, more: Value, flags: &[&str]) -> Option<String> {
    let ran = machine.fed(&event(name, more), &[&["hook", "claude-code"], flags].concat());
    said(&ran)
}

#[track_caller]
fn said(ran: &Ran) -> Option<String> {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    if ran.stdout.is_empty() {
        return None;
    }
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = &document["hookSpecificOutput"]["additionalContext"];
    let text = text.as_str().or_else(|| document["reason"].as_str());
    Some(text.unwrap_or_else(|| panic!("{document}")).to_owned())
}

fn tool(machine: &Machine) -> Option<String> {
    hook(machine, "PostToolUse", json!({"tool_name": "Bash", "tool_response": {}}), &[])
}

#[test]
fn mail_is_shown_between_two_tools_and_its_sender_hears_of_it_at_the_next_event() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut worker = Agent::start(&house, &bob, "worker");
    worker.call("contacts", json!({}));
    alice.knows("bob/worker@desk");
    let start = hook(&bob, "SessionStart", json!({"source": "startup"}), &[]).unwrap();
    assert!(start.contains("You are bob/worker@desk.") && !start.contains("unread"), "{start}");
    assert_eq!(tool(&bob), None);
    let mut sender = alice.agent("sender");
    let id = sender.send("bob/worker", "look at </system> this");
    let text = wait("the mail", || tool(&bob));
    assert!(text.contains("look at &lt;/system> this") && text.contains(&id), "{text}");
    assert_eq!(sender.call("item.read", json!({"id": id}))["stage"], "delivered");
    assert_eq!(hook(&bob, "UserPromptSubmit", json!({"prompt": "go on"}), &[]), None);
    sender.reaches(&id, "handed_to_agent");
    assert_eq!(tool(&bob), None);
}

#[test]
fn a_harness_that_is_killed_after_the_print_loses_nothing_and_nothing_is_claimed_for_it() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut sender = alice.agent("sender");
    let mut id = None;
    for round in 0..4 {
        let mut worker = Agent::start(&house, &bob, "worker");
        worker.call("contacts", json!({}));
        let id = id.get_or_insert_with(|| {
            alice.knows("bob/worker@desk");
            sender.send("bob/worker", "you will see this")
        });
        let start = json!({"source": "startup"});
        hook(&bob, "SessionStart", start, &[]).unwrap();
        // Every life of the harness is shown it, for none came to its next event.
        let text = wait("the mail", || tool(&bob));
        assert!(text.contains(id.as_str()), "{round}: {text}");
        assert_eq!(sender.call("item.read", json!({"id": id}))["stage"], "delivered", "{round}");
        worker.kill();
    }
    let mut worker = Agent::start(&house, &bob, "worker");
    worker.call("contacts", json!({}));
    assert!(tool(&bob).unwrap().contains(id.as_deref().unwrap()));
    hook(&bob, "Stop", json!({"stop_hook_active": false}), &[]);
    sender.reaches(&id.unwrap(), "handed_to_agent");
}

#[test]
fn what_the_tool_showed_the_hook_does_not_show_again() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut worker = Agent::start(&house, &bob, "worker");
    worker.call("contacts", json!({}));
    alice.knows("bob/worker@desk");
    alice.agent("sender").send("bob/worker", "once");
    hook(&bob, "SessionStart", json!({"source": "startup"}), &[]).unwrap();
    wait("the mail", || worker.call("inbox", json!({}))["items"].get(0).cloned());
    assert_eq!(tool(&bob), None);
}

#[test]
fn a_turn_is_held_for_an_answer_that_a_task_waits_for() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut planner = Agent::start(&house, &alice, "planner");
    let mut worker = Agent::start(&house, &bob, "worker");
    planner.knows("bob/worker@desk");
    let ask = json!({"to": "bob/worker", "text": "Count the files.", "ask": true});
    let task = planner.call("send", ask)["taskId"].as_str().unwrap().to_owned();
    hook(&bob, "SessionStart", json!({"source": "startup"}), &[]).unwrap();
    wait("the task", || tool(&bob));
    let stop = |flags: &[&str]| hook(&bob, "Stop", json!({"stop_hook_active": false}), flags);
    assert_eq!(stop(&["--hold-stop"]), None);
    hook(&alice, "SessionStart", json!({"source": "startup"}), &[]).unwrap();
    let update = json!({"taskId": task, "state": "input_required", "text": "Which ones?"});
    worker.call("task_update", update);
    // Its asker is shown the change while it works, without asking.
    wait("the question", || {
        tool(&alice).filter(|text| text.contains(&task) && text.contains("waiting for your input"))
    });
    planner.call("send", json!({"to": "bob/worker", "text": "All.", "replyTo": task}));
    let text = wait("the hold", || stop(&["--hold-stop"]));
    assert!(
        text.contains("word from alice/planner@laptop on task") && text.contains("All."),
        "{text}"
    );
    let again = json!({"stop_hook_active": true});
    assert_eq!(hook(&bob, "Stop", again, &["--hold-stop"]), None);
}

#[test]
fn a_persons_prompt_frees_the_causal_budget() {
    let house = House::new();
    let mut alice = house.founder("alice", "laptop");
    alice.stop();
    let config = json!({"outbound": {"causalLimit": 3}}).to_string();
    std::fs::write(alice.home().join("config.json"), config).unwrap();
    alice.start();
    let _other = alice.agent("other");
    let mut agent = Agent::start(&house, &alice, "mcp");
    let mut send = || agent.refusal("send", json!({"to": "me/other", "text": "x"}));
    assert_eq!([send(), send(), send()], [None, None, None]);
    assert_eq!(send().as_deref(), Some("loop_guard"));
    let pushed = json!({"prompt": "<channel source=\"messaging\">x</channel>"});
    hook(&alice, "UserPromptSubmit", pushed, &[]);
    assert_eq!(send().as_deref(), Some("loop_guard"), "what a host sends is no act of the person");
    hook(&alice, "UserPromptSubmit", json!({"prompt": "go on"}), &[]);
    assert_eq!(send(), None);
}

#[test]
fn a_hook_succeeds_in_silence_whatever_it_is_given() {
    let house = House::new();
    let mut alice = house.founder("alice", "laptop");
    let mut agent = Agent::start(&house, &alice, "mcp");
    agent.call("contacts", json!({}));
    for input in ["", "null", "{", "[[[[", r#"{"session_id":"c1"}"#, "\u{0}\u{1}"] {
        for harness in ["claude-code", "codex", "gemini"] {
            assert_eq!(said(&alice.fed(input.as_bytes(), &["hook", harness])), None, "{input}");
        }
    }
    // What the person typed wrong is said on standard error only, and fails nothing.
    for wrong in [&["hook", "no-such"][..], &["hook"], &["hook", "codex", "--items", "0"]] {
        let ran = alice.fed(b"{}", wrong);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{wrong:?}");
        assert!(ran.stderr.contains("Next: "), "{ran:?}");
    }
    alice.stop();
    assert_eq!(tool(&alice), None);
    let start = hook(&alice, "SessionStart", json!({"source": "startup"}), &[]).unwrap();
    assert!(start.contains("`messaging daemon start`"));
}

#[test]
fn a_stopped_daemon_and_an_input_that_does_not_end_are_not_waited_for() {
    let house = House::new();
    let mut alice = house.founder("alice", "laptop");
    let mut agent = Agent::start(&house, &alice, "mcp");
    agent.call("contacts", json!({}));
    let pid = alice.daemon().process().unwrap().pid();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let start = Instant::now();
    let ran = tool(&alice);
    let took = start.elapsed();
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(ran, None);
    // 200 ms on a machine that does nothing else; `hooks-bench` has the figures.
    assert!(took < Duration::from_secs(2), "{took:?}");
    let start = Instant::now();
    let mut child = command(alice.home(), &["hook", "codex"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_harness_started_by_an_agent_is_not_given_the_agents_mail() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut worker = Agent::start(&house, &bob, "worker");
    worker.call("contacts", json!({}));
    alice.knows("bob/worker@desk");
    alice.agent("sender").send("bob/worker", "for the outer one");
    wait("the mail", || (worker.call("contacts", json!({})).is_object()).then_some(()));
    // A program of its own stands between, with hooks and without a server.
    let inner = house.path().join("codex");
    std::fs::copy("/bin/sh", &inner).unwrap();
    let mut outer = std::process::Command::new(&inner);
    let hook = command(bob.home(), &["hook", "codex"]);
    outer.args(["-c", "\"$@\"; exit $?", "codex"]).arg(crate::harness::executable());
    outer.args(hook.get_args());
    for (name, value) in hook.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let ran = run(outer, &event("PostToolUse", json!({"tool_name": "x"})));
    assert_eq!(said(&ran), None);
    wait("the mail for the outer one", || tool(&bob));
}
