//! The roster over the link: pages, broadcasts, forks, a relay on another history, and this machine's removal.
//! Spec: §4 "Live entries", "Sequencing and forks"; §7 "Paging"; D3.28

use messaging_core::domain::Domain;
use messaging_core::ids::TeamName;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::roster::{Member, Op, Role};
use messaging_core::time::Ms;
use messaging_wire::text;
use serde_json::{Value, json};

use super::bench::Bench;
use super::forge::mail;
use super::heads::other_history;
use super::relay::PageTwist;
use crate::home::Standing;
use crate::store::evidence;

const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];

/// An entry by the founder on what the relay holds.
pub(super) fn entry(bench: &Bench, op: &Op, ts: Ms) -> Value {
    let signing = &bench.daemons[0].keys.identity.signing;
    bench.relay.roster.sign_next(op, ts, signing).unwrap()
}

/// Some entry that changes nothing of interest.
pub(super) fn invite(bench: &mut Bench) -> Op {
    bench.relay.forged += 1;
    let seed = bench.relay.forged;
    let mut rng = messaging_core::testing::SeededRandom::new(seed);
    let person = "dave".parse().unwrap();
    messaging_core::invite::create(&person, 60_000, bench.now.wall, &mut rng).unwrap().op
}

pub(super) fn seq(bench: &Bench, at: usize) -> u64 {
    bench.engine(at).realm.head().unwrap().seq
}

fn broadcast(bench: &mut Bench, to: usize, entry: &Value) {
    let raw = entry.to_string();
    bench.frame(to, &text::roster(None, [raw.as_str()], false));
}

pub(super) fn evidence_rows(bench: &Bench, at: usize, kind: evidence::Kind) -> u64 {
    evidence::count(&bench.daemons[at].running.as_ref().unwrap().view(), kind).unwrap()
}

#[test]
fn a_machine_that_was_away_pages_through_a_long_roster_before_it_judges_mail() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    let alice = bench.session(0, "api", json!({}));
    bench.advance(3_000);
    bench.cut(1);
    bench.relay.up = false;
    for _ in 0..600 {
        let op = invite(&mut bench);
        let entry = entry(&bench, &op, bench.now.wall);
        bench.relay.append(&entry);
        bench.settle();
    }
    let carol_enc = bench.daemons[2].keys.identity.enc.public();
    let member = Member {
        machine: *crate::identity::IdentityFile::generate(
            &mut messaging_core::testing::SeededRandom::new(99),
        )
        .machine(),
        enc: *carol_enc,
        person: "dave".parse().unwrap(),
        role: Role::Member,
        label: "new".parse().unwrap(),
    };
    let add = entry(&bench, &Op::MemberAdd { member }, bench.now.wall);
    bench.relay.append(&add);
    bench.settle();
    bench.send(&alice, "bob/web", "sealed on the newest head");
    bench.relay.up = true;
    let before = bench.relay.heard_from(1, "roster.sync");
    bench.advance(30_000);
    assert_eq!(seq(&bench, 1), 603);
    assert_eq!(bench.relay.heard_from(1, "roster.sync") - before, 3, "three pages of 256");
    assert_eq!(bench.texts(&bob), ["sealed on the newest head"]);
    assert!(bench.engine(1).realm.divergence().is_empty());
}

#[test]
fn paging_stops_at_a_page_that_does_not_follow_and_after_the_pages_there_can_be() {
    for twist in [PageTwist::FromGenesis, PageTwist::EndlessEmpty] {
        let mut bench = Bench::connected(&THREE);
        bench.cut(1);
        bench.relay.up = false;
        let op = invite(&mut bench);
        let new = entry(&bench, &op, bench.now.wall);
        bench.relay.append(&new);
        bench.relay.up = true;
        bench.relay.page_twist = Some(twist);
        let before = bench.relay.heard_from(1, "roster.sync");
        bench.advance(20_000);
        let asked = bench.relay.heard_from(1, "roster.sync") - before;
        let dials = bench.relay.heard_from(1, "hello");
        assert!(asked <= dials, "{twist:?}: {asked} pages asked for on {dials} links");
    }
}

