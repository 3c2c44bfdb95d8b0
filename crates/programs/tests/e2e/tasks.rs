//! A task from its request to its end: asked for at a terminal, done by an agent, the same on both sides after every kill.
//! Spec: §6.1 to §6.3, D3.15, D6.4 `task`

use serde_json::{Value, json};

use crate::harness::{Agent, Following, House, Machine, failure, wait};

/// The state of a task as a terminal shows it.
fn state(machine: &Machine, task: &str) -> String {
    let shown = machine.json(&["task", "show", task]);
    shown["task"]["status"]["state"].as_str().unwrap().to_owned()
}

/// Waits until a terminal's record is in a state, and gives it.
#[track_caller]
fn is(machine: &Machine, task: &str, state: &str) -> Value {
    wait(&format!("{task} {state}"), || {
        let shown = machine.json(&["task", "show", task])["task"].clone();
        (shown["status"]["state"] == state).then_some(shown)
    })
}

/// Asks at a terminal, and gives the task's id once its executor was shown it.
fn ask(machine: &Machine, executor: &mut Agent, text: &str) -> String {
    let sent = machine.json(&["task", "send", "bob/api@desk", text]);
    let task = sent["taskId"].as_str().unwrap().to_owned();
    let item = executor.event("inbox")["item"].clone();
    assert_eq!((&item["kind"], &item["taskId"]), (&json!("task"), &json!(task)));
    task
}

/// The next change of a task that an agent is told of.
fn change(agent: &mut Agent, task: &str) -> Value {
    loop {
        let event = agent.event("task");
        if event["task"]["id"] == task {
            return event;
        }
    }
}

fn report(agent: &mut Agent, task: &str, state: &str) -> Value {
    let said = json!([{"text": format!("now {state}")}]);
    agent.call("task.update", json!({"taskId": task, "state": state, "message": said}))["task"]
        .clone()
}

fn piece(agent: &mut Agent, task: &str, text: &str, append: bool, last: bool) {
    let artifact = json!({"artifactId": "report", "name": "report.md", "parts": [{"text": text}]});
    let update = json!({"taskId": task, "artifact": artifact, "append": append, "lastChunk": last});
    agent.call("task.update", update);
}

/// The texts of a record's only artifact.
fn result(task: &Value) -> Vec<String> {
    let artifacts = task["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 1, "{task}");
    let parts = artifacts[0]["parts"].as_array().unwrap();
    parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_task_is_asked_worked_on_answered_and_completed() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");

    let task = ask(&alice, &mut api, "Find out why the build is red.");
    let request = is(&alice, &task, "TASK_STATE_SUBMITTED");
    wait("the receipt", || {
        let shown = alice.json(&["task", "show", &task]);
        (shown["task"]["delivery"]["stage"] == "delivered").then_some(())
    });
    report(&mut api, &task, "TASK_STATE_WORKING");
    is(&alice, &task, "TASK_STATE_WORKING");
    report(&mut api, &task, "TASK_STATE_INPUT_REQUIRED");
    let asks = is(&alice, &task, "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(asks["status"]["message"]["parts"][0]["text"], "now TASK_STATE_INPUT_REQUIRED");
    let listed = alice.json(&["task", "list", "--state", "input-required", "--role", "mine"]);
    assert_eq!((&listed["total"], &listed["tasks"][0]["id"]), (&json!(1), &json!(task)));

    // The answer comes as an item, and stands in the history of both records.
    let answer = alice.json(&["task", "reply", &task, "The nightly one."]);
    let item = api.event("inbox")["item"].clone();
    assert_eq!((&item["id"], &item["taskId"]), (&answer["envelopeId"], &json!(task)));
    assert_eq!(item["replyTo"], request["requestId"]);
    api.call("item.read", json!({"id": item["id"]}));
    wait("the answer to be read", || {
        let shown = alice.json(&["task", "show", &task])["task"].clone();
        (shown["followUps"][0]["stage"] == "read").then_some(())
    });

    report(&mut api, &task, "TASK_STATE_WORKING");
    piece(&mut api, &task, "one, ", false, false);
    piece(&mut api, &task, "two, ", true, false);
    piece(&mut api, &task, "three.", true, true);
    let done = report(&mut api, &task, "TASK_STATE_COMPLETED");
    let seen = is(&alice, &task, "TASK_STATE_COMPLETED");
    assert_eq!(result(&seen), ["one, ", "two, ", "three."]);
    for member in ["status", "artifacts", "contextId", "requestId", "chain"] {
        assert_eq!(seen[member], done[member], "{member}");
    }
    assert_eq!(seen["history"].as_array().unwrap().len(), 2);
    assert_eq!(done["history"].as_array().unwrap().len(), 2);
    let folder = alice.home().join("results");
    alice.ok(&["task", "show", &task, "--save", folder.to_str().unwrap()]);
    assert!(folder.read_dir().unwrap().next().is_some());

    // It has ended: nothing follows on either side.
    assert_eq!(alice.fails(&["task", "reply", &task, "late"]), failure(1, "invalid_state"));
    let again = json!({"taskId": task, "state": "TASK_STATE_WORKING"});
    assert_eq!(api.try_call("task.update", again).unwrap_err().code, "invalid_state");
    assert_eq!(alice.json(&["task", "cancel", &task])["sent"], false);
    assert_eq!(state(&alice, &task), "TASK_STATE_COMPLETED");
}

#[test]
fn a_task_is_cancelled_in_every_state() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");
    for before in [
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_AUTH_REQUIRED",
    ] {
        let task = ask(&alice, &mut api, before);
        if before != "TASK_STATE_SUBMITTED" {
            report(&mut api, &task, before);
        }
        is(&alice, &task, before);
        api.events_left();
        assert_eq!(alice.json(&["task", "cancel", &task, "--reason", "found it"])["sent"], true);
        let told = change(&mut api, &task);
        assert_eq!(told["task"]["status"]["state"], "TASK_STATE_CANCELED", "{before}");
        assert_eq!(told["origin"], "peer");
        let seen = is(&alice, &task, "TASK_STATE_CANCELED");
        assert_eq!(seen["status"], told["task"]["status"]);
        assert_eq!(seen["status"]["message"]["parts"][0]["text"], "found it");
    }
    for ended in ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_REJECTED"] {
        let task = ask(&alice, &mut api, ended);
        report(&mut api, &task, ended);
        is(&alice, &task, ended);
        alice.ok(&["task", "cancel", &task]);
        assert_eq!(state(&alice, &task), ended);
        let record = api.call("task.get", json!({"taskId": task}))["task"].clone();
        assert_eq!(record["status"]["state"], ended);
    }
}

