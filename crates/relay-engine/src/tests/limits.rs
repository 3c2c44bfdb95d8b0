//! Budgets, caps and slow sockets: each bound, at it and one past it. W8 7.35, 7.41, 7.44 to 7.46, 7.55, 7.56; R9, R10.

use std::collections::BTreeMap;

use super::*;
use crate::{RelayLimits, Slow};

fn small(change: impl FnOnce(&mut RelayLimits)) -> Rig {
    Rig::with(|config| change(&mut config.limits))
}

#[test]
fn frames_of_a_machine_are_budgeted_across_its_connections() {
    let mut rig = small(|limits| limits.frames_per_minute = 60);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    rig.pass(120_000);
    let a = rig.connect(&alice, &team.id);
    for _ in 0..60 {
        assert_eq!(rig.ask(a, &json!({"t": "ping"})).len(), 1);
    }
    errored(&rig.ask(a, &json!({"t": "ping"})), "rate_limited");
    errored(&rig.ask(a, &json!({"t": "later"})), "rate_limited");
    let env = rig.mail(&team, &alice, &bob);
    let a = rig.connect(&alice, &team.id);
    let replies = rig.ask(a, &send(&env));
    nacked(&replies, &env["id"], "rate_limited");
    assert_eq!(replies[0]["retryAfterMs"], 1_000);
    nacked(&rig.ask(a, &json!({"t": "roster.sync", "req": "r"})), &json!("r"), "rate_limited");
    rig.pass(1_000);
    assert_eq!(rig.ask(a, &send(&env)), [acked(&env)]);
    let b = rig.connect(&bob, &team.id);
    assert_eq!(rig.ask(b, &json!({"t": "ping"})).len(), 1, "another machine has its own");
    assert_eq!(rig.relay.machine().metrics().rate_limited, 4);
}

#[test]
fn bytes_of_a_machine_are_budgeted_and_a_refused_frame_costs_nothing() {
    let mut rig = small(|limits| {
        limits.bytes_per_minute = 60_000;
        limits.frames_per_minute = 10;
    });
    let team = rig.team();
    rig.pass(120_000);
    let conn = rig.connect(&team.alice, &team.id);
    let padded = |bytes: usize| {
        let bare = json!({"t": "ping", "pad": ""}).to_string().len();
        json!({"t": "ping", "pad": "x".repeat(bytes - bare)})
    };
    assert_eq!(rig.ask(conn, &padded(59_000)), [json!({"t": "pong"})]);
    for _ in 0..20 {
        errored(&rig.ask(conn, &padded(1_001)), "rate_limited");
    }
    assert_eq!(rig.ask(conn, &padded(1_000)), [json!({"t": "pong"})]);
}

#[test]
fn each_delivery_pays_for_one_small_ack() {
    let mut rig = small(|limits| limits.frames_per_minute = 5);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    rig.pass(120_000);
    let a = rig.connect(&alice, &team.id);
    let sent: Vec<Value> = (0..3).map(|_| rig.mail(&team, &alice, &bob)).collect();
    for env in &sent {
        rig.say(a, &send(env));
    }
    let b = rig.connect(&bob, &team.id);
    for _ in 0..5 {
        rig.say(b, &json!({"t": "ping"}));
    }
    errored(&rig.ask(b, &json!({"t": "ping"}))[..], "rate_limited");
    // Nothing is left of the budget, and every delivery can be acked all the same.
    for env in &sent {
        assert_eq!(rig.ask(b, &ack_of(env)), Vec::<Value>::new());
    }
    assert_eq!(rig.queued(), 0);
    errored(&rig.ask(b, &ack_of(&sent[0])), "rate_limited");
}

