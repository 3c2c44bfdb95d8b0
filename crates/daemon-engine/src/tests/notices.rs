//! What the person is told about: alerts of devices and alarms, the replay of a subscription, and what was seen.
//! Spec: §8.2 "Notices", D3.27

use messaging_core::roster::{Member, Op, Role};
use serde_json::{Value, json};

use super::bench::{Bench, CONN};
use super::roster::{entry, invite};
use crate::identity::IdentityFile;

const TEAM: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("bob", "pad")];

/// The notices of a daemon that were not seen, newest first.
pub(super) fn notices(bench: &mut Bench, at: usize) -> Vec<Value> {
    let list = bench.call(at, CONN, "notice.list", json!({"lines": true})).unwrap();
    list["notices"].as_array().unwrap().clone()
}

fn lines(notices: &[Value]) -> Vec<&str> {
    notices.iter().map(|notice| notice["line"].as_str().unwrap()).collect()
}

/// Admits another device of bob, signed by the founder.
fn admit(bench: &mut Bench, label: &str, seed: u64) -> Member {
    let keys = IdentityFile::generate(&mut messaging_core::testing::SeededRandom::new(seed));
    let member = Member {
        machine: *keys.machine(),
        enc: *keys.identity.enc.public(),
        person: "bob".parse().unwrap(),
        role: Role::Member,
        label: label.parse().unwrap(),
    };
    append(bench, &Op::MemberAdd { member: member.clone() });
    member
}

fn append(bench: &mut Bench, op: &Op) {
    let entry = entry(bench, op, bench.now.wall);
    bench.relay.append(&entry);
    bench.settle();
}

#[test]
fn a_device_that_comes_or_goes_is_told_to_the_persons_others_and_to_nobody_else() {
    let mut bench = Bench::connected(&TEAM);
    (0..3).for_each(|at| bench.admin(at));
    let added = admit(&mut bench, "phone", 71);
    append(&mut bench, &Op::MemberRemove { machine: added.machine });
    let told = notices(&mut bench, 1);
    assert_eq!(
        lines(&told),
        [
            "'phone' was removed from your account.",
            "New device on your account: 'phone', admitted by the team's admin."
        ]
    );
    assert_eq!(told[0]["category"], "alert");
    assert_eq!((&told[1]["id"], &told[0]["id"]), (&json!("a_dev3"), &json!("a_dev4")));
    let device = &told[1]["device"];
    assert_eq!(device["change"], "added");
    assert_eq!(device["vouch"], "roster");
    assert_eq!(device["device"], json!(added.machine));
    assert_eq!(device["current"], false, "as it is now");
    assert_eq!(notices(&mut bench, 0), Vec::<Value>::new(), "another person's device");
}

#[test]
fn a_change_of_this_device_or_by_it_is_not_told() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("alice", "pad"), ("bob", "desk")]);
    (0..3).for_each(|at| bench.admin(at));
    let machine = bench.machine(1);
    bench.call(0, CONN, "team.remove", json!({"machine": machine})).unwrap();
    bench.settle();
    for at in 0..3 {
        assert_eq!(notices(&mut bench, at), Vec::<Value>::new(), "{at}");
    }
}

#[test]
fn the_teams_admin_can_remove_a_device_and_another_member_cannot() {
    let mut bench = Bench::connected(&TEAM);
    (0..3).for_each(|at| bench.admin(at));
    let machine = bench.machine(1);
    append(&mut bench, &Op::MemberRole { machine, role: Role::Admin });
    admit(&mut bench, "phone", 71);
    let how = |bench: &mut Bench, at: usize| notices(bench, at)[0]["device"]["remove"].clone();
    assert_eq!(how(&mut bench, 1), "team");
    assert_eq!(how(&mut bench, 2), Value::Null);
}

#[test]
fn what_changed_while_a_device_was_away_is_told_once_when_it_learns_of_it() {
    let mut bench = Bench::connected(&TEAM);
    (0..3).for_each(|at| bench.admin(at));
    bench.relay.up = false;
    bench.cut(1);
    admit(&mut bench, "phone", 71);
    assert_eq!(notices(&mut bench, 1).len(), 0);
    bench.relay.up = true;
    bench.advance(60_000);
    assert_eq!(notices(&mut bench, 1).len(), 1);
    let store = bench.kill(1);
    bench.start(1, store);
    bench.advance(60_000);
    bench.admin(1);
    assert_eq!(notices(&mut bench, 1).len(), 1, "a start tells nothing again");
}