#[test]
fn a_live_entry_is_applied_within_twice_the_skew_and_not_past_it() {
    let mut bench = Bench::connected(&THREE);
    let old = bench.now.wall.minus(2 * CLOCK_SKEW_MS);
    let op = invite(&mut bench);
    // The chain's own rule: not before the last entry by more than the skew.
    let within = entry(&bench, &op, old.plus(CLOCK_SKEW_MS));
    bench.relay.append(&within);
    bench.settle();
    assert_eq!(seq(&bench, 1), 3);

    bench.now.wall = bench.now.wall.plus(3 * CLOCK_SKEW_MS);
    let op = invite(&mut bench);
    let stale = entry(&bench, &op, bench.now.wall.minus(2 * CLOCK_SKEW_MS + 1));
    bench.relay.append(&stale);
    bench.settle();
    assert_eq!(seq(&bench, 1), 3, "not applied");
    assert_eq!(bench.last_error(1), Some("the relay sent a roster entry that does not verify"));
    // Fetched, the chain alone bounds it.
    bench.cut(1);
    bench.advance(2_000);
    assert_eq!(seq(&bench, 1), 4);
}

#[test]
fn an_entry_past_the_next_is_fetched_with_those_before_it() {
    let mut bench = Bench::connected(&THREE);
    let first = invite(&mut bench);
    let first = entry(&bench, &first, bench.now.wall);
    bench.relay.roster.apply(&first, None).unwrap();
    let second = invite(&mut bench);
    let second = entry(&bench, &second, bench.now.wall);
    bench.relay.append(&second);
    bench.settle();
    assert_eq!(seq(&bench, 1), 4);
}

#[test]
fn two_valid_entries_of_one_number_are_a_fork_and_junk_is_ignored() {
    let mut bench = Bench::connected(&THREE);
    let one = invite(&mut bench);
    let one = entry(&bench, &one, bench.now.wall);
    let other = invite(&mut bench);
    let other = entry(&bench, &other, bench.now.wall);
    let mut junk = other.clone();
    junk["extra"] = json!(1);
    bench.relay.append(&one);
    bench.settle();

    broadcast(&mut bench, 1, &one);
    broadcast(&mut bench, 1, &junk);
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Fork), 0);
    broadcast(&mut bench, 1, &other);
    assert_eq!(bench.last_error(1), Some("the relay showed two histories of the team"));
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Fork), 1);
    assert_eq!(seq(&bench, 1), 3);
    let held = bench.engine(1).realm.roster().entries()[3].hash().to_string();
    assert_eq!(held, messaging_core::jcs::canonical(&one).unwrap().hash().to_string());
}

#[test]
fn a_relay_behind_or_beside_this_machines_roster_is_told_of() {
    let mut bench = Bench::connected(&THREE);
    let op = invite(&mut bench);
    let new = entry(&bench, &op, bench.now.wall);
    bench.relay.append(&new);
    bench.settle();
    bench.cut(1);
    bench.relay.shows = Some(1);
    bench.advance(3_000);
    assert!(bench.engine(1).link.is_ready());
    assert_eq!(bench.last_error(1), Some("the relay's roster is behind this machine's"));

    let mut bench = Bench::connected(&THREE);
    let other = other_history(&bench);
    bench.cut(1);
    bench.relay.roster = other;
    bench.advance(3_000);
    assert_eq!(bench.last_error(1), Some("the relay showed two histories of the team"));
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Fork), 1);
    assert!(bench.engine(1).link.is_ready());
}

