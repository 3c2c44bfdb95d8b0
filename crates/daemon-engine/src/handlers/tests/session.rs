//! Sessions: names, takeover, keeping, terminals, hosts.

use serde_json::json;

use super::{connect, padded, register};
use crate::input::{ConnId, In, Tier};
use crate::tests::bench::Bench;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A daemon in no team: sessions need none, and without a link days pass quickly.
fn alone() -> (Bench, u64) {
    let mut bench = Bench::homeless();
    let conn = connect(&mut bench, 0, Tier::Agent);
    (bench, conn)
}

/// The name that a registration got.
fn name(bench: &mut Bench, conn: u64, key: &str, more: serde_json::Value) -> String {
    register(bench, conn, key, more).unwrap()["name"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_gets_its_kinds_name_and_its_full_address() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Agent);
    let answer = register(&mut bench, conn, "a", json!({})).unwrap();
    assert_eq!(
        answer,
        json!({"key": padded("a"), "name": "codex", "address": "alice/codex@laptop", "takenOver": false,
               "unread": 0})
    );
    let mut bench = Bench::homeless();
    let conn = connect(&mut bench, 0, Tier::Agent);
    let answer = register(&mut bench, conn, "a", json!({"name": "api"})).unwrap();
    assert!(answer.get("address").is_none(), "{answer}");
}

#[test]
fn a_taken_name_gets_a_suffix_and_stays_a_name() {
    let (mut bench, conn) = alone();
    let names: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|key| name(&mut bench, conn, key, json!({"name": "api"})))
        .collect();
    assert_eq!(names, ["api", "api-2", "api-3"]);
    let long = "x".repeat(64);
    assert_eq!(name(&mut bench, conn, "d", json!({"name": long})), long);
    assert_eq!(name(&mut bench, conn, "e", json!({"name": long})), format!("{}-2", "x".repeat(62)));
}

#[test]
fn suffixes_and_places_run_out() {
    let (mut bench, conn) = alone();
    for n in 1..=99 {
        let expected = if n == 1 { "api".to_owned() } else { format!("api-{n}") };
        assert_eq!(name(&mut bench, conn, &format!("k{n}"), json!({"name": "api"})), expected);
    }
    let full = register(&mut bench, conn, "k100", json!({"name": "api"}));
    assert_eq!(full, Err("rate_limited".into()));
    for n in 100..=200 {
        register(&mut bench, conn, &format!("k{n}"), json!({"name": format!("other-{n}")}))
            .unwrap();
    }
    let full = register(&mut bench, conn, "k201", json!({"name": "one-too-many"}));
    assert_eq!(full, Err("rate_limited".into()));
    // A key that has a place keeps it.
    assert!(register(&mut bench, conn, "k7", json!({})).is_ok());
}

#[test]
fn a_key_registers_again_as_itself() {
    let (mut bench, conn) = alone();
    assert_eq!(name(&mut bench, conn, "a", json!({"name": "api", "repo": "r"})), "api");
    let second = connect(&mut bench, 0, Tier::Admin);
    assert_eq!(name(&mut bench, second, "a", json!({"name": "ignored"})), "api");
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions"), 1);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE repo IS NULL"), 1);
    // It is kept only when the last connection is gone.
    bench.input(0, In::IpcClosed { conn: ConnId(conn) });
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE kept_at IS NULL"), 1);
    bench.input(0, In::IpcClosed { conn: ConnId(second) });
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE kept_at IS NOT NULL"), 1);
}

#[test]
fn the_store_holds_no_key() {
    let (mut bench, conn) = alone();
    register(&mut bench, conn, "secret", json!({})).unwrap();
    let sql = format!("SELECT count(*) FROM sessions WHERE key_hash LIKE '%{}%'", padded("secret"));
    assert_eq!(bench.count(0, &sql), 0);
    assert_eq!(bench.count(0, "SELECT length(key_hash) FROM sessions"), 43);
}

