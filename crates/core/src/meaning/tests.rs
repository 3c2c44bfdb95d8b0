//! Every row of the table of meanings, and what breaks each.

use serde_json::json;
use std::string::String;
use std::vec::Vec;

use super::*;
use crate::code::Code;
use crate::ids::{MachineId, PersonId};
use crate::json::decode;

const ID: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";
const KEY: &str = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w";

fn end(person: &str, agent: Option<&str>) -> End {
    End {
        person: PersonId::parse(person).unwrap(),
        device: MachineId::from_bytes(&[7; 32]),
        agent: agent.map(|agent| SessionName::parse(agent).unwrap()),
    }
}

/// What `payload` means between `from` and `to`, by the name of the meaning.
fn meaning(from: &End, to: &End, class: Class, payload: &Value) -> Result<&'static str, Code> {
    let read: MessagePayload = decode(payload).unwrap_or_else(|e| panic!("{payload}: {e}"));
    check(Ends { from, to, class }, &read, payload)
        .map(|meaning| match meaning {
            Meaning::Mail { .. } => "mail",
            Meaning::Task { .. } => "task",
            Meaning::Line => "line",
            Meaning::Channel(_) => "channel",
            Meaning::Sync { .. } => "sync",
            Meaning::Request { .. } => "request",
            Meaning::Card(_) => "card",
            Meaning::CardWanted => "card wanted",
        })
        .map_err(|failure| failure.code)
}

#[track_caller]
fn agents(payload: &Value, expected: Result<&str, Code>) {
    let (bob, alice) = (end("bob", Some("api")), end("alice", Some("ui")));
    assert_eq!(meaning(&bob, &alice, Class::Contact, payload), expected, "{payload}");
}

#[track_caller]
fn persons(class: Class, payload: &Value, expected: Result<&str, Code>) {
    let to = if class == Class::Own { "bob" } else { "alice" };
    assert_eq!(meaning(&end("bob", None), &end(to, None), class, payload), expected, "{payload}");
}

const REFUSED: Result<&str, Code> = Err(Code::InvalidRequest);

fn message(parts: Value) -> Value {
    json!({"kind": "message", "message": {"messageId": ID, "role": "ROLE_USER", "parts": parts}})
}

fn hi() -> Value {
    message(json!([{"text": "hi"}]))
}

fn with(mut value: Value, path: &[&str], member: Value) -> Value {
    let mut at = &mut value;
    for step in path {
        at = &mut at[*step];
    }
    *at = member;
    value
}

fn conv(value: Value, conv: Value) -> Value {
    with(value, &["conv"], conv)
}

fn task() -> Value {
    let grant = json!({
        "realm": KEY, "task": ID, "from": "bob/api@desk", "to": "alice/ui@desk", "by": KEY, "ts": 1, "exp": 2,
        "maxDepth": 4, "sig": "A".repeat(86)
    });
    json!({
        "kind": "task", "delegation": [grant],
        "message": {"messageId": "m", "contextId": "c", "taskId": ID, "role": "ROLE_USER", "parts": [{"text": "x"}]}
    })
}

fn without(mut value: Value, path: &[&str], name: &str) -> Value {
    let mut at = &mut value;
    for step in path {
        at = &mut at[*step];
    }
    at.as_object_mut().unwrap().remove(name);
    value
}

