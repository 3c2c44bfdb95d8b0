//! The challenge, what may be said before `hello`, `hello`, replacing, closing. W8 7.12 to 7.24.

use super::*;

#[test]
fn the_challenge_comes_first_and_names_the_origin() {
    let mut rig = Rig::new();
    let conn = rig.open();
    let (_, nonce) = rig.preparers[&conn];
    assert_eq!(
        rig.frames(conn),
        [json!({"t": "challenge", "proto": "messaging/1", "relay": RELAY, "nonce": nonce})]
    );
}

#[test]
fn hello_is_judged_in_order() {
    let mut rig = Rig::new();
    let team = rig.team();
    type Change = Box<dyn Fn(&mut Value)>;
    let cases: Vec<(&str, Change)> = vec![
        ("invalid_request", Box::new(|f| f["ts"] = json!("now"))),
        ("invalid_request", Box::new(|f| f["realm"] = f["team"].clone())),
        ("expired", Box::new(|f| f["ts"] = json!(START.wall.0 + 300_001))),
        ("expired", Box::new(|f| f["ts"] = json!(START.wall.0 - 300_001))),
        ("bad_signature", Box::new(|f| f["ts"] = json!(START.wall.0 + 1))),
        ("bad_signature", Box::new(|f| f["team"] = json!("A".repeat(43)))),
    ];
    for (code, change) in cases {
        let conn = rig.open();
        let mut hello = rig.hello(conn, &team.alice, &team.id);
        change(&mut hello);
        rig.look(conn);
        rig.say(conn, &hello);
        closed(&rig.look(conn), code, 4001);
    }
    let other_team = Hash::from_bytes(&[9; 32]);
    for (peer, realm) in [(&stranger(), &team.id), (&team.alice, &other_team)] {
        let conn = rig.open();
        let hello = rig.hello(conn, peer, realm);
        rig.look(conn);
        rig.say(conn, &hello);
        closed(&rig.look(conn), "not_member", 4001);
    }
}

#[test]
fn a_hello_for_another_nonce_does_not_verify() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (one, two) = (rig.open(), rig.open());
    let hello = rig.hello(one, &team.alice, &team.id);
    rig.look(two);
    rig.say(two, &hello);
    closed(&rig.look(two), "bad_signature", 4001);
}

#[test]
fn a_hosted_hello_is_refused_by_a_team_relay() {
    let mut rig = Rig::new();
    let conn = rig.open();
    rig.look(conn);
    let id = "A".repeat(43);
    rig.say(
        conn,
        &json!({"t": "hello", "realm": id, "person": "p_aaaaaaaaaaaaaaaaaaaaaaaaaa", "device": id,
            "ts": START.wall, "sig": "A".repeat(86)}),
    );
    closed(&rig.look(conn), "invalid_request", 4001);
}

#[test]
fn the_clock_may_be_off_by_the_skew_and_no_more() {
    let mut rig = Rig::new();
    let team = rig.team();
    for ms in [0, 300_000] {
        let conn = rig.open();
        let (_, nonce) = rig.preparers[&conn];
        let challenge = Challenge { relay: RELAY.to_owned(), nonce };
        let ts = rig.now.wall.minus(ms);
        let hello = RosterHello::sign(&challenge, &team.id, ts, team.bob.key()).unwrap();
        rig.look(conn);
        rig.say(conn, &named("hello", json!(hello)));
        assert_eq!(rig.frames(conn)[0]["t"], "welcome");
    }
}

#[test]
fn welcome_then_presences_then_the_queue_and_the_others_hear_of_it() {
    let mut rig = Rig::new();
    let team = rig.team();
    let alice = rig.connect(&team.alice, &team.id);
    let presence = rig.presence(&team, &team.alice, 1);
    rig.say(alice, &json!({"t": "presence", "env": presence}));
    let env = rig.mail(&team, &team.alice, &team.bob);
    assert_eq!(rig.ask(alice, &send(&env)), [acked(&env)]);

    let bob = rig.open();
    let hello = rig.hello(bob, &team.bob, &team.id);
    let frames = rig.ask(bob, &hello);
    let head = team.roster.head().unwrap();
    assert_eq!(
        frames,
        [
            json!({"t": "welcome", "head": head, "online": [team.alice.machine()]}),
            delivered(&presence),
            delivered(&env),
        ]
    );
    let peer = |online| json!({"t": "peer", "machine": team.bob.machine(), "online": online});
    assert_eq!(rig.frames(alice), [peer(true)]);
    rig.turn(vec![In::Closed { conn: bob }]);
    assert_eq!(rig.frames(alice), [peer(false)]);
    rig.turn(vec![In::Closed { conn: bob }]);
    assert_eq!(rig.frames(alice), Vec::<Value>::new(), "gone once");
}

#[test]
fn a_second_connection_replaces_the_first_silently_even_at_the_cap() {
    let mut rig = Rig::with(|config| config.limits.connections = 2);
    let team = rig.team();
    let alice = rig.connect(&team.alice, &team.id);
    let first = rig.connect(&team.bob, &team.id);
    rig.look(alice);

    let second = rig.connect(&team.bob, &team.id);
    assert_eq!(rig.look(first), [Seen::Closed(4004)]);
    assert_eq!(rig.frames(alice), Vec::<Value>::new(), "no notice for a replacement");
    rig.turn(vec![In::Closed { conn: first }]);
    assert_eq!(
        rig.frames(alice),
        Vec::<Value>::new(),
        "a late goodbye does not meet the successor"
    );

    let carol = rig.open();
    let hello = rig.hello(carol, &team.carol, &team.id);
    rig.look(carol);
    rig.say(carol, &hello);
    closed(&rig.look(carol), "rate_limited", 1013);
    assert_eq!(rig.relay.machine().metrics().refused_full, 1);

    rig.turn(vec![In::Closed { conn: second }]);
    rig.connect(&team.carol, &team.id);
}

