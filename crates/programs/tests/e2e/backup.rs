//! A copy that is taken while mail comes and goes, a home that starts from it, and a home that runs from an older one.
//! Spec: §8.2 "Backups", §8.9, D3.23, D3.24

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{House, Machine, failure, wait};

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// What a person does to come back: a private folder with the copy's files in it.
fn restored_home(house: &House, name: &str, copy: &Path) -> PathBuf {
    let home = house.path().join(name);
    fs::DirBuilder::new().mode(0o700).create(&home).unwrap();
    for file in ["messaging.db", "config.json"] {
        fs::copy(copy.join(file), home.join(file)).unwrap();
        fs::set_permissions(home.join(file), fs::Permissions::from_mode(0o600)).unwrap();
    }
    home
}

fn alarm(machine: &Machine) -> Value {
    machine.call("daemon.health", json!({}))["alarm"].clone()
}

#[test]
fn a_copy_of_a_home_at_work_is_whole_private_and_holds_no_key() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let mut api = alice.agent("api");
    let mut desk = bob.agent("desk");
    alice.knows("bob/desk@desk");
    api.send("bob/desk", "before the copy");
    desk.holds(1);

    let to = house.path().join("monday");
    let taken = alice.json(&["snapshot", "--to", to.to_str().unwrap()]);
    let names: Vec<&str> =
        taken["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["messaging.db", "config.json"]);
    let mut found: Vec<_> =
        fs::read_dir(&to).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, ["config.json", "manifest.json", "messaging.db"]);
    assert_eq!(mode(&to), 0o700);
    assert!(found.iter().all(|name| mode(&to.join(name)) == 0o600));
    assert_eq!(
        fs::read(to.join("config.json")).unwrap(),
        fs::read(alice.home().join("config.json")).unwrap()
    );
    let manifest: Value =
        serde_json::from_slice(&fs::read(to.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["files"], taken["files"]);
    assert_eq!(manifest["storeSchema"], 1);
    assert!(!alice.home().join("run/snapshot").exists(), "the command let it go");

    let keys: Value =
        serde_json::from_slice(&fs::read(alice.home().join("identity.json")).unwrap()).unwrap();
    let store = fs::read(to.join("messaging.db")).unwrap();
    for key in ["signingKey", "encKey"] {
        let secret = keys[key].as_str().or(keys[key]["d"].as_str()).unwrap().as_bytes();
        assert!(!store.windows(secret.len()).any(|at| at == secret), "{key}");
    }

    assert_eq!(
        alice.fails(&["snapshot", "--to", to.to_str().unwrap()]),
        failure(2, "invalid_request"),
        "nothing is written over"
    );
    // One that a program holds goes when it is let go, when the daemon stops, and when the next one starts.
    let held = alice.call("daemon.snapshot", json!({}));
    let folder = PathBuf::from(held["folder"].as_str().unwrap());
    assert_eq!((mode(&folder), mode(&folder.join("messaging.db"))), (0o700, 0o600));
    let second = house.path().join("tuesday");
    let args = ["snapshot", "--to", second.to_str().unwrap()];
    assert_eq!(alice.fails(&args), failure(1, "invalid_state"));
    assert_eq!(alice.ok(&["snapshot", "--release"]), "let go\n");
    assert_eq!(alice.ok(&["snapshot", "--release"]), "none was held\n");
    assert!(!folder.exists());
    alice.call("daemon.snapshot", json!({}));
    alice.stop();
    assert!(!folder.exists());
    alice.start();
    alice.call("daemon.snapshot", json!({}));
    alice.kill();
    assert!(folder.exists());
    alice.start();
    assert!(!folder.exists());
}

#[test]
fn a_home_from_a_copy_misses_its_keys_until_they_are_put_back() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let mut desk = bob.agent("desk");
    alice.knows("bob/desk@desk");
    let mut api = alice.agent("api");
    let id = api.send("bob/desk", "before the copy");
    desk.holds(1);
    let copy = house.path().join("copy");
    alice.ok(&["snapshot", "--to", copy.to_str().unwrap()]);
    let keys = fs::read(alice.home().join("identity.json")).unwrap();
    alice.stop();

    let home = restored_home(&house, "restored", &copy);
    let mut back = Machine::at(&home);
    assert_eq!(alarm(&back), "keys_missing");
    assert_eq!(back.fails(&["send", "bob/desk", "x"]), failure(4, "no_identity"));
    let url = house.relay.url();
    let found = ["team", "create", "--relay", &url, "--name", "other", "--person", "alice"];
    assert_eq!(
        back.fails(&[&found[..], &["--label", "laptop"]].concat()),
        failure(1, "invalid_state")
    );
    let doctor = back.run(&["doctor"]);
    assert_eq!(doctor.status, 9);
    assert!(doctor.stdout.contains("put a copy of identity.json back"), "{doctor:?}");

    back.stop();
    fs::write(home.join("identity.json"), &keys).unwrap();
    fs::set_permissions(home.join("identity.json"), fs::Permissions::from_mode(0o600)).unwrap();
    back.start();
    back.connected();
    assert_eq!(alarm(&back), Value::Null);
    let mut api = back.agent("api");
    let sent = api.call("item.read", json!({"id": id}));
    assert_eq!(sent["kind"], "sent", "its mail is here");
    back.knows("bob/desk@desk");
    api.send("bob/desk", "from the copy");
    assert_eq!(desk.holds(2), ["before the copy", "from the copy"]);
}

#[test]
fn a_home_from_before_a_rotation_says_so_and_publishes_nothing_until_its_keys_are_put_back() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    let copy = house.path().join("copy");
    alice.ok(&["snapshot", "--to", copy.to_str().unwrap()]);
    let old = fs::read(alice.home().join("identity.json")).unwrap();
    alice.connected();
    alice.ok(&["identity", "rotate-enc"]);
    let new = fs::read(alice.home().join("identity.json")).unwrap();
    alice.stop();

    let home = restored_home(&house, "restored", &copy);
    fs::write(home.join("identity.json"), &old).unwrap();
    fs::set_permissions(home.join("identity.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut back = Machine::at(&home);
    wait("the alarm", || (alarm(&back) == "restored").then_some(()));
    assert_eq!(back.fails(&["identity", "rotate-enc"]), failure(1, "invalid_state"));
    assert_eq!(back.fails(&["team", "invite", "carol"]), failure(1, "invalid_state"));
    let doctor = back.run(&["doctor"]);
    assert!(doctor.status == 9 && doctor.stdout.contains("older copy"), "{doctor:?}");
    // The minute in which alarms are told begins at once when the machine wakes.
    back.connected();
    wait("the notice", || {
        let notices = back.call("notice.list", json!({}));
        let text = "This device runs from an older copy. Replace it before you use it.";
        notices["notices"].as_array()?.iter().any(|notice| notice["line"] == text).then_some(())
    });

    back.stop();
    fs::write(home.join("identity.json"), &new).unwrap();
    back.start();
    back.connected();
    wait("the end of the alarm", || (alarm(&back) == Value::Null).then_some(()));
    back.ok(&["identity", "rotate-enc"]);
    let mut desk = bob.agent("desk");
    back.knows("bob/desk@desk");
    back.agent("api").send("bob/desk", "we are back");
    assert_eq!(desk.holds(1), ["we are back"]);
}
