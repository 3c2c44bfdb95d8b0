//! A replaced encryption key opens what was sealed to it for a week, and is nowhere after that.
//! Spec: §4 "Encryption-key rotation", §12 "Forward secrecy is bounded", D3.21, D3.22
//!
//! A build with debug assertions can be told that its clock is ahead: nobody waits for a week here.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{House, Machine, wait};

const DAY_MS: u64 = 86_400_000;

fn keys(machine: &Machine) -> Value {
    serde_json::from_slice(&fs::read(machine.home().join("identity.json")).unwrap()).unwrap()
}

/// The private key in the forms in which it could lie about: its text, its bytes, and those in hexadecimal.
fn forms(key: &str) -> [Vec<u8>; 3] {
    let bytes = messaging_core::b64::decode_array::<32>(key).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [key.as_bytes().to_vec(), bytes.to_vec(), hex.into_bytes()]
}

/// The files below a folder that hold a key. Sockets hold nothing.
fn holders(folder: &Path, key: &str) -> Vec<String> {
    let forms = forms(key);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holders(&path, key));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if forms.iter().any(|form| bytes.windows(form.len()).any(|at| at == form)) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// Starts a machine that was stopped, so many days later.
fn later(machine: &mut Machine, days: u64) {
    machine.daemon().set_ahead(days * DAY_MS);
    machine.start();
}

#[test]
fn the_bytes_of_a_replaced_key_are_nowhere_once_its_time_is_over() {
    let mut house = House::new();
    let (mut alice, mut bob) = house.two();
    let mut api = alice.agent("api");
    bob.knows("alice/api@laptop");
    let mut desk = bob.agent("desk");
    desk.send("alice/api", "sealed to the first key");
    api.holds(1);
    let first = keys(&alice)["encKey"].as_str().unwrap().to_owned();
    assert_eq!(holders(alice.home(), &first), ["identity.json"]);

    alice.connected();
    alice.ok(&["identity", "rotate-enc"]);
    let held = keys(&alice);
    assert_eq!(held["retained"][0]["encKey"].as_str(), Some(&*first), "it still opens");
    assert_ne!(held["encKey"].as_str(), Some(&*first));
    let second = held["encKey"].as_str().unwrap().to_owned();
    desk.send("alice/api", "sealed to the second");
    api.holds(2);
    drop((api, desk));

    // Six days later it is still needed, eight days later it is not.
    for (days, is_held) in [(6, true), (8, false)] {
        bob.stop();
        alice.stop();
        house.relay.stop().unwrap();
        house.relay.set_ahead(days * DAY_MS);
        house.relay.start_again().unwrap();
        later(&mut bob, days);
        later(&mut alice, days);
        alice.connected();
        let found = wait("what becomes of the key", || {
            let found = holders(alice.home(), &first);
            (is_held || found.is_empty()).then_some(found)
        });
        assert_eq!(found, if is_held { vec!["identity.json"] } else { vec![] }, "day {days}");
    }
    // The second one was due on the seventh day, and is in its own week now.
    wait("the scheduled rotation", || (keys(&alice)["encKey"] != *second).then_some(()));
    bob.connected();
    alice.connected();
    let mut desk = bob.agent("desk");
    let mut api = alice.agent("api2");
    bob.knows("alice/api2@laptop");
    desk.send("alice/api2", "sealed to the third");
    assert_eq!(api.holds(1), ["sealed to the third"]);
    alice.stop();
    assert!(holders(alice.home(), &first).is_empty(), "nor after a stop");
}
