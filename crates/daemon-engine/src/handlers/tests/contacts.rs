//! `contacts.list`, `device.list`, `device.status`, `daemon.*`: what this machine knows.

use serde_json::json;

use super::connect;
use crate::input::Tier;
use crate::tests::bench::Bench;

const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;

#[test]
fn own_sessions_come_first_and_the_others_by_address() {
    let mut bench =
        Bench::connected(&[("mia", "laptop"), ("alice", "b"), ("alice", "a"), ("zed", "x")]);
    for (at, name) in [(0, "two"), (0, "one"), (1, "api"), (2, "api"), (3, "zeta")] {
        bench.session(at, name, json!({}));
    }
    bench.advance(10_000);
    let conn = connect(&mut bench, 0, Tier::Agent);
    let contacts = bench.call(0, conn, "contacts.list", json!({})).unwrap();
    let entries = contacts["entries"].as_array().unwrap();
    let addresses: Vec<&str> =
        entries.iter().map(|entry| entry["address"].as_str().unwrap()).collect();
    assert_eq!(
        addresses,
        ["mia/one@laptop", "mia/two@laptop", "alice/api@a", "alice/api@b", "zed/zeta@x"]
    );
    assert_eq!(entries[0]["self"], true);
    assert!(entries[2].get("self").is_none());
    assert!(entries.iter().all(|entry| entry["online"] == true));
    let persons: Vec<&str> = contacts["reach"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reach| reach["person"].as_str().unwrap())
        .collect();
    assert_eq!(persons, ["alice", "zed"], "of the others only");
    assert_eq!(contacts["conversations"], json!([]));
}

#[test]
fn what_is_not_shared_is_not_told() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let words = json!({"repo": "secret-repo", "branch": "secret-branch", "doing": "secret-doing"});
    bench.session(0, "api", words);
    bench.advance(5_000);
    let told = |bench: &mut Bench, at: usize| {
        let conn = connect(bench, at, Tier::Agent);
        bench.call(at, conn, "contacts.list", json!({})).unwrap()["entries"][0].to_string()
    };
    for at in [0, 1] {
        assert!(!told(&mut bench, at).contains("secret"), "{at}");
    }
    bench.configure(0, |config| config.share.repo = true);
    bench.session(0, "shared", json!({"repo": "open-repo", "branch": "secret-branch"}));
    bench.advance(10_000);
    let conn = connect(&mut bench, 1, Tier::Agent);
    let contacts = bench.call(1, conn, "contacts.list", json!({})).unwrap().to_string();
    assert!(contacts.contains("open-repo") && !contacts.contains("secret-branch"), "{contacts}");
}

#[test]
fn a_change_of_somebodys_devices_is_shown_for_a_week() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    bench.session(1, "api", json!({}));
    bench.advance(10_000);
    let shown = |bench: &mut Bench| {
        let conn = connect(bench, 0, Tier::Agent);
        let contacts = bench.call(0, conn, "contacts.list", json!({})).unwrap();
        contacts["reach"][0].get("devicesChangedAt").is_some()
    };
    assert!(shown(&mut bench));
    // The clock jumps: a week of heartbeats would tell nothing more.
    bench.now.wall = bench.now.wall.plus(WEEK_MS);
    assert!(!shown(&mut bench));
}

#[test]
fn a_machine_that_is_away_keeps_its_entries() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    bench.session(1, "api", json!({}));
    bench.advance(10_000);
    bench.relay.up = false;
    bench.cut(1);
    bench.advance(1_000);
    let conn = connect(&mut bench, 0, Tier::Agent);
    let contacts = bench.call(0, conn, "contacts.list", json!({})).unwrap();
    let entry = &contacts["entries"][0];
    assert_eq!((&entry["online"], &entry["expect"]), (&json!(false), &json!("offline")));
}