#[test]
fn what_happened_long_ago_is_kept_from_when_it_was_told() {
    let mut bench = Bench::connected(&TEAM);
    (0..3).for_each(|at| bench.admin(at));
    bench.relay.up = false;
    bench.cut(1);
    let happened = bench.now.wall;
    admit(&mut bench, "phone", 71);
    bench.now.wall = bench.now.wall.plus(40 * 86_400_000);
    bench.relay.up = true;
    bench.advance(60_000);
    let told = notices(&mut bench, 1);
    assert_eq!(told[0]["device"]["at"], json!(happened));
    assert!(told[0]["at"].as_u64().unwrap() >= happened.plus(40 * 86_400_000).0);
    bench.advance(7 * 3_600_000);
    assert_eq!(notices(&mut bench, 1).len(), 1, "a sweep leaves it");
}

#[test]
fn a_home_that_never_told_begins_with_its_roster_as_it_is() {
    let bench = Bench::connected(&TEAM);
    for at in 0..3 {
        assert_eq!(bench.count(at, "SELECT count(*) FROM notices"), 0, "{at}");
        let cursor = "SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'notice.deviceCursor'";
        assert_eq!(bench.count(at, cursor), 2);
    }
}

#[test]
fn a_new_home_is_told_what_happened_after_it_was_admitted() {
    let mut bench = Bench::homeless();
    bench.admin(0);
    let founder =
        json!({"relay": super::bench::URL, "team": "demo", "person": "bob", "label": "a"});
    bench.call(0, CONN, "team.create", founder).unwrap();
    let at = bench.newcomer();
    bench.admin(at);
    let params = json!({"person": "bob"});
    let ticket = bench.call(0, CONN, "team.invite", params).unwrap()["ticket"].clone();
    bench.call(at, CONN, "team.join", json!({"ticket": ticket, "label": "b"})).unwrap();
    bench.advance(10_000);
    assert_eq!(
        lines(&notices(&mut bench, 0)),
        ["New device on your account: 'b', admitted by the team's admin."],
        "the device joined by itself, and the inviting one is told"
    );
    assert_eq!(notices(&mut bench, at), Vec::<Value>::new(), "what was before is no news");
    let machine = bench.machine(at);
    append(&mut bench, &Op::MemberRole { machine, role: Role::Admin });
    admit(&mut bench, "c", 72);
    assert_eq!(notices(&mut bench, at).len(), 1);
}

#[test]
fn missing_keys_are_an_alert_once_for_as_long_as_they_are_missing() {
    let mut bench = Bench::connected(&TEAM);
    let restart = |bench: &mut Bench, has_keys: bool| {
        let store = bench.kill(1);
        bench.daemons[1].has_keys = has_keys;
        bench.start(1, store);
        bench.advance(120_000);
        bench.admin(1);
        notices(bench, 1)
    };
    let first = restart(&mut bench, false);
    assert_eq!(
        lines(&first),
        ["This device's keys are missing. Restore identity.json or replace this device."]
    );
    let at = first[0]["at"].as_u64().unwrap();
    assert_eq!(first[0]["id"], format!("a_keys_missing_{at}"));
    assert_eq!(restart(&mut bench, false), first, "a start repeats the id, not the notice");
    assert_eq!(restart(&mut bench, true).len(), 1);
    assert_eq!(restart(&mut bench, false).len(), 2, "another time is another alarm");
}

