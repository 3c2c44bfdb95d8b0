//! What a start puts in order, what it refuses, and what a stop waits for.
//! Spec: §8.1, §8.9, D3.2, D3.3

use messaging_core::testing::SeededRandom;
use messaging_core::time::Now;
use messaging_ipc::shapes::{DaemonAlarm, DaemonState};
use messaging_store::{FaultPlan, How, Loop, Store, StoreError};
use serde_json::json;

use super::bench::{Bench, START, home, team, write};
use crate::config::Config;
use crate::engine::{Boot, DaemonEngine, StartError};
use crate::events::{ConfigKey, LogEvent};
use crate::home::Standing;
use crate::identity::IdentityFile;
use crate::input::{In, Out};
use crate::status;
use crate::store::{LAYOUT, kv};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

fn start(
    store: Store,
    identity: Option<IdentityFile>,
    config: Config,
) -> Result<(Loop<DaemonEngine>, Vec<Out>), StartError> {
    let boot = Boot {
        config,
        unknown_keys: vec![ConfigKey("colour".to_owned())],
        identity,
        pairing: None,
        pid: 7,
        version: "0.0.0",
    };
    let (running, first) = DaemonEngine::start(store, boot, START, SeededRandom::new(1))?;
    Ok((running, first.into_iter().collect()))
}

fn standing(engine: &DaemonEngine) -> Standing {
    engine.home.standing(engine.realm.roster())
}

#[test]
fn a_new_home_is_in_no_team_and_dials_nobody() {
    let store = Store::memory(&LAYOUT, &[]).unwrap();
    let (running, first) = start(store, None, Config::default()).unwrap();
    let engine = running.machine();
    assert_eq!(standing(engine), Standing::NoTeam);
    assert!(!first.iter().any(|wish| matches!(wish, Out::Dial { .. })));
    let status = status::daemon(engine);
    assert!(status.identity.is_none() && status.team.is_none() && status.alarm.is_none());
    assert_eq!(engine.ready().err().unwrap().code.as_str(), "no_identity");
    let told = |key: &str| {
        first.iter().any(|wish| matches!(wish, Out::Log(LogEvent::ConfigUnknownKey { key: told }) if told.0 == key))
    };
    assert!(told("colour"));
}

#[test]
fn keys_of_another_machine_than_the_stores_are_refused() {
    let (roster, keys) = team(&TWO);
    let error = start(home(&roster, &keys[0]), Some(keys[1].clone()), Config::default());
    assert_eq!(error.err().unwrap(), StartError::OtherMachine);
}

#[test]
fn a_home_without_its_keys_keeps_its_store_and_raises_the_alarm() {
    let (roster, keys) = team(&TWO);
    let (running, first) = start(home(&roster, &keys[0]), None, Config::default()).unwrap();
    let engine = running.machine();
    assert_eq!(standing(engine), Standing::KeysMissing);
    assert_eq!(status::alarm(engine), Some(DaemonAlarm::KeysMissing));
    assert_eq!(engine.ready().err().unwrap().code.as_str(), "no_identity");
    assert!(
        !first.iter().any(|wish| matches!(wish, Out::Dial { .. })),
        "nothing is opened or sent"
    );
    let rows = running.view().row("SELECT count(*) FROM roster", (), |row| row.get::<_, i64>(0));
    assert_eq!(rows.unwrap(), Some(2));
}

#[test]
fn a_roster_that_names_no_machine_is_an_unfinished_join_and_goes() {
    let (roster, keys) = team(&TWO);
    let store = write(home(&roster, &keys[0]), |tx| kv::delete(tx, kv::IDENTITY_MACHINE));
    let (running, _) = start(store, Some(keys[0].clone()), Config::default()).unwrap();
    assert_eq!(standing(running.machine()), Standing::NoTeam);
    let rows = running.view().row("SELECT count(*) FROM roster", (), |row| row.get::<_, i64>(0));
    assert_eq!(rows.unwrap(), Some(0));
}

#[test]
fn a_roster_that_does_not_verify_is_a_damaged_store() {
    let (roster, keys) = team(&TWO);
    let store = write(home(&roster, &keys[0]), |tx| {
        tx.execute(
            "UPDATE roster SET entry = replace(entry, '\"ts\":1', '\"ts\":2') WHERE seq = 1",
            (),
        )?;
        Ok(())
    });
    let error = start(store, Some(keys[0].clone()), Config::default()).err().unwrap();
    assert_eq!(error, StartError::Store(StoreError::Corrupt));
}

#[test]
fn what_joining_did_not_write_to_the_configuration_is_written_now() {
    let (roster, keys) = team(&TWO);
    let (running, first) =
        start(home(&roster, &keys[1]), Some(keys[1].clone()), Config::default()).unwrap();
    let saved = first.iter().find_map(|wish| match wish {
        Out::SaveConfig { relay, person, label, .. } => {
            Some((relay.to_string(), person.to_string(), label.to_string()))
        }
        _ => None,
    });
    let (relay, person, label) = saved.expect("a write");
    assert_eq!((person.as_str(), label.as_str()), ("bob", "desk"));
    assert_eq!(relay, super::bench::URL);
    assert!(first.iter().any(|wish| matches!(wish, Out::Dial { .. })), "and the link begins");
    drop(running);
}