#[test]
fn a_redelivery_pays_for_nothing_and_a_long_ack_is_charged() {
    let mut rig = small(|limits| limits.frames_per_minute = 2);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    rig.pass(120_000);
    let a = rig.connect(&alice, &team.id);
    let env = rig.mail(&team, &alice, &bob);
    rig.say(a, &send(&env));
    let b = rig.connect(&bob, &team.id);
    rig.pass(10_000);
    assert_eq!(rig.frames(b), [delivered(&env)]);
    for _ in 0..2 {
        rig.say(b, &json!({"t": "ping"}));
    }
    let mut long = ack_of(&env);
    long["pad"] = json!("x".repeat(30));
    errored(&rig.ask(b, &long), "rate_limited");
    assert_eq!(rig.queued(), 1);
    assert_eq!(rig.ask(b, &ack_of(&env)), Vec::<Value>::new());
    assert_eq!(rig.queued(), 0);
    errored(&rig.ask(b, &ack_of(&env)), "rate_limited");
}

#[test]
fn presence_is_five_at_once_then_one_each_two_seconds() {
    let mut rig = Rig::new();
    let team = rig.team();
    let alice = team.alice.clone();
    let conn = rig.connect(&alice, &team.id);
    let say = |rig: &mut Rig, seq: u64| {
        let env = rig.presence(&team, &alice, seq);
        let replies = rig.ask(conn, &json!({"t": "presence", "env": env}));
        replies.first().map(|reply| reply["code"].as_str().unwrap().to_owned())
    };
    for seq in 1..=5 {
        assert_eq!(say(&mut rig, seq), None);
    }
    assert_eq!(say(&mut rig, 6).as_deref(), Some("rate_limited"));
    rig.pass(1_999);
    assert_eq!(say(&mut rig, 6).as_deref(), Some("rate_limited"));
    rig.pass(1);
    assert_eq!(say(&mut rig, 6), None);
    assert_eq!(say(&mut rig, 7).as_deref(), Some("rate_limited"));
}

/// Sends `n` envelopes of `body` characters; the codes of those refused.
fn send_many(
    rig: &mut Rig,
    team: &Team,
    from: &Peer,
    to: &Peer,
    n: usize,
    body: usize,
) -> Vec<String> {
    let conn = rig.connect(from, &team.id);
    let body = json!("A".repeat(body));
    let mut codes = Vec::new();
    for _ in 0..n {
        let env = rig.mail_with(team, from, to, |env| env["body"] = body.clone());
        let replies = rig.ask(conn, &send(&env));
        if replies[0]["t"] == "nack" {
            codes.push(replies[0]["code"].as_str().unwrap().to_owned());
        }
    }
    rig.turn(vec![In::Closed { conn }]);
    codes
}

#[test]
fn a_sender_may_have_so_many_waiting_for_a_recipient() {
    let mut rig = small(|limits| limits.queue_per_sender = 3);
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    assert_eq!(send_many(&mut rig, &team, &alice, &bob, 5, 4), ["rate_limited"; 2]);
    assert_eq!(send_many(&mut rig, &team, &alice, &carol, 1, 4), [""; 0], "another recipient");
    assert_eq!(send_many(&mut rig, &team, &carol, &bob, 1, 4), [""; 0], "another sender");
    assert_eq!(rig.queued(), 5);
    assert_eq!(rig.count("SELECT COUNT(*) FROM seen"), 5, "what is refused is not remembered");
    // Deferred deliveries still count.
    let b = rig.connect_and_keep(&bob, &team.id);
    let frames = rig.frames(b);
    assert_eq!(frames.len(), 4);
    assert_eq!(send_many(&mut rig, &team, &alice, &bob, 1, 4), ["rate_limited"]);
    let first =
        frames.iter().find(|f| f["env"]["from"]["device"] == json!(alice.machine())).unwrap();
    rig.say(b, &ack_of(&first["env"]));
    assert_eq!(send_many(&mut rig, &team, &alice, &bob, 2, 4), ["rate_limited"]);
    let mut rig = rig.restart();
    assert_eq!(
        send_many(&mut rig, &team, &alice, &bob, 1, 4),
        ["rate_limited"],
        "counted from the rows"
    );
}