#[test]
fn a_kept_name_goes_to_a_new_key_of_the_same_kind_with_what_is_not_read() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let writer = bench.session(1, "writer", json!({}));
    let api = bench.session(0, "api", json!({}));
    bench.advance(5_000);
    let read = bench.send(&writer, "alice/api", "read");
    bench.send(&writer, "alice/api", "unread");
    bench.ask(&api, "item.read", json!({"id": read})).unwrap();
    let sent = bench.send(&api, "bob/writer", "unsettled");
    bench.leave(&api);

    let conn = connect(&mut bench, 0, Tier::Agent);
    let answer =
        register(&mut bench, conn, "other-kind", json!({"name": "api", "agent": "opencode"}));
    assert_eq!(answer.unwrap()["name"], "api-2");
    let answer = register(&mut bench, conn, "successor", json!({"name": "api"})).unwrap();
    assert_eq!(
        (&answer["name"], &answer["takenOver"], &answer["unread"]),
        (&json!("api"), &json!(true), &json!(1))
    );
    let key = json!({"key": padded("successor")});
    let inbox = bench.call(0, conn, "inbox.list", key).unwrap();
    assert_eq!(inbox["items"].as_array().unwrap().len(), 1);
    assert_eq!(inbox["items"][0]["preview"], "unread");
    let item = json!({"key": padded("successor"), "id": sent});
    assert_eq!(bench.call(0, conn, "item.read", item).unwrap()["kind"], "sent");
    // What was read stays with the old key, which gets another name when it comes back.
    let old = connect(&mut bench, 0, Tier::Agent);
    let params = json!({"key": api.key, "agent": "codex", "name": "api"});
    assert_eq!(bench.call(0, old, "session.register", params).unwrap()["name"], "api-3");
    let inbox = bench.call(0, old, "inbox.list", json!({"key": api.key})).unwrap();
    assert_eq!(inbox["items"][0]["preview"], "read");
}

