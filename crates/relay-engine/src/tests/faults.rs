//! Failing writes and commits: nothing acked is lost, nothing undurable is seen. W8 7.5 to 7.8, 7.31, 7.32.

use super::*;
use crate::events::Place;
use messaging_core::testing::SeededRandom as Seeded;
use messaging_store::{Fault, FaultPlan, How, StoreError};
use proptest::prelude::*;

const WAYS: [How; 3] = [How::Lost, How::AppliedButReportedLost, How::EndsTransaction];

/// Alice and Bob are connected.
fn pair() -> (Rig, Team, ConnId, ConnId) {
    let mut rig = Rig::new();
    let team = rig.team();
    let a = rig.connect(&team.alice, &team.id);
    let b = rig.connect(&team.bob, &team.id);
    rig.look(a);
    rig.look(b);
    (rig, team, a, b)
}

/// What is counted in memory is what stands in the rows.
#[track_caller]
fn audit(rig: &Rig) {
    let gauges = rig.relay.machine().gauges();
    let counted = [gauges.queue_rows, gauges.queue_bytes, gauges.seen_rows];
    let stored =
        ["COUNT(*) FROM queue", "COALESCE(SUM(bytes), 0) FROM queue", "COUNT(*) FROM seen"]
            .map(|what| u64::try_from(rig.count(&format!("SELECT {what}"))).unwrap());
    assert_eq!(counted, stored);
}

#[test]
fn a_write_that_fails_alone_is_refused_alone() {
    for how in [How::Lost, How::AppliedButReportedLost] {
        let (mut rig, team, a, b) = pair();
        let (alice, bob) = (team.alice.clone(), team.bob.clone());
        let envs: Vec<Value> = (0..3).map(|_| rig.mail(&team, &alice, &bob)).collect();
        // Each send writes twice; the second one's second write fails.
        rig.relay.set_faults(FaultPlan::nth(3, how, StoreError::Io));
        let frames: Vec<_> = envs.iter().map(|env| (a, send(env))).collect();
        rig.say_all(&frames);
        let replies = rig.frames(a);
        assert_eq!(replies[0], acked(&envs[0]));
        nacked(&replies[1..2], &envs[1]["id"], "internal");
        assert_eq!(replies[2], acked(&envs[2]));
        assert_eq!(rig.frames(b), [delivered(&envs[0]), delivered(&envs[2])]);
        assert_eq!(rig.queued(), 2);
        audit(&rig);
        assert_eq!(rig.ask(a, &send(&envs[1])), [acked(&envs[1])], "the resend makes it good");
        assert_eq!(rig.frames(b), [delivered(&envs[1])]);
        assert!(rig.ready.is_empty(), "a write has committed since: the store works");
    }
}

#[test]
fn a_send_that_made_room_and_then_failed_is_counted_right() {
    for (step, how) in (0..5).flat_map(|step| WAYS.map(|how| (step, how))) {
        let mut rig = Rig::with(|config| config.limits.queue_per_sender = 1);
        let team = rig.team();
        let (alice, bob) = (team.alice.clone(), team.bob.clone());
        let a = rig.connect(&alice, &team.id);
        let exp = rig.now.wall.0 + 1_000;
        let short = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
        rig.say(a, &send(&short));
        rig.now.wall = rig.now.wall.plus(1_000);
        let env = rig.mail(&team, &alice, &bob);
        rig.look(a);
        rig.relay.set_faults(FaultPlan::nth(step, how, StoreError::Full));
        let replies = rig.ask(a, &send(&env));
        if replies != [acked(&env)] {
            nacked(&replies, &env["id"], "internal");
        }
        audit(&rig);
        assert_eq!(rig.ask(a, &send(&env)), [acked(&env)], "{step} {how:?}");
        audit(&rig);
        assert_eq!(rig.queued(), 1, "{step} {how:?}");
        let more = rig.mail(&team, &alice, &bob);
        nacked(&rig.ask(a, &send(&more)), &more["id"], "rate_limited");
    }
}