#[test]
fn a_hello_must_come_within_ten_seconds() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (late, in_time) = (rig.open(), rig.open());
    rig.look(late);
    rig.pass(9_999);
    assert_eq!(rig.look(late), []);
    let hello = rig.hello(in_time, &team.bob, &team.id);
    rig.say(in_time, &hello);
    rig.pass(1);
    closed(&rig.look(late), "expired", 4001);
    rig.pass(60_000);
    assert!(rig.look(in_time).iter().all(|seen| matches!(seen, Seen::Frame(_))));
}

#[test]
fn at_most_eight_frames_before_hello_and_it_is_one_of_them() {
    let mut rig = Rig::new();
    let team = rig.team();
    for before in [7, 8] {
        let conn = rig.open();
        for n in 0..before {
            // Known, not allowed yet and unknown ones count alike.
            let frame = match n % 3 {
                0 => json!({"t": "ping"}),
                1 => json!({"t": "roster.sync", "req": "r"}),
                _ => json!({"t": "dir.sth", "req": "r"}),
            };
            rig.say(conn, &frame);
        }
        rig.look(conn);
        let hello = rig.hello(conn, &team.bob, &team.id);
        rig.say(conn, &hello);
        let seen = rig.look(conn);
        if before == 7 {
            assert!(matches!(&seen[0], Seen::Frame(f) if f["t"] == "welcome"), "{seen:?}");
        } else {
            closed(&seen, "rate_limited", 4002);
        }
    }
}

#[test]
fn before_hello_other_frames_are_forbidden_and_unknown_ones_ignored() {
    let mut rig = Rig::new();
    let team = rig.team();
    let conn = rig.open();
    let env = rig.mail(&team, &team.alice, &team.bob);
    nacked(&rig.ask(conn, &send(&env)), &env["id"], "forbidden");
    nacked(&rig.ask(conn, &json!({"t": "presence", "env": env})), &env["id"], "forbidden");
    nacked(&rig.ask(conn, &json!({"t": "roster.sync", "req": "r"})), &json!("r"), "forbidden");
    errored(&rig.ask(conn, &ack_of(&env)), "forbidden");
    assert_eq!(rig.ask(conn, &json!({"t": "dir.sth", "req": "r"})), Vec::<Value>::new());
    assert_eq!(rig.ask(conn, &json!({"t": "ping", "id": "1"})), [json!({"t": "pong", "id": "1"})]);
    errored(&rig.ask(conn, &json!({"t": "ping", "id": 1})), "invalid_request");
}

#[test]
fn what_is_no_frame_closes_4002_before_and_after_hello() {
    let mut rig = Rig::new();
    let team = rig.team();
    for text in ["", "[]", "{}", "{\"t\":1}", "{\"t\":\"ping\",\"t\":\"ping\"}", "nonsense"] {
        let conn = rig.open();
        rig.look(conn);
        let input = rig.input(conn, text);
        rig.turn(vec![input]);
        closed(&rig.look(conn), "invalid_request", 4002);
        let conn = rig.connect(&team.bob, &team.id);
        let input = rig.input(conn, text);
        rig.turn(vec![input]);
        closed(&rig.look(conn), "invalid_request", 4002);
    }
    let conn = rig.open();
    rig.look(conn);
    rig.turn(vec![In::Frame { conn, bytes: 3, frame: crate::Prepared::binary() }]);
    closed(&rig.look(conn), "invalid_request", 4002);
}

#[test]
fn after_hello_a_second_hello_and_a_join_are_refused_and_the_link_stays() {
    let mut rig = Rig::new();
    let team = rig.team();
    let conn = rig.connect(&team.bob, &team.id);
    let hello = rig.hello(conn, &team.bob, &team.id);
    errored(&rig.ask(conn, &hello), "invalid_request");
    let join = json!({"t": "join", "req": "j", "team": team.id, "inviteId": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "proof": "A".repeat(86)});
    nacked(&rig.ask(conn, &join), &json!("j"), "forbidden");
    assert_eq!(rig.ask(conn, &json!({"t": "later"})), Vec::<Value>::new());
    assert_eq!(rig.ask(conn, &json!({"t": "ping"})), [json!({"t": "pong"})]);
}

#[test]
fn a_stop_closes_everybody_once_what_they_sent_is_answered() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (rig.connect(&team.alice, &team.id), rig.connect(&team.bob, &team.id));
    rig.look(alice);
    let env = rig.mail(&team, &team.alice, &team.bob);
    let input = rig.input(alice, &send(&env).to_string());
    rig.turn(vec![input, In::Stop]);
    assert_eq!(rig.look(alice), [Seen::Frame(acked(&env)), Seen::Closed(1001)]);
    assert_eq!(rig.look(bob), [Seen::Closed(1001)]);
    assert_eq!(rig.ready, [vec![Unready::Stopping]]);
    let late = rig.open();
    assert_eq!(rig.look(late), [Seen::Closed(1001)]);
    assert_eq!(rig.relay.deadline(), None);
    let mut rig = rig.restart();
    let bob = rig.connect_and_keep(&team.bob, &team.id);
    assert_eq!(rig.frames(bob), [delivered(&env)]);
}