#[test]
fn expired_envelopes_do_not_count_even_before_the_purge() {
    let mut rig = small(|limits| limits.queue_per_sender = 2);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let a = rig.connect(&alice, &team.id);
    let exp = rig.now.wall.0 + 1_000;
    let short = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
    let long = rig.mail(&team, &alice, &bob);
    rig.say_all(&[(a, send(&short)), (a, send(&long))]);
    rig.look(a);
    let third = rig.mail(&team, &alice, &bob);
    nacked(&rig.ask(a, &send(&third)), &third["id"], "rate_limited");
    rig.now.wall = rig.now.wall.plus(1_000);
    assert_eq!(rig.ask(a, &send(&third)), [acked(&third)]);
    assert_eq!(rig.queued(), 2);
    let fourth = rig.mail(&team, &alice, &bob);
    nacked(&rig.ask(a, &send(&fourth)), &fourth["id"], "rate_limited");
    assert_eq!(rig.relay.machine().gauges().queue_rows, 2);
}

#[test]
fn a_recipients_queue_is_bounded_in_rows() {
    let mut rig = small(|limits| limits.queue_per_machine = 3);
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    assert_eq!(send_many(&mut rig, &team, &alice, &bob, 2, 4), [""; 0]);
    assert_eq!(send_many(&mut rig, &team, &carol, &bob, 2, 4), ["rate_limited"]);
}

#[test]
fn one_sender_may_fill_a_quarter_of_a_recipients_bytes() {
    let mut rig = small(|limits| limits.queue_bytes_per_machine = 40_000);
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    // Each is about 4.8 kB: two fit into a quarter.
    assert_eq!(send_many(&mut rig, &team, &alice, &bob, 3, 4_000), ["rate_limited"]);
    assert_eq!(send_many(&mut rig, &team, &carol, &bob, 2, 4_000), [""; 0]);
}

#[test]
fn a_recipients_queue_is_bounded_in_bytes() {
    let mut rig = small(|limits| limits.queue_bytes_per_machine = 40_000);
    let mut team = rig.team();
    let bob = team.bob.clone();
    let admin = team.alice.clone();
    let a = rig.connect(&admin, &team.id);
    let mut refused = 0;
    for n in 0..5 {
        let peer = Peer::new(50 + n, "dave", &format!("l{n}"), Role::Member);
        let entry = team.entry(&Op::MemberAdd { member: peer.member.clone() }, rig.now, &admin);
        assert_eq!(rig.append(a, "m", &entry)[0]["t"], "roster.ok");
        refused += send_many(&mut rig, &team, &peer, &bob, 2, 4_000).len();
    }
    assert_eq!(refused, 2, "eight of ten fit");
}

#[test]
fn the_whole_queue_is_bounded_and_says_so_once() {
    for rows in [true, false] {
        let mut rig =
            small(|limits| if rows { limits.queue_rows = 2 } else { limits.queue_bytes = 10_000 });
        let team = rig.team();
        let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
        assert_eq!(send_many(&mut rig, &team, &alice, &bob, 2, 4_000), [""; 0]);
        assert_eq!(send_many(&mut rig, &team, &alice, &carol, 2, 4_000), ["rate_limited"; 2]);
        let full = rig.logs.iter().filter(|event| **event == Event::QueueFull).count();
        assert_eq!(full, 1);
        assert_eq!(rig.relay.machine().metrics().queue_full, 2);
    }
}

#[test]
fn remembered_ids_are_bounded_per_sender_and_in_total() {
    for total in [true, false] {
        let mut rig =
            small(|limits| if total { limits.seen_total = 2 } else { limits.seen_per_sender = 2 });
        let team = rig.team();
        let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
        let a = rig.connect(&alice, &team.id);
        let b = rig.connect(&bob, &team.id);
        let exp = rig.now.wall.0 + 1_000;
        let one = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
        let two = rig.mail(&team, &alice, &bob);
        let three = rig.mail(&team, &alice, &bob);
        rig.say_all(&[(a, send(&one)), (a, send(&two))]);
        rig.say_all(&[(b, ack_of(&one)), (b, ack_of(&two))]);
        assert_eq!(rig.queued(), 0);
        nacked(&rig.ask(a, &send(&three)), &three["id"], "rate_limited");
        assert_eq!(rig.ask(a, &send(&one)), [acked(&one)], "a resend is known");
        let other = send_many(&mut rig, &team, &carol, &bob, 1, 4);
        assert_eq!(other.len(), usize::from(total), "another sender has its own");
        assert_eq!(rig.relay.machine().metrics().seen_full, 1 + u64::from(total));
        // Until rows expire.
        rig.pass(1_000 + 300_000 + 60_000);
        let again = rig.mail(&team, &alice, &bob);
        let accepted = rig.ask(a, &send(&again));
        assert_eq!(accepted.last(), Some(&acked(&again)));
    }
}