#[test]
fn a_failed_commit_refuses_every_send_in_it_and_nothing_of_it_is_seen() {
    for how in WAYS {
        let (mut rig, team, a, b) = pair();
        let (alice, bob) = (team.alice.clone(), team.bob.clone());
        let envs: Vec<Value> = (0..2).map(|_| rig.mail(&team, &alice, &bob)).collect();
        rig.relay.set_faults(FaultPlan::nth(4, how, StoreError::Full));
        rig.say_all(&[(a, send(&envs[0])), (a, json!({"t": "ping"})), (a, send(&envs[1]))]);
        let replies = rig.frames(a);
        nacked(&replies[..1], &envs[0]["id"], "internal");
        assert_eq!(replies[1], json!({"t": "pong"}));
        nacked(&replies[2..], &envs[1]["id"], "internal");
        audit(&rig);
        let stored = rig.queued();
        assert_eq!(stored, if how == How::AppliedButReportedLost { 2 } else { 0 });
        let early = rig.frames(b);
        if stored == 0 {
            assert_eq!(early, Vec::<Value>::new());
        }

        let frames: Vec<_> = envs.iter().map(|env| (a, send(env))).collect();
        rig.say_all(&frames);
        assert_eq!(rig.frames(a), envs.iter().map(acked).collect::<Vec<_>>());
        assert_eq!(rig.queued(), 2, "no second copy");
        let mut all = early;
        all.extend(rig.frames(b));
        assert_eq!(all, envs.iter().map(delivered).collect::<Vec<_>>(), "{how:?}");
        let after = rig.mail(&team, &alice, &bob);
        rig.say(a, &send(&after));
        audit(&rig);
    }
}

#[test]
fn a_failed_ack_keeps_its_delivery_in_flight_and_its_payment() {
    for how in WAYS {
        let mut rig = Rig::with(|config| config.limits.frames_per_minute = 2);
        let team = rig.team();
        let (alice, bob) = (team.alice.clone(), team.bob.clone());
        rig.pass(120_000);
        let a = rig.connect(&alice, &team.id);
        let b = rig.connect(&bob, &team.id);
        let env = rig.mail(&team, &alice, &bob);
        rig.say(a, &send(&env));
        for _ in 0..2 {
            rig.say(b, &json!({"t": "ping"}));
        }
        rig.relay.set_faults(FaultPlan::nth(1, how, StoreError::Io));
        errored(&rig.ask(b, &ack_of(&env)), "internal");
        rig.pass(9_000);
        assert_eq!(rig.frames(b), Vec::<Value>::new());
        if how == How::AppliedButReportedLost {
            rig.pass(1_000);
            assert_eq!(
                rig.frames(b),
                Vec::<Value>::new(),
                "the row is gone, so it is not sent again"
            );
            continue;
        }
        rig.pass(1_000);
        assert_eq!(rig.frames(b), [delivered(&env)]);
        assert_eq!(rig.ask(b, &ack_of(&env)), Vec::<Value>::new(), "still paid for");
        assert_eq!(rig.queued(), 0);
        audit(&rig);
    }
}

/// Alice is about to remove Bob, who has something waiting for Carol; all are connected.
fn removal() -> (Rig, Team, [ConnId; 3], Value) {
    let (mut rig, mut team, a, b) = pair();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let c = rig.connect(&carol, &team.id);
    let env = rig.mail(&team, &bob, &carol);
    rig.say(b, &send(&env));
    let presence = rig.presence(&team, &bob, 1);
    rig.say(b, &json!({"t": "presence", "env": presence}));
    let entry = team.entry(&Op::MemberRemove { machine: bob.machine() }, rig.now, &alice);
    for conn in [a, b, c] {
        rig.look(conn);
    }
    rig.relay.set_faults(FaultPlan::none());
    (rig, team, [a, b, c], entry)
}

