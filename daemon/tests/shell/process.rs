//! The program: its words, its signals, its exit statuses. Each test runs this very test binary again as `messagingd`.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};

use serde_json::{Value, json};

use super::rig::{Client, PATIENCE, fresh_home};

/// Set in the child: the words of its command line, separated by line feeds.
const WORDS: &str = "MESSAGING_TEST_WORDS";

/// Not a test of its own: the child's `main`.
#[test]
fn child() {
    let Some(words) = std::env::var_os(WORDS) else { return };
    let words = words.into_string().unwrap();
    let words =
        std::iter::once("messagingd").chain(words.split('\n').filter(|word| !word.is_empty()));
    let code = messaging_daemon::run_as_program(words.map(OsString::from));
    // The harness would turn the status into its own.
    let status = (0..=255u8).find(|status| code == ExitCode::from(*status)).unwrap();
    std::process::exit(i32::from(status));
}

pub(crate) fn messagingd(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "shell::process::child", "--nocapture", "--test-threads", "1"])
        .env(WORDS, words.join("\n"))
        .env_remove("MESSAGING_HOME")
        .env_remove("MESSAGING_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// A daemon that answers.
fn serving(home: &Path) -> (Child, Client) {
    answering(messagingd(&["--home", home.to_str().unwrap()]), home)
}

/// Runs a daemon until it answers in `home`.
fn answering(mut command: Command, home: &Path) -> (Child, Client) {
    let mut child = command.spawn().unwrap();
    let socket = home.join("run/admin.sock");
    let begun = std::time::Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(client) = Client::connect(&socket) {
            return (child, client);
        }
        std::thread::yield_now();
    }
    let _ = child.kill();
    panic!("the daemon never answered: {:?}", child.wait());
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_version_needs_no_home() {
    let version = env!("CARGO_PKG_VERSION");
    let (code, stdout, _) = run(messagingd(&["--version"]).env_remove("HOME"));
    assert_eq!(code, Some(0));
    let line = format!("messagingd {version} (store schema 1, protocol messaging/1)\n");
    assert!(stdout.ends_with(&line), "{stdout}");
    let (code, stdout, _) = run(messagingd(&["--version", "--json"]).env_remove("HOME"));
    assert_eq!(code, Some(0));
    // The harness puts its own words before.
    let value: Value = serde_json::from_str(&stdout[stdout.find('{').unwrap()..]).unwrap();
    assert_eq!(value, json!({"version": version, "storeSchema": 1, "protocol": "messaging/1"}));
}

#[test]
fn help_is_0_and_a_bad_flag_64() {
    let (code, stdout, _) = run(&mut messagingd(&["--help"]));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("--home"), "{stdout}");
    for words in [&["--deployment", "jelly"][..], &["--run", "/tmp/x"], &["--nonsense"], &["word"]]
    {
        assert_eq!(run(&mut messagingd(words)).0, Some(64), "{words:?}");
    }
    let (_folder, home) = fresh_home();
    let mut command = messagingd(&["--home", home.to_str().unwrap()]);
    let (code, _, stderr) = run(command.env("MESSAGING_LOG", "loud"));
    assert_eq!(code, Some(64));
    assert!(stderr.starts_with("invalid_request: MESSAGING_LOG"), "{stderr}");
    assert!(!home.exists());
}

#[test]
fn a_home_too_long_for_a_socket_is_refused_in_words_for_a_person() {
    let (folder, _) = fresh_home();
    let stem = folder.path().as_os_str().len() + 1;
    for total in [93, 107, 140] {
        let home = folder.path().join("h".repeat(total - stem));
        let (code, _, stderr) = run(&mut messagingd(&["--home", home.to_str().unwrap()]));
        assert_eq!(code, Some(64));
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{stderr}");
        assert!(lines[0].starts_with("invalid_request: ") && lines[0].contains("92"), "{stderr}");
        assert!(lines[1].starts_with("Next: "), "{stderr}");
        assert!(!home.exists());
    }
}

#[test]
fn the_home_is_the_flags_the_variables_or_the_users() {
    let (folder, home) = fresh_home();
    let other = folder.path().join("other");
    let user = folder.path().join("user");
    std::fs::create_dir(&user).unwrap();
    let flag = ["--home", home.to_str().unwrap()];
    let cases: [(&[&str], Option<&Path>, &Path); 3] = [
        (&flag, Some(&other), &home),
        (&[], Some(&other), &other),
        (&[], None, &user.join(".messaging")),
    ];
    for (words, variable, expected) in cases {
        let mut command = messagingd(words);
        command.env("HOME", &user).env("MESSAGING_LOG", "debug");
        if let Some(variable) = variable {
            command.env("MESSAGING_HOME", variable);
        }
        let (mut child, mut client) = answering(command, expected);
        assert!(client.call("daemon.health", &json!({})).is_ok());
        signal(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let log = std::fs::read_to_string(expected.join("logs/messagingd.log")).unwrap();
        assert!(log.contains("\"event\":\"ipc.open\""), "the variable makes it talkative: {log}");
    }
}

#[test]
fn signals_stop_it_cleanly_and_a_hangup_does_not() {
    for name in ["TERM", "INT"] {
        let (_folder, home) = fresh_home();
        let (mut child, mut client) = serving(&home);
        signal(&child, "HUP");
        assert!(client.call("daemon.health", &json!({})).is_ok());
        signal(&child, name);
        assert_eq!(client.read(), None);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(!home.join("run/messagingd.lock").exists());
        assert!(!home.join("run/admin.sock").exists());
    }
}

#[test]
fn a_second_daemon_exits_69_and_a_killed_one_leaves_the_home_free() {
    let (_folder, home) = fresh_home();
    let (mut child, mut client) = serving(&home);
    let (code, _, stderr) = run(&mut messagingd(&["--home", home.to_str().unwrap()]));
    assert_eq!(code, Some(69));
    assert!(stderr.contains(&format!("(pid {})", child.id())), "{stderr}");
    assert!(client.call("daemon.health", &json!({})).is_ok());

    let registered = client.call(
        "session.register",
        &json!({"key": "a-session-key-of-this-test", "agent": "codex", "name": "api"}),
    );
    assert_eq!(registered.unwrap()["name"], "api");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));

    // What was answered is on disk: the session is there, kept, and its key takes it up again.
    let (mut child, mut client) = serving(&home);
    let again = client
        .call("session.register", &json!({"key": "a-session-key-of-this-test", "agent": "codex"}));
    assert_eq!(again.unwrap()["name"], "api");
    signal(&child, "TERM");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "", "stderr is for failures");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_refused_start_says_its_code_and_the_next_step() {
    let (_folder, home) = fresh_home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.json"), "{\"label\":\"Not A Label\"}").unwrap();
    let (code, _, stderr) = run(&mut messagingd(&["--home", home.to_str().unwrap()]));
    assert_eq!(code, Some(78));
    assert_eq!(
        stderr,
        "invalid_request: config.json: label\nNext: correct that key in config.json, then start again\n"
    );
}