#[test]
fn a_socket_with_too_much_waiting_is_dropped() {
    let mut rig = small(|limits| limits.socket_bytes = 20_000);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let a = rig.connect(&alice, &team.id);
    let b = rig.connect(&bob, &team.id);
    rig.look(a);
    rig.stuck.push(b);
    for _ in 0..6 {
        let env = rig.mail_with(&team, &alice, &bob, |env| env["body"] = json!("A".repeat(4_000)));
        rig.say(a, &send(&env));
    }
    let seen = rig.look(b);
    assert_eq!(seen.last(), Some(&Seen::Terminated));
    assert!(rig.logs.contains(&Event::ConnSlow { reason: Slow::Socket }));
    assert_eq!(rig.relay.machine().gauges().buffered_bytes, 0);
    let offline = json!({"t": "peer", "machine": bob.machine(), "online": false});
    assert!(rig.frames(a).contains(&offline));
    assert_eq!(rig.queued(), 6, "nothing is lost with it");
}

#[test]
fn over_the_budget_the_furthest_behind_are_dropped_to_three_quarters() {
    let mut rig = small(|limits| limits.buffered_bytes = 40_000);
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let a = rig.connect(&alice, &team.id);
    let (b, c) = (rig.connect(&bob, &team.id), rig.connect(&carol, &team.id));
    rig.stuck.extend([b, c]);
    rig.look(b);
    rig.look(c);
    let big = "A".repeat(10_000);
    for to in [&bob, &carol, &bob, &bob] {
        let env = rig.mail_with(&team, &alice, to, |env| env["body"] = json!(big));
        rig.say(a, &send(&env));
    }
    assert_eq!(rig.look(b).last(), Some(&Seen::Terminated));
    let left = rig.look(c);
    assert!(left.iter().all(|seen| matches!(seen, Seen::Frame(_))), "{left:?}");
    assert!(rig.logs.contains(&Event::ConnSlow { reason: Slow::Budget }));
    assert!(rig.relay.machine().gauges().buffered_bytes <= 30_000);
}

/// Runs one turn and returns the most that ever waited on one of the connections, and on all of them.
fn peak(rig: &mut Rig, inputs: Vec<In>) -> (usize, usize) {
    let mut waiting: BTreeMap<ConnId, usize> = BTreeMap::new();
    let (mut one, mut all) = (0, 0);
    for out in rig.relay.turn(rig.now, inputs) {
        match out {
            Out::Send { conn, text } => *waiting.entry(conn).or_default() += text.len(),
            Out::Terminate { conn } => drop(waiting.remove(&conn)),
            _ => {}
        }
        one = one.max(waiting.values().copied().max().unwrap_or(0));
        all = all.max(waiting.values().sum());
    }
    (one, all)
}

#[test]
fn a_batch_of_requests_cannot_fill_memory_before_it_ends() {
    let mut rig = small(|limits| {
        limits.socket_bytes = 20_000;
        limits.buffered_bytes = 50_000;
    });
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let sync = json!({"t": "roster.sync", "req": "r"});
    let b = rig.connect(&bob, &team.id);
    let page = rig.ask(b, &sync)[0].to_string().len();
    // One socket.
    rig.stuck.push(b);
    let inputs = (0..200).map(|_| rig.input(b, &sync.to_string())).collect();
    let (one, _) = peak(&mut rig, inputs);
    assert!(one > 20_000 && one <= 20_000 + page, "{one}");
    assert_eq!(rig.relay.machine().gauges().buffered_bytes, 0, "and then it is dropped");
    // Sockets that each keep to their bound, and together do not keep to the budget.
    let conns: Vec<_> = [&alice, &bob, &carol].map(|peer| rig.connect(peer, &team.id)).into();
    rig.stuck.extend(&conns);
    let each = 19_000 / page;
    let inputs: Vec<_> = (0..each)
        .flat_map(|_| conns.clone())
        .map(|conn| rig.input(conn, &sync.to_string()))
        .collect();
    let (one, all) = peak(&mut rig, inputs);
    assert!(one <= 20_000, "{one}");
    assert!(all > 50_000 && all <= 50_000 + page, "{all}");
}

