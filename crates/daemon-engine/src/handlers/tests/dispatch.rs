//! The one order in which a request is refused, and what this build does not have.

use messaging_ipc::methods::{Method, RealmRule};
use serde_json::{Value, json};

use super::{connect, padded, register};
use crate::handlers::{LATER, PARTLY};
use crate::input::{In, Tier};
use crate::tests::bench::Bench;

const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// The smallest parameters that a method of a later release takes.
fn smallest(method: Method) -> Value {
    let machine = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    match method.name() {
        "device.bind" => json!({"token": "t"}),
        "device.approve.preview" => json!({"link": "l"}),
        "device.approve" => json!({"link": "l", "sas": "123456"}),
        "device.remove" | "device.remove.preview" | "team.rekey" => {
            json!({if method == Method::TeamRekey {"machine"} else {"device"}: machine})
        }
        "conv.read" => json!({"conversation": "dm:bob"}),
        "conv.markRead" => json!({"conversation": "dm:bob", "upTo": 1}),
        "search" | "people.search" => json!({"query": "q"}),
        "person.send" => json!({"conversation": "dm:bob", "text": "t"}),
        "people.get" | "card.get" => json!({"person": "bob"}),
        "grant.set" | "grant.set.preview" => json!({"subject": {"person": "bob"}}),
        "request.answer" | "request.answer.preview" => json!({"id": ULID, "answer": "once"}),
        "contact.request" => json!({"email": "a@b.example", "text": "t"}),
        "contact.request.preview" => json!({"email": "a@b.example"}),
        "agents.read" => json!({"agent": "api"}),
        "notice.ack" => json!({"ids": ["n"]}),
        "channel.create" => json!({"name": "ops", "persons": []}),
        "channel.invite" | "channel.remove" => json!({"name": "ops", "persons": ["bob"]}),
        "channel.leave" => json!({"name": "ops"}),
        "wake.arm" => json!({"url": "https://a.example", "ticket": "t", "agents": []}),
        "team.pair" => json!({
            "relay": "ws://127.0.0.1:8080/v1/connect", "team": machine, "person": "bob", "label": "desk",
        }),
        "team.add" => {
            json!({"machine": machine, "enc": machine, "person": "bob", "label": "desk"})
        }
        _ => json!({}),
    }
}

#[test]
fn what_this_build_does_not_have_says_so_and_the_list_only_gets_shorter() {
    assert_eq!((LATER.len(), PARTLY.len()), (15, 0));
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    register(&mut bench, conn, "held", json!({})).unwrap();
    for method in LATER {
        let id = bench.begin(0, conn, method.name(), smallest(*method));
        bench.settle();
        let error = bench.error(0, &id);
        if method.row().realm == RealmRule::Directory {
            assert_eq!(error["data"]["code"], "invalid_state", "{method}");
        } else {
            assert_eq!(error["code"], -32_603, "{method}: {error}");
            assert_eq!(error["message"], "not in this build", "{method}");
        }
    }
}

#[test]
fn every_other_method_is_built() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    register(&mut bench, conn, "held", json!({})).unwrap();
    for method in Method::ALL.iter().filter(|method| !LATER.contains(method)) {
        if matches!(method, Method::DaemonStop) {
            continue;
        }
        let key = json!({"key": padded("held")});
        for params in [json!({}), key] {
            let id = bench.begin(0, conn, method.name(), params);
            bench.settle();
            if let Some(Err(error)) = bench.daemons[0].answers.remove(&id) {
                assert_ne!(error["message"], "not in this build", "{method}");
            }
        }
    }
}

#[test]
fn refusals_come_in_the_order_of_the_specification() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let agent = connect(&mut bench, 0, Tier::Agent);
    let admin = connect(&mut bench, 0, Tier::Admin);
    let nonsense = json!({"nonsense": true});
    let unheld = json!({"key": padded("unheld")});
    let cases = [
        // The tier comes before everything, known method or not.
        (agent, "team.list", nonsense.clone(), "forbidden"),
        (agent, "nothing.at.all", nonsense.clone(), "forbidden"),
        (admin, "nothing.at.all", nonsense.clone(), "invalid_request"),
        // Parameters come before the realm, the key and the identity.
        (admin, "device.link", nonsense.clone(), "invalid_request"),
        (admin, "inbox.list", nonsense.clone(), "invalid_request"),
        (admin, "device.link", json!({}), "invalid_state"),
        (admin, "inbox.list", unheld.clone(), "not_found"),
        (agent, "inbox.list", unheld, "not_found"),
        // A nested member that nobody declared is refused as well.
        (
            admin,
            "inbox.list",
            json!({"key": padded("x"), "before": {"at": 1, "id": ULID, "x": 1}}),
            "invalid_request",
        ),
    ];
    for (conn, method, params, code) in cases {
        assert_eq!(
            bench.call(0, conn, method, params.clone()),
            Err(code.into()),
            "{method} {params}"
        );
    }
}

#[test]
fn a_key_is_asked_for_before_an_identity() {
    let mut bench = Bench::homeless();
    let conn = connect(&mut bench, 0, Tier::Admin);
    let send = |key: &str| json!({"key": padded(key), "to": "bob/api", "parts": [{"text": "t"}]});
    assert_eq!(bench.call(0, conn, "msg.send", send("unheld")), Err("not_found".into()));
    register(&mut bench, conn, "held", json!({})).unwrap();
    assert_eq!(bench.call(0, conn, "msg.send", send("held")), Err("no_identity".into()));
    for method in ["contacts.list", "device.list", "team.list"] {
        assert_eq!(bench.call(0, conn, method, json!({})), Err("no_identity".into()), "{method}");
    }
    let status = bench.call(0, conn, "device.status", json!({})).unwrap();
    assert_eq!(status["binding"], "none");
}

#[test]
fn a_daemon_that_stops_serves_three_methods() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    bench.turn(0, [In::Stop]);
    for (method, served) in [
        ("daemon.health", true),
        ("daemon.status", true),
        ("device.status", false),
        ("team.list", false),
    ] {
        let id = bench.begin(0, conn, method, json!({}));
        bench.settle();
        match bench.daemons[0].answers.remove(&id) {
            Some(Ok(_)) => assert!(served, "{method}"),
            Some(Err(error)) => {
                assert_eq!((served, &error["data"]["code"]), (false, &json!("daemon_unavailable")));
            }
            // After its last word the engine answers nothing.
            None => panic!("{method} was not answered"),
        }
    }
}

#[test]
fn params_that_are_no_object_are_refused() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    for params in [json!([]), json!("x"), json!(null)] {
        assert_eq!(bench.call(0, conn, "daemon.health", params), Err("invalid_request".into()));
    }
}