#[test]
fn a_subscription_replays_what_was_not_seen_oldest_first_and_goes_on_live() {
    let mut bench = Bench::connected(&TEAM);
    bench.admin(1);
    for n in 0..3 {
        admit(&mut bench, &format!("phone{n}"), 80 + n);
    }
    let ids = |bench: &mut Bench| -> Vec<String> {
        let events = bench.daemons[1].events_of("notice");
        let ids = events.iter().map(|e| e["notice"]["id"].as_str().unwrap().to_owned()).collect();
        bench.daemons[1].events.clear();
        ids
    };
    bench.call(1, CONN, "notice.ack", json!({"ids": ["a_dev4", "a_dev99"]})).unwrap();
    let replayed = bench.call(1, CONN, "notice.subscribe", json!({})).unwrap();
    assert_eq!(replayed, json!({"replayed": 2}));
    assert_eq!(ids(&mut bench), ["a_dev3", "a_dev5"]);
    for (after, expected) in [("a_dev3", 1), ("a_dev4", 1), ("a_dev5", 0), ("gone", 2)] {
        let replayed = bench.call(1, CONN, "notice.subscribe", json!({"after": after})).unwrap();
        assert_eq!(replayed["replayed"], expected, "{after}");
    }
    bench.daemons[1].events.clear();
    admit(&mut bench, "phone9", 99);
    assert_eq!(ids(&mut bench), ["a_dev6"], "once, however often it subscribed");
}

#[test]
fn a_subscription_replays_at_most_500_from_the_oldest_on() {
    let mut bench = Bench::connected(&TEAM);
    let store = bench.kill(1);
    let store = super::bench::write(store, |tx| {
        for n in 0..600 {
            let row = crate::store::notices::NoticeRow {
                id: format!("a_{n}"),
                category: messaging_ipc::shapes::NoticeCategory::Alert,
                place: None,
                person: None,
                line: None,
                device: None,
                text: Some("text".into()),
                at: super::bench::START.wall,
            };
            crate::store::notices::file(tx, &row)?;
        }
        Ok(())
    });
    bench.start(1, store);
    bench.settle();
    bench.admin(1);
    let replayed = bench.call(1, CONN, "notice.subscribe", json!({})).unwrap();
    assert_eq!(replayed["replayed"], 500);
    let events = bench.daemons[1].events_of("notice");
    assert_eq!(events[0]["notice"]["id"], "a_0");
    assert_eq!(events[499]["notice"]["id"], "a_499");
    let rest = bench.call(1, CONN, "notice.subscribe", json!({"after": "a_499"})).unwrap();
    assert_eq!(rest["replayed"], 100);
    let newest = bench.call(1, CONN, "notice.list", json!({"limit": 2})).unwrap();
    assert_eq!(newest["notices"][0]["id"], "a_599", "a list begins with the newest");
}

#[test]
fn acknowledging_takes_unknown_ids_and_counts_what_was_new() {
    let mut bench = Bench::connected(&TEAM);
    bench.admin(1);
    admit(&mut bench, "phone", 71);
    let ack = |bench: &mut Bench, ids: Value| {
        bench.call(1, CONN, "notice.ack", json!({"ids": ids})).unwrap()["acked"].clone()
    };
    assert_eq!(ack(&mut bench, json!(["m_nothing", "a_dev3", "a_dev3"])), 1);
    assert_eq!(ack(&mut bench, json!(["a_dev3"])), 0);
    assert_eq!(notices(&mut bench, 1), Vec::<Value>::new());
}

#[test]
fn seen_notices_go_with_the_read_mail_and_the_others_with_the_transcript() {
    let mut bench = Bench::connected(&TEAM);
    bench.admin(1);
    admit(&mut bench, "phone", 71);
    admit(&mut bench, "pad2", 72);
    bench.call(1, CONN, "notice.ack", json!({"ids": ["a_dev3"]})).unwrap();
    let rows = "SELECT count(*) FROM notices";
    let days = |bench: &mut Bench, days: u64| {
        bench.now.wall = bench.now.wall.plus(days * 86_400_000);
        bench.advance(6 * 3_600_000);
        bench.count(1, rows)
    };
    assert_eq!(days(&mut bench, 13), 2);
    assert_eq!(days(&mut bench, 1), 1);
    assert_eq!(days(&mut bench, 15), 1);
    assert_eq!(days(&mut bench, 1), 0);
}

#[test]
fn an_entry_about_nobodys_device_tells_nothing() {
    let mut bench = Bench::connected(&TEAM);
    bench.admin(1);
    let op = invite(&mut bench);
    append(&mut bench, &op);
    assert_eq!(notices(&mut bench, 1), Vec::<Value>::new());
}
