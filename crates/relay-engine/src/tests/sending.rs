//! `send` and `presence`: each check, its code and its place in the order. W8 7.25 to 7.36, 7.43, 7.46 to 7.49.

use messaging_core::limits::PRESENCE_BYTES;

use super::*;

struct Sender {
    rig: Rig,
    team: Team,
    conn: ConnId,
}

impl Sender {
    fn new() -> Self {
        let mut rig = Rig::new();
        let team = rig.team();
        let conn = rig.connect(&team.alice, &team.id);
        Self { rig, team, conn }
    }

    /// Sends Alice's envelope to Bob, changed before it is signed.
    fn send(&mut self, change: impl FnOnce(&mut Value)) -> (Value, Vec<Value>) {
        let (alice, bob) = (self.team.alice.clone(), self.team.bob.clone());
        let env = self.rig.mail_with(&self.team, &alice, &bob, change);
        let replies = self.rig.ask(self.conn, &send(&env));
        (env, replies)
    }

    #[track_caller]
    fn refused(&mut self, code: &str, change: impl FnOnce(&mut Value)) {
        let (env, replies) = self.send(change);
        nacked(&replies, &env["id"], code);
        assert_eq!(self.rig.queued(), 0, "a refusal changes nothing");
        assert_eq!(self.rig.count("SELECT COUNT(*) FROM seen"), 0, "a refusal changes nothing");
    }
}

fn long(text: usize) -> String {
    "A".repeat(text / 4 * 4)
}

#[test]
fn a_good_envelope_is_acked_and_stored_as_it_was_signed() {
    let mut s = Sender::new();
    let (env, replies) = s.send(|env| env["later"] = json!({"b": [1, 2.5], "a": "é"}));
    assert_eq!(replies, [acked(&env)]);
    let stored: String =
        s.rig.relay.view().row("SELECT env FROM queue", (), |row| row.get(0)).unwrap().unwrap();
    assert_eq!(stored, messaging_core::jcs::canonical(&env).unwrap().as_str());
    let bob = s.team.bob.clone();
    let bob = s.rig.connect_and_keep(&bob, &s.team.id);
    assert_eq!(s.rig.frames(bob), [delivered(&env)]);
}

#[test]
fn the_checks_and_their_codes() {
    let mut s = Sender::new();
    let carol = s.team.carol.clone();
    let id = |byte| json!(Hash::from_bytes(&[byte; 32]));
    s.refused("invalid_request", |env| env["type"] = json!("telepathy"));
    s.refused("invalid_request", |env| env["exp"] = json!("soon"));
    s.refused("invalid_request", |env| env["class"] = json!("self"));
    s.refused("invalid_request", |env| env["v"] = json!("messaging/2"));
    s.refused("too_large", |env| env["pad"] = json!(long(4_096)));
    s.refused("forbidden", |env| env["from"] = end(&carol));
    s.refused("not_member", |env| env["realm"] = id(9));
    s.refused("not_member", |env| env["from"]["person"] = json!("carol"));
    s.refused("not_member", |env| env["to"]["person"] = json!("carol"));
    s.refused("not_member", |env| env["to"]["device"] = id(7));
    s.refused("roster_conflict", |env| env["anchor"]["seq"] = json!(3));
    s.refused("roster_conflict", |env| env["anchor"]["hash"] = id(1));
    s.refused("invalid_request", |env| {
        env["anchor"] = json!({"kind": "epoch", "size": 1, "root": id(1)})
    });
    s.refused("too_large", |env| env["body"] = json!(long(699_076)));
    s.refused("expired", |env| env["ts"] = json!(START.wall.0 + 300_001));
    s.refused("expired", |env| env["exp"] = json!(START.wall.0));
    s.refused("expired", |env| env["exp"] = json!(START.wall.0 + 604_800_001));
    let (alice, bob) = (s.team.alice.clone(), s.team.bob.clone());
    let mut env = s.rig.mail(&s.team, &alice, &bob);
    env["body"] = json!("AAAB");
    nacked(&s.rig.ask(s.conn, &send(&env)), &env["id"], "bad_signature");
    let to_self = s.rig.mail(&s.team, &alice, &alice);
    nacked(&s.rig.ask(s.conn, &send(&to_self)), &to_self["id"], "invalid_request");
}

