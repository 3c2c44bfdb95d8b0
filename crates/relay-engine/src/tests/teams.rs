//! Founding, joining, appending, paging, removal. W8 7.19, 7.22 to 7.24, 7.50 to 7.54.

use super::*;
use messaging_core::ids::Sig;

fn genesis(rig: &Rig, peer: &Peer, name: &str) -> Value {
    sign_genesis(&name.parse().unwrap(), &peer.member, rig.now.wall, peer.key()).unwrap()
}

#[test]
fn founding_is_up_to_the_operator() {
    let allowed = alice().machine();
    let policies = [
        (GenesisPolicy::Machines([].into()), "forbidden"),
        (GenesisPolicy::Machines([bob().machine()].into()), "forbidden"),
        (GenesisPolicy::Machines([allowed].into()), "roster.ok"),
        (GenesisPolicy::Any, "roster.ok"),
    ];
    for (policy, expected) in policies {
        let mut rig = Rig::with(|config| config.genesis = policy);
        let conn = rig.open();
        let entry = genesis(&rig, &alice(), "demo");
        let replies = rig.append(conn, "g", &entry);
        if expected == "forbidden" {
            nacked(&replies, &json!("g"), expected);
            assert_eq!(rig.count("SELECT COUNT(*) FROM teams"), 0);
        } else {
            let head = Roster::from_entries([&entry]).unwrap().head().unwrap();
            assert_eq!(replies, [json!({"t": "roster.ok", "req": "g", "head": head})]);
        }
    }
}

#[test]
fn a_team_is_founded_once() {
    let mut rig = Rig::new();
    let entry = genesis(&rig, &alice(), "demo");
    let conn = rig.open();
    assert_eq!(rig.append(conn, "g", &entry)[0]["t"], "roster.ok");
    nacked(&rig.append(conn, "g2", &entry), &json!("g2"), "roster_conflict");
    let mut rig = rig.restart();
    let conn = rig.open();
    nacked(&rig.append(conn, "g3", &entry), &json!("g3"), "roster_conflict");
}

#[test]
fn a_genesis_must_be_fresh_signed_and_of_its_founder() {
    let mut rig = Rig::new();
    let conn = rig.open();
    let mut entry = genesis(&rig, &alice(), "demo");
    entry["name"] = json!("other");
    nacked(&rig.append(conn, "g", &entry), &json!("g"), "bad_signature");
    rig.now.wall = rig.now.wall.plus(300_001);
    let old =
        sign_genesis(&"demo".parse().unwrap(), &alice().member, START.wall, alice().key()).unwrap();
    nacked(&rig.append(conn, "g", &old), &json!("g"), "expired");
    let entry = genesis(&rig, &bob(), "demo");
    nacked(&rig.append(conn, "g", &entry), &json!("g"), "forbidden");
    nacked(&rig.append(conn, "g", &json!({"op": "genesis"})), &json!("g"), "invalid_request");
}

#[test]
fn the_number_of_teams_and_the_teams_of_an_address_are_bounded() {
    let mut rig = Rig::with(|config| {
        config.limits.max_teams = 12;
        config.limits.team_creates_per_hour = 10;
    });
    let found = |rig: &mut Rig, n: usize, address: &str| {
        let conn = rig.open_from(address);
        let entry = genesis(rig, &alice(), &format!("team {n}"));
        rig.append(conn, "g", &entry).remove(0)
    };
    for n in 0..10 {
        assert_eq!(found(&mut rig, n, "192.0.2.1")["t"], "roster.ok");
    }
    assert_eq!(found(&mut rig, 10, "192.0.2.1")["code"], "rate_limited");
    assert_eq!(found(&mut rig, 11, "192.0.2.2")["t"], "roster.ok", "another address");
    rig.pass(360_000);
    assert_eq!(found(&mut rig, 12, "192.0.2.1")["t"], "roster.ok", "one more after six minutes");
    assert_eq!(found(&mut rig, 13, "192.0.2.3")["code"], "forbidden", "the relay is full of teams");
}

