//! Mail from agent to agent: found, addressed, delivered in order, and every stage told to the sender.
//! Spec: §6.1, §6.4, §8.4, D3.4, D6.4

use std::thread;

use serde_json::json;

use crate::harness::{House, failure, wait};

#[test]
fn two_persons_write_to_each_other() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let invited = alice.json(&["team", "invite", "bob"]);
    assert_eq!(invited["person"], "bob");
    let bob = house.machine("bob");
    let joined = bob.join(invited["ticket"].as_str().unwrap(), "desk");
    assert_eq!(joined.status, 0, "{joined:?}");
    alice.roster("bob's machine", |list| list["members"].as_array().unwrap().len() == 2);
    bob.welcome_all();
    let status = bob.json(&["status"]);
    assert_eq!(status["status"]["identity"]["person"], "bob");
    assert_eq!(status["status"]["team"]["name"], "garden");

    // Looking into the inbox makes the mailbox, and the others learn that it is there.
    assert_eq!(bob.json(&["inbox"])["items"], json!([]));
    alice.knows("bob/cli@desk");
    let sent = alice.json(&["send", "bob/cli", "Is the build green?"]);
    assert_eq!((&sent["to"], &sent["stage"]), (&json!("bob/cli@desk"), &json!("accepted")));
    assert_eq!(sent["expect"], "on_read");
    let question = sent["envelopeId"].as_str().unwrap();

    let inbox = wait("bob's mail", || {
        let inbox = bob.json(&["inbox"]);
        (inbox["unread"] == 1).then_some(inbox)
    });
    let item = &inbox["items"][0];
    assert_eq!((&item["id"], &item["preview"]), (&json!(question), &json!("Is the build green?")));
    assert_eq!(item["from"]["address"], "alice/cli@laptop");
    wait("the receipt", || {
        (alice.stages(question) == ["accepted", "relayed", "delivered"]).then_some(())
    });

    // Looking without reading tells nobody; reading does, once.
    assert!(bob.ok(&["read", question, "--peek"]).contains("Is the build green?"));
    let read = bob.json(&["read", question]);
    assert_eq!(read["message"]["parts"][0]["text"], "Is the build green?");
    bob.ok(&["read", question]);
    wait("the read receipt", || {
        (alice.stages(question) == ["accepted", "relayed", "delivered", "read"]).then_some(())
    });

    let answer = bob.json(&["send", "alice/cli@laptop", "It is.", "--reply", question]);
    wait("the answer", || {
        (alice.json(&["inbox"])["items"][0]["replyTo"] == question).then_some(())
    });
    assert_eq!(alice.stages(question).last().unwrap(), "replied");
    alice.ok(&["read", answer["envelopeId"].as_str().unwrap()]);
    wait("the end", || {
        (bob.stages(answer["envelopeId"].as_str().unwrap()).last().unwrap() == "read").then_some(())
    });
    assert_eq!(alice.json(&["inbox"])["unread"], 0);
}

#[test]
fn a_send_can_wait_until_it_is_read() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    thread::scope(|scope| {
        let waiting =
            scope.spawn(|| alice.json(&["send", "bob/api@desk", "urgent", "--wait=read"]));
        let item = api.event("inbox")["item"].clone();
        assert_eq!(item["preview"], "urgent");
        api.call("inbox.ack", json!({"ids": [item["id"]], "stage": "handed_to_agent"}));
        api.call("item.read", json!({"id": item["id"]}));
        let sent = waiting.join().unwrap();
        assert_eq!((&sent["stage"], &sent["envelopeId"]), (&json!("read"), &item["id"]));
        let stages = alice.stages(item["id"].as_str().unwrap());
        assert_eq!(stages, ["accepted", "relayed", "delivered", "handed_to_agent", "read"]);
    });
}

#[test]
fn two_machines_of_one_person_are_told_apart_by_their_label() {
    let house = House::new();
    let (alice, desk) = house.two();
    let phone = house.guest(&alice, "bob", "phone");
    let (mut at_desk, mut at_phone) = (desk.agent("api"), phone.agent("api"));
    phone.agent("only-here");
    alice.knows("bob/api@desk");
    alice.knows("bob/api@phone");
    alice.knows("bob/only-here@phone");

    assert_eq!(alice.fails(&["send", "bob/api", "which?"]), failure(6, "ambiguous_address"));
    assert_eq!(alice.json(&["send", "bob/api@desk", "desk"])["to"], "bob/api@desk");
    assert_eq!(alice.json(&["send", "bob/api@phone", "phone"])["to"], "bob/api@phone");
    assert_eq!(alice.json(&["send", "bob/only-here", "one"])["to"], "bob/only-here@phone");
    assert_eq!(at_desk.holds(1), ["desk"]);
    assert_eq!(at_phone.holds(1), ["phone"]);

    assert_eq!(alice.fails(&["send", "bob/nobody", "x"]), failure(6, "unknown_session"));
    assert_eq!(alice.fails(&["send", "bob/api@tower", "x"]), failure(6, "no_recipients"));
    assert_eq!(alice.fails(&["send", "carol/api", "x"]), failure(6, "no_recipients"));
    // A label leads to the machine, which answers for its sessions itself.
    let rejected = alice.run(&["send", "bob/nobody@desk", "x", "--wait", "--json"]);
    assert_eq!(rejected.status, 6, "{rejected:?}");
    let sent: serde_json::Value = serde_json::from_str(&rejected.stdout).unwrap();
    assert_eq!((&sent["stage"], &sent["code"]), (&json!("rejected"), &json!("unknown_session")));

    // Between one person's own machines; and from one agent of a machine to another, without the relay.
    desk.knows("bob/api@phone");
    assert_eq!(desk.json(&["send", "me/only-here", "to myself"])["to"], "bob/only-here@phone");
    at_phone.send("bob/only-here@phone", "next door");
    let mut only_here = phone.agent("only-here");
    only_here.holds(3);
    let items = only_here.call("inbox.list", json!({}))["items"].clone();
    let consent = |text: &str| {
        let item = items.as_array().unwrap().iter().find(|item| item["preview"] == text);
        item.unwrap_or_else(|| panic!("{text}"))["consent"].clone()
    };
    assert_eq!(
        [consent("to myself"), consent("next door"), consent("one")],
        ["self", "self", "guarded"]
    );
}

