//! Founding, joining, and what a crash, a lost answer or a hostile relay makes of them.

mod pairing;

use messaging_core::code::Code;
use messaging_core::invite;
use messaging_core::random::Random;
use messaging_core::roster::{Op, Roster};
use messaging_core::testing::SeededRandom;
use messaging_core::ticket::{InviteTicket, TextForm};
use messaging_core::time::Ms;
use messaging_store::{FaultPlan, How, StoreError};
use serde_json::{Value, json};

use crate::home::Standing;
use crate::identity::IdentityFile;
use crate::input::{ConnId, In, Tier};
use crate::store::kv;
use crate::tests::bench::{Bench, START, URL};
use crate::tests::relay::PageTwist;

const CONN: u64 = 5_000_000;

fn connect(bench: &mut Bench, at: usize) {
    bench.input(at, In::IpcOpened { conn: ConnId(CONN), tier: Tier::Admin });
}

fn founding() -> Value {
    json!({"relay": URL, "team": "Demo", "person": "alice", "label": "laptop"})
}

fn found(bench: &mut Bench) -> Result<Value, String> {
    bench.call(0, CONN, "team.create", founding())
}

/// A founded team of one, and a machine that is in none.
fn team_and_newcomer() -> (Bench, usize) {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    found(&mut bench).unwrap();
    bench.advance(2_000);
    let newcomer = bench.newcomer();
    connect(&mut bench, newcomer);
    (bench, newcomer)
}

fn ticket(bench: &mut Bench, person: &str) -> String {
    let answer = bench.call(0, CONN, "team.invite", json!({"person": person})).unwrap();
    answer["ticket"].as_str().unwrap().to_owned()
}

fn joining(ticket: &str, label: &str) -> Value {
    json!({"ticket": ticket, "label": label})
}

fn join(bench: &mut Bench, at: usize, ticket: &str, label: &str) -> Result<Value, String> {
    bench.call(at, CONN, "team.join", joining(ticket, label))
}

fn standing(bench: &Bench, at: usize) -> Standing {
    let engine = bench.engine(at);
    engine.home.standing(engine.realm.roster())
}

/// Whether the home remembers an unfinished create or join.
fn intends(bench: &Bench, at: usize) -> bool {
    bench.count(at, &format!("SELECT count(*) FROM kv WHERE key = '{}'", kv::INTENT)) == 1
}

fn restart(bench: &mut Bench, at: usize) {
    let store = bench.kill(at);
    bench.start(at, store);
    bench.settle();
    connect(bench, at);
}

#[test]
fn a_team_is_founded_and_its_home_is_set_up() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    let created = found(&mut bench).unwrap();
    let machine = *bench.daemons[0].keys.machine();
    let team = *bench.relay.roster.team_id().unwrap();
    assert_eq!(
        created,
        json!({"team": team, "device": machine, "person": "alice", "label": "laptop"})
    );
    assert!(bench.daemons[0].has_keys);
    assert_eq!(bench.daemons[0].config.relay.as_ref().unwrap().as_str(), URL);
    assert!(!intends(&bench, 0));
    bench.advance(2_000);
    assert!(bench.engine(0).link.is_ready());
    let status = bench.call(0, CONN, "device.status", json!({})).unwrap();
    assert_eq!((&status["binding"], &status["device"]), (&json!("bound"), &json!(machine)));
    restart(&mut bench, 0);
    bench.advance(2_000);
    assert!(bench.engine(0).link.is_ready());
    assert_eq!(found(&mut bench), Err("invalid_state".into()));
}

#[test]
fn keys_are_on_disk_before_anything_is_sent() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.daemons[0].can_save = false;
    assert_eq!(found(&mut bench), Err("internal".into()));
    assert!(bench.relay.heard.is_empty());
    assert!(!intends(&bench, 0));
    bench.daemons[0].can_save = true;
    assert!(found(&mut bench).is_ok());
}

