//! Windows, redelivery, acks, the pump. W8 7.35 to 7.45.

use super::*;

const WINDOW: usize = 64;

/// Bob is connected; Alice and Carol have sent.
fn backlog(rig: &mut Rig, team: &Team, from: &Peer, n: usize) -> Vec<Value> {
    let bob = team.bob.clone();
    let conn = rig.connect(from, &team.id);
    let envs: Vec<Value> = (0..n).map(|_| rig.mail(team, from, &bob)).collect();
    let frames: Vec<_> = envs.iter().map(|env| (conn, send(env))).collect();
    rig.say_all(&frames);
    let acks = rig.frames(conn);
    assert_eq!(acks.iter().filter(|frame| frame["t"] == "ack").count(), n, "{acks:?}");
    rig.turn(vec![In::Closed { conn }]);
    envs
}

fn deliveries(frames: Vec<Value>) -> Vec<Value> {
    frames.into_iter().filter(|frame| frame["t"] == "deliver").collect()
}

fn all_delivered(envs: &[Value]) -> Vec<Value> {
    envs.iter().map(delivered).collect()
}

#[test]
fn a_window_of_64_for_each_sender_and_the_next_for_each_ack() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, carol) = (team.alice.clone(), team.carol.clone());
    let from_alice = backlog(&mut rig, &team, &alice, 70);
    let from_carol = backlog(&mut rig, &team, &carol, 3);
    let bob = rig.connect_and_keep(&team.bob, &team.id);
    let first = rig.frames(bob);
    let of = |peer: &Peer| -> Vec<Value> {
        first
            .iter()
            .filter(|f| f["env"]["from"]["device"] == json!(peer.machine()))
            .cloned()
            .collect()
    };
    assert_eq!(
        of(&alice),
        all_delivered(&from_alice[..WINDOW]),
        "in queue order, up to the window"
    );
    assert_eq!(of(&carol), all_delivered(&from_carol), "nobody waits for another's window");

    rig.say(bob, &ack_of(&from_alice[10]));
    assert_eq!(rig.frames(bob), all_delivered(&from_alice[64..65]));
    rig.say_all(&[
        (bob, ack_of(&from_carol[0])),
        (bob, ack_of(&from_alice[0])),
        (bob, ack_of(&from_alice[1])),
    ]);
    assert_eq!(rig.frames(bob), all_delivered(&from_alice[65..67]));
    rig.say(bob, &ack_of(&from_alice[10]));
    assert_eq!(rig.frames(bob), Vec::<Value>::new(), "an ack counts once");
    assert_eq!(rig.queued(), 70 + 3 - 4);
}

#[test]
fn a_live_delivery_waits_for_the_window_too_and_keeps_its_order() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let b = rig.connect(&bob, &team.id);
    let sent = backlog(&mut rig, &team, &alice, 66);
    assert_eq!(deliveries(rig.frames(b)), all_delivered(&sent[..WINDOW]));
    let a = rig.connect(&alice, &team.id);
    let last = rig.mail(&team, &alice, &bob);
    rig.say(a, &send(&last));
    assert_eq!(deliveries(rig.frames(b)), Vec::<Value>::new());
    for env in &sent[..3] {
        rig.say(b, &ack_of(env));
    }
    let expected = [delivered(&sent[64]), delivered(&sent[65]), delivered(&last)];
    assert_eq!(rig.frames(b), expected);
}

#[test]
fn what_is_not_acked_is_sent_again_after_10_20_40_60_60_seconds() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let b = rig.connect(&bob, &team.id);
    let sent = backlog(&mut rig, &team, &alice, 1);
    assert_eq!(deliveries(rig.frames(b)), all_delivered(&sent));
    for wait in [10_000, 20_000, 40_000, 60_000, 60_000] {
        rig.pass(wait - 1);
        assert_eq!(rig.frames(b), Vec::<Value>::new());
        rig.pass(1);
        assert_eq!(rig.frames(b), all_delivered(&sent), "after {wait} ms");
    }
    rig.say(b, &ack_of(&sent[0]));
    rig.pass(200_000);
    assert_eq!(rig.frames(b), Vec::<Value>::new());
    assert_eq!(rig.queued(), 0);
}

