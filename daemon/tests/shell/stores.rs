//! A store of a later release under this one: what it does not know stays, and what it may not read is left alone.
//! Spec: §8.8 "When stores grow"

use std::path::Path;

use messaging_daemon_engine::LAYOUT;
use messaging_store::{Growth, Layout, Step, Store};
use serde_json::json;

use super::rig::{Rig, fresh_home, refusal};

/// The next release's store: a table, a column and an index more.
const LATER: Layout = Layout {
    schema: LAYOUT.schema + 1,
    growth: &[Growth {
        schema: LAYOUT.schema + 1,
        steps: &[
            Step::Create(
                "CREATE TABLE IF NOT EXISTS moods (id TEXT PRIMARY KEY, mood TEXT NOT NULL) STRICT",
            ),
            Step::Column { table: "sessions", name: "mood", decl: "TEXT DEFAULT 'calm'" },
            Step::Create("CREATE INDEX IF NOT EXISTS sessions_mood ON sessions(mood)"),
        ],
    }],
    ..LAYOUT
};

fn text(store: &Store, sql: &str) -> Option<String> {
    store.view().row(sql, (), |row| row.get(0)).unwrap()
}

fn later(path: &Path) -> Store {
    Store::open(path, &LATER, &[]).unwrap()
}

#[test]
fn a_release_that_was_rolled_back_works_on_a_later_store_and_harms_nothing_in_it() {
    let (folder, home) = fresh_home();
    let mut rig = Rig::start_in(folder);
    let register =
        json!({"key": "the-key-of-the-first-session", "agent": "codex", "name": "first"});
    rig.admin().call("session.register", &register).unwrap();
    rig.stop();

    // The next release brings the store up, and writes what only it knows.
    let store = later(&home.join("messaging.db"));
    let shape = store.shape().unwrap();
    store
        .write(|tx| {
            tx.execute("UPDATE sessions SET mood = 'keen' WHERE name = 'first'", ())?;
            tx.execute("INSERT INTO moods VALUES ('m1', 'keen')", ())
        })
        .unwrap();
    store.checkpoint().unwrap();
    drop(store);

    // This one runs on it, twice, and does its work.
    for name in ["second", "third"] {
        rig.launch();
        let key = format!("the-key-of-the-{name}-session");
        let register = json!({"key": key, "agent": "codex", "name": name});
        let mut admin = rig.admin();
        admin.call("session.register", &register).unwrap();
        admin.call("session.update", &json!({"key": key, "state": "busy"})).unwrap();
        assert!(admin.call("daemon.snapshot", &json!({})).is_ok());
        rig.stop();
    }

    let store = later(&home.join("messaging.db"));
    assert_eq!(store.shape().unwrap(), shape);
    assert_eq!(text(&store, "SELECT value FROM kv WHERE key = 'schema'").as_deref(), Some("2"));
    assert_eq!(text(&store, "SELECT mood FROM moods").as_deref(), Some("keen"));
    assert_eq!(
        text(&store, "SELECT mood FROM sessions WHERE name = 'first'").as_deref(),
        Some("keen")
    );
    assert_eq!(
        text(&store, "SELECT mood FROM sessions WHERE name = 'third'").as_deref(),
        Some("calm")
    );
}

#[test]
fn a_store_that_only_a_later_release_reads_is_refused_and_unchanged() {
    let (folder, home) = fresh_home();
    let mut rig = Rig::start_in(folder);
    rig.stop();
    let path = home.join("messaging.db");
    let store = later(&path);
    store.write(|tx| tx.execute("UPDATE kv SET value = '2' WHERE key = 'min_reader'", ())).unwrap();
    store.checkpoint().unwrap();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let error = refusal(&home);
    assert_eq!(error.exit_status(), 65);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
