//! A task that is handed on: everybody sees who asked whom, and nobody hands on more than was handed over.
//! Spec: §6.7, D3.16

use serde_json::{Value, json};

use crate::harness::{Agent, House, Machine};

/// Three persons in one team, an agent on each machine, everybody known to everybody.
fn three(house: &House) -> [(Machine, Agent); 3] {
    let alice = house.founder("alice", "laptop");
    let bob = house.guest(&alice, "bob", "desk");
    let carol = house.guest(&alice, "carol", "tower");
    let agents = [alice.agent("web"), bob.agent("api"), carol.agent("ops")];
    for machine in [&alice, &bob, &carol] {
        for address in ["alice/web@laptop", "bob/api@desk", "carol/ops@tower"] {
            machine.knows(address);
        }
    }
    let [web, api, ops] = agents;
    [(alice, web), (bob, api), (carol, ops)]
}

/// Asks, on behalf of another task or not; gives what the send came to.
fn ask(agent: &mut Agent, to: &str, on_behalf: Option<Value>) -> Value {
    let mut send = json!({"to": to, "kind": "task", "parts": [{"text": "do it"}]});
    if let Some(on_behalf) = on_behalf {
        send["onBehalfOf"] = on_behalf;
    }
    agent.call("msg.send", send)["results"][0].clone()
}

/// Asks, and gives the task's id.
#[track_caller]
fn asked(agent: &mut Agent, to: &str, on_behalf: Option<Value>) -> String {
    let sent = ask(agent, to, on_behalf);
    // To a session of the same machine it is delivered at once.
    assert!(sent["stage"] == "accepted" || sent["stage"] == "delivered", "{sent}");
    sent["taskId"].as_str().unwrap().to_owned()
}

/// Asks for what must be refused, and gives the code; the record says the same.
#[track_caller]
fn refused(agent: &mut Agent, to: &str, on_behalf: Value) -> String {
    let sent = ask(agent, to, Some(on_behalf));
    assert_eq!(sent["stage"], "rejected", "{sent}");
    let code = sent["code"].as_str().unwrap().to_owned();
    let record = agent.call("task.get", json!({"taskId": sent["taskId"]}))["task"].clone();
    assert_eq!(record["status"]["state"], "TASK_STATE_REJECTED");
    let said = &record["status"]["message"]["parts"][0]["text"];
    assert_eq!(*said, format!("delivery rejected: {code}"));
    code
}

/// The chain that an executor is shown, on the item and on its record.
fn chain(agent: &mut Agent, task: &str) -> Value {
    let item = agent.event("inbox")["item"].clone();
    assert_eq!(item["taskId"], task);
    let record =
        agent.call("task.get", json!({"taskId": task, "role": "executor"}))["task"].clone();
    assert_eq!(record["chain"], item["chain"]);
    item["chain"].clone()
}