#[test]
fn a_configuration_that_cannot_be_written_is_written_at_the_next_start() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    let id = bench.begin(0, CONN, "team.create", founding());
    while !bench.daemons[0].has_keys {
        assert!(bench.step());
    }
    bench.daemons[0].can_save = false;
    bench.settle();
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert!(bench.daemons[0].config.relay.is_none());
    bench.daemons[0].can_save = true;
    restart(&mut bench, 0);
    assert_eq!(bench.daemons[0].config.relay.as_ref().unwrap().as_str(), URL);
    bench.advance(2_000);
    assert!(bench.engine(0).link.is_ready());
}

#[test]
fn a_relay_that_is_away_or_refuses_leaves_a_clean_home() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.relay.up = false;
    assert_eq!(found(&mut bench), Err("relay_unavailable".into()));
    bench.relay.up = true;
    bench.relay.origin = Some("ws://127.0.0.1:9".into());
    assert_eq!(found(&mut bench), Err("relay_unavailable".into()));
    bench.relay.origin = None;
    bench.relay.entry_nacks.push_back(Code::Forbidden);
    assert_eq!(found(&mut bench), Err("forbidden".into()));
    assert_eq!(standing(&bench, 0), Standing::NoTeam);
    assert!(!intends(&bench, 0));
    bench.advance(120_000);
    assert!(bench.relay.roster.head().is_none(), "nobody goes on by itself");
    assert!(found(&mut bench).is_ok());
}

#[test]
fn a_relay_that_says_nothing_is_not_waited_for_for_ever() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.relay.silent = true;
    let id = bench.begin(0, CONN, "team.create", founding());
    bench.advance(60_000);
    assert_eq!(bench.answer(0, &id), Some(Err("relay_unavailable".into())));
    // The genesis may have arrived: that is still found out.
    assert!(intends(&bench, 0));
    bench.relay.silent = false;
    bench.advance(2 * messaging_core::limits::CLOCK_SKEW_MS + 60_000);
    assert!(!intends(&bench, 0), "the relay does not know this machine");
    assert!(found(&mut bench).is_ok());
}

#[test]
fn one_create_or_join_at_a_time() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.relay.silent = true;
    let first = bench.begin(0, CONN, "team.create", founding());
    bench.settle();
    assert_eq!(found(&mut bench), Err("invalid_state".into()));
    bench.advance(60_000);
    assert!(bench.answer(0, &first).is_some());
}

#[test]
fn a_founder_whose_answer_was_lost_finds_its_team() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.relay.swallows = 1;
    let id = bench.begin(0, CONN, "team.create", founding());
    bench.advance(10_000);
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!(bench.relay.roster.head().unwrap().seq, 0, "one genesis");
    assert!(bench.engine(0).link.is_ready());
}

#[test]
fn a_ticket_admits_a_machine_and_everybody_sees_it() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    let joined = join(&mut bench, at, &ticket, "desk").unwrap();
    let machine = *bench.daemons[at].keys.machine();
    let team = *bench.relay.roster.team_id().unwrap();
    assert_eq!(
        joined,
        json!({"team": team, "device": machine, "person": "bob", "label": "desk", "role": "member"})
    );
    bench.advance(2_000);
    for daemon in [0, at] {
        let roster = bench.engine(daemon).realm.roster();
        assert_eq!(roster.head(), bench.relay.roster.head());
        assert!(bench.engine(daemon).link.is_ready());
    }
    // The ticket's secret is nowhere in the home.
    let secret = InviteTicket::decode(&ticket).unwrap().secret;
    let rows =
        bench.kill(at).view().rows("SELECT value FROM kv", (), |row| row.get::<_, String>(0));
    assert!(rows.unwrap().iter().all(|value| !value.contains(secret.as_str())));
}