#[test]
fn a_new_link_starts_from_the_oldest_row() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let sent = backlog(&mut rig, &team, &alice, 5);
    let b = rig.connect_and_keep(&bob, &team.id);
    assert_eq!(rig.frames(b), all_delivered(&sent));
    rig.say(b, &ack_of(&sent[1]));
    let again = rig.connect_and_keep(&bob, &team.id);
    let left = [&sent[0], &sent[2], &sent[3], &sent[4]].map(delivered);
    assert_eq!(rig.frames(again), left);
    let mut rig = rig.restart();
    let b = rig.connect_and_keep(&bob, &team.id);
    assert_eq!(rig.frames(b), left, "and after a restart");
    // What was delivered on an earlier link may be acked on this one before it comes again.
    rig.say_all(&left.iter().map(|frame| (b, ack_of(&frame["env"]))).collect::<Vec<_>>());
    assert_eq!(rig.queued(), 0);
}

#[test]
fn an_ack_on_a_link_that_has_not_delivered_it_yet_counts() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let sent = backlog(&mut rig, &team, &alice, 70);
    let b = rig.connect_and_keep(&bob, &team.id);
    rig.look(b);
    rig.say(b, &ack_of(&sent[69]));
    assert_eq!(rig.queued(), 69);
    let acks: Vec<_> = sent[..WINDOW].iter().map(|env| (b, ack_of(env))).collect();
    rig.say_all(&acks);
    assert_eq!(rig.frames(b), all_delivered(&sent[WINDOW..69]), "the acked one never comes");
    let acks: Vec<_> = sent[WINDOW..69].iter().map(|env| (b, ack_of(env))).collect();
    rig.say_all(&acks);
    assert_eq!(rig.queued(), 0);
    let gauges = rig.relay.machine().gauges();
    assert_eq!((gauges.queue_rows, gauges.queue_bytes), (0, 0));
}

#[test]
fn an_ack_without_a_sender_settles_the_only_delivery_of_that_id() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let b = rig.connect(&bob, &team.id);
    let one = backlog(&mut rig, &team, &alice, 1).remove(0);
    let bare = json!({"t": "recv.ack", "id": one["id"]});
    rig.say(b, &bare);
    assert_eq!(rig.queued(), 0);

    let id = rig.ulid();
    for peer in [&alice, &carol] {
        let conn = rig.connect(peer, &team.id);
        let env = rig.mail_with(&team, peer, &bob, |env| env["id"] = json!(id));
        rig.say(conn, &send(&env));
    }
    rig.say(b, &json!({"t": "recv.ack", "id": id}));
    assert_eq!(rig.queued(), 2, "ambiguous: ignored");
    rig.say(b, &json!({"t": "recv.ack", "id": id, "from": carol.machine()}));
    assert_eq!(rig.queued(), 1);
    rig.say(b, &json!({"t": "recv.ack", "id": id}));
    assert_eq!(rig.queued(), 0, "only one is left");
    rig.look(b);
    rig.say(b, &json!({"t": "recv.ack", "id": id}));
    rig.say(b, &json!({"t": "recv.ack", "id": id, "from": stranger().machine()}));
    assert_eq!(rig.frames(b), Vec::<Value>::new(), "unknown: ignored");
}

#[test]
fn nobody_acks_what_is_for_another() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, carol) = (team.alice.clone(), team.carol.clone());
    let sent = backlog(&mut rig, &team, &alice, 1);
    let c = rig.connect(&carol, &team.id);
    rig.say(c, &ack_of(&sent[0]));
    assert_eq!(rig.queued(), 1);
}

#[test]
fn what_has_expired_is_not_delivered_and_is_purged() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let b = rig.connect(&bob, &team.id);
    let a = rig.connect(&alice, &team.id);
    let exp = rig.now.wall.0 + 15_000;
    let short = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
    let long = rig.mail(&team, &alice, &bob);
    rig.say_all(&[(a, send(&short)), (a, send(&long))]);
    rig.look(b);
    rig.pass(10_000);
    assert_eq!(rig.frames(b), [delivered(&short), delivered(&long)]);
    rig.pass(20_000);
    assert_eq!(rig.frames(b), [delivered(&long)], "its time has passed");
    rig.turn(vec![In::Closed { conn: b }]);
    let b = rig.connect_and_keep(&bob, &team.id);
    assert_eq!(rig.frames(b), [delivered(&long)]);
    rig.pass(60_000);
    assert_eq!(rig.queued(), 1);
    let metrics = rig.relay.machine().metrics();
    assert_eq!(metrics.purged["queue"], 1);
    assert_eq!(rig.relay.machine().gauges().queue_rows, 1);
}