#[test]
fn an_open_invite_reads_the_chain_and_redeems() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let alice = rig.connect(&team.alice, &team.id);
    let (entry, invite_id, secret) = team.invite(&mut rig, "mallory");
    assert_eq!(rig.append(alice, "i", &entry)[0]["t"], "roster.ok");

    let joiner = stranger();
    let conn = rig.open();
    let (_, nonce) = rig.preparers[&conn];
    let proof = invite::join_proof(&secret, RELAY, &team.id, &invite_id, &nonce).unwrap();
    let join = |req: &str, proof: Sig| json!({"t": "join", "req": req, "team": team.id, "inviteId": invite_id, "proof": proof});
    let replies = rig.ask(conn, &join("j", proof));
    assert_eq!(replies[0]["t"], "roster");
    assert_eq!(replies[0]["req"], "j");
    assert_eq!(replies[0].get("more"), None);
    let entries: Vec<&Value> = replies[0]["entries"].as_array().unwrap().iter().collect();
    assert_eq!(Roster::from_entries(entries).unwrap().head(), team.roster.head());

    // One code for whatever does not prove the invite.
    let other_conn = rig.open();
    nacked(&rig.ask(other_conn, &join("j", proof)), &json!("j"), "invite_invalid");
    let wrong = invite::join_proof(team.bob.key(), RELAY, &team.id, &invite_id, &nonce).unwrap();
    nacked(&rig.ask(conn, &join("j", wrong)), &json!("j"), "invite_invalid");
    let mut nowhere = join("j", proof);
    nowhere["team"] = json!("A".repeat(43));
    nacked(&rig.ask(conn, &nowhere), &json!("j"), "invite_invalid");
    let mut unknown = join("j", proof);
    unknown["inviteId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    nacked(&rig.ask(conn, &unknown), &json!("j"), "invite_invalid");

    let redeem = team.redeem(rig.now, invite_id, &secret, &joiner);
    rig.look(alice);
    let replies = rig.append(conn, "r", &redeem);
    let head = team.roster.head().unwrap();
    assert_eq!(replies, [json!({"t": "roster.ok", "req": "r", "head": head})]);
    assert_eq!(rig.frames(alice), [json!({"t": "roster", "entries": [redeem]})]);

    // A used invite is closed, also for reading.
    let again = rig.open();
    let (_, nonce) = rig.preparers[&again];
    let proof = invite::join_proof(&secret, RELAY, &team.id, &invite_id, &nonce).unwrap();
    let join =
        json!({"t": "join", "req": "j", "team": team.id, "inviteId": invite_id, "proof": proof});
    nacked(&rig.ask(again, &join), &json!("j"), "invite_invalid");
    nacked(&rig.append(again, "r", &redeem), &json!("r"), "roster_conflict");

    let hello = rig.hello(conn, &joiner, &team.id);
    assert_eq!(rig.ask(conn, &hello)[0]["t"], "welcome");
}

#[test]
fn an_expired_or_revoked_invite_reads_nothing_and_a_backdated_redeem_is_refused() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let alice = rig.connect(&team.alice, &team.id);
    let (entry, expiring, secret) = team.invite(&mut rig, "mallory");
    rig.append(alice, "i", &entry);
    let (entry, revoked, other_secret) = team.invite(&mut rig, "mallory");
    rig.append(alice, "i", &entry);
    let op = Op::InviteRevoke { invite_id: revoked };
    let by = team.alice.clone();
    let entry = team.entry(&op, rig.now, &by);
    rig.append(alice, "v", &entry);

    let in_time = rig.now.plus_ms(3_599_000);
    rig.pass(3_600_000);
    for (id, secret) in [(expiring, &secret), (revoked, &other_secret)] {
        let conn = rig.open();
        let (_, nonce) = rig.preparers[&conn];
        let proof = invite::join_proof(secret, RELAY, &team.id, &id, &nonce).unwrap();
        let join =
            json!({"t": "join", "req": "j", "team": team.id, "inviteId": id, "proof": proof});
        nacked(&rig.ask(conn, &join), &json!("j"), "invite_invalid");
    }
    let conn = rig.open();
    let head = team.roster.head();
    let late = team.roster.clone();
    let redeem = {
        let member = json!(stranger().member);
        let proof = invite::redeem_proof(&secret, &team.id, &expiring, &member).unwrap();
        let op = Op::InviteRedeem { invite_id: expiring, proof, member: stranger().member };
        late.sign_next(&op, rig.now.wall, stranger().key()).unwrap()
    };
    nacked(&rig.append(conn, "r", &redeem), &json!("r"), "invite_invalid");
    rig.pass(600_000);
    let conn = rig.open();
    let backdated = team.redeem(in_time, expiring, &secret, &stranger());
    nacked(&rig.append(conn, "r", &backdated), &json!("r"), "expired");
    assert_ne!(team.roster.head(), head, "the chain rule alone would let it in");
}