#[test]
fn tickets_that_do_not_admit_say_why() {
    let (mut bench, at) = team_and_newcomer();
    for bad in ["", "nonsense", "messaging1.AAAA", "messaging-team.eyJ2IjoxfQ"] {
        let code = join(&mut bench, at, bad, "desk").unwrap_err();
        assert_eq!(code, "invalid_request", "{bad}");
    }
    let good = InviteTicket::decode(&ticket(&mut bench, "bob")).unwrap();
    let heard = bench.relay.heard.len();
    let expired = InviteTicket { expires: Ms(START.wall.0 - 1), ..good.clone() };
    let code = join(&mut bench, at, &expired.encode().unwrap(), "desk").unwrap_err();
    assert_eq!(code, "invite_invalid");
    assert_eq!(bench.relay.heard.len(), heard, "nothing was sent");

    let mut secret = [0; 32];
    SeededRandom::new(3).fill(&mut secret);
    let forged = messaging_core::ids::Secret32Text::from_bytes(&secret);
    let tampered = InviteTicket { secret: forged, ..good.clone() };
    let code = join(&mut bench, at, &tampered.encode().unwrap(), "desk").unwrap_err();
    assert_eq!(code, "invite_invalid");

    // The invite is another person's: the relay lets the holder read, the chain does not let it in.
    let stolen = InviteTicket { person: "mallory".parse().unwrap(), ..good.clone() };
    let code = join(&mut bench, at, &stolen.encode().unwrap(), "desk").unwrap_err();
    assert_eq!(code, "invite_invalid");

    let elsewhere =
        InviteTicket { relay: "ws://127.0.0.1:9/v1/connect".parse().unwrap(), ..good.clone() };
    let code = join(&mut bench, at, &elsewhere.encode().unwrap(), "desk").unwrap_err();
    assert_eq!(code, "relay_unavailable", "the relay that answers is not the ticket's");

    let revoke = json!({"inviteId": good.invite_id});
    bench.call(0, CONN, "team.revoke", revoke).unwrap();
    let code = join(&mut bench, at, &good.encode().unwrap(), "desk").unwrap_err();
    assert_eq!(code, "invite_invalid");
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    assert!(!intends(&bench, at));
}

#[test]
fn a_ticket_works_once() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    join(&mut bench, at, &ticket, "desk").unwrap();
    let third = bench.newcomer();
    connect(&mut bench, third);
    assert_eq!(join(&mut bench, third, &ticket, "pad"), Err("invite_invalid".into()));
}

#[test]
fn a_label_that_is_taken_is_known_before_the_ticket_is_spent() {
    let (mut bench, at) = team_and_newcomer();
    let second = ticket(&mut bench, "alice");
    let appends = bench.relay.heard_from(at, "roster.append");
    assert_eq!(join(&mut bench, at, &second, "laptop"), Err("forbidden".into()));
    assert_eq!(bench.relay.heard_from(at, "roster.append"), appends);
    assert!(join(&mut bench, at, &second, "server").is_ok(), "the ticket is still good");
}

#[test]
fn a_joiner_whose_clock_is_behind_is_told_so() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    let op = Op::MemberRekey {
        machine: bench.machine(0),
        enc: *bench.daemons[0].keys.identity.enc.public(),
    };
    let signing = bench.daemons[0].keys.identity.signing.clone();
    let ahead = bench.now.wall.plus(2 * messaging_core::limits::CLOCK_SKEW_MS);
    let entry = bench.relay.roster.sign_next(&op, ahead, &signing).unwrap();
    bench.relay.roster.apply(&entry, None).unwrap();
    assert_eq!(join(&mut bench, at, &ticket, "desk"), Err("expired".into()));
    assert!(!intends(&bench, at));
}

#[test]
fn a_long_history_is_read_over_several_connections() {
    let (mut bench, at) = team_and_newcomer();
    let admin = bench.daemons[0].keys.identity.signing.clone();
    let mut rng = SeededRandom::new(5);
    for _ in 0..650 {
        let new =
            invite::create(&"zed".parse().unwrap(), 60_000, bench.now.wall, &mut rng).unwrap();
        for op in [new.op.clone(), Op::InviteRevoke { invite_id: new.id }] {
            let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &admin).unwrap();
            bench.relay.append(&entry);
        }
    }
    bench.settle();
    let ticket = ticket(&mut bench, "bob");
    // Six pages, three frames a connection.
    bench.relay.guest_frames = 3;
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.advance(20_000);
    assert!(bench.answer(at, &id).unwrap().is_ok());
    let joins = bench.relay.heard_from(at, "join");
    assert!((6..=9).contains(&joins), "{joins} pages were asked for");
}

