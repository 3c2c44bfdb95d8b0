//! What becomes of mail and task requests: held by default, delivered or refused as the person said, answers always in.
//! Spec: §6.9 "Enforcement", D3.10, rulings R2 and R3

use messaging_core::ids::Ulid;
use serde_json::json;

use super::super::bench::CONN;
use super::super::forge::{Forged, mail};
use super::{THREE, Town};

#[test]
fn an_ask_of_the_team_waits_for_the_person_and_no_agent_hears_of_it() {
    let mut town = Town::new();
    let id = town.writes("may I?");
    assert_eq!(town.stage(&id), "held");
    assert!(town.texts().is_empty());
    assert!(town.bench.daemons[1].events_of("inbox").is_empty());
    let requests = town.requests(1);
    assert_eq!(requests.len(), 1);
    for (name, value) in [
        ("kind", json!("message")),
        ("id", json!(id)),
        ("person", json!("alice")),
        ("label", json!("laptop")),
        ("agent", json!("api")),
        ("address", json!("alice/api@laptop")),
        ("to", json!("web")),
        ("preview", json!("may I?")),
    ] {
        assert_eq!(requests[0][name], value, "{name}");
    }
    let notices = town.bench.call(1, CONN, "notice.list", json!({})).unwrap();
    assert_eq!(notices["counts"]["requests"], 1);
    assert_eq!(notices["notices"][0]["category"], "request");
    assert_eq!(notices["notices"][0]["conversation"], "agent:alice/api");
    assert_eq!(notices["notices"][0]["id"], format!("r_{id}"));
    // It is on disk.
    town.restart(1);
    assert_eq!(town.requests(1), requests);
}

#[test]
fn ones_own_agents_ask_each_other_as_themselves() {
    let mut town = Town::of(&[("alice", "laptop"), ("alice", "desk")]);
    let id = town.bench.send(&town.alice, "alice/web@desk", "mine");
    town.bench.advance(1_000);
    assert_eq!(town.stage(&id), "delivered");
    assert_eq!(town.class(), "self");
}

#[test]
fn what_the_person_says_of_asks_decides_them() {
    let mut town = Town::new();
    town.says("alice", json!({"ask": "open"}));
    let id = town.writes("one");
    assert_eq!((town.stage(&id), town.class()), ("delivered".into(), "guarded".into()));
    town.says("alice", json!({"ask": "no"}));
    let id = town.writes("two");
    assert_eq!(town.stage(&id), "rejected refused");
    town.says("alice", json!({"ask": "request"}));
    let id = town.writes("three");
    assert_eq!(town.stage(&id), "held");
    town.says("alice", json!({"ask": "open", "chat": "blocked"}));
    let id = town.writes("four");
    assert_eq!(town.stage(&id), "rejected refused", "a block refuses asks too");
    assert_eq!(town.texts(), ["one"]);
}

#[test]
fn a_refused_envelope_is_remembered_and_is_not_taken_after_the_person_widens() {
    let mut town = Town::new();
    town.says("alice", json!({"ask": "no"}));
    let env = town.bench.forge(0, 1, mail("web", "again?"));
    town.bench.deliver(1, &env);
    assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), "rejected refused");
    assert!(town.bench.is_seen(1, &env));
    town.says("alice", json!({"ask": "open"}));
    town.bench.deliver(1, &env);
    assert!(town.texts().is_empty());
}

#[test]
fn a_held_envelope_that_comes_again_is_held_once() {
    let mut town = Town::new();
    let env = town.bench.forge(0, 1, mail("web", "once"));
    town.bench.deliver(1, &env);
    town.bench.deliver(1, &env);
    assert!(town.bench.acked(1, &env));
    assert_eq!(town.requests(1).len(), 1);
    assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), "held");
}

#[test]
fn a_held_id_is_not_anothers_to_use() {
    let mut town = Town::of(&THREE);
    let env = town.bench.forge(0, 1, mail("web", "mine"));
    town.bench.deliver(1, &env);
    let mut other = town.bench.forge(2, 1, mail("web", "theirs"));
    other["id"] = env["id"].clone();
    let payload = json!({"kind": "message", "message": super::super::forge::message("theirs")});
    let other = town.bench.reseal(2, 1, other, &payload);
    town.bench.deliver(1, &other);
    assert_eq!(town.bench.answer_to(1, 2, &other).unwrap(), "rejected invalid_request");
    assert_eq!(town.requests(1)[0]["person"], "alice");
}