#[test]
fn a_cancel_and_a_completion_that_cross_end_the_same_on_both_sides() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");
    let mut writer = alice.terminal("writer");
    for _ in 0..8 {
        let sent = writer.call(
            "msg.send",
            json!({"to": "bob/api@desk", "kind": "task", "parts": [{"text": "race"}]}),
        );
        let task = sent["results"][0]["taskId"].as_str().unwrap().to_owned();
        api.event("inbox");
        std::thread::scope(|scope| {
            scope.spawn(|| writer.call("task.cancel", json!({"taskId": task})));
            // Whichever comes first ends it; the other is refused or answered with what stands.
            let done = json!({"taskId": task, "state": "TASK_STATE_COMPLETED"});
            if let Err(refused) = api.try_call("task.update", done) {
                assert_eq!(refused.code, "invalid_state");
            }
        });
        let status = |agent: &mut Agent| {
            agent.call("task.get", json!({"taskId": task}))["task"]["status"].clone()
        };
        let ends = status(&mut api);
        assert_ne!(ends["state"], "TASK_STATE_SUBMITTED");
        wait("the same end", || (status(&mut writer) == ends).then_some(()));
    }
}

#[test]
fn a_task_outlives_the_daemons_of_both_sides_and_the_relay() {
    let mut house = House::new();
    let (mut alice, mut bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");
    let task = ask(&alice, &mut api, "A long one.");
    report(&mut api, &task, "TASK_STATE_WORKING");
    piece(&mut api, &task, "before, ", false, false);

    // The executor's machine dies with an update that may or may not have left.
    bob.kill();
    house.relay.kill().unwrap();
    alice.kill();
    bob.start();
    let mut api = bob.agent("api");
    let record = api.call("task.get", json!({"taskId": task}))["task"].clone();
    assert_eq!(record["status"]["state"], "TASK_STATE_WORKING");
    piece(&mut api, &task, "without a relay, ", true, false);
    report(&mut api, &task, "TASK_STATE_INPUT_REQUIRED");
    house.relay.start_again().unwrap();
    alice.start();
    alice.connected();
    bob.connected();
    is(&alice, &task, "TASK_STATE_INPUT_REQUIRED");

    // The requester's machine dies with an answer that may or may not have left.
    alice.ok(&["task", "reply", &task, "Go on."]);
    alice.kill();
    bob.kill();
    alice.start();
    bob.start();
    alice.connected();
    bob.connected();
    let mut api = bob.agent("api");
    wait("the answer", || {
        let record = api.call("task.get", json!({"taskId": task}))["task"].clone();
        (record["history"].as_array().unwrap().len() == 2).then_some(())
    });
    piece(&mut api, &task, "after.", true, true);
    report(&mut api, &task, "TASK_STATE_COMPLETED");
    let seen = is(&alice, &task, "TASK_STATE_COMPLETED");
    assert_eq!(result(&seen), ["before, ", "without a relay, ", "after."]);
    let done = api.call("task.get", json!({"taskId": task}))["task"].clone();
    assert_eq!((&seen["status"], &seen["artifacts"]), (&done["status"], &done["artifacts"]));
    assert_eq!(api.texts().len(), 2, "the request and the answer came once");
}

#[test]
fn tasks_are_followed_through_a_restart_of_the_daemon_until_ctrl_c() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");
    let old = ask(&alice, &mut api, "The first.");
    let mut following = Following::of(&alice, &["task", "list", "--follow"]);
    let listed = following.until("the list", |told| told["total"] == 1);
    assert_eq!(listed["tasks"][0]["id"], old);
    report(&mut api, &old, "TASK_STATE_WORKING");
    let is = |id: &str, state: &str| {
        let (id, state) = (json!(id), json!(state));
        move |told: &Value| told["task"]["id"] == id && told["task"]["status"]["state"] == state
    };
    following.until("a change", is(&old, "TASK_STATE_WORKING"));
    let new = ask(&alice, &mut api, "The second.");
    following.until("a task that came to be", is(&new, "TASK_STATE_SUBMITTED"));

    alice.kill();
    report(&mut api, &old, "TASK_STATE_COMPLETED");
    alice.start();
    // Its relay may be quicker than the look for the daemon: then the change is in the list of what happened meanwhile.
    following.until("what happened meanwhile", |told| {
        let listed = &told["tasks"][0];
        is(&old, "TASK_STATE_COMPLETED")(told)
            || (&listed["id"], &listed["status"]["state"])
                == (&json!(old), &json!("TASK_STATE_COMPLETED"))
    });
    alice.knows("bob/api@desk");
    report(&mut api, &new, "TASK_STATE_WORKING");
    following.until("a change after it", is(&new, "TASK_STATE_WORKING"));
    assert_eq!(following.interrupt(), Some(130));
}
