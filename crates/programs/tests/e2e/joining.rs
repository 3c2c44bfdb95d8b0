//! A machine that dies while it joins: its place is taken once, and its home finds out.
//! Spec: §4 "Invites", D3.3

use std::thread;
use std::time::Duration;

use messaging_testkit::dice::Dice;
use messaging_testkit::programs::Relay;
use serde_json::Value;

use crate::harness::{House, Machine, executable, failure, short_folder, wait};
use crate::proxy::Proxy;

fn machines(admin: &Machine) -> Vec<String> {
    let list = admin.json(&["team", "list"]);
    let place = |m: &Value| format!("{}@{}", m["person"], m["label"]).replace('"', "");
    let mut places: Vec<_> = list["members"].as_array().unwrap().iter().map(place).collect();
    places.sort();
    places
}

/// A relay behind a wire that can be cut, and a team at it.
struct Wired {
    proxy: Proxy,
    _relay: Relay,
    folder: tempfile::TempDir,
    alice: Machine,
}

fn wired() -> Wired {
    let folder = short_folder();
    let proxy = Proxy::new();
    let flags = ["--relay-id", &proxy.origin()];
    let relay = Relay::start(executable(), &folder.path().join("relay.db"), &flags).unwrap();
    proxy.lead_to(relay.port());
    let alice = Machine::at(&folder.path().join("alice"));
    let create = ["team", "create", "--relay", &proxy.url(), "--name", "garden"];
    alice.ok(&[&create[..], &["--person", "alice", "--label", "laptop"]].concat());
    Wired { proxy, _relay: relay, folder, alice }
}

/// Kills bob's daemon after the relay took his redeem and before he heard of it.
fn killed_between_redeem_and_save(wired: &Wired) -> (Machine, String) {
    let ticket = wired.alice.ok(&["team", "invite", "bob"]);
    let mut bob = Machine::at(&wired.folder.path().join("bob"));
    wired.proxy.hold(Some("roster.ok"));
    thread::scope(|scope| {
        let home = bob.home().to_owned();
        let ticket = &ticket;
        let joining = scope.spawn(move || {
            let command = crate::harness::command(&home, &["team", "join", "--label", "desk"]);
            crate::harness::run(command, ticket.as_bytes())
        });
        wait("the redeem", || (wired.proxy.holds() > 0).then_some(()));
        bob.kill();
        assert_eq!(joining.join().unwrap().failure(), failure(3, "daemon_unavailable"));
    });
    assert!(!bob.home().join("config.json").exists(), "nothing was saved yet");
    wired.proxy.hold(None);
    (bob, ticket)
}

#[test]
fn a_join_that_was_killed_after_its_redeem_completes_by_itself() {
    let wired = wired();
    let (mut bob, ticket) = killed_between_redeem_and_save(&wired);
    bob.start();
    bob.connected();
    assert_eq!(machines(&wired.alice), ["alice@laptop", "bob@desk"]);
    bob.welcome_all();
    let mut api = bob.agent("api");
    assert_eq!(wired.alice.json(&["send", "bob/api@desk", "welcome"])["stage"], "accepted");
    assert_eq!(api.holds(1), ["welcome"]);
    assert_eq!(bob.join(&ticket, "desk").failure(), failure(1, "invalid_state"));
}

#[test]
fn a_join_that_was_killed_after_its_redeem_can_be_repeated() {
    let wired = wired();
    let (mut bob, ticket) = killed_between_redeem_and_save(&wired);
    // Whether the daemon or the person is first, the answer is the same, or that it is done.
    bob.start();
    let again = bob.join(&ticket, "desk");
    assert!(again.status == 0 || again.failure() == failure(1, "invalid_state"), "{again:?}");
    bob.connected();
    assert_eq!(machines(&wired.alice), ["alice@laptop", "bob@desk"]);
}

#[test]
fn a_join_that_is_killed_at_any_moment_takes_one_place_or_none() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let mut dice = Dice::new(5);
    for n in 0..12 {
        let ticket = alice.ok(&["team", "invite", "bob"]);
        let (name, label) = (format!("bob{n}"), format!("desk{n}"));
        let mut bob = house.machine(&name);
        thread::scope(|scope| {
            let home = bob.home().to_owned();
            let (ticket, label) = (&ticket, &label);
            scope.spawn(move || {
                let command = crate::harness::command(&home, &["team", "join", "--label", label]);
                crate::harness::run(command, ticket.as_bytes())
            });
            // The moment is drawn; nothing is waited for.
            thread::sleep(Duration::from_micros(dice.below(60_000)));
            bob.kill();
        });
        bob.start();
        let again = bob.join(&ticket, &label);
        assert!(again.status == 0 || again.failure() == failure(1, "invalid_state"), "{again:?}");
        bob.connected();
        let places = machines(&alice);
        assert_eq!(places.iter().filter(|place| place.ends_with(&format!("@{label}"))).count(), 1);
        assert_eq!(places.len(), 2 + n);
    }
    assert_eq!(alice.json(&["team", "list"])["invites"], serde_json::json!([]));
}

#[test]
fn a_founding_that_is_killed_at_any_moment_makes_one_team_or_none() {
    let house = House::new();
    let url = house.relay.url();
    let create = ["team", "create", "--relay", &url, "--name", "garden", "--person", "alice"];
    let create = [&create[..], &["--label", "laptop"]].concat();
    let mut dice = Dice::new(6);
    // A relay lets one address found ten teams an hour, and each of these may found two.
    for n in 0..5 {
        let mut alice = house.machine(&format!("alice{n}"));
        thread::scope(|scope| {
            let home = alice.home().to_owned();
            let create = &create;
            scope.spawn(move || crate::harness::run(crate::harness::command(&home, create), b""));
            thread::sleep(Duration::from_micros(dice.below(40_000)));
            alice.kill();
        });
        alice.start();
        let again = alice.run(&create);
        assert!(again.status == 0 || again.failure() == failure(1, "invalid_state"), "{again:?}");
        alice.connected();
        assert_eq!(machines(&alice), ["alice@laptop"]);
    }
}
