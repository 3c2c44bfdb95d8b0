//! What this machine says: the ends, class, head and life of everything it seals, and what it never says.
//! Spec: §5 "Ends", "Class", "Sealing"; §12; W2.1

use std::collections::BTreeSet;

use messaging_core::ids::Ulid;
use messaging_core::keys::Identity;
use messaging_core::limits::TTL_MS;
use messaging_core::roster::Op;
use messaging_core::testing::SeededRandom;
use serde_json::{Value, json};

use super::bench::{Bench, CONN, team};
use super::forge::{Forged, mail};
use crate::config::Config;
use crate::engine::{Boot, DaemonEngine};
use crate::input::{ConnId, In, Out, Tier};
use messaging_ipc::request::{Request, RequestId};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

#[test]
fn every_envelope_names_its_ends_its_class_its_life_and_the_head_it_was_sealed_on() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("bob", "pc")]);
    let alice = bench.session(0, "api", json!({}));
    let desk = bench.session(1, "web", json!({}));
    let pc = bench.session(2, "own", json!({}));
    bench.advance(3_000);
    let id = bench.send(&alice, "bob/web", "one");
    bench.send(&alice, "bob/web", "two");
    bench.send(&pc, "bob/web", "from my other machine");
    bench.ask(&desk, "item.read", json!({"id": id})).unwrap();
    let head = bench.relay.roster.head().unwrap();
    let mut once = BTreeSet::new();
    for at in 0..3 {
        for env in bench.relay.sent_by(at).into_iter().chain(bench.relay.presence_by(at)) {
            let (ts, exp) = (env["ts"].as_u64().unwrap(), env["exp"].as_u64().unwrap());
            assert_eq!(exp - ts, TTL_MS);
            assert_eq!(
                env["anchor"],
                json!({"kind": "roster", "seq": head.seq, "hash": head.hash})
            );
            assert_eq!(env["from"]["device"], json!(bench.machine(at)));
            assert_eq!(env["from"]["person"], json!(bench.person(at)));
            assert!(once.insert(env["id"].to_string()), "an id is used once");
            if env["type"] == "presence" {
                assert_eq!(env["to"], json!({"team": true}));
                assert!(env["from"].get("agent").is_none());
                continue;
            }
            assert!(once.insert(env["epk"].to_string()), "a key is made for one seal");
            assert!(once.insert(env["nonce"].to_string()), "and a nonce too");
            let own = env["from"]["person"] == env["to"]["person"];
            assert_eq!(env["class"], if own { "self" } else { "contact" });
            let agents = [env["from"].get("agent"), env["to"].get("agent")];
            match env["type"].as_str().unwrap() {
                "message" => {
                    assert!(agents.iter().all(Option::is_some), "{env}");
                    assert_eq!(bench.open(&env)["message"]["role"], "ROLE_USER");
                }
                "receipt" => assert_eq!(agents, [None, None], "a device signs receipts"),
                other => panic!("{other}"),
            }
        }
    }
    assert!(
        bench.relay.sent_by(1).len() >= 4,
        "two messages stored, one read, one of its own person"
    );
}

#[test]
fn mail_is_sealed_to_a_new_key_as_soon_as_its_entry_is_known() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    // Bob rotates and throws the old key away at once: whatever was sealed to it would be lost.
    let new = Identity::generate(&mut SeededRandom::new(5)).enc;
    let op = Op::MemberRekey { machine: bench.machine(1), enc: *new.public() };
    let signing = bench.daemons[1].keys.identity.signing.clone();
    let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    bench.daemons[1].keys.identity.enc = new;
    bench.configure(1, |_| {});
    bench.relay.append(&entry);
    bench.settle();
    let bob = bench.resume(&bob);
    bench.send(&alice, "bob/web@desk", "to the new key");
    assert_eq!(bench.texts(&bob), ["to the new key"]);
}

#[test]
fn a_reply_to_nothing_that_was_sent_is_mail_like_any_other() {
    let mut bench = Bench::connected(&TWO);
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let nothing = Ulid::from_parts(bench.now.wall, [4; 10]);
    let env = bench.forge(0, 1, Forged { reply_to: Some(nothing), ..mail("web", "re: what?") });
    bench.deliver(1, &env);
    assert_eq!(bench.answer_to(1, 0, &env).as_deref(), Some("delivered"));
    assert_eq!(bench.texts(&bob), ["re: what?"]);
}