#[test]
fn an_expired_delivery_gives_its_place_in_the_window_back() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let b = rig.connect(&bob, &team.id);
    let a = rig.connect(&alice, &team.id);
    let exp = rig.now.wall.0 + 5_000;
    for _ in 0..WINDOW {
        let env = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
        rig.say(a, &send(&env));
    }
    let next = rig.mail(&team, &alice, &bob);
    rig.say(a, &send(&next));
    rig.look(b);
    rig.pass(70_000);
    let frames = rig.frames(b);
    assert!(
        frames.iter().all(|frame| *frame == delivered(&next)) && !frames.is_empty(),
        "{frames:?}"
    );
}

#[test]
fn a_full_socket_pauses_its_pump_and_no_other() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let a = rig.connect(&alice, &team.id);
    let big = "A".repeat(600_000);
    let mut envs = Vec::new();
    for _ in 0..20 {
        let env = rig.mail_with(&team, &alice, &bob, |env| env["body"] = json!(big));
        rig.say(a, &send(&env));
        envs.push(env);
    }
    let small = rig.mail(&team, &carol, &bob);
    let c = rig.connect(&carol, &team.id);
    rig.say(c, &send(&small));
    let b = ConnId(rig.conns + 1);
    rig.stuck.push(b);
    let b = rig.connect_and_keep(&bob, &team.id);
    let waiting = rig.relay.machine().gauges().buffered_bytes;
    assert!((4_000_000..5_500_000).contains(&waiting), "{waiting}");
    let sent = rig.frames(b).len();
    assert!((6..10).contains(&sent), "{sent}");
    rig.pass(60_000);
    assert_eq!(rig.frames(b), Vec::<Value>::new(), "nothing is sent again into a full socket");

    let waiting = usize::try_from(rig.relay.machine().gauges().buffered_bytes).unwrap();
    rig.turn(vec![In::Drained { conn: b, bytes: waiting - 1_048_577 }]);
    assert_eq!(rig.frames(b), Vec::<Value>::new(), "not yet");
    rig.stuck.clear();
    rig.turn(vec![In::Drained { conn: b, bytes: 1 }]);
    let rest = rig.frames(b);
    assert!(rest.contains(&delivered(&small)));
    for env in &envs[sent..] {
        assert!(rest.contains(&delivered(env)));
    }
}

#[test]
fn nothing_is_delivered_to_a_full_socket_from_memory_either() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let a = rig.connect(&alice, &team.id);
    let b = rig.connect(&bob, &team.id);
    rig.stuck.push(b);
    let big = "A".repeat(600_000);
    let mut frames = Vec::new();
    for _ in 0..30 {
        let env = rig.mail_with(&team, &alice, &bob, |env| env["body"] = json!(big));
        frames.push((a, send(&env)));
    }
    rig.say_all(&frames);
    let waiting = rig.relay.machine().gauges().buffered_bytes;
    assert!(waiting < 5_500_000, "{waiting}");
    assert!(rig.look(b).iter().all(|seen| matches!(seen, Seen::Frame(_))));
    assert_eq!(rig.queued(), 30);
}

#[test]
fn a_long_list_of_presences_is_paced_like_deliveries_and_comes_before_them() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let (a, c) = (rig.connect(&alice, &team.id), rig.connect(&carol, &team.id));
    let one = rig.presence(&team, &alice, 1);
    let two = rig.presence(&team, &carol, 1);
    rig.say_all(&[
        (a, json!({"t": "presence", "env": one})),
        (c, json!({"t": "presence", "env": two})),
    ]);
    let env = rig.mail(&team, &alice, &bob);
    rig.say(a, &send(&env));
    let b = rig.connect_and_keep(&bob, &team.id);
    let frames = rig.frames(b);
    assert_eq!(frames.len(), 3);
    assert!(frames[..2].contains(&delivered(&one)) && frames[..2].contains(&delivered(&two)));
    assert_eq!(frames[2], delivered(&env));
}

#[test]
fn places_in_the_queue_are_never_used_again() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let b = rig.connect(&bob, &team.id);
    let sent = backlog(&mut rig, &team, &alice, 3);
    let last = rig.count("SELECT MAX(pos) FROM queue");
    for env in &sent {
        rig.say(b, &ack_of(env));
    }
    let mut rig = rig.restart();
    backlog(&mut rig, &team, &alice, 1);
    assert_eq!(rig.count("SELECT pos FROM queue"), last + 1);
}
