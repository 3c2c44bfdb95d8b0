//! One attempt against services and commands that do what they like.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use messaging_core::ids::{SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_daemon_engine::wake::{WakeCommand, WakeEnd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Places, command, opencode};
use crate::environment::Environment;

/// What a service does once it has read a request.
#[derive(Clone, Copy)]
enum Manner {
    Says(&'static str),
    /// Says this, and stays.
    Holds(&'static str),
    /// Says this again and again.
    Floods(&'static str),
}

/// A service on this machine, what it was asked, and the folder of its registration.
struct Double {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
}

impl Double {
    async fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"}}") {
                    request.push(client.read_u8().await.unwrap());
                }
                seen.lock().unwrap().push(String::from_utf8(request).unwrap());
                match manner {
                    Manner::Says(words) => client.write_all(words.as_bytes()).await.unwrap(),
                    Manner::Holds(words) => {
                        client.write_all(words.as_bytes()).await.unwrap();
                        tokio::spawn(async move {
                            std::future::pending::<()>().await;
                            drop(client);
                        });
                    }
                    Manner::Floods(words) => {
                        while client.write_all(words.as_bytes()).await.is_ok() {}
                    }
                }
            }
        });
        let double = Self { port, asked, folder: tempfile::tempdir().unwrap() };
        double.registers(&json!({"pid": std::process::id(), "url": double.url()}));
        double
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("service.json")
    }

    fn registers(&self, value: &Value) {
        std::fs::write(self.file(), value.to_string()).unwrap();
        std::fs::set_permissions(self.file(), Permissions::from_mode(0o600)).unwrap();
    }

    async fn called(&self) -> WakeEnd {
        call(Some(&self.file()), std::process::id()).await
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn id() -> Ulid {
    Ulid::from_parts(Ms(1_800_000_000_000), [7; 10])
}

async fn call(file: Option<&Path>, pid: u32) -> WakeEnd {
    opencode::call(file, pid, "/home/bob/my shop", "ses_1", &[id()]).await
}

#[tokio::test]
async fn the_call_is_the_one_of_the_text() {
    let double = Double::new(Manner::Says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")).await;
    assert_eq!(double.called().await, WakeEnd::Done);
    let asked = double.asked();
    let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
    let line = "POST /api/rpc/messaging.opencode/wake?location[directory]=%2Fhome%2Fbob%2Fmy%20shop HTTP/1.1";
    assert_eq!(head.lines().next(), Some(line));
    let head = head.to_ascii_lowercase();
    assert!(head.contains(&format!("host: 127.0.0.1:{}", double.port)), "{head}");
    assert!(head.contains("content-type: application/json") && !head.contains("authorization"));
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({"input": {"sessionID": "ses_1", "envelopeIds": [id().as_str()]}}));
    // With a password it says so.
    let url = double.url();
    let pid = std::process::id();
    double.registers(&json!({"pid": pid, "url": url, "password": "pw"}));
    assert_eq!(double.called().await, WakeEnd::Done);
    let words = "authorization: basic b3blbmnvzgu6chc=";
    assert!(double.asked()[1].to_ascii_lowercase().contains(words));
}

#[tokio::test]
async fn an_answer_counts_by_its_status_and_nothing_else() {
    for (words, end) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", WakeEnd::Done),
        ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", WakeEnd::ServerError),
        ("HTTP/1.1 503 Oh\r\n\r\n", WakeEnd::ServerError),
        ("HTTP/1.1 404 None\r\ncontent-length: 0\r\n\r\n", WakeEnd::Refused),
        ("HTTP/1.1 401 Who\r\ncontent-length: 0\r\n\r\n", WakeEnd::Refused),
        ("HTTP/1.1 304 Same\r\n\r\n", WakeEnd::Refused),
        // It ends in the middle: of the body, of the head, before the head.
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", WakeEnd::Done),
        ("HTTP/1.1 200 OK\r\ncontent-le", WakeEnd::Unreachable),
        ("", WakeEnd::Unreachable),
        ("SSH-2.0-x\r\n\r\n", WakeEnd::Refused),
    ] {
        let double = Double::new(Manner::Says(words)).await;
        assert_eq!(double.called().await, end, "{words}");
        assert_eq!(double.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Double::new(Manner::Says("HTTP/1.1 200 OK\r\n\r\n")).await;
    for status in ["301 Moved", "302 Found", "307 There", "308 There"] {
        let words = format!("HTTP/1.1 {status}\r\nlocation: {}/\r\n\r\n", elsewhere.url());
        let double = Double::new(Manner::Says(words.leak())).await;
        assert_eq!(double.called().await, WakeEnd::Refused, "{status}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_huge_answer_is_not_read_and_a_huge_head_is_no_answer() {
    let body =
        Double::new(Manner::Floods("HTTP/1.1 200 OK\r\ncontent-length: 9000000000\r\n\r\n")).await;
    assert_eq!(body.called().await, WakeEnd::Done);
    let head = Double::new(Manner::Floods("HTTP/1.1 200 OK\r\nx: y\r\nx: y\r\nx: y\r\n")).await;
    let end = head.called().await;
    assert!(matches!(end, WakeEnd::Refused | WakeEnd::Unreachable), "{end:?}");
}

#[tokio::test]
async fn a_service_that_is_slow_is_left_after_10_s() {
    for words in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early\r\n\r\n"] {
        let double = Double::new(Manner::Holds(words)).await;
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        assert_eq!(double.called().await, WakeEnd::TimedOut, "{words}");
        assert!(began.elapsed() <= super::LIMIT + std::time::Duration::from_millis(100));
        tokio::time::resume();
    }
}

#[tokio::test]
async fn nobody_there_is_a_connection_that_failed() {
    let double = Double::new(Manner::Says("")).await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    double.registers(&json!({"pid": std::process::id(), "url": format!("http://{nobody}")}));
    assert_eq!(double.called().await, WakeEnd::Unreachable);
}

#[tokio::test]
async fn a_registration_counts_only_as_its_live_owner_wrote_it() {
    let double = Double::new(Manner::Says("HTTP/1.1 200 OK\r\n\r\n")).await;
    let own = std::process::id();
    assert_eq!(call(None, own).await, WakeEnd::NoRegistration);
    assert_eq!(call(Some(Path::new("/nonexistent/x")), own).await, WakeEnd::NoRegistration);
    for mode in [0o620, 0o602, 0o666] {
        std::fs::set_permissions(double.file(), Permissions::from_mode(mode)).unwrap();
        assert_eq!(double.called().await, WakeEnd::NotPrivate, "{mode:o}");
    }
    std::fs::set_permissions(double.file(), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(double.called().await, WakeEnd::Done, "others may read it");
    let link = double.folder.path().join("link");
    symlink(double.file(), &link).unwrap();
    assert_eq!(call(Some(&link), own).await, WakeEnd::NotPrivate);
    assert_eq!(call(Some(double.folder.path()), own).await, WakeEnd::NotPrivate);
    // Another process than the session's, and one that is gone.
    assert_eq!(call(Some(&double.file()), own + 1).await, WakeEnd::OtherProcess);
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    double.registers(&json!({"pid": gone.id(), "url": double.url()}));
    assert_eq!(call(Some(&double.file()), gone.id()).await, WakeEnd::OtherProcess);
    double.registers(&json!({"pid": own, "url": "http://192.0.2.1:80"}));
    assert_eq!(double.called().await, WakeEnd::NotLoopback);
    double.registers(&json!({"pid": own, "url": double.url(), "pad": "x".repeat(4_096)}));
    assert_eq!(double.called().await, WakeEnd::Malformed);
    assert_eq!(double.asked().len(), 1, "nobody else was called");
    if rustix::process::geteuid().is_root() {
        double.registers(&json!({"pid": own, "url": double.url()}));
        std::os::unix::fs::chown(double.file(), Some(65_534), None).unwrap();
        assert_eq!(double.called().await, WakeEnd::NotPrivate);
    }
}

/// A script, run as the command of a session.
struct Script {
    folder: TempDir,
    places: Places,
}

impl Script {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wake");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let at = folder.path().to_str().unwrap().to_owned();
        let environment = Environment::read(|name| match name {
            "HOME" => Some(at.clone().into()),
            "PATH" => Some("/usr/bin:/bin".into()),
            "API_TOKEN" => Some("secret".into()),
            _ => None,
        });
        let home = folder.path().join("home");
        Self { folder, places: Places { environment, home } }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("wake")
    }

    async fn run(&self, more: &[&str]) -> WakeEnd {
        let mut argv = vec![self.path().to_str().unwrap().to_owned()];
        argv.extend(more.iter().map(|word| (*word).to_owned()));
        let session = SessionName::parse("web").unwrap();
        command::run(&WakeCommand { argv, folder: None }, &session, &[id()], &self.places).await
    }

    fn wrote(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

#[tokio::test]
async fn a_command_is_told_what_waits_and_given_little_else() {
    let script = Script::new(
        "cat > told; env > given; printf '%s|' \"$@\" > words; pwd > where; echo noise; echo noise >&2",
    );
    assert_eq!(script.run(&["two words", "$(touch pwned)", "; touch pwned"]).await, WakeEnd::Done);
    let told: Value = serde_json::from_str(script.wrote("told").trim_end()).unwrap();
    assert_eq!(told, json!({"session": "web", "envelopeIds": [id().as_str()]}));
    assert_eq!(script.wrote("words"), "two words|$(touch pwned)|; touch pwned|");
    let folder = script.folder.path();
    assert!(!folder.join("pwned").exists(), "no shell reads the words");
    assert_eq!(Path::new(script.wrote("where").trim_end()), folder.canonicalize().unwrap());
    let given = script.wrote("given");
    assert!(given.contains(&format!("MESSAGING_HOME={}", folder.join("home").display())));
    assert!(!given.contains("API_TOKEN"), "{given}");
    for line in given.lines() {
        let (name, _) = line.split_once('=').unwrap();
        // What a shell sets by itself.
        let known = ["HOME", "PATH", "MESSAGING_HOME", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(known.contains(&name), "{line}");
    }
}

#[tokio::test]
async fn a_commands_status_says_how_it_went() {
    for (text, end) in [
        ("exit 0", WakeEnd::Done),
        ("exit 1", WakeEnd::Failed),
        ("exit 75", WakeEnd::AgainLater),
        ("kill -9 $$", WakeEnd::Failed),
        // One that reads nothing of what it is told, and leaves something behind that stays.
        ("exec <&-; sleep 600 >/dev/null 2>&1 & exit 0", WakeEnd::Done),
    ] {
        assert_eq!(Script::new(text).run(&[]).await, end, "{text}");
    }
}

#[tokio::test]
async fn a_command_that_does_not_end_is_ended_with_what_it_started() {
    let script = Script::new("sleep 600 & echo $! > child; wait");
    let child = script.folder.path().join("child");
    let began = Instant::now();
    let running = script.run(&[]);
    tokio::pin!(running);
    // Time is turned only when the script is where it will hang.
    loop {
        tokio::select! {
            end = &mut running => panic!("{end:?}"),
            () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
        }
        if std::fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n')) {
            break;
        }
    }
    tokio::time::pause();
    assert_eq!(running.await, WakeEnd::Killed);
    assert!(began.elapsed() < super::LIMIT, "the test waited for the clock");
    let pid: u32 = script.wrote("child").trim().parse().unwrap();
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let gone = |pid| stat(pid).is_empty() || stat(pid).contains(") Z ");
    for _ in 0..2_000 {
        if gone(pid) {
            return;
        }
        std::thread::yield_now();
    }
    assert!(gone(pid), "{}", stat(pid));
}

#[tokio::test]
async fn a_command_that_others_may_write_is_not_run() {
    let script = Script::new("touch ran");
    for mode in [0o720, 0o702] {
        std::fs::set_permissions(script.path(), Permissions::from_mode(mode)).unwrap();
        assert_eq!(script.run(&[]).await, WakeEnd::UnsafeCommand, "{mode:o}");
    }
    std::fs::set_permissions(script.path(), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(script.run(&[]).await, WakeEnd::NotStarted);
    if rustix::process::geteuid().is_root() {
        std::fs::set_permissions(script.path(), Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(script.path(), Some(65_534), None).unwrap();
        assert_eq!(script.run(&[]).await, WakeEnd::UnsafeCommand);
    }
    std::fs::remove_file(script.path()).unwrap();
    assert_eq!(script.run(&[]).await, WakeEnd::NotStarted);
    std::fs::create_dir(script.path()).unwrap();
    assert_eq!(script.run(&[]).await, WakeEnd::UnsafeCommand);
    assert!(!script.folder.path().join("ran").exists());
}