#[test]
fn bounds_are_inclusive() {
    let mut s = Sender::new();
    // An older head is routed: peers lag.
    let genesis = s.team.roster.entries()[0].hash().to_string();
    let (env, replies) =
        s.send(|env| env["anchor"] = json!({"kind": "roster", "seq": 0, "hash": genesis}));
    assert_eq!(replies, [acked(&env)]);
    for change in [
        (|env| env["body"] = json!("A".repeat(699_072))) as fn(&mut Value),
        |env| env["ts"] = json!(START.wall.0 + 300_000),
        |env| env["exp"] = json!(START.wall.0 + 604_800_000),
    ] {
        let (env, replies) = s.send(change);
        assert_eq!(replies, [acked(&env)]);
    }
    // The header's bound is on the whole envelope less its body, signature included.
    for (over, code) in [(0, None), (1, Some("too_large"))] {
        let (env, replies) = s.send(|env| {
            env["pad"] = json!("");
            let mut bare = env.clone();
            sign(&mut bare, alice().key());
            bare.as_object_mut().unwrap().remove("body");
            let size = messaging_core::jcs::canonical(&bare).unwrap().len();
            env["pad"] = json!("x".repeat(4_096 + over - size));
        });
        match code {
            None => assert_eq!(replies, [acked(&env)]),
            Some(code) => nacked(&replies, &env["id"], code),
        }
    }
}

/// Each envelope breaks two rules; the earlier one gives the code.
#[test]
fn the_first_broken_rule_gives_the_code() {
    let mut s = Sender::new();
    let pad = json!(long(4_096));
    let realm = json!(Hash::from_bytes(&[9; 32]));
    let carol = s.team.carol.clone();
    let head = json!(Hash::from_bytes(&[1; 32]));
    let big = json!(long(699_076));
    let cases: Vec<(&str, Vec<(&str, Value)>)> = vec![
        ("invalid_request", vec![("class", json!("self")), ("pad", pad.clone())]),
        ("too_large", vec![("pad", pad), ("from", end(&carol))]),
        ("forbidden", vec![("from", end(&carol)), ("realm", realm.clone())]),
        ("not_member", vec![("realm", realm), ("sig", json!("A".repeat(86)))]),
        (
            "not_member",
            vec![
                ("to", json!({"person": "bob", "device": "A".repeat(43)})),
                ("sig", json!("A".repeat(86))),
            ],
        ),
        (
            "bad_signature",
            vec![
                ("sig", json!("A".repeat(86))),
                ("anchor", json!({"kind": "roster", "seq": 9, "hash": head})),
            ],
        ),
        (
            "roster_conflict",
            vec![
                ("anchor", json!({"kind": "roster", "seq": 9, "hash": head})),
                ("body", big.clone()),
            ],
        ),
        ("too_large", vec![("body", big), ("exp", json!(START.wall.0))]),
    ];
    for (code, faults) in cases {
        let (alice, bob) = (s.team.alice.clone(), s.team.bob.clone());
        let mut sig = None;
        let mut env = s.rig.mail_with(&s.team, &alice, &bob, |env| {
            for (name, value) in &faults {
                if *name == "sig" { sig = Some(value.clone()) } else { env[*name] = value.clone() }
            }
        });
        if let Some(sig) = sig {
            env["sig"] = sig;
        }
        nacked(&s.rig.ask(s.conn, &send(&env)), &env["id"], code);
    }
}

#[test]
fn without_a_usable_id_the_refusal_is_an_error() {
    let mut s = Sender::new();
    for id in [json!(1), json!("white space"), Value::Null, json!("x".repeat(65))] {
        let (_, replies) = s.send(|env| env["id"] = id);
        errored(&replies, "invalid_request");
    }
    let conn = s.conn;
    errored(&s.rig.ask(conn, &json!({"t": "send", "env": []})), "invalid_request");
    errored(&s.rig.ask(conn, &json!({"t": "send"})), "invalid_request");
    let (env, replies) = s.send(|env| env["id"] = json!("not-a-ulid"));
    nacked(&replies, &env["id"], "invalid_request");
}