#[test]
fn what_a_goodbye_leaves_waiting_counts_until_the_connection_is_gone() {
    for way in ["replaced", "no frame", "removed", "stop"] {
        let mut rig = small(|limits| limits.buffered_bytes = 80_000);
        let mut team = rig.team();
        let (alice, bob) = (team.alice.clone(), team.bob.clone());
        let a = rig.connect(&alice, &team.id);
        let b = rig.connect(&bob, &team.id);
        rig.stuck.push(b);
        let big = "A".repeat(9_000);
        for _ in 0..3 {
            let env = rig.mail_with(&team, &alice, &bob, |env| env["body"] = json!(big));
            rig.say(a, &send(&env));
        }
        let before = rig.relay.machine().gauges();
        match way {
            "replaced" => drop(rig.connect(&bob, &team.id)),
            "no frame" => rig.say(b, &json!([])),
            "removed" => {
                let remove = Op::MemberRemove { machine: bob.machine() };
                let entry = team.entry(&remove, rig.now, &alice);
                rig.append(a, "r", &entry);
            }
            _ => rig.turn(vec![In::Stop]),
        }
        assert!(matches!(rig.look(b).last(), Some(Seen::Closed(_))), "{way}");
        let after = rig.relay.machine().gauges();
        assert!(after.buffered_bytes >= before.buffered_bytes, "{way}: {after:?}");
        rig.turn(vec![In::Drained { conn: b, bytes: 20_000 }]);
        let drained = rig.relay.machine().gauges();
        assert_eq!(drained.buffered_bytes, after.buffered_bytes - 20_000, "{way}");
        rig.turn(vec![In::Closed { conn: b }]);
        assert!(rig.relay.machine().gauges().buffered_bytes < 20_000, "{way}");
        assert!(rig.look(b).is_empty(), "{way}: nothing more is said of it");
    }
}

#[test]
fn a_machine_that_reconnects_and_never_reads_keeps_to_the_budget() {
    let mut rig = small(|limits| limits.buffered_bytes = 60_000);
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let a = rig.connect(&alice, &team.id);
    let big = "A".repeat(9_000);
    let env = rig.mail_with(&team, &alice, &bob, |env| env["body"] = json!(big));
    rig.say(a, &send(&env));
    let mut last = a;
    for _ in 0..20 {
        rig.stuck.push(ConnId(rig.conns + 1));
        last = rig.connect(&bob, &team.id);
        assert!(rig.relay.machine().gauges().buffered_bytes <= 60_000);
    }
    assert!(rig.logs.contains(&Event::ConnSlow { reason: Slow::Budget }));
    // Nobody but those that were told to go had to: the machine's own link stands, and so does the other.
    assert!(rig.relay.machine().conns.is_open(last));
    assert_eq!(rig.frames(a).iter().filter(|frame| frame["t"] == "peer").count(), 1);
}

#[test]
fn budgets_and_counts_are_forgotten_when_they_say_nothing() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    send_many(&mut rig, &team, &alice, &bob, 3, 4);
    rig.pass(3_600_000 + 120_000);
    assert_eq!(rig.relay.machine().budgets.held(), 0);
    assert_eq!(rig.relay.machine().quotas.held(), 1, "what waits is not counted again and again");
    rig.pass(TTL_MS);
    assert_eq!(rig.relay.machine().quotas.held(), 0);
    assert_eq!(rig.relay.machine().gauges().queue_rows, 0);
}