#[test]
fn a_removed_machine_that_is_online_sees_its_removal_and_stops() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    let alice = bench.session(0, "api", json!({}));
    bench.advance(3_000);
    bench.send(&alice, "bob/web", "kept");
    bench.relay.silent = true;
    let id = bench.send(&bob, "alice/api", "never taken");
    bench.relay.silent = false;
    let remove = entry(&bench, &Op::MemberRemove { machine: bench.machine(1) }, bench.now.wall);
    bench.relay.append(&remove);
    bench.settle();
    assert_eq!(bench.engine(1).home.standing(bench.engine(1).realm.roster()), Standing::Removed);
    assert_eq!(bench.daemons[1].link, None, "it closed the link itself");
    bench.advance(600_000);
    assert_eq!(bench.daemons[1].link, None, "and does not come back");
    assert_eq!(bench.texts(&bob), ["kept"], "what it has stays readable");
    assert_eq!(bench.stage(&bob, &id), "rejected not_member");
    let params = json!({"to": "alice/api", "parts": [{"text": "x"}]});
    assert_eq!(bench.ask(&bob, "msg.send", params).unwrap_err(), "not_member");
    // So after a restart.
    bench.configure(1, |_| {});
    bench.advance(60_000);
    assert_eq!(bench.daemons[1].link, None);
}

#[test]
fn a_machine_removed_while_away_stops_only_on_its_own_verified_roster() {
    let mut bench = Bench::connected(&THREE);
    bench.cut(1);
    bench.relay.up = false;
    let remove = entry(&bench, &Op::MemberRemove { machine: bench.machine(1) }, bench.now.wall);
    bench.relay.append(&remove);
    bench.settle();
    bench.relay.up = true;
    bench.relay.silent = true;
    bench.advance(2_000);
    bench.close(1, Some(4003));
    assert_eq!(bench.engine(1).home.standing(bench.engine(1).realm.roster()), Standing::Member);
    bench.relay.silent = false;
    bench.advance(40_000);
    assert_eq!(bench.engine(1).home.standing(bench.engine(1).realm.roster()), Standing::Removed);
}

#[test]
fn an_admins_rekey_is_told_and_no_alarm_and_ones_own_lost_key_is_one() {
    let mut bench = Bench::connected(&THREE);
    let enc = *crate::identity::IdentityFile::generate(
        &mut messaging_core::testing::SeededRandom::new(3),
    )
    .identity
    .enc
    .public();
    let rekey = entry(&bench, &Op::MemberRekey { machine: bench.machine(1), enc }, bench.now.wall);
    bench.relay.append(&rekey);
    bench.settle();
    assert_eq!(bench.last_error(1), Some("an admin replaced this machine's encryption key"));
    assert_eq!(crate::status::alarm(bench.engine(1)), None);

    let op = Op::MemberRekey { machine: bench.machine(2), enc };
    let signing = bench.daemons[2].keys.identity.signing.clone();
    let own = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    bench.relay.append(&own);
    bench.settle();
    let alarm = crate::status::alarm(bench.engine(2));
    assert_eq!(alarm, Some(messaging_ipc::shapes::DaemonAlarm::Restored));
    let told = crate::status::device(bench.engine(2)).alarm.unwrap();
    assert_eq!(told.at.0, own["ts"].as_u64().unwrap(), "dated by the entry that proves it");
    assert_eq!(crate::status::device(bench.engine(1)).alarm, None);
    assert!(bench.engine(2).link.is_ready(), "it still receives and sends");
    bench.configure(2, |_| {});
    assert_eq!(crate::status::alarm(bench.engine(2)), alarm, "at the start too");
}

#[test]
fn a_relay_of_another_team_is_no_relay_of_this_one() {
    let mut bench = Bench::connected(&THREE);
    let keys = &bench.daemons[0].keys;
    let founder = bench.relay.roster.member(keys.machine()).unwrap().clone();
    let name: TeamName = "other".parse().unwrap();
    let signing = &keys.identity.signing;
    let genesis =
        messaging_core::roster::sign_genesis(&name, &founder, bench.now.wall, signing).unwrap();
    let head = bench.relay.roster.head().unwrap();
    assert!(signing.sign_value(Domain::Roster, &genesis).is_ok());
    broadcast(&mut bench, 1, &genesis);
    assert_eq!(bench.engine(1).realm.head(), Some(head));
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Fork), 0);
}

