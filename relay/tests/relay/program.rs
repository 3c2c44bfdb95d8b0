//! The program itself: flags, exit statuses, signals.
//! Spec: W5.1, W5.2

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_messaging-relay"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MESSAGING_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A relay on a free port, and its `relay.listening`.
fn start(db: &Path) -> (Child, BufReader<std::process::ChildStderr>, Value) {
    let mut child = program().args(["--listen", "127.0.0.1:0", "--db"]).arg(db).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    (child, log, serde_json::from_str(&line).unwrap())
}

#[test]
fn a_signal_ends_it_with_0_and_its_last_line_says_so() {
    for signal in ["TERM", "INT"] {
        let folder = TempDir::new().unwrap();
        let (mut child, log, listening) = start(&folder.path().join("relay.db"));
        assert_eq!(listening["event"], "relay.listening");
        assert_eq!(listening["level"], "info");
        assert!(listening["relay"].as_str().unwrap().starts_with("ws://127.0.0.1:"), "{listening}");
        assert!(
            Command::new("kill")
                .args(["-s", signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let last = log.lines().last().unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&last).unwrap()["event"], "relay.stopped");
    }
}

#[test]
fn a_taken_address_and_a_foreign_store_are_refused_with_1() {
    let folder = TempDir::new().unwrap();
    let (mut child, _log, listening) = start(&folder.path().join("relay.db"));
    let address = listening["address"].as_str().unwrap();
    let output = program()
        .args(["--listen", address, "--db"])
        .arg(folder.path().join("b.db"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&line["event"], &line["at"]), (&"relay.fatal".into(), &"listen".into()), "{line}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let foreign = folder.path().join("foreign.db");
    std::fs::write(&foreign, "not a database, and nobody else's business to change").unwrap();
    let output =
        program().args(["--listen", "127.0.0.1:0", "--db"]).arg(&foreign).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(
        (&line["event"], &line["reason"]),
        (&"relay.store_refused".into(), &"not_a_database".into()),
        "{line}"
    );
    assert_eq!(
        std::fs::read_to_string(&foreign).unwrap(),
        "not a database, and nobody else's business to change"
    );
}

#[cfg(unix)]
#[test]
fn past_its_file_size_limit_a_write_fails_and_nothing_is_killed() {
    let folder = TempDir::new().unwrap();
    let relay = env!("CARGO_BIN_EXE_messaging-relay");
    let output = Command::new("sh")
        .args(["-c", r#"ulimit -f 0 && exec "$0" --listen 127.0.0.1:0 --db "$1""#, relay])
        .arg(folder.path().join("relay.db"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let line: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(line["event"], "relay.fatal", "{line}");
}

#[test]
fn bad_flags_end_with_2_and_the_environment_stands_behind_the_flags() {
    let output = program().args(["--max-teams", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = program().env("MESSAGING_RELAY_MAX_TEAMS", "0").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = program()
        .args(["--max-teams", "1", "--version"])
        .env("MESSAGING_RELAY_MAX_TEAMS", "0")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let version = String::from_utf8(output.stdout).unwrap();
    assert!(version.ends_with("(store schema 1, protocol messaging/1)\n"), "{version}");
    let output = program().args(["--directory", "on"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a flag of another release is not ignored");
}