#[test]
fn between_agents_it_is_mail_or_a_task() {
    agents(&hi(), Ok("mail"));
    agents(&with(hi(), &["message", "messageId"], json!("any text")), Ok("mail"));
    agents(&with(hi(), &["message", "taskId"], json!(ID)), Ok("mail"));
    agents(&task(), Ok("task"));
    agents(&without(task(), &[], "delegation"), REFUSED);
    agents(&without(task(), &["message"], "taskId"), REFUSED);
    agents(&without(task(), &["message"], "contextId"), REFUSED);
    agents(&with(task(), &["kind"], json!("message")), REFUSED);
    for kind in [
        json!({"kind": "request"}),
        json!({"kind": "self", "what": "grant"}),
        json!({"kind": "card", "what": "get"}),
        json!({"kind": "channel", "op": "post", "id": ID, "name": "eng"}),
    ] {
        agents(&conv(hi(), kind.clone()), REFUSED);
        agents(&conv(task(), kind), REFUSED);
    }
    let (bob, alice) = (end("bob", None), end("alice", Some("ui")));
    assert_eq!(meaning(&bob, &alice, Class::Contact, &hi()), REFUSED);
    let bob = end("bob", Some("api"));
    assert_eq!(meaning(&bob, &alice, Class::Request, &hi()), REFUSED);
    assert_eq!(meaning(&bob, &bob, Class::Own, &hi()), Ok("mail"));
}

#[test]
fn a_line_is_outside_any_task_and_has_ulids() {
    let post =
        |payload| conv(payload, json!({"kind": "channel", "op": "post", "id": ID, "name": "eng"}));
    for (wrap, name) in [((|p| p) as fn(Value) -> Value, "line"), (post, "channel")] {
        for class in [Class::Contact, Class::Own] {
            persons(class, &wrap(hi()), Ok(name));
            persons(class, &wrap(with(hi(), &["message", "contextId"], json!(ID))), Ok(name));
            persons(class, &wrap(with(hi(), &["message", "contextId"], json!("c"))), REFUSED);
            persons(class, &wrap(with(hi(), &["message", "messageId"], json!("m"))), REFUSED);
            persons(class, &wrap(with(hi(), &["message", "taskId"], json!(ID))), REFUSED);
            persons(class, &wrap(with(task(), &["message", "messageId"], json!(ID))), REFUSED);
            persons(
                class,
                &wrap(with(hi(), &["delegation"], task()["delegation"].clone())),
                REFUSED,
            );
        }
        persons(Class::Request, &wrap(hi()), REFUSED);
        let agent = end("bob", Some("api"));
        assert_eq!(meaning(&agent, &end("alice", None), Class::Contact, &wrap(hi())), Ok(name));
    }
    persons(Class::Contact, &with(hi(), &["message", "metadata"], json!({"x": 1})), Ok("line"));
}

#[test]
fn a_request_is_one_text_and_nothing_else() {
    let request = |parts| conv(message(parts), json!({"kind": "request"}));
    let text = |text: &str| request(json!([{"text": text}]));
    persons(Class::Request, &text("hi"), Ok("request"));
    persons(Class::Request, &text(&"x".repeat(500)), Ok("request"));
    persons(Class::Request, &text(&"😀".repeat(250)), Ok("request"));
    persons(Class::Request, &text(&"x".repeat(501)), REFUSED);
    persons(Class::Request, &text(&"😀".repeat(251)), REFUSED);
    persons(Class::Request, &text(""), REFUSED);
    persons(Class::Request, &request(json!([{"text": "a"}, {"text": "b"}])), REFUSED);
    persons(Class::Request, &request(json!([{"data": "a"}])), REFUSED);
    persons(Class::Request, &request(json!([{"text": "a", "filename": "b"}])), REFUSED);
    persons(Class::Request, &request(json!([{"text": "a", "later": "b"}])), REFUSED);
    for (path, member) in [
        (&["message", "metadata"][..], json!({})),
        (&["message", "contextId"], json!(ID)),
        (&["message", "extensions"], json!([])),
        (&["message", "later"], json!(1)),
        (&["later"], json!(1)),
        (&["wake"], json!(false)),
    ] {
        persons(Class::Request, &with(text("hi"), path, member), REFUSED);
    }
    persons(Class::Contact, &text("hi"), REFUSED);
    persons(Class::Own, &text("hi"), REFUSED);
}