#[test]
fn an_entry_newer_than_the_page_that_was_asked_for_accuses_nobody() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    // Bob misses one entry, learns of it by mail, and asks.
    let op = invite(&mut bench);
    let first = entry(&bench, &op, bench.now.wall);
    bench.relay.roster.apply(&first, None).unwrap();
    let early = bench.forge(0, 1, mail("web", "early"));
    bench.relay.silent = true;
    bench.deliver(1, &early);
    let page_as_of_then = bench.relay.page_text(1);
    bench.relay.silent = false;
    // Before the page comes there is another entry, and mail from who has seen it.
    let op = invite(&mut bench);
    let second = entry(&bench, &op, bench.now.wall);
    bench.relay.append(&second);
    let late = bench.forge(0, 1, mail("web", "late"));
    bench.relay.say(1, text::deliver(&late.to_string()));
    bench.relay.say(1, page_as_of_then);
    bench.settle();
    assert_eq!(seq(&bench, 1), 4);
    assert_eq!(bench.texts(&bob), ["early", "late"]);
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Ahead), 0);
    assert!(!bench.engine(1).realm.sends_paused());
}

#[test]
fn a_relay_that_went_on_from_another_entry_is_told_of_and_not_followed() {
    let mut bench = Bench::connected(&THREE);
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let mut other = other_history(&bench);
    let signing = bench.daemons[0].keys.identity.signing.clone();
    for _ in 0..2 {
        let op = invite(&mut bench);
        let raw = other.sign_next(&op, bench.now.wall, &signing).unwrap();
        other.apply(&raw, None).unwrap();
    }
    let head = bench.engine(1).realm.head();
    bench.cut(1);
    bench.relay.roster = other;
    bench.advance(3_000);
    assert_eq!(bench.last_error(1), Some("the relay showed two histories of the team"));
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Fork), 1);
    assert_eq!(bench.engine(1).realm.head(), head);
    assert!(bench.engine(1).link.is_ready(), "what members say of it can still be heard");
    // Mail of a member who follows the other history: withheld after one more try, without end or haste.
    let asked = bench.relay.heard_from(1, "roster.sync");
    let env = bench.forge(2, 1, mail("web", "from the other side"));
    bench.deliver(1, &env);
    assert!(!bench.acked(1, &env));
    assert!(bench.relay.heard_from(1, "roster.sync") - asked <= 2);
}

#[test]
fn an_entry_that_follows_and_does_not_verify_ends_the_link_for_a_while() {
    let mut bench = Bench::connected(&THREE);
    let signing = bench.daemons[2].keys.identity.signing.clone();
    let op = invite(&mut bench);
    // Carol is no admin.
    let junk = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    let asked = bench.ask_for_more(1);
    bench.frame(1, &text::roster(Some(&asked), [junk.to_string().as_str()], false));
    assert_eq!(bench.last_error(1), Some("the relay sent a roster entry that does not verify"));
    assert!(!bench.engine(1).link.is_ready());
    bench.advance(14_000);
    assert!(!bench.engine(1).link.is_ready());
    bench.advance(30_000);
    assert!(bench.engine(1).link.is_ready());
}

#[test]
fn a_stranger_cannot_have_its_presence_acknowledged() {
    let mut bench = Bench::connected(&THREE);
    let mut env = bench.relay.presence_by(0).pop().unwrap();
    env["from"]["person"] = json!("carol");
    bench.deliver(1, &env);
    let env = bench.sign(0, env);
    bench.deliver(1, &env);
    env_never_acked(&bench, &env);
    let mut shapeless = env;
    shapeless["body"] = json!({});
    bench.deliver(1, &shapeless);
    env_never_acked(&bench, &shapeless);
}

fn env_never_acked(bench: &Bench, env: &Value) {
    assert!(
        !bench.acked(1, env),
        "the relay queues no presence, so there is nothing to acknowledge"
    );
}