#[test]
fn a_failed_append_changes_nothing_and_nobody_hears_of_it() {
    let (mut rig, _, [a, ..], entry) = removal();
    assert_eq!(rig.append(a, "x", &entry)[0]["t"], "roster.ok");
    let steps = rig.relay.steps();
    assert_eq!(steps, 5, "two writes for the entry, one each for queue and presence, one commit");
    for how in WAYS {
        for step in 0..steps {
            let (mut rig, team, [a, b, c], entry) = removal();
            rig.relay.set_faults(FaultPlan::nth(step, how, StoreError::Io));
            nacked(&rig.append(a, "x", &entry), &json!("x"), "internal");
            assert_eq!(rig.look(b), []);
            assert_eq!(rig.look(c), []);
            let applied = how == How::AppliedButReportedLost && step == steps - 1;
            let head = rig.count("SELECT seq FROM teams");
            assert_eq!(head, if applied { 3 } else { 2 }, "{how:?} {step}");
            let again = rig.append(a, "y", &entry);
            if applied {
                nacked(&again, &json!("y"), "roster_conflict");
            } else {
                assert_eq!(again[0]["t"], "roster.ok", "{how:?} {step}");
                assert_eq!(rig.look(b).last(), Some(&Seen::Closed(4003)));
            }
            let mail = rig.mail(&team, &team.alice, &team.carol);
            assert_eq!(rig.ask(a, &send(&mail)), [acked(&mail)]);
            audit(&rig);
        }
    }
}

#[test]
fn a_removal_whose_commit_was_applied_but_reported_lost_holds_at_once() {
    let (mut rig, team, [a, b, _], entry) = removal();
    rig.relay.set_faults(FaultPlan::nth(4, How::AppliedButReportedLost, StoreError::Io));
    nacked(&rig.append(a, "x", &entry), &json!("x"), "internal");
    let env = rig.mail(&team, &team.bob, &team.alice);
    nacked(&rig.ask(b, &send(&env)), &env["id"], "not_member");
}

#[test]
fn a_failed_genesis_founds_no_team() {
    for how in WAYS {
        let mut rig = Rig::new();
        let peer = alice();
        let entry =
            sign_genesis(&"demo".parse().unwrap(), &peer.member, rig.now.wall, peer.key()).unwrap();
        let team = Roster::from_entries([&entry]).unwrap();
        let conn = rig.open();
        rig.relay.set_faults(FaultPlan::nth(1, how, StoreError::Io));
        nacked(&rig.append(conn, "g", &entry), &json!("g"), "internal");
        let hello = rig.hello(conn, &peer, team.team_id().unwrap());
        rig.say(conn, &hello);
        closed(&rig.look(conn), "not_member", 4001);
        let conn = rig.open();
        assert_eq!(rig.append(conn, "g", &entry)[0]["t"], "roster.ok");
    }
}

#[test]
fn a_failed_presence_is_not_told() {
    for how in WAYS {
        for step in 0..2 {
            let (mut rig, team, a, b) = pair();
            let alice = team.alice.clone();
            let one = rig.presence(&team, &alice, 1);
            rig.relay.set_faults(FaultPlan::nth(step, how, StoreError::Io));
            nacked(&rig.ask(a, &json!({"t": "presence", "env": one})), &one["id"], "internal");
            assert_eq!(rig.look(b), []);
            let two = rig.presence(&team, &alice, 2);
            assert_eq!(rig.ask(a, &json!({"t": "presence", "env": two})), Vec::<Value>::new());
            assert_eq!(rig.frames(b), [delivered(&two)]);
        }
    }
}

#[test]
fn a_full_disk_is_told_probed_and_recovered_from() {
    let (mut rig, team, a, b) = pair();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    rig.relay.set_faults(FaultPlan::always(StoreError::Full));
    let env = rig.mail(&team, &alice, &bob);
    for _ in 0..3 {
        nacked(&rig.ask(a, &send(&env)), &env["id"], "internal");
    }
    assert_eq!(rig.ready, [vec![Unready::StoreFailing]]);
    assert!(rig.relay.machine().gauges().store_failing);
    let told = |rig: &Rig| {
        rig.logs
            .iter()
            .filter(|e| matches!(e, Event::StoreFailing { error: StoreError::Full, .. }))
            .count()
    };
    assert_eq!(told(&rig), 1, "once, not for each frame");
    assert_eq!(
        rig.logs
            .iter()
            .filter(|e| matches!(e, Event::Internal { place: Place::Frame, .. }))
            .count(),
        1
    );
    rig.pass(400_000);
    let probes = told(&rig);
    assert!((8..14).contains(&probes), "{probes}");
    assert!(rig.relay.machine().metrics().internal_errors[&Place::Probe] >= 7);
    assert!(rig.look(a).iter().chain(&rig.look(b)).all(|seen| matches!(seen, Seen::Frame(_))));

    rig.relay.set_faults(FaultPlan::none());
    rig.pass(60_000);
    assert_eq!(rig.ready, [vec![Unready::StoreFailing], vec![]]);
    assert!(rig.logs.contains(&Event::StoreRecovered));
    assert!(!rig.relay.machine().gauges().store_failing);
    let env = rig.mail(&team, &alice, &bob);
    assert_eq!(rig.ask(a, &send(&env)), [acked(&env)]);
}