#[test]
fn an_identical_resend_is_acked_without_a_second_copy_and_another_content_refused() {
    let mut s = Sender::new();
    let (env, _) = s.send(|_| {});
    let mut reordered = serde_json::Map::new();
    for (name, value) in env.as_object().unwrap().iter().rev() {
        reordered.insert(name.clone(), value.clone());
    }
    let conn = s.conn;
    assert_eq!(s.rig.ask(conn, &send(&json!(reordered))), [acked(&env)], "the same JCS");
    assert_eq!(s.rig.queued(), 1);
    let id = env["id"].clone();
    let (_, replies) = s.send(|other| {
        other["id"] = id.clone();
        other["body"] = json!("BBBB");
    });
    nacked(&replies, &id, "invalid_request");

    let bob = s.team.bob.clone();
    let bob = s.rig.connect_and_keep(&bob, &s.team.id);
    assert_eq!(s.rig.frames(bob), [delivered(&env)]);
    s.rig.say(bob, &ack_of(&env));
    assert_eq!(s.rig.queued(), 0);
    assert_eq!(s.rig.ask(conn, &send(&env)), [acked(&env)], "known after it was delivered, too");
    assert_eq!(s.rig.frames(bob), Vec::<Value>::new());
}

#[test]
fn the_resend_of_an_uncommitted_first_copy_is_answered_after_it() {
    let mut s = Sender::new();
    let (alice, bob) = (s.team.alice.clone(), s.team.bob.clone());
    let env = s.rig.mail(&s.team, &alice, &bob);
    let conn = s.conn;
    s.rig.look(conn);
    s.rig.say_all(&[(conn, send(&env)), (conn, send(&env))]);
    assert_eq!(s.rig.frames(conn), [acked(&env), acked(&env)]);
    assert_eq!(s.rig.queued(), 1);
}

#[test]
fn the_same_id_from_another_sender_is_another_envelope() {
    let mut s = Sender::new();
    let (env, _) = s.send(|_| {});
    let (bob, carol) = (s.team.bob.clone(), s.team.carol.clone());
    let id = env["id"].clone();
    let other = s.rig.mail_with(&s.team, &carol, &bob, |other| other["id"] = id);
    let conn = s.rig.connect(&carol, &s.team.id);
    assert_eq!(s.rig.ask(conn, &send(&other)), [acked(&other)]);
    assert_eq!(s.rig.queued(), 2);
}

#[test]
fn an_id_is_remembered_until_the_envelope_could_not_be_valid_any_more() {
    let mut s = Sender::new();
    let conn = s.conn;
    let (env, _) = s.send(|env| env["exp"] = json!(START.wall.0 + 10_000));
    let other = |s: &mut Sender, exp: u64| {
        let id = env["id"].clone();
        s.send(|other| {
            other["id"] = id;
            other["body"] = json!("BBBB");
            other["exp"] = json!(exp);
        })
    };
    s.rig.pass(10_000 + 299_999);
    nacked(&s.rig.ask(conn, &send(&env)), &env["id"], "expired");
    let now = s.rig.now.wall.0;
    nacked(&other(&mut s, now + 50_000).1, &env["id"], "invalid_request");
    // Past exp + skew the id is free, whether or not the purge has been here yet.
    s.rig.now.wall = s.rig.now.wall.plus(1);
    let now = s.rig.now.wall.0;
    let (again, replies) = other(&mut s, now + 50_000);
    assert_eq!(replies, [acked(&again)]);
    assert_eq!(s.rig.count("SELECT COUNT(*) FROM seen"), 1);
    assert_eq!(s.rig.relay.machine().gauges().seen_rows, 1);
}