#[test]
fn a_home_whose_keys_are_missing_founds_joins_sends_and_opens_nothing() {
    let (roster, keys) = team(&TWO);
    let boot = Boot {
        config: Config::default(),
        unknown_keys: Vec::new(),
        identity: None,
        pairing: None,
        pid: 7,
        version: "0.0.0",
    };
    let store = super::bench::home(&roster, &keys[0]);
    let now = super::bench::START;
    let (mut running, _) = DaemonEngine::start(store, boot, now, SeededRandom::new(1)).unwrap();
    let conn = ConnId(1);
    drop(running.turn(now, [In::IpcOpened { conn, tier: Tier::Admin }]));
    let ticket = messaging_core::ticket::TextForm::encode(&messaging_core::ticket::InviteTicket {
        v: messaging_core::version::Version,
        relay: super::bench::URL.parse().unwrap(),
        team: *roster.team_id().unwrap(),
        invite_id: Ulid::from_parts(now.wall, [1; 10]),
        secret: messaging_core::ids::Secret32Text::from_bytes(&[1; 32]),
        person: "dave".parse().unwrap(),
        expires: now.wall.plus(60_000),
        name: None,
    });
    let key = "k".repeat(22);
    for (method, params, code) in [
        (
            "team.create",
            json!({"relay": super::bench::URL, "team": "t", "person": "p", "label": "l"}),
            "invalid_state",
        ),
        ("team.join", json!({"ticket": ticket.unwrap(), "label": "l"}), "invalid_state"),
        ("team.prepare", json!({}), "invalid_state"),
        ("team.claim", json!({}), "invalid_state"),
        ("team.pairCancel", json!({}), "invalid_state"),
        (
            "team.pair",
            json!({"relay": super::bench::URL, "team": roster.team_id(), "person": "p", "label": "l"}),
            "invalid_state",
        ),
        ("identity.rotateEnc", json!({}), "invalid_state"),
        ("session.register", json!({"key": key, "agent": "codex"}), ""),
        ("msg.send", json!({"key": key, "to": "bob/web", "parts": [{"text": "x"}]}), "no_identity"),
        ("contacts.list", json!({}), "no_identity"),
    ] {
        let id = RequestId::Text(method.to_owned());
        let request = Request { id, method: method.to_owned(), params: Some(params), grant: None };
        let mut answer = Value::Null;
        for out in running.turn(now, [In::IpcRequest { conn, request }]) {
            match out {
                Out::IpcSend { line, .. } => answer = serde_json::from_slice(&line).unwrap(),
                Out::SaveIdentity { .. } | Out::Dial { .. } => panic!("{method}"),
                _ => {}
            }
        }
        assert_eq!(answer["error"]["data"]["code"].as_str().unwrap_or(""), code, "{method}");
    }
}

#[test]
fn no_secret_is_said_or_logged() {
    let mut bench = Bench::homeless();
    bench.newcomer();
    bench.admin(0);
    bench.admin(1);
    let found =
        json!({"relay": super::bench::URL, "team": "demo", "person": "alice", "label": "laptop"});
    bench.call(0, CONN, "team.create", found).unwrap();
    bench.advance(1_000);
    let ticket =
        bench.call(0, CONN, "team.invite", json!({"person": "bob"})).unwrap()["ticket"].clone();
    let decoded: messaging_core::ticket::InviteTicket =
        messaging_core::ticket::TextForm::decode(ticket.as_str().unwrap()).unwrap();
    bench.call(1, CONN, "team.join", json!({"ticket": ticket, "label": "desk"})).unwrap();
    bench.advance(1_000);
    let alice = bench.session(0, "api", json!({"repo": "REPO-WORDS", "doing": "DOING-WORDS"}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let open = json!({"subject": {"person": "alice"}, "ask": "open"});
    bench.call(1, CONN, "grant.set", open).unwrap();
    let id = bench.send(&alice, "bob/web", "BODY-WORDS");
    bench.ask(&bob, "item.read", json!({"id": id})).unwrap();
    let wrong =
        json!({"to": "bob/nobody", "parts": [{"text": "BODY-WORDS"}], "nonsense": "VALUE-WORDS"});
    bench.ask(&alice, "msg.send", wrong).unwrap_err();
    bench.frame(1, r#"{"t":"error","code":"internal","message":"RELAY-WORDS"}"#);
    bench.advance(3_000);

    let mut secrets: Vec<String> =
        ["BODY-WORDS", "REPO-WORDS", "DOING-WORDS", "VALUE-WORDS", "RELAY-WORDS"]
            .map(str::to_owned)
            .to_vec();
    secrets.push(serde_json::to_value(decoded.secret).unwrap().as_str().unwrap().to_owned());
    secrets.push(ticket.as_str().unwrap().to_owned());
    secrets.extend([alice.key.clone(), bob.key.clone()]);
    for daemon in &bench.daemons {
        let file = daemon.keys.to_value();
        secrets
            .extend(["signingKey", "encKey"].map(|name| file[name].as_str().unwrap().to_owned()));
    }
    let said: String = bench.relay.heard.iter().map(|(_, frame)| frame.print()).collect();
    let logged: String = bench
        .daemons
        .iter()
        .flat_map(|daemon| &daemon.log)
        .map(|event| format!("{:?}", event.fields()))
        .collect();
    assert!(said.contains("\"send\"") && logged.contains("api"));
    for secret in &secrets {
        assert!(!said.contains(secret.as_str()), "{secret} was said");
        assert!(!logged.contains(secret.as_str()), "{secret} was logged");
    }
    // Nor does the store hold what only its owner or its ticket may.
    for at in 0..2 {
        let store = bench.kill(at);
        let mut held = String::new();
        for table in ["kv", "roster", "sessions", "outbox", "sent", "idempotency", "evidence"] {
            let all = format!("SELECT * FROM {table}");
            store
                .view()
                .each(&all, (), |row| {
                    held.extend((0..30).filter_map(|at| row.get::<_, String>(at).ok()));
                    Ok(true)
                })
                .unwrap();
        }
        for secret in secrets.iter().filter(|secret| !secret.contains("-WORDS")) {
            assert!(!held.contains(secret.as_str()), "{secret} is stored");
        }
    }
}
