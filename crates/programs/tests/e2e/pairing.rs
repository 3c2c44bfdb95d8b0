//! A machine that an admin adds without a ticket, and a founder whose keys a relay knew before its team.
//! Spec: §8.2 "Admitting a machine without a ticket", "Founding keys"; §7 (--genesis-allow)

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use messaging_testkit::programs::Relay;
use serde_json::Value;

use crate::harness::{House, Machine, executable, failure, short_folder};

fn card(alice: &Machine, bob: &Machine) -> String {
    let team = alice.ok(&["team", "card"]);
    let pair = ["team", "pair", team.trim(), "--person", "bob", "--label", "server"];
    bob.ok(&pair).trim().to_owned()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_machine_is_added_without_a_secret_ticket() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let mut bob = house.machine("bob");
    let card = card(&alice, &bob);
    assert!(card.starts_with("messaging-admit."));
    let pairing = bob.home().join("pairing.json");
    assert_eq!(mode(&pairing), 0o600);
    assert!(!bob.home().join("identity.json").exists(), "keys that wait are nobody's identity");

    let early = bob.run(&["team", "claim"]);
    assert_eq!(early.status, 8, "{early:?}");
    // Neither a stop nor a kill loses the keys, and the card is the same.
    bob.stop();
    bob.start();
    bob.kill();
    bob.start();
    let again = self::card(&alice, &bob);
    assert_eq!(again, card);

    alice.ok(&["team", "add", &card, "--yes"]);
    assert_eq!(alice.run(&["team", "add", &card, "--yes"]).failure(), failure(5, "forbidden"));
    let joined = bob.json(&["team", "claim", "--wait", "20"]);
    assert_eq!(
        (&joined["state"], &joined["label"]),
        (&Value::from("joined"), &Value::from("server"))
    );
    assert!(!pairing.exists());
    assert_eq!(mode(&bob.home().join("identity.json")), 0o600);
    bob.connected();
    bob.welcome("alice");
    let mut api = bob.agent("api");
    assert_eq!(alice.json(&["send", "bob/api@server", "welcome"])["stage"], "accepted");
    assert_eq!(api.holds(1), ["welcome"]);
    bob.stop();
    bob.start();
    bob.connected();
    assert_eq!(
        bob.run(&["team", "pair", &alice.ok(&["team", "card"]), "--person", "bob"]).status,
        1
    );
}

#[test]
fn a_claim_that_waits_sees_the_admin_add_the_machine() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let bob = house.machine("bob");
    let card = card(&alice, &bob);
    std::thread::scope(|scope| {
        let claim = scope.spawn(|| bob.json(&["team", "claim", "--wait", "60"]));
        alice.ok(&["team", "add", &card, "--yes"]);
        assert_eq!(claim.join().unwrap()["state"], "joined");
    });
}

#[test]
fn keys_that_were_cancelled_are_on_no_disk() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let bob = house.machine("bob");
    card(&alice, &bob);
    let held: Value =
        serde_json::from_slice(&std::fs::read(bob.home().join("pairing.json")).unwrap()).unwrap();
    assert_eq!(bob.json(&["team", "cancel"])["cancelled"], true);
    assert_eq!(bob.json(&["team", "cancel"])["cancelled"], false);
    for name in ["signingKey", "encKey"] {
        let key = held[name].as_str().unwrap();
        assert_eq!(crate::secrets::holders(bob.home(), key), [""; 0], "{name}");
    }
    assert_eq!(bob.run(&["team", "claim"]).failure(), failure(1, "invalid_state"));
}

#[test]
fn a_relay_that_lets_only_one_machine_found_a_team_can_be_told_which() {
    let folder = short_folder();
    let alice = Machine::at(&folder.path().join("alice"));
    let prepared = alice.json(&["team", "prepare"]);
    let machine = prepared["machine"].as_str().unwrap();
    let store = folder.path().join("relay.db");
    let relay = Relay::start(executable(), &store, &["--genesis-allow", machine]).unwrap();
    let url = relay.url();
    let found = |at: &Machine, person: &str| {
        let place = ["--name", "garden", "--person", person, "--label", "laptop"];
        at.run(&[&["team", "create", "--relay", &url][..], &place].concat())
    };
    let eve = Machine::at(&folder.path().join("eve"));
    assert_eq!(found(&eve, "eve").failure(), failure(5, "forbidden"));
    assert_eq!(found(&alice, "alice").status, 0);
    assert_eq!(alice.json(&["identity", "show"])["identity"]["device"], *machine);
    assert!(!alice.home().join("pairing.json").exists());
}