#[test]
fn mail_for_a_machine_that_is_off_waits_and_arrives_in_order() {
    let house = House::new();
    let (alice, mut bob) = house.two();
    bob.agent("api");
    alice.knows("bob/api@desk");
    bob.stop();
    wait("the news", || (alice.knows("bob/api@desk")["online"] == false).then_some(()));

    let mut writer = alice.terminal("writer");
    let texts: Vec<String> = (0..30).map(|n| format!("number {n}")).collect();
    let ids: Vec<String> = texts
        .iter()
        .map(|text| {
            let sent = writer.try_send("bob/api", text).unwrap();
            assert_eq!(sent["expect"], "offline");
            sent["envelopeId"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in &ids {
        assert_eq!(writer.reaches(id, "relayed"), ["accepted", "relayed"]);
    }
    bob.start();
    let mut api = bob.agent("api");
    assert_eq!(api.holds(30), texts);
    for id in &ids {
        writer.reaches(id, "delivered");
    }
    assert_eq!(api.texts().len(), 30, "nothing came twice");
}

#[test]
fn mail_written_without_a_relay_goes_out_in_order_when_it_is_back() {
    let mut house = House::new();
    let (mut alice, bob) = house.two();
    let mut api = bob.agent("api");
    alice.knows("bob/api@desk");
    house.relay.stop().unwrap();

    let mut writer = alice.terminal("writer");
    let mut texts: Vec<String> = (0..20).map(|n| format!("number {n}")).collect();
    for text in &texts[..10] {
        let id = writer.send("bob/api@desk", text);
        assert_eq!(writer.reaches(&id, "accepted"), ["accepted"]);
    }
    // What waits outlives the process that accepted it.
    alice.kill();
    alice.start();
    let mut writer = alice.terminal("writer");
    for text in &texts[10..] {
        writer.send("bob/api@desk", text);
    }
    house.relay.start_again().unwrap();
    alice.connected();
    bob.connected();
    assert_eq!(api.holds(20), texts);
    let shown = api.events_left().into_iter().filter(|event| event["type"] == "inbox");
    let mut shown: Vec<_> =
        shown.map(|event| event["item"]["preview"].as_str().unwrap().to_owned()).collect();
    shown.sort();
    texts.sort();
    assert_eq!(shown, texts, "each was shown once");
}

#[test]
fn many_commands_at_once_share_one_mailbox() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut api = bob.agent("api");
    let at_once = |run: &(dyn Fn(usize) -> i32 + Sync)| {
        thread::scope(|scope| {
            let runs: Vec<_> = (0..8).map(|n| scope.spawn(move || run(n))).collect();
            assert!(runs.into_iter().all(|run| run.join().unwrap() == 0));
        });
    };
    // The first use of a mailbox makes its key.
    at_once(&|_| alice.run(&["inbox"]).status);
    at_once(&|n| alice.run(&["send", "bob/api@desk", &format!("number {n}")]).status);
    let mut texts = api.holds(8);
    texts.sort();
    assert_eq!(texts, (0..8).map(|n| format!("number {n}")).collect::<Vec<_>>());
    let entries = alice.call("contacts.list", json!({}))["entries"].clone();
    let own = entries.as_array().unwrap().iter().filter(|entry| entry["self"] == true);
    assert_eq!(own.count(), 1);
}

#[test]
fn a_send_with_a_key_is_sent_once() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let mut api = bob.agent("api");
    let send = ["send", "bob/api@desk", "once", "--key", "k1"];
    let first = alice.json(&send);
    alice.kill();
    alice.start();
    assert_eq!(alice.json(&send)["envelopeId"], first["envelopeId"]);
    let other = ["send", "bob/api@desk", "twice", "--key", "k1"];
    assert_eq!(alice.fails(&other), failure(1, "invalid_request"));
    alice.ok(&["send", "bob/api@desk", "last"]);
    assert_eq!(api.holds(2), ["once", "last"]);
}

#[test]
fn two_agents_in_a_circle_are_stopped_and_a_person_is_not() {
    let house = House::new();
    let (alice, bob) = house.two();
    let (mut writer, mut api) = (alice.agent("writer"), bob.agent("api"));
    let ids: Vec<_> = (0..31).map(|n| writer.send("bob/api@desk", &format!("{n}"))).collect();
    writer.reaches(&ids[29], "delivered");
    writer.reaches(&ids[30], "rejected");
    let sent = writer.call("item.read", json!({"id": ids[30]}));
    assert_eq!(sent["code"], "loop_guard");
    assert_eq!(api.texts().len(), 30);
    let mut person = alice.terminal("person");
    let id = person.send("bob/api@desk", "stop it, both of you");
    person.reaches(&id, "delivered");
}