#[test]
fn a_kept_session_lives_a_day() {
    let (mut bench, conn) = alone();
    register(&mut bench, conn, "a", json!({"name": "api"})).unwrap();
    let key = json!({"key": padded("a")});
    bench.call(0, conn, "session.unregister", key.clone()).unwrap();
    assert_eq!(bench.call(0, conn, "inbox.list", key), Err("not_found".into()), "the key is gone");
    bench.advance(DAY_MS - 120_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE closed_at IS NULL"), 1);
    bench.advance(180_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE closed_at IS NULL"), 0);
    assert_eq!(name(&mut bench, conn, "b", json!({"name": "api", "agent": "opencode"})), "api");
}

#[test]
fn a_restart_keeps_every_session_and_its_day_begins_then() {
    let (mut bench, conn) = alone();
    register(&mut bench, conn, "a", json!({"name": "api"})).unwrap();
    register(&mut bench, conn, "t", json!({"name": "term", "agent": "cli"})).unwrap();
    bench.advance(DAY_MS);
    let store = bench.kill(0);
    bench.start(0, store);
    bench.advance(DAY_MS - 120_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE closed_at IS NULL"), 2);
    bench.advance(180_000);
    let left = "SELECT count(*) FROM sessions WHERE closed_at IS NULL AND agent = 'cli'";
    assert_eq!(bench.count(0, left), 1, "a terminal's session has no end of its own");
}

#[test]
fn a_terminals_session_is_neither_kept_nor_taken_over() {
    let (mut bench, conn) = alone();
    assert_eq!(name(&mut bench, conn, "t", json!({"name": "cli", "agent": "cli"})), "cli");
    bench.input(0, In::IpcClosed { conn: ConnId(conn) });
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE kept_at IS NULL"), 1);
    bench.advance(3 * DAY_MS);
    let conn = connect(&mut bench, 0, Tier::Admin);
    assert_eq!(name(&mut bench, conn, "u", json!({"name": "cli", "agent": "cli"})), "cli-2");
    assert_eq!(name(&mut bench, conn, "t", json!({"agent": "cli"})), "cli");
    bench.call(0, conn, "session.unregister", json!({"key": padded("t")})).unwrap();
    assert_eq!(name(&mut bench, conn, "v", json!({"name": "cli", "agent": "cli"})), "cli");
}

#[test]
fn an_update_changes_what_it_names_and_null_clears() {
    let (mut bench, conn) = alone();
    register(
        &mut bench,
        conn,
        "a",
        json!({"name": "api", "repo": "r", "branch": "b", "doing": "d"}),
    )
    .unwrap();
    let update =
        json!({"key": padded("a"), "state": "busy", "tier": "push", "repo": null, "branch": ""});
    bench.call(0, conn, "session.update", update).unwrap();
    let row =
        "SELECT count(*) FROM sessions WHERE state = 'busy' AND tier = 'push' AND repo IS NULL
               AND branch IS NULL AND doing = 'd'";
    assert_eq!(bench.count(0, row), 1);
    let since = bench.count(0, "SELECT since FROM sessions");
    bench.advance(5_000);
    let same = json!({"key": padded("a"), "state": "busy"});
    bench.call(0, conn, "session.update", same).unwrap();
    assert_eq!(bench.count(0, "SELECT since FROM sessions"), since, "it was busy already");
    for bad in
        [json!({"key": padded("a"), "name": "x"}), json!({"key": padded("a"), "state": null})]
    {
        assert_eq!(bench.call(0, conn, "session.update", bad), Err("invalid_request".into()));
    }
}

#[test]
fn a_host_is_of_the_agents_kind_absolute_and_cleared_by_leaving_it_out() {
    let (mut bench, conn) = alone();
    let host = |kind: &str, location: &str, pid: u64| {
        json!({"agent": "opencode", "host": {
            "kind": kind, "location": location, "sessionID": "s", "pid": pid}})
    };
    for (more, fits) in [
        (host("opencode", "/home/a", 99), true),
        (host("opencode", "C:\\a", 99), true),
        (host("codex", "/home/a", 99), false),
        (host("opencode", "home/a", 99), false),
        (host("opencode", "\\\\server\\share", 99), false),
        (host("opencode", "/home/../etc", 99), false),
        (host("opencode", "/home/a", 1), false),
        (
            json!({"host": {"kind": "opencode", "location": "/a", "sessionID": "s", "pid": 9}}),
            false,
        ),
    ] {
        let answer = register(&mut bench, conn, "h", more.clone());
        if fits {
            assert!(answer.is_ok(), "{more} {answer:?}");
            assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE host IS NOT NULL"), 1);
        } else {
            assert_eq!(answer, Err("invalid_request".into()), "{more}");
        }
    }
    register(&mut bench, conn, "h", json!({"agent": "opencode"})).unwrap();
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE host IS NOT NULL"), 0);
}

#[test]
fn a_ticket_outside_a_host_is_refused() {
    let (mut bench, conn) = alone();
    let answer = register(&mut bench, conn, "a", json!({"ticket": "t"}));
    assert_eq!(answer, Err("invalid_request".into()));
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_key_is_its_connections_alone() {
    let (mut bench, conn) = alone();
    let other = connect(&mut bench, 0, Tier::Admin);
    register(&mut bench, conn, "a", json!({})).unwrap();
    for method in ["inbox.list", "session.update", "session.unregister", "events.subscribe"] {
        let key = json!({"key": padded("a")});
        assert_eq!(bench.call(0, other, method, key), Err("not_found".into()), "{method}");
    }
}

#[test]
fn presence_is_sent_again_only_when_something_changed() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let conn = connect(&mut bench, 0, Tier::Agent);
    register(&mut bench, conn, "a", json!({"name": "api"})).unwrap();
    bench.advance(5_000);
    let sent = bench.relay.presence_by(0).len();
    register(&mut bench, conn, "a", json!({})).unwrap();
    bench.call(0, conn, "session.update", json!({"key": padded("a"), "state": "idle"})).unwrap();
    bench.advance(5_000);
    assert_eq!(bench.relay.presence_by(0).len(), sent);
    bench.call(0, conn, "session.update", json!({"key": padded("a"), "state": "busy"})).unwrap();
    bench.advance(5_000);
    assert_eq!(bench.relay.presence_by(0).len(), sent + 1);
}

#[test]
fn a_session_kept_while_the_clock_was_ahead_gets_its_day_when_it_is_right_again() {
    let (mut bench, conn) = alone();
    register(&mut bench, conn, "a", json!({"name": "api"})).unwrap();
    let right = bench.now.wall;
    bench.now.wall = right.plus(1_000 * DAY_MS);
    bench.input(0, In::IpcClosed { conn: ConnId(conn) });
    bench.now.wall = right;
    bench.advance(DAY_MS - 120_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE closed_at IS NULL"), 1);
    bench.advance(300_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE closed_at IS NULL"), 0);
}

#[test]
fn coming_and_going_leaves_no_rows() {
    let (mut bench, conn) = alone();
    for n in 0..300 {
        for (agent, name) in [("codex", "api"), ("cli", "cli")] {
            let key = format!("{agent}{n}");
            register(&mut bench, conn, &key, json!({"name": name, "agent": agent})).unwrap();
            bench.call(0, conn, "session.unregister", json!({"key": padded(&key)})).unwrap();
        }
    }
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions"), 1, "the one that is kept");
}
