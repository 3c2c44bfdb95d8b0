//! What works, and what is said, where no daemon runs.

use crate::run::{alone, clean, fed, messaging, on, ran};
use messaging_client::testing::private_home;
use serde_json::Value;

#[test]
fn every_command_that_needs_a_daemon_says_so() {
    for line in [
        "status",
        "send bob/api hello",
        "send bob hello",
        "inbox",
        "read 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "contact list",
        "team create --relay ws://127.0.0.1:1/v1/connect --name t --person ada",
        "team invite bob",
        "team revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "team list",
        "team card",
        "team role bob@desk admin",
        "team remove bob@desk --yes",
        "team leave --yes",
        "daemon status",
        "device list",
        "device status",
        "identity show",
        "whoami",
        "api daemon.health",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (ran, _home) = alone(&words);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
        assert_eq!(ran.stdout, "", "{line}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(
            lines,
            ["daemon_unavailable: no daemon is running", "Next: run `messaging daemon start`."],
            "{line}"
        );
    }
    let (ran, _home) = alone(&["status", "--json"]);
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"]["code"], "daemon_unavailable");
    assert_eq!(error["error"]["message"], "daemon_unavailable: no daemon is running");
    assert_eq!(error["error"]["remedy"], "Next: run `messaging daemon start`.");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (3, "", 1));
}

#[test]
fn usage_errors_are_status_2_in_both_forms() {
    for (line, words) in [
        ("frobnicate", "there is no command `frobnicate`"),
        ("inbox --al", "there is no option `--al`"),
        ("send", "<TO> is missing"),
        ("send bob/* hello", "the recipient is no address"),
        ("send bob hello --wait", "--wait is for agents"),
        ("send bob/api -f /nonexistent/file", "file could not be read"),
        ("read nonsense", "<ID> has a value"),
        ("api x [1]", "no JSON object"),
        ("team role bob admin", "<MACHINE> has a value"),
        ("status --home x --run y", "does not go with"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = clean(&messaging());
        let plain = ran(command.args(&args));
        assert_eq!(plain.status, 2, "{line}: {plain:?}");
        assert!(
            plain.stderr.starts_with("invalid_request: ") && plain.stderr.contains(words),
            "{line}: {}",
            plain.stderr
        );
        assert!(plain.stderr.lines().last().unwrap().starts_with("Next: "), "{line}");
        assert_eq!(plain.stdout, "");
        let mut command = clean(&messaging());
        let json = ran(command.args(&args).arg("--json"));
        assert_eq!(json.status, 2);
        let error: Value =
            serde_json::from_str(&json.stderr).unwrap_or_else(|_| panic!("{line}: {json:?}"));
        assert_eq!(error["error"]["code"], "invalid_request", "{line}");
    }
}

#[test]
fn nothing_is_confirmed_by_silence() {
    let home = private_home();
    std::fs::create_dir(home.path().join("cli")).unwrap();
    std::fs::write(home.path().join("cli/cli.key"), "k".repeat(43)).unwrap();
    let ran = on(home.path(), &["mailbox", "remove"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--yes") && home.path().join("cli/cli.key").exists());
    // An answer on a pipe is not an answer of a person.
    let ran = fed(home.path(), b"y\n", &["mailbox", "remove"]);
    assert_eq!(ran.status, 2);
}

#[test]
fn stopping_what_does_not_run_is_done() {
    let (ran, _home) = alone(&["daemon", "stop"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "not running\n"));
    let (ran, _home) = alone(&["daemon", "stop", "--json"]);
    assert_eq!(ran.stdout, "{\"stopped\":false}\n");
}

#[test]
fn a_lock_that_names_a_stranger_harms_nobody() {
    // The pid of this very test, a huge one, a negative one, nothing, and nonsense.
    let own = format!("{}\n", std::process::id());
    for lock in [own.as_str(), "99999999999999999999\n", "-1\n", "", "1 2 3\n", "abc\n"] {
        let home = private_home();
        std::fs::write(home.path().join("run/messagingd.lock"), lock).unwrap();
        let ran = on(home.path(), &["daemon", "stop"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "not running\n"), "{lock:?}");
    }
}

#[test]
fn a_home_that_is_open_to_others_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = private_home();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = on(home.path(), &["status"]);
    assert_eq!(ran.status, 5);
    assert!(ran.stderr.starts_with("forbidden: "), "{ran:?}");
    let ran = on(home.path(), &["doctor", "--json"]);
    assert_eq!(ran.status, 9);
    assert_eq!(ran.json()["checks"][0]["state"], "fail");
}

#[test]
fn a_path_too_long_for_a_socket_says_so_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("x".repeat(110));
    for line in ["status", "daemon start"] {
        let args: Vec<&str> = line.split(' ').collect();
        let ran = on(&long, &args);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains("too long") && ran.stderr.contains("Next: "), "{ran:?}");
        assert!(!long.exists());
    }
}

#[test]
fn the_doctor_reads_a_home_without_a_daemon() {
    let (ran, home) = alone(&["doctor"]);
    assert_eq!(ran.status, 9);
    insta::assert_snapshot!(
        "the_doctor_reads_a_home_without_a_daemon",
        ran.transcript(home.path())
    );
}

#[test]
fn settings_are_checked_offline() {
    let home = private_home();
    let path = home.path().join("config.json");
    let ran = on(home.path(), &["config", "check"]);
    assert_eq!((ran.status, ran.stdout.starts_with("ok")), (0, true));
    std::fs::write(&path, r#"{"log":{"level":"loud"}}"#).unwrap();
    let ran = on(home.path(), &["config", "check"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("log.level"), "{ran:?}");
    let ran = on(home.path(), &["config", "path"]);
    assert_eq!(ran.stdout.trim(), path.display().to_string());
}

#[test]
fn manual_pages_and_completions_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("man");
    let mut command = clean(&messaging());
    let made = ran(command.args(["man", "--dir"]).arg(&into));
    assert_eq!(made.status, 0, "{made:?}");
    for page in ["messaging.1", "messaging-team-invite.1", "messagingd.8", "messaging-mcp.1"] {
        let text = std::fs::read_to_string(into.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let made = ran(clean(&messaging()).args(["completions", shell]));
        assert_eq!(made.status, 0);
        assert!(made.stdout.contains("MESSAGING_COMPLETE"), "{shell}");
    }
}

#[test]
fn the_shell_is_told_commands_even_without_a_daemon() {
    let home = private_home();
    let mut command = clean(&messaging());
    command.env("MESSAGING_COMPLETE", "fish").env("MESSAGING_HOME", home.path());
    let told = ran(command.args(["--", "messaging", "team", "in"]));
    assert_eq!(
        (told.status, told.stdout.lines().next().unwrap_or_default().split('\t').next()),
        (0, Some("invite"))
    );
    let mut command = clean(&messaging());
    command.env("MESSAGING_COMPLETE", "fish").env("MESSAGING_HOME", home.path());
    let told = ran(command.args(["--", "messaging", "team", "remove", ""]));
    assert_eq!(told.status, 0, "{told:?}");
}
