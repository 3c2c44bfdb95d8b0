//! A damaged store: a start that says so, a daemon that says so, and a repair that keeps what can be read.
//! Spec: §8.8; the repair is ours

use std::path::{Path, PathBuf};

use messaging_daemon_engine::LAYOUT;
use messaging_store::Store;
use serde_json::{Value, json};

use super::process::messagingd;
use super::rig::{Rig, fresh_home, refusal};

const PAGE: usize = 4_096;

/// A home with a hundred notices and fifty sessions, its daemon stopped.
fn filled() -> (Rig, PathBuf) {
    let (folder, home) = fresh_home();
    let mut rig = Rig::start_in(folder);
    rig.stop();
    let store = Store::open(&home.join("messaging.db"), &LAYOUT, &[]).unwrap();
    store
        .write(|tx| {
            tx.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
                 INSERT INTO notices (id, category, text, at) SELECT i, 'alert', printf('%01500d', i), 9000000000000 FROM n",
                (),
            )
        })
        .unwrap();
    store.checkpoint().unwrap();
    drop(store);
    (rig, home)
}

/// Overwrites the page of the store that holds a text.
fn damage(home: &Path, text: &str) {
    let path = home.join("messaging.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(text.len()).position(|at| at == text.as_bytes()).unwrap();
    bytes[at / PAGE * PAGE..][..PAGE].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
}

fn repair(home: &Path) -> (Option<i32>, String, String) {
    let output = messagingd(&["--repair", "--home", home.to_str().unwrap()]).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn repaired(home: &Path) -> Value {
    let (status, stdout, stderr) = repair(home);
    assert_eq!(status, Some(0), "{stderr}");
    // The harness of this test binary speaks before it.
    let word = stdout.find('{').and_then(|at| stdout[at..].lines().next()).unwrap();
    serde_json::from_str(word).unwrap()
}

#[test]
fn a_daemon_on_a_damaged_store_says_so_stops_when_asked_and_is_mended() {
    let (mut rig, home) = filled();
    damage(&home, &format!("{:01500}", 50));
    let damaged = std::fs::read(home.join("messaging.db")).unwrap();
    // What a start reads is whole: it serves, and finds the damage when it comes there.
    rig.launch();
    let mut admin = rig.admin();
    assert_eq!(admin.call("notice.list", &json!({"limit": 100})), Err("internal".to_owned()));
    for _ in 0..2 {
        let status = admin.call("daemon.status", &json!({})).unwrap();
        assert_eq!(status["damaged"], true);
        assert!(admin.call("daemon.health", &json!({})).is_ok());
    }
    assert_eq!(repair(&home).0, Some(69), "not under a daemon");
    assert!(admin.call("daemon.stop", &json!({})).is_ok());
    rig.wait();

    let told = repaired(&home);
    assert_eq!(told["repaired"], true);
    assert_eq!(told["lost"], json!(["notices"]));
    let aside = home.join(told["aside"].as_str().unwrap());
    assert_eq!(std::fs::read(&aside).unwrap().len(), damaged.len(), "the old one is kept");
    assert_eq!(Store::is_sound(&home.join("messaging.db"), &LAYOUT), Ok(true));
    rig.launch();
    let kept = rig.admin().call("notice.list", &json!({"limit": 100})).unwrap();
    let kept = kept["notices"].as_array().unwrap().len();
    assert!((90..100).contains(&kept), "{kept}");
    assert_eq!(rig.admin().call("daemon.status", &json!({})).unwrap().get("damaged"), None);
    rig.stop();
    assert_eq!(repaired(&home), json!({"repaired": false}), "once is enough");
}

#[test]
fn a_start_that_meets_damage_names_the_repair() {
    let (_rig, home) = filled();
    let path = home.join("messaging.db");
    let store = Store::open(&path, &LAYOUT, &[]).unwrap();
    // The store names a machine, and the entry of its team that would have to verify does not even read.
    store
        .write(|tx| {
            let machine = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg";
            tx.execute("INSERT INTO kv VALUES ('identity.machine', ?1)", [machine])?;
            tx.execute("INSERT INTO roster VALUES (0, 'h', 'no entry')", ())
        })
        .unwrap();
    drop(store);
    let error = refusal(&home);
    assert_eq!(error.exit_status(), 70);
    assert_eq!(error.to_string(), "internal: messaging.db is damaged");
    assert_eq!(error.remedy(), "run: messaging daemon repair");
    let told = repaired(&home);
    assert_eq!((&told["repaired"], &told["rosterEntries"]), (&json!(true), &json!(0)));
}

#[test]
fn a_repair_that_died_half_way_goes_on_from_there_and_no_daemon_starts_between() {
    let (mut rig, home) = filled();
    let path = home.join("messaging.db");
    // All is saved, and the old store is aside already: there is none to open.
    std::fs::rename(&path, home.join("messaging.db.repaired")).unwrap();
    let error = refusal(&home);
    assert_eq!(error.remedy(), "run: messaging daemon repair");
    assert!(!path.exists(), "no empty store was made in its place");
    assert_eq!(repaired(&home)["resumed"], true);
    rig.launch();
    let kept = rig.admin().call("notice.list", &json!({"limit": 100})).unwrap();
    assert_eq!(kept["notices"].as_array().map(Vec::len), Some(100));
}

#[test]
fn what_cannot_be_read_at_all_is_left_as_it_is() {
    let (_rig, home) = filled();
    let path = home.join("messaging.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[PAGE..].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let (status, _, stderr) = repair(&home);
    assert_eq!(status, Some(70));
    assert!(stderr.contains("nothing of messaging.db can be read"), "{stderr}");
    assert!(stderr.contains("Next: restore messaging.db from a snapshot"), "{stderr}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}