#[test]
fn before_hello_only_a_genesis_and_a_redeem_are_appended_and_after_it_neither() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let alice = rig.connect(&team.alice, &team.id);
    let by = team.alice.clone();
    let op = Op::MemberAdd { member: stranger().member };
    let add = team.roster.sign_next(&op, rig.now.wall, by.key()).unwrap();
    let conn = rig.open();
    nacked(&rig.append(conn, "a", &add), &json!("a"), "forbidden");

    let (entry, id, secret) = team.invite(&mut rig, "mallory");
    rig.append(alice, "i", &entry);
    let redeem = team.redeem(rig.now, id, &secret, &stranger());
    nacked(&rig.append(alice, "r", &redeem), &json!("r"), "forbidden");
    let genesis = genesis(&rig, &by, "another");
    nacked(&rig.append(alice, "g", &genesis), &json!("g"), "forbidden");
    // Not a member of that team at all.
    let mut foreign = redeem.clone();
    foreign["team"] = json!("A".repeat(43));
    nacked(&rig.append(conn, "r", &foreign), &json!("r"), "invite_invalid");
}

#[test]
fn an_append_is_judged_told_and_kept() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let (a, b) = (rig.connect(&team.alice, &team.id), rig.connect(&team.bob, &team.id));
    rig.look(a);
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let op = Op::MemberRole { machine: bob.machine(), role: Role::Admin };

    // Signed by another than this link's machine, for another team, by one without the right, out of turn, out of time.
    let entry = team.roster.sign_next(&op, rig.now.wall, alice.key()).unwrap();
    nacked(&rig.append(b, "1", &entry), &json!("1"), "forbidden");
    let mut foreign = entry.clone();
    foreign["team"] = json!("A".repeat(43));
    nacked(&rig.append(a, "2", &foreign), &json!("2"), "forbidden");
    let by_bob = team.roster.sign_next(&op, rig.now.wall, bob.key()).unwrap();
    nacked(&rig.append(b, "3", &by_bob), &json!("3"), "forbidden");
    let old = team.roster.sign_next(&op, rig.now.wall.plus(300_001), alice.key()).unwrap();
    nacked(&rig.append(a, "4", &old), &json!("4"), "expired");
    let mut huge = entry.clone();
    huge["pad"] = json!("x".repeat(16_384));
    nacked(&rig.append(a, "5", &huge), &json!("5"), "too_large");
    nacked(
        &rig.ask(a, &json!({"t": "roster.append", "req": "6", "entry": 1})),
        &json!("6"),
        "invalid_request",
    );
    assert_eq!(rig.frames(b), Vec::<Value>::new());

    let entry = team.entry(&op, rig.now, &alice);
    let head = team.roster.head().unwrap();
    assert_eq!(rig.append(a, "7", &entry), [json!({"t": "roster.ok", "req": "7", "head": head})]);
    assert_eq!(
        rig.frames(b),
        [json!({"t": "roster", "entries": [entry]})],
        "told to all but the author"
    );
    nacked(&rig.append(a, "8", &entry), &json!("8"), "roster_conflict");

    // The new admin's right is known at once, and after a restart.
    let op = Op::MemberRole { machine: alice.machine(), role: Role::Member };
    let entry = team.entry(&op, rig.now, &bob);
    let mut rig = rig.restart();
    let b = rig.connect(&bob, &team.id);
    assert_eq!(rig.append(b, "9", &entry)[0]["t"], "roster.ok");
    assert_eq!(rig.count("SELECT seq FROM teams"), 4);
}