#[test]
fn a_reply_is_an_answer_only_from_the_machine_that_was_written_to() {
    let mut town = Town::of(&THREE);
    town.says("alice", json!({"chat": "blocked", "ask": "no"}));
    let question = town.bench.send(&town.bob, "alice/api", "question");
    town.bench.advance(1_000);
    let held = town.bench.call(0, CONN, "request.list", json!({})).unwrap();
    assert_eq!(held["requests"][0]["id"], json!(question));
    let of = Ulid::parse(&question).unwrap();
    let reply = town.bench.forge(0, 1, Forged { reply_to: Some(of), ..mail("web", "answer") });
    town.bench.deliver(1, &reply);
    assert_eq!(town.texts(), ["answer"], "whatever the grants say");
    assert_eq!(town.class(), "guarded");
    // Carol was not asked: hers is an ask.
    let reply = town.bench.forge(2, 1, Forged { reply_to: Some(of), ..mail("web", "me too") });
    town.bench.deliver(1, &reply);
    assert_eq!(town.bench.answer_to(1, 2, &reply).unwrap(), "held");
    // And a plain one of Alice's is none either.
    let plain = town.bench.forge(0, 1, mail("web", "more"));
    town.bench.deliver(1, &plain);
    assert_eq!(town.bench.answer_to(1, 0, &plain).unwrap(), "rejected refused");
}

#[test]
fn a_follow_up_of_a_task_comes_in_whatever_the_person_says_meanwhile() {
    let mut town = Town::new();
    town.says("alice", json!({"ask": "open"}));
    let (_, task) = town.asks("do this");
    town.says("alice", json!({"chat": "blocked", "ask": "no"}));
    let params = json!({"to": "bob/web", "taskId": task, "parts": [{"text": "and this"}]});
    town.bench.ask(&town.alice, "msg.send", params).unwrap();
    town.bench.advance(1_000);
    assert_eq!(town.texts(), ["do this", "and this"]);
    let sent = town.bench.ask(&town.alice, "task.cancel", json!({"taskId": task})).unwrap();
    assert_eq!(sent["sent"], true);
    town.bench.advance(1_000);
    let task = town.bench.ask(&town.bob, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(task["task"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[test]
fn a_trusted_persons_ask_is_trusted_until_the_trust_ends() {
    let mut town = Town::new();
    town.says("alice", json!({"ask": "open", "trust": true}));
    town.writes("one");
    assert_eq!(town.class(), "trusted");
    town.bench.skip(messaging_core::limits::TRUST_DEFAULT_MS);
    town.bench.advance(3_000);
    town.writes("two");
    assert_eq!(town.class(), "guarded");
}

#[test]
fn a_trusted_persons_agent_does_not_launder_a_third_persons_task() {
    let mut town = Town::of(&THREE);
    let carol = town.bench.session(2, "ops", json!({}));
    town.bench.advance(3_000);
    town.says("alice", json!({"ask": "open", "trust": true}));
    town.try_says(0, "carol", json!({"ask": "open"})).unwrap();
    // Carol asks Alice's agent, who passes it on to Bob's.
    let params = json!({"to": "alice/api", "kind": "task", "parts": [{"text": "for Carol"}]});
    let first = town.bench.ask(&carol, "msg.send", params).unwrap()["results"][0].clone();
    town.bench.advance(1_000);
    let passed = json!({
        "to": "bob/web", "kind": "task", "parts": [{"text": "passed on"}],
        "onBehalfOf": {"taskId": first["taskId"]}
    });
    town.bench.ask(&town.alice, "msg.send", passed.clone()).unwrap();
    town.bench.advance(1_000);
    assert_eq!((town.texts(), town.class()), (vec!["passed on".into()], "guarded".into()));
    town.asks("Alice's own");
    assert_eq!(town.class(), "trusted");
    // Nor by making it a reply to something that Bob's agent wrote.
    town.try_says(0, "bob", json!({"ask": "open"})).unwrap();
    let note = town.bench.send(&town.bob, "alice/api", "note");
    town.bench.advance(1_000);
    let mut reply = passed;
    reply["replyTo"] = json!(note);
    town.bench.ask(&town.alice, "msg.send", reply).unwrap();
    town.bench.advance(1_000);
    assert_eq!(town.class(), "guarded");
}

#[test]
fn a_hold_needs_a_session_that_takes_it() {
    let mut town = Town::new();
    town.bench.session(1, "tty", json!({"agent": "cli"}));
    let nobody = town.bench.forge(0, 1, mail("nobody", "x"));
    town.bench.deliver(1, &nobody);
    assert_eq!(town.bench.answer_to(1, 0, &nobody).unwrap(), "rejected unknown_session");
    town.bench.advance(3_000);
    let params = json!({"to": "bob/tty", "kind": "task", "parts": [{"text": "type this"}]});
    let sent = town.bench.ask(&town.alice, "msg.send", params).unwrap()["results"][0].clone();
    town.bench.advance(1_000);
    assert_eq!(town.stage(sent["envelopeId"].as_str().unwrap()), "rejected refused");
    assert!(town.requests(1).is_empty());
    // Whoever is refused learns nothing of the sessions here.
    town.says("alice", json!({"ask": "no"}));
    let nobody = town.bench.forge(0, 1, mail("nobody", "x"));
    town.bench.deliver(1, &nobody);
    assert_eq!(town.bench.answer_to(1, 0, &nobody).unwrap(), "rejected refused");
}

#[test]
fn a_held_task_is_no_task_yet_and_its_chain_held() {
    let mut town = Town::new();
    let (id, task) = town.asks("build it");
    assert_eq!(town.stage(&id), "held");
    let get = json!({"taskId": task});
    assert_eq!(town.bench.ask(&town.bob, "task.get", get).unwrap_err(), "not_found");
    let requests = town.requests(1);
    assert_eq!(requests[0]["kind"], "task");
    assert_eq!(requests[0]["chain"]["depth"], 1);
    assert_eq!(requests[0]["chain"]["addresses"], json!(["alice/api@laptop", "bob/web@desk"]));
}

#[test]
fn twenty_asks_of_one_person_are_held_and_the_next_is_told_to_wait() {
    let mut town = Town::of(&THREE);
    for count in 0..21 {
        let env = town.bench.forge(0, 1, mail("web", "ask"));
        town.bench.deliver(1, &env);
        town.bench.advance(1_000);
        let expected = if count < 20 { "held" } else { "rejected rate_limited" };
        assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), expected, "{count}");
    }
    let env = town.bench.forge(2, 1, mail("web", "Carol's"));
    town.bench.deliver(1, &env);
    town.bench.advance(1_000);
    assert_eq!(town.bench.answer_to(1, 2, &env).unwrap(), "held");
}

#[test]
fn two_hundred_asks_are_held_in_all() {
    use crate::store::held::{self, HeldRow};
    use crate::store::inbox::ItemKind;
    let mut town = Town::new();
    let store = town.bench.kill(1);
    let (device, now) = (town.bench.machine(0), town.bench.now.wall);
    let store = super::super::bench::write(store, move |tx| {
        for number in 0..199u8 {
            let row = HeldRow {
                device,
                id: Ulid::from_parts(now, [number; 10]),
                session: None,
                person: format!("p{number}").parse().unwrap(),
                kind: ItemKind::Message,
                task: None,
                shown: None,
                at: now,
                exp: now.plus(60_000_000),
            };
            held::insert(tx, &row, &json!({}), &json!({}))?;
        }
        Ok(())
    });
    town.bench.start(1, store);
    town.bench.advance(3_000);
    for expected in ["held", "rejected rate_limited"] {
        let env = town.bench.forge(0, 1, mail("web", "ask"));
        town.bench.deliver(1, &env);
        assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), expected);
    }
}