#[test]
fn a_task_is_handed_on_twice_each_time_for_less() {
    let house = House::new();
    let [(alice, mut web), (bob, mut api), (carol, mut ops)] = three(&house);
    let mut test = carol.agent("test");
    bob.knows("carol/test@tower");

    let first = asked(&mut web, "bob/api@desk", None);
    let told = chain(&mut api, &first);
    assert_eq!(told["addresses"], json!(["alice/web@laptop", "bob/api@desk"]));
    assert_eq!((&told["depth"], &told["maxDepth"]), (&json!(1), &json!(4)));
    assert!(told.get("scope").is_none(), "a root grant is unrestricted");

    let narrower = json!({"taskId": first, "scope": ["read", "build"], "maxDepth": 3});
    let second = asked(&mut api, "carol/ops@tower", Some(narrower));
    let told = chain(&mut ops, &second);
    assert_eq!(told["addresses"], json!(["alice/web@laptop", "bob/api@desk", "carol/ops@tower"]));
    assert_eq!((&told["depth"], &told["maxDepth"]), (&json!(2), &json!(3)));
    assert_eq!(told["scope"], json!(["read", "build"]));

    // Wider in what it is for, deeper than it may go, or in a circle: refused before anything leaves.
    let wider = json!({"taskId": second, "scope": ["read", "ship"]});
    assert_eq!(refused(&mut ops, "carol/test@tower", wider), "forbidden");
    let deeper = json!({"taskId": second, "maxDepth": 4});
    assert_eq!(refused(&mut ops, "carol/test@tower", deeper), "forbidden");
    for circle in ["bob/api@desk", "alice/web@laptop", "carol/ops@tower"] {
        assert_eq!(refused(&mut ops, circle, json!({"taskId": second})), "forbidden", "{circle}");
    }

    // The last hop that the chain allows, with nothing left in its scope; beyond it there is none.
    let last = json!({"taskId": second, "scope": []});
    let third = asked(&mut ops, "carol/test@tower", Some(last));
    let told = chain(&mut test, &third);
    assert_eq!((&told["depth"], &told["scope"]), (&json!(3), &json!([])));
    let mut other = bob.agent("other");
    carol.knows("bob/other@desk");
    assert_eq!(refused(&mut test, "bob/other@desk", json!({"taskId": third})), "forbidden");
    assert!(other.texts().is_empty());

    // Whoever asks keeps the chain it sent. The terminal shows it where it says more than who asks.
    let record =
        api.call("task.get", json!({"taskId": second, "role": "requester"}))["task"].clone();
    assert_eq!(record["chain"]["scope"], json!(["read", "build"]));
    drop(alice);
}

#[test]
fn each_hop_works_for_the_one_before_and_a_task_that_has_ended_is_not_handed_on() {
    let house = House::new();
    let [(_alice, mut web), (mut bob, mut api), (mut carol, mut ops)] = three(&house);
    let first = asked(&mut web, "bob/api@desk", None);
    chain(&mut api, &first);
    let second =
        asked(&mut api, "carol/ops@tower", Some(json!({"taskId": first, "scope": ["read"]})));
    chain(&mut ops, &second);

    // A task of somebody else's, or one that is only asked for, is nobody's to hand on.
    let foreign = json!({"to": "bob/api@desk", "kind": "task", "parts": [{"text": "x"}],
        "onBehalfOf": {"taskId": first}});
    assert_eq!(web.try_call("msg.send", foreign.clone()).unwrap_err().code, "not_found");
    assert_eq!(ops.try_call("msg.send", foreign).unwrap_err().code, "not_found");

    // Both machines die between; the results go back hop by hop.
    bob.kill();
    carol.kill();
    bob.start();
    carol.start();
    bob.connected();
    carol.connected();
    let (mut api, mut ops) = (bob.agent("api"), carol.agent("ops"));
    let artifact = json!({"artifactId": "a", "parts": [{"text": "found"}]});
    let done =
        |task: &str| json!({"taskId": task, "state": "TASK_STATE_COMPLETED", "artifact": artifact});
    ops.call("task.update", done(&second));
    let completed = |agent: &mut Agent, task: &str| {
        crate::harness::wait(task, || {
            let get = json!({"taskId": task, "role": "requester"});
            let record = agent.call("task.get", get)["task"].clone();
            (record["status"]["state"] == "TASK_STATE_COMPLETED").then_some(record)
        })
    };
    assert_eq!(completed(&mut api, &second)["artifacts"][0]["parts"][0]["text"], "found");
    api.call("task.update", done(&first));
    assert_eq!(completed(&mut web, &first)["artifacts"][0]["parts"][0]["text"], "found");

    let late = json!({"to": "carol/ops@tower", "kind": "task", "parts": [{"text": "x"}],
        "onBehalfOf": {"taskId": first}});
    assert_eq!(api.try_call("msg.send", late).unwrap_err().code, "invalid_state");
}
