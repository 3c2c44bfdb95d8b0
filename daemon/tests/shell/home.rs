//! Homes: what is refused, before what is written, and what is left untouched.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::rig::{Rig, fresh_home, refusal};

/// Every file below a folder, with its mode, size and time of change.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (meta.mode(), meta.size(), meta.ctime(), meta.ctime_nsec()));
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_in_a_home_is_private() {
    let rig = Rig::start();
    for (path, (mode, ..)) in tree(&rig.home()) {
        let allowed = if mode & 0o170_000 == 0o040_000 { 0o700 } else { 0o600 };
        assert_eq!(mode & 0o777, allowed, "{}", path.display());
    }
    assert_eq!(mode(&rig.home()), 0o700);
}

#[test]
fn a_second_daemon_does_not_start_and_writes_nothing() {
    let rig = Rig::start();
    // The first one's own work after its start must be over before the picture is taken.
    assert!(rig.admin().call("daemon.status", &json!({})).is_ok());
    let before = tree(&rig.home().join("run"));
    let error = refusal(&rig.home());
    assert_eq!(error.exit_status(), 69);
    assert!(error.to_string().contains(&format!("pid {}", std::process::id())), "{error}");
    assert_eq!(tree(&rig.home().join("run")), before);
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok(), "the first one serves on");
}

#[test]
fn no_pid_file_decides_who_owns_a_home() {
    for text in ["1\n", "99999999999999999999999\n", "-1\n", "", "not a pid", "\u{0}\u{0}"] {
        let (folder, home) = fresh_home();
        std::fs::create_dir_all(home.join("run")).unwrap();
        std::fs::write(home.join("run/messagingd.lock"), text).unwrap();
        let mut rig = Rig::start_in(folder);
        let now = std::fs::read_to_string(home.join("run/messagingd.lock")).unwrap();
        assert_eq!(now, format!("{}\n", std::process::id()));
        rig.stop();
    }
}

#[test]
fn a_stale_socket_is_removed_and_anything_else_in_its_place_is_not() {
    let (folder, home) = fresh_home();
    std::fs::create_dir_all(home.join("run")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(home.join("run/agent.sock")).unwrap());
    let mut rig = Rig::start_in(folder);
    assert!(rig.agent().call("daemon.health", &json!({})).is_ok());
    rig.stop();

    let (_folder, home) = fresh_home();
    std::fs::create_dir_all(home.join("run")).unwrap();
    std::fs::write(home.join("run/admin.sock"), b"precious").unwrap();
    assert_eq!(refusal(&home).exit_status(), 70);
    assert_eq!(std::fs::read(home.join("run/admin.sock")).unwrap(), b"precious");
}

#[test]
fn a_bad_configuration_ends_the_start_before_there_is_a_store() {
    for (text, key) in [
        ("{\"log\":{\"level\":\"loud\"}}", "log.level"),
        ("{\"relay\":\"ws://relay.example/v1/connect\"}", "relay"),
        ("{\"identity\":{\"store\":\"keychain\"}}", "keychain"),
        ("{\"deployment\":\"jelly\"}", "deployment"),
        ("{", "config.json"),
    ] {
        let (_folder, home) = fresh_home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.json"), text).unwrap();
        let error = refusal(&home);
        assert_eq!(error.exit_status(), 78, "{text}");
        assert!(error.to_string().starts_with("invalid_request: config.json"), "{error}");
        assert!(error.to_string().contains(key), "{error}");
        assert!(!home.join("messaging.db").exists());
        assert_eq!(std::fs::read_to_string(home.join("config.json")).unwrap(), text);
    }
}

#[test]
fn an_unknown_key_of_the_configuration_is_logged_and_kept() {
    let (folder, home) = fresh_home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.json"), "{\"later\":{\"a\":1}}").unwrap();
    let mut rig = Rig::start_in(folder);
    rig.stop();
    let log = std::fs::read_to_string(home.join("logs/messagingd.log")).unwrap();
    assert!(log.contains("\"event\":\"config.unknown_key\",\"key\":\"later\""), "{log}");
    for event in ["daemon.start", "daemon.running", "daemon.stopping", "daemon.stopped"] {
        assert!(log.contains(&format!("\"event\":\"{event}\"")), "{event}: {log}");
    }
}

#[test]
fn keys_that_are_not_private_or_are_a_link_end_the_start() {
    let (folder, home) = fresh_home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("identity.json"), b"{}").unwrap();
    std::fs::set_permissions(home.join("identity.json"), std::fs::Permissions::from_mode(0o644))
        .unwrap();
    assert_eq!(refusal(&home).exit_status(), 77);
    std::fs::rename(home.join("identity.json"), folder.path().join("real")).unwrap();
    symlink(folder.path().join("real"), home.join("identity.json")).unwrap();
    assert_eq!(refusal(&home).exit_status(), 77);
    std::fs::remove_file(home.join("identity.json")).unwrap();
    std::fs::write(home.join("identity.json"), b"{\"v\":\"messaging/1\",\"store\":\"keychain\"}")
        .unwrap();
    std::fs::set_permissions(home.join("identity.json"), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    let error = refusal(&home);
    assert_eq!(error.exit_status(), 78);
    assert!(error.to_string().contains("this build has no keychain store"), "{error}");
}

#[test]
fn a_store_that_is_not_ours_is_refused_and_unchanged() {
    let (_folder, home) = fresh_home();
    std::fs::create_dir_all(&home).unwrap();
    let store = rusqlite::Connection::open(home.join("messaging.db")).unwrap();
    store
        .execute_batch(
            "CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL);
             INSERT INTO kv VALUES ('generation', '2'), ('schema', '1'), ('min_reader', '1'), ('impl', 'other');",
        )
        .unwrap();
    drop(store);
    let before = std::fs::read(home.join("messaging.db")).unwrap();
    let error = refusal(&home);
    assert_eq!(error.exit_status(), 65);
    assert!(error.remedy().contains("move the home aside"));
    assert_eq!(std::fs::read(home.join("messaging.db")).unwrap(), before);

    std::fs::write(home.join("messaging.db"), vec![b'x'; 5_000]).unwrap();
    assert_eq!(refusal(&home).exit_status(), 65);
}

#[test]
fn an_agent_group_reaches_the_agent_socket_and_nothing_else() {
    let (folder, home) = fresh_home();
    std::fs::create_dir_all(&home).unwrap();
    let own = rustix::process::getegid().as_raw();
    let config = json!({"ipc": {"agentGroup": own}}).to_string();
    std::fs::write(home.join("config.json"), config).unwrap();
    let mut rig = Rig::start_in(folder);
    let run = home.join("run");
    let modes = [
        (home.clone(), 0o710),
        (run.clone(), 0o710),
        (run.join("agent.sock"), 0o660),
        (run.join("admin.sock"), 0o600),
        (home.join("messaging.db"), 0o600),
        (home.join("logs"), 0o700),
    ];
    for (path, expected) in modes {
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
    assert_eq!(std::fs::metadata(run.join("agent.sock")).unwrap().gid(), own);
    rig.stop();

    std::fs::write(home.join("config.json"), b"{\"ipc\":{\"agentGroup\":4123456}}").unwrap();
    assert_eq!(refusal(&home).exit_status(), 77);
}