#[test]
fn a_redeem_that_loses_a_race_is_signed_again() {
    let (mut bench, at) = team_and_newcomer();
    let first = ticket(&mut bench, "bob");
    bench.relay.entry_nacks.extend([Code::RosterConflict; 3]);
    assert!(join(&mut bench, at, &first, "desk").is_ok());

    let third = bench.newcomer();
    connect(&mut bench, third);
    let second = ticket(&mut bench, "carol");
    bench.relay.entry_nacks.extend([Code::RosterConflict; 4]);
    assert_eq!(join(&mut bench, third, &second, "pad"), Err("roster_conflict".into()));
    assert!(!intends(&bench, third));
}

#[test]
fn a_hostile_relay_gets_nobody_into_its_history() {
    let (mut bench, at) = team_and_newcomer();
    let real = ticket(&mut bench, "bob");
    // A page that promises more and brings nothing; one that does not follow.
    bench.relay.page_twist = Some(PageTwist::EndlessEmpty);
    assert_eq!(join(&mut bench, at, &real, "desk"), Err("roster_conflict".into()));
    bench.relay.page_twist = Some(PageTwist::FromGenesis);
    assert_eq!(join(&mut bench, at, &real, "desk"), Err("roster_conflict".into()));
    bench.relay.page_twist = None;
    // Another team's history under this team's name.
    let other = other_team(&real, &bench);
    let honest = std::mem::replace(&mut bench.relay.roster, other);
    let code = join(&mut bench, at, &real, "desk").unwrap_err();
    assert!(["roster_conflict", "invite_invalid"].contains(&&*code), "{code}");
    bench.relay.roster = honest;
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    assert!(join(&mut bench, at, &real, "desk").is_ok());
}

/// A team with an open invite of the same id and secret.
fn other_team(ticket: &str, bench: &Bench) -> Roster {
    let ticket = InviteTicket::decode(ticket).unwrap();
    let (mut roster, keys) = crate::tests::bench::team(&[("alice", "laptop")]);
    let op = Op::InviteCreate {
        invite_id: ticket.invite_id,
        invite_pub: ticket.invite_pub(),
        person: ticket.person.clone(),
        expires: ticket.expires,
    };
    let signing = &keys[0].identity.signing;
    let entry = roster.sign_next(&op, bench.now.wall, signing).unwrap();
    roster.apply(&entry, None).unwrap();
    roster
}

#[test]
fn a_joiner_whose_answer_was_lost_is_a_member_in_the_same_call() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.swallows = 1;
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.advance(10_000);
    assert_eq!(bench.answer(at, &id).unwrap().unwrap()["role"], "member");
    assert_eq!(bench.relay.roster.members().len(), 2);
}

#[test]
fn a_joiner_that_the_relay_took_and_denies_is_a_member_in_the_same_call() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.denies = 1;
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.advance(10_000);
    assert_eq!(bench.answer(at, &id).unwrap().unwrap()["role"], "member");
    assert_eq!(bench.relay.roster.members().len(), 2, "no ghost");
}

#[test]
fn a_redeem_that_arrives_behind_a_refused_hello_makes_no_ghost() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.slow_entries = true;
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.advance(20_000);
    assert_eq!(bench.answer(at, &id).unwrap().unwrap()["role"], "member");
    assert_eq!(bench.relay.roster.members().len(), 2);
    assert!(bench.relay.roster.member(bench.daemons[at].keys.machine()).is_some());
}

