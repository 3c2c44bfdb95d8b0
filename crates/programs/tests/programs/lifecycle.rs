//! The real daemon, started and stopped by the command line.

use std::os::unix::fs::symlink;
use std::path::Path;

use messaging_client::testing::private_home;

use crate::run::{clean, messaging, on, ran};

/// Stops the home's daemon when the test ends, however it ends.
struct Running<'a>(&'a Path);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = clean(&messaging()).arg("--home").arg(self.0).args(["daemon", "stop"]).output();
    }
}

#[test]
fn a_daemon_is_started_once_and_stopped_wholly() {
    let home = private_home();
    let home = home.path();
    let _running = Running(home);
    let started = on(home, &["daemon", "start", "--json"]);
    assert_eq!(started.status, 0, "{started:?}");
    assert_eq!(started.json()["started"], true);
    let pid = started.json()["pid"].as_u64().unwrap();
    let again = on(home, &["daemon", "start", "--json"]);
    assert_eq!(
        (again.json()["started"].as_bool(), again.json()["pid"].as_u64()),
        (Some(false), Some(pid))
    );
    let status = on(home, &["status", "--json"]);
    assert_eq!(status.json()["status"]["pid"].as_u64(), Some(pid));
    let doctor = on(home, &["doctor", "--json"]);
    assert_eq!((doctor.status, doctor.json()["ok"].as_bool()), (0, Some(true)), "{doctor:?}");
    let logs = on(home, &["daemon", "logs", "--json"]);
    assert!(logs.stdout.lines().count() > 0 && logs.stdout.contains("daemon.start"), "{logs:?}");
    let restarted = on(home, &["daemon", "restart", "--json"]);
    assert_eq!(restarted.json()["started"], true, "{restarted:?}");
    let pid = restarted.json()["pid"].as_u64().unwrap();
    let stopped = on(home, &["daemon", "stop", "--json"]);
    assert_eq!((stopped.status, stopped.json()["pid"].as_u64()), (0, Some(pid)));
    assert!(!home.join("run/messagingd.lock").exists() && !home.join("run/admin.sock").exists());
    assert_eq!(on(home, &["daemon", "stop"]).stdout, "not running\n");
    assert_eq!(on(home, &["doctor"]).status, 9);
}

#[test]
fn a_home_that_cannot_be_used_is_refused_in_the_daemons_own_words() {
    let home = private_home();
    std::fs::write(home.path().join("config.json"), r#"{"log":{"level":"loud"}}"#).unwrap();
    let ran = on(home.path(), &["daemon", "start"]);
    assert_ne!(ran.status, 0);
    assert!(
        ran.stderr.starts_with("invalid_request: ") && ran.stderr.contains("log.level"),
        "{ran:?}"
    );
    assert!(ran.stderr.lines().last().unwrap().starts_with("Next: "));
}

#[test]
fn one_executable_is_every_program() {
    let folder = tempfile::tempdir().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for (name, start) in [
        ("messaging", format!("messaging {version}")),
        ("Messaging.EXE", format!("messaging {version}")),
        ("messagingd", format!("messagingd {version} (store schema")),
        ("messaging-relay", format!("messaging-relay {version} (store schema")),
        ("messaging-mcp", format!("messaging-mcp {version}")),
    ] {
        let link = folder.path().join(name);
        symlink(env!("CARGO_BIN_EXE_messagingd"), &link).unwrap();
        let ran = ran(clean(&link).arg("--version"));
        assert_eq!(ran.status, 0, "{name}: {ran:?}");
        assert!(ran.stdout.starts_with(&start), "{name}: {}", ran.stdout);
    }
    let home = private_home();
    let mut command = clean(Path::new(env!("CARGO_BIN_EXE_messagingd")));
    let status = ran(command.args(["cli", "status", "--home"]).arg(home.path()));
    assert_eq!(status.status, 3, "{status:?}");
    assert!(status.stderr.starts_with("daemon_unavailable: "));
    let ran = ran(clean(&folder.path().join("messaging-mcp")).arg("--serve-nothing"));
    assert_eq!(ran.status, 64);
    let ran = crate::run::ran(&mut clean(&folder.path().join("messaging-mcp")));
    // Its host closed the input before a word.
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
}