#[test]
fn the_purge_survives_a_failing_store_and_comes_again() {
    let (mut rig, team, a, _) = pair();
    let (alice, bob) = (team.alice.clone(), team.carol.clone());
    let exp = rig.now.wall.0 + 1_000;
    let env = rig.mail_with(&team, &alice, &bob, |env| env["exp"] = json!(exp));
    rig.say(a, &send(&env));
    rig.relay.set_faults(FaultPlan::nth(0, How::Lost, StoreError::Io));
    rig.pass(61_000);
    assert!(rig.logs.contains(&Event::Internal { place: Place::Purge, error: StoreError::Io }));
    assert_eq!(rig.queued(), 0, "purged once writes worked again");
    audit(&rig);
}

/// A run of many turns in which chosen steps fail, and in which the process may die between two turns.
struct Run {
    rig: Rig,
    team: Team,
    peers: Vec<Peer>,
    links: Vec<ConnId>,
    /// Acked to their senders, by recipient.
    acked: Vec<(usize, Value)>,
    /// Delivered, by recipient.
    got: Vec<(usize, Value)>,
    /// Sent and not acked.
    open: Vec<(usize, usize, Value)>,
    /// Delivered and not acked by their recipients.
    unread: Vec<(usize, Value)>,
    /// What each link was told: its ids, and the last place of each sender that went out for the first time.
    told: BTreeMap<ConnId, (Vec<String>, BTreeMap<String, i64>)>,
}

impl Run {
    fn new() -> Self {
        let mut rig = Rig::new();
        let team = rig.team();
        let peers = vec![team.alice.clone(), team.bob.clone(), team.carol.clone()];
        let mut run = Self {
            rig,
            team,
            peers,
            links: vec![],
            acked: vec![],
            got: vec![],
            open: vec![],
            unread: vec![],
            told: BTreeMap::new(),
        };
        run.connect();
        run
    }

    fn connect(&mut self) {
        self.links =
            self.peers.iter().map(|peer| self.rig.connect_and_keep(peer, &self.team.id)).collect();
        self.collect();
    }

    fn crash(self) -> Self {
        let Self { rig, team, peers, acked, got, open, .. } = self;
        let mut run = Self {
            rig: rig.restart(),
            team,
            peers,
            links: vec![],
            acked,
            got,
            open,
            unread: vec![],
            told: BTreeMap::new(),
        };
        run.connect();
        run
    }

    /// One turn: new mail, resends and acks, as the choices say.
    fn step(&mut self, rng: &mut Seeded) {
        let mut frames = Vec::new();
        for _ in 0..random::below(rng, 4) {
            let from = usize::try_from(random::below(rng, 3)).unwrap();
            let to = (from + 1 + usize::try_from(random::below(rng, 2)).unwrap()) % 3;
            let (sender, recipient) = (self.peers[from].clone(), self.peers[to].clone());
            let env = self.rig.mail(&self.team, &sender, &recipient);
            self.open.push((from, to, env.clone()));
            frames.push((self.links[from], send(&env)));
        }
        for (from, _, env) in &self.open {
            if random::below(rng, 3) == 0 {
                frames.push((self.links[*from], send(env)));
            }
        }
        self.unread.retain(|(to, env)| {
            let now = random::below(rng, 2) == 0;
            if now {
                frames.push((self.links[*to], ack_of(env)));
            }
            !now
        });
        if random::below(rng, 5) == 0 {
            self.rig.pass(11_000);
        }
        self.rig.say_all(&frames);
        audit(&self.rig);
        self.collect();
    }