#[test]
fn live_sessions_of_the_last_process_are_kept() {
    let mut bench = Bench::connected(&TWO);
    bench.session(0, "api", json!({"state": "busy"}));
    bench.session(0, "term", json!({"agent": "cli"}));
    let store = bench.kill(0);
    bench.start(0, store);
    bench.settle();
    assert_eq!(bench.count(0, "SELECT count(*) FROM sessions WHERE kept_at IS NOT NULL"), 1);
    let cli = "SELECT count(*) FROM sessions WHERE agent = 'cli' AND kept_at IS NULL AND closed_at IS NULL";
    assert_eq!(bench.count(0, cli), 1, "a terminal is never kept");
}

#[test]
fn a_stop_waits_two_seconds_for_the_relay_and_says_its_last_word() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.relay.silent = true;
    bench.send(&alice, "bob/web", "x");
    bench.input(0, In::Stop);
    assert!(bench.engine(0).is_stopping());
    assert!(bench.daemons[0].link.is_some());
    bench.advance(1_999);
    assert!(bench.daemons[0].link.is_some());
    bench.advance(1);
    assert!(bench.daemons[0].link.is_none());
    let stopped =
        bench.daemons[0].log.iter().any(|event| matches!(event, LogEvent::DaemonStopped { .. }));
    assert!(stopped);
}

#[test]
fn a_stop_with_nothing_owed_is_immediate() {
    let mut bench = Bench::connected(&TWO);
    bench.advance(3_000);
    bench.input(0, In::Stop);
    assert!(bench.daemons[0].link.is_none());
}

#[test]
fn health_says_whether_anything_waits() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let busy = |bench: &Bench, at| status::health(bench.engine(at)).busy;
    assert!(!busy(&bench, 0) && !busy(&bench, 1));
    bench.relay.silent = true;
    bench.send(&alice, "bob/web", "x");
    assert!(busy(&bench, 0), "the outbox drains");
    bench.relay.silent = false;
    bench.cut(0);
    assert!(!busy(&bench, 0), "without a link it only waits");
    bench.advance(3_000);
    assert!(!busy(&bench, 0));
    assert!(busy(&bench, 1), "an item waits for its client");
    let items = bench.ask(&bob, "inbox.list", json!({})).unwrap();
    let id = items["items"][0]["id"].clone();
    bench.ask(&bob, "inbox.ack", json!({"ids": [id], "stage": "handed_to_agent"})).unwrap();
    assert!(!busy(&bench, 1));
}

#[test]
fn the_retention_sweep_keeps_what_is_unread_and_deletes_what_is_done() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let read = bench.send(&alice, "bob/web", "read");
    bench.send(&alice, "bob/web", "unread");
    bench.ask(&bob, "item.read", json!({"id": read})).unwrap();
    let day = 86_400_000;
    bench.skip(13 * day);
    bench.advance(21_600_000);
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 2);
    assert_eq!(bench.count(1, "SELECT count(*) FROM seen"), 0, "past exp and skew");
    bench.skip(2 * day);
    bench.advance(21_600_000);
    assert_eq!(bench.texts(&bob), ["unread"]);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent"), 2);
    bench.skip(32 * day);
    bench.advance(21_600_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent"), 0);
    assert_eq!(bench.texts(&bob), ["unread"]);
}

#[test]
fn a_start_whose_writes_fail_is_made_good_later() {
    let mut bench = Bench::connected(&TWO);
    bench.session(0, "api", json!({}));
    bench.advance(3_000);
    let store = bench.kill(0);
    let (keys, config) = (bench.daemons[0].keys.clone(), Config::default());
    let boot = Boot {
        config: Config { relay: Some(super::bench::URL.parse().unwrap()), ..config },
        unknown_keys: Vec::new(),
        identity: Some(keys),
        pairing: None,
        pid: 7,
        version: "0.0.0",
    };
    // The disk is full at the start.
    let engine = DaemonEngine::load(store.view(), boot, bench.now).unwrap();
    let mut running = Loop::new(store, engine, SeededRandom::new(1));
    running.set_faults(FaultPlan::nth(0, How::Lost, StoreError::Full));
    drop(running.turn(bench.now, [In::Start]));
    assert_eq!(status::health(running.machine()).state, DaemonState::Starting);
    let later = Now { wall: bench.now.wall.plus(2_000), mono: bench.now.mono.plus(2_000) };
    drop(running.turn(later, [In::Tick]));
    assert_eq!(status::health(running.machine()).state, DaemonState::Running);
    let kept = "SELECT count(*) FROM sessions WHERE kept_at IS NOT NULL";
    assert_eq!(running.view().row(kept, (), |row| row.get::<_, i64>(0)).unwrap(), Some(1));
}

#[test]
fn marks_are_forgotten_within_a_minute_of_their_end() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.send(&alice, "bob/web", "x");
    let marks = "SELECT count(*) FROM seen";
    assert_eq!(bench.count(1, marks), 1);
    bench.skip(messaging_core::limits::TTL_MS + messaging_core::limits::CLOCK_SKEW_MS - 60_000);
    bench.advance(1_000);
    assert_eq!(bench.count(1, marks), 1);
    bench.advance(120_000);
    assert_eq!(bench.count(1, marks), 0);
}