#[test]
fn two_appends_at_once_one_wins() {
    let mut rig = Rig::new();
    let team = rig.team();
    let (a, b) = (rig.connect(&team.alice, &team.id), rig.connect(&team.bob, &team.id));
    rig.look(a);
    let rekey = |peer: &Peer| {
        let op = Op::MemberRekey { machine: peer.machine(), enc: team.carol.member.enc };
        team.roster.sign_next(&op, rig.now.wall, peer.key()).unwrap()
    };
    let (first, second) = (rekey(&team.alice), rekey(&team.bob));
    let frame =
        |req: &str, entry: &Value| json!({"t": "roster.append", "req": req, "entry": entry});
    rig.say_all(&[(a, frame("1", &first)), (b, frame("2", &second))]);
    assert_eq!(rig.frames(a)[0]["t"], "roster.ok");
    let seen = rig.frames(b);
    assert_eq!(seen[0], json!({"t": "roster", "entries": [first]}));
    nacked(&seen[1..], &json!("2"), "roster_conflict");
}

#[test]
fn pages_hold_256_entries_and_say_when_there_are_more() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let conn = rig.connect(&team.alice, &team.id);
    let alice = team.alice.clone();
    for n in team.roster.entries().len()..600 {
        let enc = messaging_core::ids::EncKey::from_bytes(&[u8::try_from(n % 251).unwrap(); 32]);
        let entry = team.entry(&Op::MemberRekey { machine: alice.machine(), enc }, rig.now, &alice);
        assert_eq!(rig.append(conn, "k", &entry)[0]["t"], "roster.ok");
    }
    let mut page = |after: Option<u64>| {
        let mut frame = json!({"t": "roster.sync", "req": "s"});
        if let Some(after) = after {
            frame["after"] = json!(after);
        }
        let reply = rig.ask(conn, &frame).remove(0);
        let seqs: Vec<u64> = reply["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["seq"].as_u64().unwrap())
            .collect();
        (seqs.first().copied(), seqs.len(), reply.get("more").cloned())
    };
    assert_eq!(page(None), (Some(0), 256, Some(json!(true))));
    assert_eq!(page(Some(255)), (Some(256), 256, Some(json!(true))));
    assert_eq!(page(Some(511)), (Some(512), 88, None));
    assert_eq!(page(Some(343)), (Some(344), 256, None), "exactly one page");
    assert_eq!(page(Some(599)), (None, 0, None));
    assert_eq!(page(Some(9_999_999)), (None, 0, None));
}

#[test]
fn a_removed_machine_online_gets_its_entry_then_4003_and_both_queues_go() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let (alice, bob, carol) = (team.alice.clone(), team.bob.clone(), team.carol.clone());
    let (a, b) = (rig.connect(&alice, &team.id), rig.connect(&bob, &team.id));
    let presence = rig.presence(&team, &bob, 1);
    rig.say(b, &json!({"t": "presence", "env": presence}));
    let to_bob = rig.mail(&team, &alice, &bob);
    let from_bob = rig.mail(&team, &bob, &carol);
    let from_bob_in_flight = rig.mail(&team, &bob, &alice);
    let stays = rig.mail(&team, &alice, &carol);
    rig.say_all(&[
        (a, send(&to_bob)),
        (b, send(&from_bob)),
        (b, send(&from_bob_in_flight)),
        (a, send(&stays)),
    ]);
    assert_eq!(rig.queued(), 4);
    rig.look(a);
    rig.look(b);

    let op = Op::MemberRemove { machine: bob.machine() };
    let entry = team.entry(&op, rig.now, &alice);
    let head = team.roster.head().unwrap();
    rig.say(a, &json!({"t": "roster.append", "req": "x", "entry": entry}));
    assert_eq!(
        rig.look(b),
        [Seen::Frame(json!({"t": "roster", "entries": [entry]})), Seen::Closed(4003)]
    );
    assert_eq!(
        rig.frames(a),
        [
            json!({"t": "roster.ok", "req": "x", "head": head}),
            json!({"t": "peer", "machine": bob.machine(), "online": false}),
        ]
    );
    assert_eq!(rig.queued(), 1);
    assert_eq!(rig.count("SELECT COUNT(*) FROM presence"), 0);
    let gauges = rig.relay.machine().gauges();
    assert_eq!(gauges.queue_rows, 1);
    assert_eq!(
        i64::try_from(gauges.queue_bytes).unwrap(),
        rig.count("SELECT SUM(bytes) FROM queue")
    );
    rig.pass(120_000);
    assert_eq!(rig.frames(a), Vec::<Value>::new(), "what came from it is not sent again");

    // It cannot come back, nobody can write to it, and it cannot read by an invite it knows of.
    let conn = rig.open();
    let hello = rig.hello(conn, &bob, &team.id);
    rig.look(conn);
    rig.say(conn, &hello);
    closed(&rig.look(conn), "not_member", 4001);
    let env = rig.mail(&team, &alice, &bob);
    nacked(&rig.ask(a, &send(&env)), &env["id"], "not_member");
    let c = rig.connect_and_keep(&carol, &team.id);
    assert_eq!(rig.frames(c), [delivered(&stays)]);
}