#[test]
fn a_redeem_that_arrives_late_is_found_by_a_machine_that_died_meanwhile() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.slow_entries = true;
    bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.settle();
    restart(&mut bench, at);
    bench.advance(60_000);
    assert_eq!(standing(&bench, at), Standing::Member);
    assert!(!intends(&bench, at));
}

#[test]
fn a_join_that_was_refused_while_its_redeem_was_under_way_makes_no_ghost() {
    for code in [Code::RateLimited, Code::InviteInvalid, Code::Internal] {
        let (mut bench, at) = team_and_newcomer();
        let ticket = ticket(&mut bench, "bob");
        bench.relay.slow_entries = true;
        bench.relay.slower = 1;
        // After its hello is refused it asks for the chain once more.
        bench.relay.page_nacks.extend([None, Some(code)]);
        let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
        bench.advance(120_000);
        bench.answer(at, &id).unwrap().ok();
        assert!(bench.relay.page_nacks.is_empty());
        assert_eq!(standing(&bench, at), Standing::Member, "{code}");
        assert!(!intends(&bench, at));
        assert_eq!(bench.relay.roster.members().len(), 2);
    }
}

#[test]
fn a_member_whose_first_look_at_the_chain_is_refused_is_no_ghost() {
    for code in [Code::Internal, Code::RateLimited] {
        let (mut bench, at) = team_and_newcomer();
        let ticket = ticket(&mut bench, "bob");
        bench.relay.swallows = 1;
        let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
        while bench.relay.swallows > 0 {
            assert!(bench.step());
        }
        // Somebody else's entry makes it ask for more than it has.
        let other = self::ticket(&mut bench, "carol");
        bench.relay.page_nacks.push_back(Some(code));
        bench.advance(120_000);
        assert!(bench.answer(at, &id).is_some(), "{other}");
        assert!(bench.relay.page_nacks.is_empty());
        assert_eq!(standing(&bench, at), Standing::Member, "{code}");
        assert_eq!(bench.relay.roster.members().len(), 2);
    }
}

#[test]
fn a_join_that_never_arrived_is_forgotten_when_it_cannot_arrive_any_more() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    while bench.relay.heard_from(at, "join") == 0 && bench.step() {}
    restart(&mut bench, at);
    bench.advance(60_000);
    assert!(intends(&bench, at));
    bench.advance(2 * messaging_core::limits::CLOCK_SKEW_MS + 60_000);
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    assert!(!intends(&bench, at));
}

#[test]
fn a_joiner_that_was_told_to_wait_becomes_a_member_by_itself() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.swallows = 1;
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.settle();
    bench.relay.up = false;
    bench.advance(60_000);
    assert_eq!(bench.answer(at, &id), Some(Err("relay_unavailable".into())));
    bench.relay.up = true;
    bench.advance(60_000);
    assert_eq!(standing(&bench, at), Standing::Member);
    assert!(!intends(&bench, at));
}

#[test]
fn a_joiner_that_died_goes_on_with_its_ticket_and_the_same_keys() {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.swallows = 1;
    bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.settle();
    bench.relay.up = false;
    restart(&mut bench, at);
    bench.advance(5_000);
    // The person repeats the command before the relay is back.
    bench.relay.up = true;
    let joined = join(&mut bench, at, &ticket, "desk").unwrap();
    assert_eq!(joined["device"], json!(bench.daemons[at].keys.machine()));
    assert_eq!(bench.relay.roster.members().len(), 2, "one machine, not two");
}

/// Runs a join and kills the joiner after `steps` steps; then the person repeats the command until it is done.
fn join_with_a_death(steps: usize, swallow: bool) -> bool {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.relay.swallows = u32::from(swallow);
    bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    let mut more = true;
    for _ in 0..steps {
        more = bench.step();
    }
    restart(&mut bench, at);
    bench.advance(40_000);
    if standing(&bench, at) == Standing::NoTeam {
        let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
        bench.advance(60_000);
        assert!(bench.answer(at, &id).unwrap().is_ok(), "after {steps} steps");
    }
    bench.advance(5_000);
    assert_eq!(standing(&bench, at), Standing::Member, "after {steps} steps");
    assert!(bench.engine(at).link.is_ready(), "after {steps} steps");
    assert!(!intends(&bench, at));
    assert_eq!(bench.relay.roster.members().len(), 2, "after {steps} steps: no ghost");
    let machine = bench.daemons[at].keys.machine();
    assert!(bench.relay.roster.member(machine).is_some());
    assert_eq!(bench.daemons[at].config.relay.as_ref().unwrap().as_str(), URL);
    more
}