#[test]
fn own_devices_are_current_first_and_say_how_they_ended() {
    let mut bench = Bench::connected(&[
        ("alice", "laptop"),
        ("alice", "old"),
        ("alice", "server"),
        ("bob", "desk"),
    ]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    let (old, server) = (bench.machine(1), bench.machine(2));
    bench.call(0, conn, "team.remove", json!({"machine": old})).unwrap();
    let list = bench.call(0, conn, "device.list", json!({})).unwrap();
    let devices = list["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 3, "one's own only");
    assert_eq!(devices[2]["device"], json!(old));
    assert_eq!(devices[2]["removed"]["reason"], "removed");
    assert_eq!(devices[2]["removed"]["by"], json!(bench.machine(0)));
    let own = devices.iter().find(|device| device["self"] == true).unwrap();
    assert_eq!(
        (&own["label"], &own["online"], &own["vouch"]),
        (&json!("laptop"), &json!(true), &json!("roster"))
    );
    assert!(
        devices.iter().any(|device| device["device"] == json!(server) && device["current"] == true)
    );
}

#[test]
fn status_follows_membership() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let conn = connect(&mut bench, 1, Tier::Admin);
    let status = bench.call(1, conn, "device.status", json!({})).unwrap();
    assert_eq!(
        (&status["kind"], &status["binding"], &status["person"], &status["label"]),
        (&json!("roster"), &json!("bound"), &json!("bob"), &json!("desk"))
    );
    let machine = bench.machine(1);
    let answer = bench.call(1, conn, "team.remove", json!({"machine": machine})).unwrap();
    assert_eq!(answer, json!({"machine": machine, "self": true}));
    let status = bench.call(1, conn, "device.status", json!({})).unwrap();
    assert_eq!(status["binding"], "removed");
    // A removed machine still reads what it has, and sends nothing.
    let key = super::padded("after");
    let params = json!({"key": key, "agent": "cli"});
    bench.call(1, conn, "session.register", params).unwrap();
    assert!(bench.call(1, conn, "inbox.list", json!({"key": key})).is_ok());
    let send = json!({"key": key, "to": "alice/api", "parts": [{"text": "t"}]});
    assert_eq!(bench.call(1, conn, "msg.send", send), Err("not_member".into()));
}

#[test]
fn health_and_status_name_this_release_and_process() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Agent);
    let health = bench.call(0, conn, "daemon.health", json!({})).unwrap();
    assert_eq!(
        health,
        json!({"state": "running", "relay": "connected", "directory": "ok", "alarm": null, "busy": false,
               "version": "0.0.0", "storeSchema": 1})
    );
    let status = bench.call(0, conn, "daemon.status", json!({})).unwrap();
    assert_eq!((&status["pid"], &status["protocol"]), (&json!(7), &json!(1)));
    assert_eq!(status["team"]["role"], "admin");
    assert_eq!(status["identity"]["device"], json!(bench.machine(0)));
}

#[test]
fn what_others_publish_never_makes_the_list_too_long_for_a_line() {
    let names =
        [("alice", "laptop"), ("bob", "desk"), ("bob", "pc"), ("bob", "srv"), ("carol", "x")];
    let mut bench = Bench::connected(&names);
    let own = bench.session(0, "own", json!({}));
    bench.advance(3_000);
    // Every name once and every feature as long as a line can make it.
    let feature = "\u{1}".repeat(64);
    for (at, label) in [(1, "desk"), (2, "pc"), (3, "srv"), (4, "x")] {
        let session = |n: usize| {
            json!({
            "agent": format!("s{n}"), "client": "c", "state": "idle", "tier": "pull", "since": 1})
        };
        let body = json!({
            "seq": bench.now.wall.0 * 2, "label": label, "features": vec![feature.as_str(); 16],
            "sessions": (0..256).map(session).collect::<Vec<_>>()});
        let payload = serde_json::from_value(body).unwrap();
        let env = bench.forge_presence(at, &payload);
        bench.deliver(0, &env);
    }
    assert_eq!(bench.count(0, "SELECT count(*) FROM presence WHERE length(body) > 20000"), 4);
    let list = bench.call(0, own.conn, "contacts.list", json!({})).unwrap();
    let entries = list["entries"].as_array().unwrap();
    assert_eq!(entries[0]["address"], "alice/own@laptop", "own ones first");
    assert!((100..1_024).contains(&entries.len()), "{}", entries.len());
    assert!(list.to_string().len() < messaging_ipc::line::LINE_BYTES);
}

#[test]
fn a_presence_of_a_later_release_is_as_good_as_none() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let store = bench.kill(0);
    let store = crate::tests::bench::write(store, |tx| {
        tx.execute("UPDATE presence SET body = replace(body, '\"idle\"', '\"dreaming\"')", ())?;
        Ok(())
    });
    bench.relay.up = false;
    bench.start(0, store);
    let alice = bench.resume(&alice);
    let list = bench.call(0, alice.conn, "contacts.list", json!({})).unwrap();
    assert_eq!(list["entries"].as_array().unwrap().len(), 1);
    bench.send(&alice, "bob/web@desk", "it goes all the same");
}