#[test]
fn one_commit_holds_the_sends_and_acks_of_a_turn() {
    let mut s = Sender::new();
    let (alice, bob, carol) = (s.team.alice.clone(), s.team.bob.clone(), s.team.carol.clone());
    let (first, _) = s.send(|_| {});
    let conn_b = s.rig.connect(&bob, &s.team.id);
    let conn_c = s.rig.connect(&carol, &s.team.id);
    let a = s.rig.mail(&s.team, &alice, &bob);
    let b = s.rig.mail(&s.team, &carol, &alice);
    let conn = s.conn;
    for conn in [conn, conn_b, conn_c] {
        s.rig.look(conn);
    }
    let commits = s.rig.relay.machine().metrics().commits;
    s.rig.say_all(&[
        (conn, send(&a)),
        (conn, json!({"t": "ping", "id": "p"})),
        (conn_b, ack_of(&first)),
        (conn_c, send(&b)),
    ]);
    assert_eq!(s.rig.relay.machine().metrics().commits, commits + 1);
    let pong = json!({"t": "pong", "id": "p"});
    assert_eq!(s.rig.frames(conn), [acked(&a), pong, delivered(&b)], "replies keep frame order");
    assert_eq!(s.rig.frames(conn_b), [delivered(&a)]);
    assert_eq!(s.rig.frames(conn_c), [acked(&b)]);
}

#[test]
fn presence_is_kept_fanned_out_and_an_older_one_dropped_silently() {
    let mut s = Sender::new();
    let (alice, bob) = (s.team.alice.clone(), s.team.bob.clone());
    let conn_b = s.rig.connect(&bob, &s.team.id);
    let conn = s.conn;
    let two = s.rig.presence(&s.team, &alice, 2);
    assert_eq!(s.rig.ask(conn, &json!({"t": "presence", "env": two})), Vec::<Value>::new());
    assert_eq!(s.rig.frames(conn_b), [delivered(&two)]);
    for seq in [1, 2] {
        let old = s.rig.presence(&s.team, &alice, seq);
        assert_eq!(s.rig.ask(conn, &json!({"t": "presence", "env": old})), Vec::<Value>::new());
        assert_eq!(s.rig.frames(conn_b), Vec::<Value>::new());
    }
    assert_eq!(s.rig.count("SELECT COUNT(*) FROM seen"), 0);
    assert_eq!(s.rig.queued(), 0);
    assert_eq!(s.rig.count("SELECT seq FROM presence"), 2);

    // Several in one turn: the highest counts, each rise is told.
    let three = s.rig.presence(&s.team, &alice, 3);
    let four = s.rig.presence(&s.team, &alice, 4);
    let frame = |env: &Value| (conn, json!({"t": "presence", "env": env}));
    s.rig.say_all(&[frame(&three), frame(&four), frame(&three)]);
    assert_eq!(s.rig.frames(conn_b), [delivered(&three), delivered(&four)]);

    // It is told to whoever comes, until it expires.
    let carol = s.team.carol.clone();
    let conn_c = s.rig.connect_and_keep(&carol, &s.team.id);
    assert_eq!(s.rig.frames(conn_c), [delivered(&four)]);
    s.rig.turn(vec![In::Closed { conn: conn_c }]);
    s.rig.pass(TTL_MS);
    let conn_c = s.rig.connect_and_keep(&carol, &s.team.id);
    assert_eq!(s.rig.frames(conn_c), Vec::<Value>::new());
    assert_eq!(s.rig.count("SELECT COUNT(*) FROM presence"), 0, "purged");
}

#[test]
fn presence_is_judged_like_a_send() {
    let mut s = Sender::new();
    let (alice, carol) = (s.team.alice.clone(), s.team.carol.clone());
    let conn = s.conn;
    let mut check = |code: &str, change: &dyn Fn(&mut Value)| {
        let env = s.rig.presence_with(&s.team, &alice, 1, change);
        nacked(&s.rig.ask(conn, &json!({"t": "presence", "env": env})), &env["id"], code);
        assert_eq!(s.rig.count("SELECT COUNT(*) FROM presence"), 0);
    };
    let id = |byte| json!(Hash::from_bytes(&[byte; 32]));
    let session = |n: usize| {
        json!({"agent": format!("a{n}"), "client": "cli", "state": "idle", "tier": "pull", "since": 1,
            "repo": "r".repeat(200), "branch": "b".repeat(200), "doing": "d".repeat(200)})
    };
    check("invalid_request", &|env| env["body"]["sessions"] = json!("many"));
    check("too_large", &|env| env["pad"] = json!(long(4_096)));
    check("forbidden", &|env| env["from"]["device"] = json!(carol.machine()));
    check("not_member", &|env| env["realm"] = id(4));
    check("not_member", &|env| env["from"]["person"] = json!("carol"));
    check("roster_conflict", &|env| env["anchor"]["hash"] = id(4));
    check("too_large", &|env| env["body"]["sessions"] = (0..100).map(session).collect());
    check("expired", &|env| env["exp"] = env["ts"].clone());
    let mut env = s.rig.presence(&s.team, &alice, 1);
    env["body"]["seq"] = json!(2);
    nacked(&s.rig.ask(conn, &json!({"t": "presence", "env": env})), &env["id"], "bad_signature");
    let bob = s.team.bob.clone();
    let mail = s.rig.mail(&s.team, &alice, &bob);
    nacked(
        &s.rig.ask(conn, &json!({"t": "presence", "env": mail})),
        &mail["id"],
        "invalid_request",
    );
    let presence = s.rig.presence(&s.team, &alice, 1);
    nacked(&s.rig.ask(conn, &send(&presence)), &presence["id"], "invalid_request");
}