#[test]
fn who_removes_itself_is_answered_first() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let bob = team.bob.clone();
    let (a, b) = (rig.connect(&team.alice, &team.id), rig.connect(&bob, &team.id));
    rig.look(a);
    let entry = team.entry(&Op::MemberRemove { machine: bob.machine() }, rig.now, &bob);
    let head = team.roster.head().unwrap();
    rig.say(b, &json!({"t": "roster.append", "req": "x", "entry": entry}));
    assert_eq!(
        rig.look(b),
        [
            Seen::Frame(json!({"t": "roster.ok", "req": "x", "head": head})),
            Seen::Frame(json!({"t": "roster", "entries": [entry]})),
            Seen::Closed(4003),
        ]
    );
    assert_eq!(
        rig.frames(a),
        [
            json!({"t": "roster", "entries": [entry]}),
            json!({"t": "peer", "machine": bob.machine(), "online": false}),
        ]
    );
}

#[test]
fn the_last_admin_stays_and_a_rekey_changes_nothing_but_the_chain() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let a = rig.connect(&alice, &team.id);
    let op = Op::MemberRemove { machine: alice.machine() };
    let entry = team.roster.sign_next(&op, rig.now.wall, alice.key()).unwrap();
    nacked(&rig.append(a, "x", &entry), &json!("x"), "forbidden");

    let env = rig.mail(&team, &alice, &bob);
    rig.say(a, &send(&env));
    let op = Op::MemberRekey { machine: bob.machine(), enc: alice.member.enc };
    let entry = team.entry(&op, rig.now, &alice);
    assert_eq!(rig.append(a, "k", &entry)[0]["t"], "roster.ok");
    let b = rig.connect_and_keep(&bob, &team.id);
    assert_eq!(rig.frames(b), [delivered(&env)]);
}

#[test]
fn an_append_in_a_turn_commits_what_came_before_it() {
    let mut rig = Rig::new();
    let mut team = rig.team();
    let (alice, bob) = (team.alice.clone(), team.bob.clone());
    let (a, b) = (rig.connect(&alice, &team.id), rig.connect(&bob, &team.id));
    rig.look(a);
    let before = rig.mail(&team, &bob, &alice);
    let after = rig.mail(&team, &bob, &alice);
    let entry = team.entry(&Op::MemberRemove { machine: bob.machine() }, rig.now, &alice);
    rig.say_all(&[
        (b, send(&before)),
        (a, json!({"t": "roster.append", "req": "x", "entry": entry})),
        (b, send(&after)),
    ]);
    assert_eq!(rig.look(b)[0], Seen::Frame(acked(&before)));
    let frames = rig.frames(a);
    assert_eq!(frames[0], delivered(&before));
    assert_eq!(frames[1]["t"], "roster.ok");
    assert_eq!(rig.queued(), 0, "the frame behind the removal was not taken");
}

trait Later {
    fn plus_ms(self, ms: u64) -> Now;
}

impl Later for Now {
    fn plus_ms(self, ms: u64) -> Now {
        Now { wall: self.wall.plus(ms), mono: self.mono.plus(ms) }
    }
}
