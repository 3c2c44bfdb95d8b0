//! A copy of the home is held for one at a time, and goes by itself.
//! Spec: §8.2 "Backups", D3.24

use messaging_ipc::results::daemon::SnapshotFile;
use messaging_store::{FaultPlan, How, StoreError};
use serde_json::{Value, json};

use super::bench::{Bench, CONN};
use crate::input::In;
use crate::snapshot::Copied;

const HOUR_MS: u64 = 3_600_000;

fn bench() -> Bench {
    let mut bench = Bench::homeless();
    bench.admin(0);
    bench
}

fn ask(bench: &mut Bench, params: Value) -> String {
    let id = bench.begin(0, CONN, "daemon.snapshot", params);
    bench.settle();
    id
}

/// The shell's word on the copy that is being made.
fn ends(bench: &mut Bench, whole: bool) {
    let token = bench.daemons[0].copying.expect("a copy is being made");
    let files = vec![SnapshotFile { name: "messaging.db".into(), bytes: 7, sha256: "ab".into() }];
    let copied = whole.then(|| Copied { folder: "/home/run/snapshot".into(), files });
    bench.input(0, In::Snapshotted { token, copied });
}

#[test]
fn a_copy_is_told_when_it_is_whole_and_until_when_it_is_held() {
    let mut bench = bench();
    let id = ask(&mut bench, json!({}));
    assert!(bench.answer(0, &id).is_none(), "it is not whole yet");
    let at = bench.now.wall;
    bench.skip(5_000);
    ends(&mut bench, true);
    let held = bench.answer(0, &id).unwrap().unwrap();
    let until = bench.now.wall.plus(HOUR_MS);
    assert_eq!(
        held,
        json!({
            "folder": "/home/run/snapshot", "at": at, "until": until, "storeSchema": 1,
            "files": [{"name": "messaging.db", "bytes": 7, "sha256": "ab"}],
        })
    );
}

#[test]
fn one_is_held_at_a_time_and_let_go_when_asked() {
    let mut bench = bench();
    assert_eq!(
        bench.call(0, CONN, "daemon.snapshot", json!({"done": true})),
        Ok(json!({"released": false}))
    );
    let first = ask(&mut bench, json!({}));
    for params in [json!({}), json!({"done": true})] {
        let early = bench.call(0, CONN, "daemon.snapshot", params);
        assert_eq!(early, Err("invalid_state".to_owned()));
    }
    ends(&mut bench, true);
    assert!(bench.answer(0, &first).unwrap().is_ok());
    let second = bench.call(0, CONN, "daemon.snapshot", json!({}));
    assert_eq!(second, Err("invalid_state".to_owned()));
    let done = bench.call(0, CONN, "daemon.snapshot", json!({"done": true}));
    assert_eq!(done, Ok(json!({"released": true})));
    assert!(bench.daemons[0].copying.is_none());
    ask(&mut bench, json!({}));
    assert!(bench.daemons[0].copying.is_some(), "and the next one begins");
}

#[test]
fn it_goes_after_an_hour_and_with_the_daemon() {
    let mut bench = bench();
    ask(&mut bench, json!({}));
    ends(&mut bench, true);
    bench.advance(HOUR_MS - 1);
    assert!(bench.daemons[0].copying.is_some());
    bench.advance(1);
    assert!(bench.daemons[0].copying.is_none());

    let under_way = ask(&mut bench, json!({}));
    bench.input(0, In::Stop);
    assert!(bench.daemons[0].copying.is_none());
    assert_eq!(bench.answer(0, &under_way), Some(Err("daemon_unavailable".to_owned())));
}

#[test]
fn a_copy_that_failed_is_told_and_the_next_one_may_begin() {
    let mut bench = bench();
    let id = ask(&mut bench, json!({}));
    ends(&mut bench, false);
    assert_eq!(bench.answer(0, &id), Some(Err("internal".to_owned())));
    let id = ask(&mut bench, json!({}));
    ends(&mut bench, true);
    assert!(bench.answer(0, &id).unwrap().is_ok());
}

#[test]
fn a_turn_that_was_lost_leaves_no_copy_in_the_way() {
    let mut bench = bench();
    // The minute's sweep is due and writes in the turn of the call: its commit fails.
    bench.skip(61_000);
    let faults = FaultPlan::nth(0, How::Lost, StoreError::Full);
    bench.set_faults(0, faults);
    let id = ask(&mut bench, json!({}));
    bench.set_faults(0, FaultPlan::none());
    assert_eq!(bench.answer(0, &id), Some(Err("internal".to_owned())));
    bench.advance(120_000);
    ask(&mut bench, json!({}));
    assert!(bench.daemons[0].copying.is_some());
}
