//! What a person at a terminal sees and is asked, on a real pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::asking::{MACHINE, ULID};
use crate::run::{clean, messaging};

/// The longest that a command at a terminal may take.
const PATIENCE: Duration = Duration::from_secs(60);
const TICKET: &str = "messaging1.eyJzZWNyZXQiOiJ4In0";

/// A command at a terminal of 80 columns: when the screen shows a question, its answer is typed.
pub(crate) fn typed(command: Command, question: &str, answer: &str) -> (String, Option<i32>) {
    let steps: &[(&str, &str)] = if question.is_empty() { &[] } else { &[(question, answer)] };
    played(command, steps)
}

/// The same with several steps: what is typed once the screen shows something new.
pub(crate) fn played(mut command: Command, steps: &[(&str, &str)]) -> (String, Option<i32>) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let screen = || File::options().read(true).write(true).open(&path).unwrap();
    command
        .stdin(Stdio::from(screen()))
        .stdout(Stdio::from(screen()))
        .stderr(Stdio::from(screen()));
    let child = command.env("TERM", "xterm").spawn().unwrap();
    // The command's copies are in the child alone now, so the screen ends when the child does.
    drop(command);
    let mut terminal = File::from(terminal);
    let mut shown = Vec::new();
    let watch = std::sync::Arc::new(std::sync::Mutex::new(Some(child)));
    let dog = std::sync::Arc::clone(&watch);
    std::thread::spawn(move || {
        // One that waits for what never comes is ended, so that the test can say what the screen showed.
        std::thread::park_timeout(PATIENCE);
        if let Some(child) = dog.lock().unwrap().as_mut() {
            let _ = child.kill();
        }
    });
    let mut seen = 0;
    let mut steps = steps.iter();
    let mut step = steps.next();
    let mut chunk = [0; 4_096];
    // A terminal whose last user is gone answers with an error.
    while let Ok(read @ 1..) = terminal.read(&mut chunk) {
        shown.extend_from_slice(&chunk[..read]);
        while let Some((awaited, typed)) = step {
            let Some(at) = find(&shown[seen..], awaited.as_bytes()) else { break };
            seen += at + awaited.len();
            terminal.write_all(typed.as_bytes()).unwrap();
            step = steps.next();
        }
    }
    let mut child = watch.lock().unwrap().take().unwrap();
    let status = child.wait().unwrap().code();
    (String::from_utf8(shown).unwrap().replace("\r\n", "\n"), status)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

pub(crate) fn command(daemon: &FakeDaemon, args: &[&str]) -> Command {
    let mut command = clean(&messaging());
    command.arg("--home").arg(daemon.home()).args(args);
    command
}

fn daemon() -> FakeDaemon {
    FakeDaemon::start(|method, params| match method {
        "team.list" => Step::Result(
            json!({"team": MACHINE, "name": "garden", "relay": "ws://127.0.0.1:1/v1/connect",
            "card": "messaging-team.abc", "seq": 1, "hash": MACHINE, "invites": [], "members": [{"machine": MACHINE,
            "enc": MACHINE, "person": "alice", "label": "desk", "role": "admin", "online": true, "self": true,
            "addedAt": 1_767_225_600_000_u64}]}),
        ),
        "team.remove" => Step::Result(json!({"machine": MACHINE, "self": true})),
        "team.join" => Step::Result(
            json!({"team": MACHINE, "device": MACHINE, "person": "bob", "label": params["label"],
            "role": "member"}),
        ),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

pub(crate) fn calls(daemon: &FakeDaemon, method: &str) -> usize {
    daemon.seen().iter().filter(|(name, _)| name == method).count()
}

#[test]
fn a_question_says_what_will_happen_and_its_default_is_no() {
    for (answer, done) in
        [("\n", false), ("n\n", false), ("Y\n", true), ("yes\n", true), ("yep\n", false)]
    {
        let daemon = daemon();
        let (screen, status) = typed(command(&daemon, &["team", "leave"]), "[y/N]", answer);
        assert!(
            screen.contains("Leave the team garden; this machine cannot come back"),
            "{screen}"
        );
        assert_eq!(calls(&daemon, "team.remove"), usize::from(done), "{answer:?}");
        let (words, expected) = if done { ("left the team", 0) } else { ("Nothing was done.", 1) };
        assert!(screen.contains(words), "{screen}");
        assert_eq!(status, Some(expected), "{answer:?}");
    }
}

#[test]
fn a_ticket_that_is_typed_is_not_shown() {
    let daemon = daemon();
    let join = command(&daemon, &["team", "join", "--label", "laptop"]);
    let (screen, status) = typed(join, "Ticket: ", &format!("{TICKET}\n"));
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(
        daemon.seen(),
        [("team.join".to_owned(), json!({"ticket": TICKET, "label": "laptop"}))]
    );
    assert!(!screen.contains("eyJ"), "{screen}");
}

#[test]
fn a_terminal_gets_headers_relative_times_and_colour() {
    let daemon = daemon();
    let (screen, _) = typed(command(&daemon, &["team", "list"]), "", "");
    assert!(
        screen.contains("MEMBERS") && screen.contains("PERSON") && screen.contains(" ago"),
        "{screen}"
    );
    assert!(screen.contains("\u{1b}["), "{screen}");
    assert!(screen.contains("No open invites."), "{screen}");
    let (screen, _) = typed(command(&daemon, &["team", "list", "--json"]), "", "");
    assert!(screen.starts_with("{\n  \"card\""), "{screen}");
}

#[test]
fn colour_can_be_refused_and_forced() {
    let daemon = daemon();
    for (name, value, coloured) in
        [("NO_COLOR", "1", false), ("NO_COLOR", "", true), ("CLICOLOR_FORCE", "1", true)]
    {
        let mut command = command(&daemon, &["team", "list"]);
        command.env(name, value);
        let (screen, _) = typed(command, "", "");
        assert_eq!(screen.contains("\u{1b}["), coloured, "{name}={value}");
    }
    let (screen, _) = typed(command(&daemon, &["team", "list", "--color", "never"]), "", "");
    assert!(!screen.contains("\u{1b}["));
    let piped = crate::run::with(&daemon, &["team", "list", "--color", "always", "--header"]);
    assert!(
        !piped.stdout.contains("\u{1b}["),
        "a pipe's table has no styles at all: {}",
        piped.stdout
    );
}

#[test]
fn a_table_fits_the_terminal_and_keeps_ids_whole() {
    let long = "word ".repeat(60);
    let daemon = FakeDaemon::start(move |method, params| match method {
        "session.register" => Step::Result(
            json!({"key": params["key"], "name": "cli", "takenOver": false, "unread": 0}),
        ),
        _ => Step::Result(
            json!({"unread": 1, "more": false, "items": [{"id": ULID, "to": "cli", "kind": "message",
            "from": {"person": "bob", "device": MACHINE, "label": "laptop", "agent": "api", "address": "bob/api@laptop"},
            "messageId": "m", "contextId": "c", "preview": long, "attachments": 0, "stage": "delivered", "wake": true,
            "sentAt": 1, "at": 1, "exp": 2}]}),
        ),
    });
    let (screen, _) = typed(command(&daemon, &["inbox", "--color", "never"]), "", "");
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines.len(), 2, "{screen}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(lines[1].contains(ULID) && lines[1].ends_with('…'), "{screen}");
}