#[test]
fn a_joiner_may_die_at_any_step() {
    for swallow in [false, true] {
        let mut steps = 0;
        while join_with_a_death(steps, swallow) {
            steps += 1;
        }
        assert!(steps > 8, "the join has more steps than {steps}");
    }
}

#[test]
fn a_founder_may_die_at_any_step() {
    let mut steps = 0;
    loop {
        let mut bench = Bench::homeless();
        connect(&mut bench, 0);
        bench.begin(0, CONN, "team.create", founding());
        let mut more = true;
        for _ in 0..steps {
            more = bench.step();
        }
        restart(&mut bench, 0);
        bench.advance(40_000);
        if standing(&bench, 0) == Standing::NoTeam {
            // Nothing is half done: the genesis was never taken, and a new call founds a team.
            bench.relay.roster = Roster::new();
            let id = bench.begin(0, CONN, "team.create", founding());
            bench.advance(60_000);
            assert!(bench.answer(0, &id).unwrap().is_ok(), "after {steps} steps");
        }
        bench.advance(5_000);
        assert!(bench.engine(0).link.is_ready(), "after {steps} steps");
        assert!(!intends(&bench, 0));
        if !more {
            break;
        }
        steps += 1;
    }
    assert!(steps > 8);
}

/// Runs a join while one write of the joiner's store fails.
fn join_with_a_fault(step: u64, how: How) -> bool {
    let (mut bench, at) = team_and_newcomer();
    let ticket = ticket(&mut bench, "bob");
    bench.set_faults(at, FaultPlan::nth(step, how, StoreError::Io));
    let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
    bench.advance(60_000);
    let answer = bench.answer(at, &id).expect("every call is answered");
    let reached = bench.daemons[at].running.as_ref().unwrap().steps() > step;
    if standing(&bench, at) == Standing::NoTeam {
        assert!(answer.is_err(), "write {step} {how:?}");
        let id = bench.begin(at, CONN, "team.join", joining(&ticket, "desk"));
        bench.advance(60_000);
        assert!(bench.answer(at, &id).unwrap().is_ok(), "write {step} {how:?}");
    }
    bench.advance(60_000);
    assert_eq!(standing(&bench, at), Standing::Member, "write {step} {how:?}");
    assert!(bench.engine(at).link.is_ready(), "write {step} {how:?}");
    assert_eq!(bench.relay.roster.members().len(), 2, "write {step} {how:?}");
    reached
}

#[test]
fn any_write_of_a_joiner_may_fail() {
    for how in [How::Lost, How::AppliedButReportedLost, How::EndsTransaction] {
        let step = (0..40).take_while(|step| join_with_a_fault(*step, how)).count();
        assert!(step > 8, "{step} writes");
    }
}

#[test]
fn an_intent_without_its_keys_is_forgotten() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    bench.begin(0, CONN, "team.create", founding());
    assert!(intends(&bench, 0));
    // It dies before its keys are written.
    restart(&mut bench, 0);
    assert!(!intends(&bench, 0));
    bench.advance(60_000);
    assert!(bench.relay.heard.is_empty());
    // Keys of another try are no reason to think that anything was sent.
    bench.begin(0, CONN, "team.create", founding());
    bench.daemons[0].keys = IdentityFile::generate(&mut SeededRandom::new(1_234));
    bench.daemons[0].has_keys = true;
    restart(&mut bench, 0);
    assert!(!intends(&bench, 0));
}
