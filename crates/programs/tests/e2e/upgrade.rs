//! Two releases on one machine: what a client says that meets the other one, and the one step that ends it.
//! Spec: §8.2 "Hello", §8.8, D6.5
//!
//! A build with debug assertions can be told to be another release; nothing else about it differs.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{House, Machine, failure, run, short_folder, wait};

const OLD: &str = "0.0.9";

/// Has a machine's daemon be of another release from its next start on.
fn pretend(machine: &mut Machine, release: &str) {
    machine.stop();
    machine.daemon().set_variables(&[("MESSAGING_TEST_RELEASE", release.to_owned())]);
    machine.start();
}

/// The longest time for which nobody said hello on a socket, while `act` ran.
fn absence(home: &Path, act: impl FnOnce()) -> Duration {
    let socket = home.join("run/admin.sock");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let greeted = UnixStream::connect(&socket).is_ok_and(|mut stream| {
                    use std::io::Read as _;
                    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    matches!(stream.read(&mut [0; 16]), Ok(read) if read > 0)
                });
                if greeted {
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                } else {
                    std::thread::yield_now();
                }
            }
            longest.max(last.elapsed())
        });
        act();
        over.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    })
}

#[test]
fn a_client_of_another_release_says_the_one_step_and_it_loses_nothing() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    pretend(&mut alice, OLD);
    alice.connected();
    let mut desk = bob.terminal("desk");
    let mut api = alice.terminal("api");
    bob.knows("alice/api@laptop");
    alice.knows("bob/desk@desk");
    for n in 0..20 {
        desk.send("alice/api", &format!("in {n}"));
        api.send("bob/desk", &format!("out {n}"));
    }
    let calls: [&[&str]; 4] =
        [&["status"], &["inbox"], &["send", "bob/desk", "x"], &["daemon", "start"]];
    for args in calls {
        let ran = alice.run(args);
        assert_eq!(ran.failure(), failure(3, "daemon_mismatch"), "{args:?}");
        assert!(ran.stderr.contains(OLD), "{ran:?}");
        assert!(ran.stderr.ends_with("Next: run `messaging daemon restart`.\n"), "{ran:?}");
    }
    let doctor = alice.run(&["doctor"]);
    assert_eq!(doctor.status, 9);
    assert!(doctor.stdout.contains("Next: run `messaging daemon restart`."), "{doctor:?}");

    let away = absence(alice.home(), || {
        // Mail goes on coming while nobody is there.
        desk.send("alice/api", "in the middle");
        alice.ok(&["daemon", "restart"]);
        desk.send("alice/api", "in the end");
    });
    println!("nobody answered for {} ms", away.as_millis());
    assert!(away < Duration::from_secs(10), "{away:?}");
    assert_eq!(alice.json(&["status"])["status"]["version"], env!("CARGO_PKG_VERSION"));
    alice.connected();
    let mut api = alice.terminal("api");
    let texts = api.holds(22);
    let told: Vec<String> = (0..20).map(|n| format!("in {n}")).collect();
    assert_eq!(texts[..20], told[..]);
    assert_eq!(texts[20..], ["in the middle", "in the end"], "in order, once each");
    assert_eq!(desk.holds(20).len(), 20);
    alice.ok(&["daemon", "stop"]);
}

#[test]
fn a_release_goes_back_to_the_one_before_with_its_mail() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let mut desk = bob.agent("desk");
    for release in ["9.9.9", OLD, "9.9.9"] {
        pretend(&mut alice, release);
        alice.connected();
        let mut api = alice.agent("api");
        alice.knows("bob/desk@desk");
        api.send("bob/desk", release);
    }
    assert_eq!(desk.holds(3), ["9.9.9", OLD, "9.9.9"]);
}

#[test]
fn of_many_who_find_another_release_none_replaces_it_unasked() {
    let folder = short_folder();
    let mut machine = Machine::at(&folder.path().join("home"));
    pretend(&mut machine, OLD);
    let pid = machine.daemon().process().unwrap().pid();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let args = ["daemon", "start"];
                let ran = run(crate::harness::command(&folder.path().join("home"), &args), b"");
                assert_eq!(ran.failure(), failure(3, "daemon_mismatch"));
            });
        }
    });
    let status = machine.call("daemon.status", json!({}));
    assert_eq!((status["pid"].as_u64(), &status["version"]), (Some(pid.into()), &json!(OLD)));
    wait("it runs on", || machine.daemon().process().unwrap().is_running().unwrap().then_some(()));
}