#[test]
fn a_channels_grant_holds_for_whoever_is_in_it_here() {
    let mut town = Town::of(&THREE);
    let id = "01HF7YAT00AAAAAAAAAAAAAAAA";
    let store = town.bench.kill(1);
    let store = super::super::bench::write(store, move |tx| {
        tx.execute(
            "INSERT INTO channels (id, name, local_name, creator, persons, created_at)
             VALUES (?1, 'eng', 'eng-2', 'alice', '[\"alice\",\"bob\"]', 1)",
            messaging_store::params![id],
        )
        .map(drop)
    });
    town.bench.start(1, store);
    town.bench.advance(3_000);
    town.bench.admin(1);
    town.bob = town.bench.resume(&town.bob);
    let set = |town: &mut Town, params| town.bench.call(1, CONN, "grant.set", params);
    let set_open = json!({"subject": {"channel": "eng-2"}, "ask": "open"});
    let grant = set(&mut town, set_open).unwrap()["grant"].clone();
    assert_eq!(grant["subject"], json!({"channel": id, "name": "eng-2"}));
    let unknown = json!({"subject": {"channel": "eng"}, "ask": "open"});
    assert_eq!(set(&mut town, unknown).unwrap_err(), "not_found");
    let chat = json!({"subject": {"channel": "eng-2"}, "chat": "open"});
    assert_eq!(set(&mut town, chat).unwrap_err(), "invalid_request");
    let of_alice = town.bench.forge(0, 1, mail("web", "member"));
    town.bench.deliver(1, &of_alice);
    let of_carol = town.bench.forge(2, 1, mail("web", "stranger"));
    town.bench.deliver(1, &of_carol);
    assert_eq!(town.bench.answer_to(1, 0, &of_alice).unwrap(), "delivered");
    assert_eq!(town.bench.answer_to(1, 2, &of_carol).unwrap(), "held");
    // What is said of the person goes before.
    town.says("alice", json!({"ask": "no"}));
    let env = town.bench.forge(0, 1, mail("web", "again"));
    town.bench.deliver(1, &env);
    assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), "rejected refused");
}

#[test]
fn a_refused_line_is_filed_nowhere_and_its_sender_hears_the_code() {
    let mut town = Town::new();
    town.says("alice", json!({"chat": "blocked"}));
    let line = json!({"conversation": "dm:bob", "text": "hello?"});
    town.bench.call(0, CONN, "person.send", line.clone()).unwrap();
    town.bench.advance(3_000);
    assert_eq!(town.bench.count(1, "SELECT count(*) FROM lines"), 0);
    let read = town.bench.call(0, CONN, "conv.read", json!({"conversation": "dm:bob"})).unwrap();
    assert_eq!(read["lines"][0]["state"], "refused");
    town.says("alice", json!({"chat": "muted"}));
    town.bench.call(0, CONN, "person.send", line).unwrap();
    town.bench.advance(3_000);
    assert_eq!(town.bench.count(1, "SELECT count(*) FROM lines"), 1);
}