#[test]
fn a_sync_is_1_to_100_objects_between_own_devices() {
    let sync = |grants: Value| {
        conv(
            message(json!([{"data": {"grants": grants}}])),
            json!({"kind": "self", "what": "grant"}),
        )
    };
    persons(Class::Own, &sync(json!([{}])), Ok("sync"));
    persons(Class::Own, &sync(json!(std::vec![json!({"bad": 1}); 100])), Ok("sync"));
    persons(Class::Own, &with(sync(json!([{}])), &["message", "metadata"], json!({})), Ok("sync"));
    for grants in [
        json!([]),
        json!(std::vec![json!({}); 101]),
        json!({}),
        json!([1]),
        json!([{}, []]),
        json!(null),
    ] {
        persons(Class::Own, &sync(grants), REFUSED);
    }
    persons(Class::Contact, &sync(json!([{}])), REFUSED);
    for parts in [
        json!([{"text": "x"}]),
        json!([{"data": {}}]),
        json!([{"data": []}]),
        json!([{"data": {"grants": [{}], "more": 1}}]),
        json!([{"data": {"grants": [{}]}, "filename": "x"}]),
        json!([{"data": {"grants": [{}]}}, {"text": "x"}]),
    ] {
        persons(
            Class::Own,
            &conv(message(parts), json!({"kind": "self", "what": "snapshot"})),
            REFUSED,
        );
    }
    let agent = end("bob", Some("api"));
    assert_eq!(meaning(&agent, &end("bob", None), Class::Own, &sync(json!([{}]))), REFUSED);
}

#[test]
fn a_card_is_one_datum_between_two_persons() {
    let shape = json!({
        "v": "messaging/1", "realm": KEY, "from": "bob", "to": "alice", "by": KEY, "seq": 1, "ts": 1,
        "can": {"chat": true, "agentMail": false, "ask": "no"}, "sig": "A".repeat(86)
    });
    let card = |what: &str, data: Value| {
        conv(message(json!([{"data": data}])), json!({"kind": "card", "what": what}))
    };
    let good = card("card", json!({"card": shape}));
    let get = card("get", json!({"get": true}));
    persons(Class::Contact, &good, Ok("card"));
    persons(Class::Contact, &get, Ok("card wanted"));
    for payload in [&good, &get] {
        persons(Class::Own, payload, REFUSED);
        let agent = end("bob", Some("api"));
        assert_eq!(meaning(&agent, &end("alice", None), Class::Contact, payload), REFUSED);
        for (path, member) in [
            (&["message", "metadata"][..], json!({})),
            (&["message", "contextId"], json!(ID)),
            (&["later"], json!(1)),
        ] {
            persons(Class::Contact, &with(payload.clone(), path, member), REFUSED);
        }
    }
    for (what, data) in [
        ("card", json!({"get": true})),
        ("get", json!({"card": shape})),
        ("get", json!({"get": false})),
        ("get", json!({"get": true, "more": 1})),
        ("card", json!({"card": shape, "more": 1})),
        ("card", json!({"card": "text"})),
        ("card", json!({"card": {}})),
        ("card", json!({})),
        ("card", json!([])),
    ] {
        persons(Class::Contact, &card(what, data), REFUSED);
    }
    let parts = json!([{"data": {"get": true}, "filename": "x"}]);
    persons(Class::Contact, &conv(message(parts), json!({"kind": "card", "what": "get"})), REFUSED);
    let two: Vec<Value> = std::vec![json!({"data": {"get": true}}); 2];
    persons(
        Class::Contact,
        &conv(message(json!(two)), json!({"kind": "card", "what": "get"})),
        REFUSED,
    );
}

#[test]
fn the_views_hold_what_was_sent() {
    let (bob, alice) = (end("bob", None), end("alice", None));
    let ends = Ends { from: &bob, to: &alice, class: Class::Request };
    let raw = conv(message(json!([{"text": "may I?"}])), json!({"kind": "request"}));
    let read: MessagePayload = decode(&raw).unwrap();
    assert_eq!(check(ends, &read, &raw), Ok(Meaning::Request { text: "may I?" }));
    let _: String = read.message.texts().collect();
}