    fn collect(&mut self) {
        for (who, link) in self.links.clone().into_iter().enumerate() {
            for frame in self.rig.frames(link) {
                match frame["t"].as_str().unwrap() {
                    "ack" => {
                        let id = frame["id"].clone();
                        self.open.retain(|(from, to, env)| {
                            let this = *from == who && env["id"] == id;
                            if this {
                                self.acked.push((*to, env.clone()));
                            }
                            !this
                        });
                    }
                    "deliver" => {
                        let env = frame["env"].clone();
                        let id = env["id"].as_str().unwrap();
                        let durable =
                            self.rig.count(&format!("SELECT COUNT(*) FROM seen WHERE id = '{id}'"));
                        assert_eq!(durable, 1, "delivered before it was durable");
                        self.in_order(link, &env);
                        self.unread.push((who, env.clone()));
                        self.got.push((who, env));
                    }
                    _ => {}
                }
            }
        }
    }

    /// First deliveries of one sender on one link are in queue order.
    fn in_order(&mut self, link: ConnId, env: &Value) {
        let (id, device) = (env["id"].to_string(), env["from"]["device"].to_string());
        let (ids, last) = self.told.entry(link).or_default();
        if ids.contains(&id) {
            return;
        }
        ids.push(id.clone());
        let sql = format!("SELECT pos FROM queue WHERE id = '{}'", id.trim_matches('"'));
        let pos: Option<i64> = self.rig.relay.view().row(&sql, (), |row| row.get(0)).unwrap();
        let pos = pos.expect("what goes out for the first time is still queued");
        let before = last.insert(device, pos);
        assert!(before < Some(pos), "{before:?} {pos}");
    }

    /// Without faults everything that was acked arrives, and nothing is left.
    fn finish(mut self) {
        self.rig.relay.set_faults(FaultPlan::none());
        let mut rng = Seeded::new(3);
        for _ in 0..40 {
            self.step(&mut rng);
        }
        for _ in 0..20 {
            let unread = std::mem::take(&mut self.unread);
            let mut frames: Vec<_> =
                unread.iter().map(|(to, env)| (self.links[*to], ack_of(env))).collect();
            frames.extend(self.open.iter().map(|(from, _, env)| (self.links[*from], send(env))));
            self.rig.say_all(&frames);
            self.rig.pass(11_000);
            self.collect();
        }
        for (to, env) in &self.acked {
            assert!(self.got.contains(&(*to, env.clone())), "acked and lost");
        }
        assert_eq!(self.open, []);
        assert_eq!(self.rig.queued(), 0);
        audit(&self.rig);
    }
}

/// Every write and every commit of a run fails once, in every way, with and without a crash behind it.
#[test]
fn each_step_of_a_run_may_fail() {
    let mut plain = Run::new();
    plain.rig.relay.set_faults(FaultPlan::none());
    let mut rng = Seeded::new(5);
    for _ in 0..6 {
        plain.step(&mut rng);
    }
    let steps = plain.rig.relay.steps();
    assert!(steps > 20, "{steps}");
    plain.finish();
    for step in 0..steps {
        for how in WAYS {
            for crash in [false, true] {
                let mut run = Run::new();
                run.rig.relay.set_faults(FaultPlan::nth(step, how, StoreError::Io));
                let mut rng = Seeded::new(5);
                for _ in 0..6 {
                    let before = run.rig.relay.steps();
                    run.step(&mut rng);
                    if crash && before <= step && step < run.rig.relay.steps() {
                        run = run.crash();
                    }
                }
                run.finish();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn nothing_acked_is_lost_whatever_fails(
        seed in any::<u64>(),
        faults in prop::collection::vec((0u64..120, 1u64..6, 0usize..3), 0..6),
        crashes in prop::collection::btree_set(0usize..16, 0..3),
    ) {
        let mut run = Run::new();
        let mut plan = FaultPlan::none();
        for (from, length, how) in faults {
            plan = plan.and(Fault { from, until: from + length, how: WAYS[how], error: StoreError::Io });
        }
        run.rig.relay.set_faults(plan);
        let mut rng = Seeded::new(seed);
        for turn in 0..16 {
            run.step(&mut rng);
            if crashes.contains(&turn) {
                run = run.crash();
            }
        }
        run.finish();
    }
}
