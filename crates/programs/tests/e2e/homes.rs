//! Homes with paths of every length, and pid files that name what they should not.
//! Spec: §8.1, D3.1, D3.2, D6.5

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{House, Machine, command, failure, run, short_folder, wait};

/// The longest home whose sockets have a path that the system takes.
const MOST: usize = 92;

/// A home in `folder` whose path has so many bytes.
fn home_of(folder: &Path, bytes: usize, filler: &str) -> PathBuf {
    let stem = folder.as_os_str().len() + 1;
    let mut name = filler.repeat((bytes - stem) / filler.len());
    name.extend(std::iter::repeat_n('x', bytes - stem - name.len()));
    let home = folder.join(name);
    assert_eq!(home.as_os_str().len(), bytes);
    home
}

#[test]
fn a_home_as_long_as_can_be_works() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    for (n, (bytes, filler)) in
        [(80, "h"), (91, "h"), (92, "h"), (92, "é"), (92, "語")].into_iter().enumerate()
    {
        let home = home_of(house.path(), bytes, filler);
        let started = run(command(&home, &["daemon", "start"]), b"");
        assert_eq!(started.status, 0, "{bytes}: {started:?}");
        let on = |args: &[&str]| run(command(&home, args), b"");
        let ticket = alice.ok(&["team", "invite", "bob"]);
        let label = format!("m{n}");
        let joined = run(command(&home, &["team", "join", "--label", &label]), ticket.as_bytes());
        let done = [on(&["inbox"]), on(&["status"]), on(&["doctor"]), on(&["daemon", "stop"])];
        assert!(joined.status == 0 && done.iter().all(|ran| ran.status == 0), "{done:?}");
    }
}

#[test]
fn a_home_that_is_too_long_is_refused_before_anything_is_written() {
    let folder = short_folder();
    for bytes in [MOST + 1, 100, 107, 108, 120, 140] {
        let home = home_of(folder.path(), bytes, "h");
        for args in [&["daemon", "start"][..], &["status"], &["inbox"], &["send", "bob/api", "x"]] {
            let ran = run(command(&home, args), b"");
            assert_eq!(ran.failure(), failure(2, "invalid_request"), "{bytes} {args:?}");
            assert!(ran.stderr.contains("too long") && ran.stderr.contains("--home"), "{ran:?}");
        }
        assert!(!home.exists(), "{bytes}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A process that has nothing to do with any of this, and sleeps until it is dropped.
struct Stranger(Child);

impl Stranger {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a pid file may say; the first one names the stranger.
fn pids(stranger: &Stranger) -> [String; 9] {
    let own = format!("{}\n", stranger.0.id());
    let group = format!("-{}\n", stranger.0.id());
    let words =
        ["4294967295\n", "99999999999999999999999\n", "0\n", "-1\n", "", "not a pid\n", "\0\0\0"];
    let [a, b, c, d, e, f, g] = words.map(ToOwned::to_owned);
    [own, group, a, b, c, d, e, f, g]
}

#[test]
fn a_pid_file_without_a_daemon_decides_nothing() {
    let mut stranger = Stranger::new();
    let folder = short_folder();
    for (n, text) in pids(&stranger).iter().enumerate() {
        let home = folder.path().join(format!("home{n}"));
        let machine = Machine::at(&home);
        let lock = home.join("run/messagingd.lock");
        machine.ok(&["daemon", "stop"]);
        fs::write(&lock, text).unwrap();
        assert_eq!(
            machine.fails(&["daemon", "status"]),
            failure(3, "daemon_unavailable"),
            "{text:?}"
        );
        assert_eq!(machine.ok(&["daemon", "stop"]), "not running\n", "{text:?}");
        assert_eq!(fs::read_to_string(&lock).unwrap(), *text, "it is the owner's file");
        let pid = machine.json(&["daemon", "start"])["pid"].to_string();
        assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{pid}\n"));
        assert_eq!(machine.ok(&["daemon", "stop"]), format!("stopped, process {pid}\n"));
        assert!(!lock.exists() && stranger.lives(), "{text:?}");
    }
}

#[test]
fn a_pid_file_beside_a_daemon_decides_nothing() {
    let mut stranger = Stranger::new();
    let folder = short_folder();
    let home = folder.path().join("home");
    let mut machine = Machine::at(&home);
    let lock = home.join("run/messagingd.lock");
    for text in pids(&stranger) {
        let pid = machine.daemon().process().unwrap().pid();
        fs::write(&lock, &text).unwrap();
        assert_eq!(machine.json(&["daemon", "status"])["status"]["pid"], pid, "{text:?}");
        assert_eq!(machine.json(&["daemon", "start"])["started"], false, "{text:?}");
        assert_eq!(
            machine.ok(&["daemon", "stop"]),
            format!("stopped, process {pid}\n"),
            "{text:?}"
        );
        assert!(stranger.lives(), "{text:?}");
        machine.start();
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_not_stopped_by_a_pid_file() {
    let mut stranger = Stranger::new();
    let folder = short_folder();
    let mut machine = Machine::at(&folder.path().join("home"));
    let lock = machine.home().join("run/messagingd.lock");
    machine.daemon().process().unwrap().signal(Signal::STOP).unwrap();
    fs::write(&lock, format!("{}\n", stranger.0.id())).unwrap();
    assert_eq!(machine.fails(&["daemon", "stop"]), failure(3, "daemon_mismatch"));
    assert!(stranger.lives() && machine.daemon().process().unwrap().is_running().unwrap());
    machine.daemon().process().unwrap().signal(Signal::CONT).unwrap();
    machine.ok(&["daemon", "stop"]);
    wait("its end", || (!machine.daemon().process().unwrap().is_running().unwrap()).then_some(()));
    assert!(stranger.lives());
}

#[test]
fn of_many_starts_at_once_one_starts_and_all_agree() {
    let folder = short_folder();
    let home = folder.path().join("home");
    let start = || run(command(&home, &["daemon", "start", "--json"]), b"");
    let answers: Vec<_> = thread::scope(|scope| {
        let starts: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let answers: Vec<Value> = answers
        .iter()
        .map(|ran| {
            assert_eq!(ran.status, 0, "{ran:?}");
            serde_json::from_str(&ran.stdout).unwrap()
        })
        .collect();
    assert!(answers.iter().all(|answer| answer["pid"] == answers[0]["pid"]), "{answers:?}");
    let started = answers.iter().filter(|answer| answer["started"] == true).count();
    assert_eq!(started, 1, "{answers:?}");
    assert_eq!(run(command(&home, &["daemon", "stop"]), b"").status, 0);
}

#[test]
fn a_start_during_a_stop_waits_for_its_end() {
    let folder = short_folder();
    let home = folder.path().join("home");
    let on = |words: &[&str]| run(command(&home, words), b"");
    assert_eq!(on(&["daemon", "start"]).status, 0);
    for _ in 0..8 {
        thread::scope(|scope| {
            let stopping = scope.spawn(|| on(&["daemon", "stop"]));
            let started = on(&["daemon", "start"]);
            assert_eq!(started.status, 0, "{started:?}");
            let stopped = stopping.join().unwrap();
            assert_eq!(stopped.status, 0, "{stopped:?}");
        });
    }
    assert_eq!(on(&["daemon", "restart"]).status, 0);
    assert_eq!(on(&["status"]).status, 0);
    assert_eq!(on(&["daemon", "stop"]).status, 0);
}