#[test]
fn the_first_broken_rule_of_a_presence_gives_the_code() {
    let mut s = Sender::new();
    let (alice, carol) = (s.team.alice.clone(), s.team.carol.clone());
    let conn = s.conn;
    let other = || json!(Hash::from_bytes(&[4; 32]));
    type Break = Box<dyn Fn(&mut Value)>;
    let rules: [(&str, Break); 9] = [
        ("invalid_request", Box::new(|env| env["class"] = json!("self"))),
        ("too_large", Box::new(|env| env["pad"] = json!(long(4_096)))),
        ("forbidden", Box::new(move |env| env["from"]["device"] = json!(carol.machine()))),
        ("not_member", Box::new(move |env| env["realm"] = other())),
        ("not_member", Box::new(|env| env["from"]["person"] = json!("carol"))),
        ("bad_signature", Box::new(|env| env["sig"] = json!("A".repeat(86)))),
        ("roster_conflict", Box::new(move |env| env["anchor"]["hash"] = other())),
        ("invalid_request", Box::new(|env| env["body"]["sessions"] = json!("many"))),
        ("expired", Box::new(|env| env["exp"] = env["ts"].clone())),
    ];
    let bodies: [(&str, Break); 3] = [
        ("too_large", Box::new(|env| env["body"] = json!({"pad": long(PRESENCE_BYTES)}))),
        ("invalid_request", Box::new(|env| env["body"] = json!(7))),
        ("invalid_request", Box::new(|env| drop(env.as_object_mut().unwrap().remove("body")))),
    ];
    let mut check = |code: &str, breaks: &[&Break]| {
        let mut env = s.rig.presence(&s.team, &alice, 1);
        breaks.iter().for_each(|break_it| break_it(&mut env));
        let forged = env["sig"] == "A".repeat(86);
        sign(&mut env, alice.key());
        if forged {
            env["sig"] = json!("A".repeat(86));
        }
        nacked(&s.rig.ask(conn, &json!({"t": "presence", "env": env})), &env["id"], code);
        assert_eq!(s.rig.count("SELECT COUNT(*) FROM presence"), 0);
    };
    for (n, (code, first)) in rules.iter().enumerate() {
        check(code, &[first]);
        for (_, second) in rules.iter().skip(n + 1) {
            check(code, &[first, second]);
        }
        for (of_body, body) in &bodies {
            // A body has its place before the time window.
            check(if n < 7 { code } else { of_body }, &[first, body]);
        }
    }
}

#[test]
fn frames_are_counted_by_type_and_refusals_by_code() {
    let mut s = Sender::new();
    s.send(|_| {});
    s.send(|env| env["type"] = json!("telepathy"));
    let conn = s.conn;
    s.rig.say(conn, &json!({"t": "SECRET"}));
    let metrics = s.rig.relay.machine().metrics();
    assert_eq!(metrics.frames_in["send"], 2);
    assert_eq!(metrics.frames_in["other"], 1);
    assert_eq!(metrics.frames_out["ack"], 1);
    assert_eq!(metrics.nacks[&messaging_core::code::Code::InvalidRequest], 1);
    assert!(!format!("{metrics:?}").contains("SECRET"));
}
