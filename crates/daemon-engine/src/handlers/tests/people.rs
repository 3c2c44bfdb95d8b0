//! `people.*`: who is in the team, on which devices, and what changed lately.

use messaging_core::presence::{Draft, PresenceSeq};
use serde_json::{Value, json};

use super::connect;
use crate::input::Tier;
use crate::tests::bench::Bench;

const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;

#[test]
fn persons_are_found_by_the_start_of_their_name() {
    let mut bench = Bench::connected(&[
        ("alice", "laptop"),
        ("alba", "desk"),
        ("albert", "pc"),
        ("albert", "mini"),
        ("bob", "desk"),
    ]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    let mut search = |params: Value| bench.call(0, conn, "people.search", params);
    let names = |found: &Value| -> Vec<String> {
        let persons = found["persons"].as_array().unwrap();
        persons.iter().map(|person| person["person"].as_str().unwrap().to_owned()).collect()
    };
    let found = search(json!({"query": "al"})).unwrap();
    assert_eq!(
        (names(&found), &found["more"]),
        (vec!["alba".into(), "albert".into(), "alice".into()], &json!(false))
    );
    assert_eq!(found["persons"][2]["relation"], "self");
    assert_eq!(found["persons"][0]["relation"], "org");
    assert_eq!(found["persons"][0]["online"], true);
    let found = search(json!({"query": "AL", "limit": 2})).unwrap();
    assert_eq!((names(&found).len(), &found["more"]), (2, &json!(true)));
    for nobody in ["lice", "%", "zoe", "alice@example.org", "al*"] {
        assert_eq!(names(&search(json!({"query": nobody})).unwrap()), Vec::<String>::new());
    }
    assert_eq!(search(json!({"query": ""})).unwrap_err(), "invalid_request");
    assert_eq!(search(json!({"query": "a", "limit": 26})).unwrap_err(), "invalid_request");
}

#[test]
fn a_person_is_shown_with_devices_and_what_changed_of_them_in_a_week() {
    let mut bench =
        Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("bob", "pc"), ("bob", "old")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    let changes = |person: &Value| -> Vec<String> {
        let changes = person["deviceChanges"].as_array().unwrap();
        let word = |change: &Value, name: &str| change[name].as_str().unwrap().to_owned();
        changes.iter().map(|change| word(change, "change") + " " + &word(change, "label")).collect()
    };
    bench.advance(60_000);
    let gone = bench.machine(3);
    bench.call(0, conn, "team.remove", json!({"machine": gone})).unwrap();
    bench.advance(1_000);
    let bob = bench.call(0, conn, "people.get", json!({"person": "bob"})).unwrap();
    assert_eq!(
        (&bob["person"]["person"], &bob["person"]["relation"]),
        (&json!("bob"), &json!("org"))
    );
    let devices = bob["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    assert!(devices.iter().all(|device| device["current"] == true && device["vouch"] == "roster"));
    assert!(devices.iter().all(|device| device["online"] == true && device.get("away").is_none()));
    assert_eq!(bob["reach"]["person"], "bob");
    let told = changes(&bob);
    assert_eq!(told[0], "removed old");
    assert_eq!(told.len(), 4);
    assert!(
        bob["deviceChanges"].as_array().unwrap().iter().all(|change| change["vouch"] == "roster")
    );
    // Of oneself the alerts tell.
    let alice = bench.call(0, conn, "people.get", json!({"person": "alice"})).unwrap();
    assert!(alice.get("deviceChanges").is_none() && alice.get("reach").is_none());
    assert_eq!(
        (&alice["person"]["relation"], &alice["devices"][0]["self"]),
        (&json!("self"), &json!(true))
    );
    // Who founded the team was added by nobody.
    let at_bob = connect(&mut bench, 1, Tier::Admin);
    let alice = bench.call(1, at_bob, "people.get", json!({"person": "alice"})).unwrap();
    assert_eq!(changes(&alice), Vec::<String>::new());
    assert!(alice["reach"].get("devicesChangedAt").is_none());
    for nobody in ["zoe", "p_0000000000000000000000"] {
        let found = bench.call(0, conn, "people.get", json!({"person": nobody}));
        assert!(found.is_err(), "{nobody}");
    }
    bench.now.wall = bench.now.wall.plus(WEEK_MS);
    let bob = bench.call(0, conn, "people.get", json!({"person": "bob"})).unwrap();
    assert_eq!(changes(&bob), Vec::<String>::new());
}

#[test]
fn at_most_ten_changes_are_told_the_newest_first() {
    let labels: Vec<String> = (0..12).map(|n| format!("d{n}")).collect();
    let mut names = vec![("alice", "laptop")];
    names.extend(labels.iter().map(|label| ("bob", label.as_str())));
    let mut bench = Bench::connected(&names);
    let conn = connect(&mut bench, 0, Tier::Admin);
    bench.advance(1_000);
    let gone = bench.machine(5);
    bench.call(0, conn, "team.remove", json!({"machine": gone})).unwrap();
    let bob = bench.call(0, conn, "people.get", json!({"person": "bob"})).unwrap();
    let changes = bob["deviceChanges"].as_array().unwrap();
    assert_eq!(changes.len(), 10);
    assert_eq!(changes[0]["change"], "removed");
}

#[test]
fn a_machine_says_that_its_person_is_away_and_for_how_long_that_counts() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    let draft = Draft {
        seq: PresenceSeq(bench.now.wall.0 * 2),
        label: "desk".parse().unwrap(),
        live: Vec::new(),
        kept: Vec::new(),
        features: messaging_core::bounded::List::default(),
        away: true,
    };
    let env = bench.forge_presence(1, &draft.fit());
    bench.deliver(0, &env);
    let away = |bench: &mut Bench| {
        let bob = bench.call(0, conn, "people.get", json!({"person": "bob"})).unwrap();
        bob["devices"][0].get("away").is_some()
    };
    assert!(away(&mut bench));
    bench.now.wall = bench.now.wall.plus(150_000);
    assert!(!away(&mut bench));
}
