//! Agents that went away are woken: over OpenCode's own port, and by a command of their person.
//! Spec: §8.6, D3.26

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use messaging_testkit::programs::{Answer, OpenCode};
use serde_json::{Value, json};

use super::harness::{House, Machine, wait};

/// A machine of Bob's in Alice's team, which finds an OpenCode service below its house.
fn bobs(house: &House, alice: &Machine, state: &std::path::Path) -> Machine {
    let bob = Machine::with(
        &house.path().join("bob-desk"),
        &[("XDG_STATE_HOME", state.to_str().unwrap().to_owned())],
    );
    let ticket = alice.ok(&["team", "invite", "bob"]);
    assert_eq!(bob.join(&ticket, "desk").status, 0);
    bob
}

#[test]
fn the_service_is_called_for_mail_that_was_let_in_and_for_nothing_else() {
    let house = House::new();
    let state = house.path().join("state");
    let service = OpenCode::start(&state, Some("pa55")).unwrap();
    let elsewhere = OpenCode::start(&house.path().join("other"), None).unwrap();
    let alice = house.founder("alice", "laptop");
    let mut bob = bobs(&house, &alice, &state);
    let host = service.host("ses_1");
    let words = json!({"agent": "opencode", "name": "web", "tier": "push", "host": host});
    drop(bob.registered(words));
    let mut api = alice.agent("api");
    alice.knows("bob/web@desk");

    // Held: nobody is called before the person's word, and then for this one.
    let held = api.send("bob/web", "may I?");
    api.reaches(&held, "held");
    assert!(service.calls().is_empty(), "{:?}", service.calls());
    bob.ok(&["request", "once", &held, "--yes"]);
    let ids = |service: &OpenCode| -> Vec<Value> {
        service.calls().iter().map(|call| call.body["input"]["envelopeIds"].clone()).collect()
    };
    wait("the first call", || (service.calls().len() == 1).then_some(()));
    let first = service.calls().remove(0);
    let line =
        "POST /api/rpc/messaging.opencode/wake?location[directory]=%2Fhome%2Fbob%2Fshop HTTP/1.1";
    assert_eq!(first.line, line);
    // base64("opencode:pa55")
    assert_eq!(first.authorization.as_deref(), Some("Basic b3BlbmNvZGU6cGE1NQ=="));
    assert_eq!(first.body, json!({"input": {"sessionID": "ses_1", "envelopeIds": [held]}}));

    // Muted and blocked: delivered, or refused, and nobody is called.
    bob.call("grant.set", json!({"subject": {"person": "alice"}, "ask": "open", "chat": "muted"}));
    let muted = api.send("bob/web", "psst");
    api.reaches(&muted, "delivered");
    bob.call(
        "grant.set",
        json!({"subject": {"person": "alice"}, "ask": "open", "chat": "blocked"}),
    );
    let blocked = api.send("bob/web", "hey");
    api.reaches(&blocked, "rejected");
    bob.call("grant.set", json!({"subject": {"person": "alice"}, "ask": "open", "chat": "open"}));
    let quiet = json!({"to": "bob/web", "parts": [{"text": "no hurry"}], "wake": false});
    let quiet =
        api.call("msg.send", quiet)["results"][0]["envelopeId"].as_str().unwrap().to_owned();
    api.reaches(&quiet, "delivered");

    // A service that hangs up, then fails, then answers without an end: one call more for each of the first two.
    service.answer([Answer::HangsUp, Answer::Status(502), Answer::Status(200)]);
    let second = api.send("bob/web", "again");
    wait("three tries", || (service.calls().len() == 4).then_some(()));
    // One that sends its caller elsewhere is left alone, and so is elsewhere.
    service.answer([Answer::Redirect(elsewhere.port())]);
    let third = api.send("bob/web", "once more");
    wait("the redirect", || (service.calls().len() == 5).then_some(()));
    wait("its end in the log", || {
        let log = fs::read_to_string(bob.home().join("logs/messagingd.log")).unwrap();
        log.contains("\"refused\"").then_some(())
    });
    assert_eq!(
        ids(&service),
        [json!([held]), json!([second]), json!([second]), json!([second]), json!([third])]
    );
    assert!(elsewhere.calls().is_empty());
    let log = fs::read_to_string(bob.home().join("logs/messagingd.log")).unwrap();
    for secret in ["pa55", "cGE1NQ", "ses_1", "shop", &service.port().to_string()] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }

    // Another process owns the registration: the old host is called no more.
    let url = format!("http://127.0.0.1:{}", service.port());
    service.register(&json!({"pid": 1, "url": url})).unwrap();
    let fourth = api.send("bob/web", "anybody?");
    api.reaches(&fourth, "delivered");
    wait("its end in the log", || {
        let log = fs::read_to_string(bob.home().join("logs/messagingd.log")).unwrap();
        log.contains("\"other_process\"").then_some(())
    });
    assert_eq!(service.calls().len(), 5);
    bob.stop();
}

#[test]
fn a_command_of_the_person_is_run_for_an_agent_that_went_away() {
    let house = House::new();
    let (alice, mut bob) = house.two();
    let script = house.path().join("wake");
    let told = house.path().join("told");
    let text = format!("#!/bin/sh\ncat >> '{}'\necho noise\nexit 3\n", told.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let file = bob.home().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    config["wake"] = json!({"hosts": {"web": {"kind": "command", "argv": [script]}}});
    bob.stop();
    fs::write(&file, config.to_string()).unwrap();
    bob.start();
    bob.connected();
    let mut api = alice.agent("api");
    let web = bob.registered(json!({"agent": "codex", "name": "web", "tier": "push"}));
    alice.knows("bob/web@desk");
    let heard = api.send("bob/web", "you are there");
    api.reaches(&heard, "delivered");
    drop(web);
    wait("the agent away", || {
        let list = alice.call("contacts.list", json!({}));
        let mut entries = list["entries"].as_array()?.iter();
        let web = entries.find(|entry| entry["address"] == "bob/web@desk")?;
        (web["kept"] == true).then_some(())
    });
    let id = api.send("bob/web", "wake up");
    let line = wait("the command", || {
        let text = fs::read_to_string(&told).ok()?;
        text.ends_with('\n').then_some(text)
    });
    let line: Value = serde_json::from_str(line.trim_end()).unwrap();
    assert_eq!(line, json!({"session": "web", "envelopeIds": [id]}));
    wait("its end in the log", || {
        let log = fs::read_to_string(bob.home().join("logs/messagingd.log")).unwrap();
        assert!(!log.contains("noise"));
        let mut lines = log.lines();
        lines.any(|line| line.contains("wake.call") && line.contains("\"failed\"")).then_some(())
    });
    bob.stop();
}
