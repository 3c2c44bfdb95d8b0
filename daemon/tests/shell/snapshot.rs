//! A copy of the home is taken beside the owner's work.
//! Spec: §8.2 "Backups", D3.24

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use messaging_daemon_engine::LAYOUT;
use messaging_store::Store;
use serde_json::{Value, json};

use super::rig::{Rig, fresh_home};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// A home whose store is tens of megabytes large.
fn heavy() -> Rig {
    let (folder, home) = fresh_home();
    let mut rig = Rig::start_in(folder);
    rig.stop();
    let store = Store::open(&home.join("messaging.db"), &LAYOUT, &[]).unwrap();
    store
        .write(|tx| {
            tx.execute(
                "INSERT INTO kv VALUES ('wake.pending', 'a-ticket-that-is-worth-something')",
                (),
            )?;
            tx.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                 INSERT INTO notices (id, category, text, at, acked_at)
                 SELECT i, 'alert', hex(randomblob(100000)), 9000000000000, NULL FROM n",
                (),
            )
        })
        .unwrap();
    drop(store);
    rig.launch();
    rig
}

#[test]
fn a_copy_is_whole_while_writes_go_on_and_nobody_waits_for_it() {
    let rig = heavy();
    let over = AtomicBool::new(false);
    let (copy, slowest, calls) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut admin = rig.admin();
            let key = "the-key-of-a-busy-session";
            let register = json!({"key": key, "agent": "codex", "name": "busy"});
            admin.call("session.register", &register).unwrap();
            let (mut slowest, mut calls) = (Duration::ZERO, 0);
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                let state = if calls % 2 == 0 { "busy" } else { "idle" };
                admin.call("session.update", &json!({"key": key, "state": state})).unwrap();
                slowest = slowest.max(began.elapsed());
                calls += 1;
            }
            (slowest, calls)
        });
        let began = Instant::now();
        let copy = rig.admin().call("daemon.snapshot", &json!({})).unwrap();
        println!("copied in {} ms", began.elapsed().as_millis());
        over.store(true, Ordering::Relaxed);
        let (slowest, calls) = writer.join().unwrap();
        (copy, slowest, calls)
    });
    println!("{calls} writes meanwhile, the slowest took {} ms", slowest.as_millis());
    assert!(calls > 0 && slowest < Duration::from_secs(5), "{slowest:?}");

    let folder = Path::new(copy["folder"].as_str().unwrap());
    assert_eq!(mode(folder), 0o700);
    for file in ["messaging.db", "manifest.json"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    let db = folder.join("messaging.db");
    assert_eq!(Store::is_sound(&db, &LAYOUT), Ok(true));
    let bytes = std::fs::read(&db).unwrap();
    assert!(bytes.len() > 30_000_000);
    let secret = b"a-ticket-that-is-worth-something";
    assert!(!bytes.windows(secret.len()).any(|at| at == secret), "a ticket is not in it");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["files"], copy["files"]);
    assert_eq!(manifest["files"][0]["bytes"], bytes.len());
    assert_eq!(
        rig.admin().call("daemon.snapshot", &json!({"done": true})),
        Ok(json!({"released": true}))
    );
    assert!(!folder.exists());
}

#[test]
fn a_stop_ends_a_copy_under_way_and_leaves_nothing_of_it() {
    let mut rig = heavy();
    let mut admin = rig.admin();
    admin.ask("daemon.snapshot", &json!({}));
    let began = Instant::now();
    rig.stop();
    assert!(began.elapsed() < Duration::from_secs(9), "the stop does not wait for it");
    for name in ["snapshot", "snapshot.new"] {
        assert!(!rig.home().join("run").join(name).exists(), "{name}");
    }
}

#[test]
fn what_stands_in_the_place_of_a_copy_is_removed_and_not_followed() {
    let (folder, home) = fresh_home();
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("precious"), b"x").unwrap();
    let mut rig = Rig::start_in(folder);
    rig.stop();
    std::os::unix::fs::symlink(&elsewhere, home.join("run/snapshot")).unwrap();
    std::fs::write(home.join("run/snapshot.new"), b"not a folder").unwrap();
    rig.launch();
    assert!(rig.admin().call("daemon.snapshot", &json!({})).is_ok());
    assert!(elsewhere.join("precious").exists());
    assert_eq!(mode(&home.join("run/snapshot")), 0o700);
}
