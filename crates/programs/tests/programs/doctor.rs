//! What the doctor finds: a word, what it means, and one step.
//! Spec: D6.6

use std::os::unix::fs::PermissionsExt as _;

use messaging_client::testing::{FakeDaemon, Step, private_home};
use messaging_ipc::hello::Hello;
use serde_json::{Value, json};

use crate::asking::{device, health, status};
use crate::run::{Ran, on};

/// The check that failed first, whole.
fn found(ran: &Ran, id: &str) -> Value {
    let document = ran.json();
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("{ran:?}")).clone()
}

/// What the doctor says of a daemon whose link failed with these words.
fn relay_after(words: &'static str) -> Value {
    let daemon = FakeDaemon::start(move |method, _| match method {
        "daemon.status" => {
            let mut status = status(true);
            status["relay"] = json!({"url": "wss://relay.example/v1/connect", "state": "offline",
                "since": 1_767_225_600_000_u64, "lastError": words, "lastErrorAt": 1_767_225_600_000_u64});
            Step::Result(status)
        }
        "daemon.health" => Step::Result(health()),
        "device.status" => Step::Result(device()),
        other => panic!("{other}"),
    });
    let ran = on(daemon.home(), &["doctor", "--json"]);
    assert_eq!(ran.status, 9, "{ran:?}");
    let check = found(&ran, "relay");
    assert_eq!(check["state"], "fail");
    // The same for a person, with one step under `--full`.
    let plain = on(daemon.home(), &["doctor", "--full"]);
    let line = match check["code"].as_str() {
        Some(code) => format!("fail  relay: {code}: "),
        None => "fail  relay: ".to_owned(),
    };
    assert!(plain.stdout.contains(&line), "{plain:?}");
    let next = format!("      Next: {}\n", check["next"].as_str().unwrap());
    assert!(plain.stdout.contains(&next), "{plain:?}");
    check
}

#[test]
fn what_keeps_a_machine_from_its_relay_has_a_name_and_a_step() {
    for (words, code, step) in [
        (
            "the relay's clock and this machine's are too far apart",
            "clock_skew",
            "set this machine's clock",
        ),
        (
            "the relay's certificate is not valid at this machine's time",
            "clock_skew",
            "set this machine's clock",
        ),
        ("the proxy did not let the connection through", "proxy_refused", "NO_PROXY"),
        ("the proxy wants another user or password", "proxy_password", "HTTPS_PROXY"),
        ("the proxy does not answer", "proxy_unusable", "HTTPS_PROXY"),
        ("the proxy's address is not understood", "proxy_unusable", "HTTPS_PROXY"),
        (
            "the relay's certificate is by nobody this machine knows",
            "certificate_unknown",
            "SSL_CERT_FILE",
        ),
        (
            "this machine has no certificates to know a relay by",
            "certificate_unknown",
            "SSL_CERT_FILE",
        ),
        (
            "the relay's certificate is for another name",
            "certificate_wrong",
            "whoever runs the relay",
        ),
        ("the relay's certificate was not accepted", "certificate_wrong", "whoever runs the relay"),
        ("the relay names another origin than its own", "relay_mismatch", "--relay-id"),
    ] {
        let check = relay_after(words);
        assert_eq!(check["code"], code, "{words}");
        assert!(check["next"].as_str().unwrap().contains(step), "{check}");
        assert!(check["message"].as_str().unwrap().contains("wss://relay.example"), "{check}");
    }
    // What only waiting mends has none.
    assert_eq!(relay_after("the relay does not answer")["code"], Value::Null);
}

#[test]
fn what_others_can_write_has_a_name() {
    let home = private_home();
    std::fs::write(home.path().join("identity.json"), "{}").unwrap();
    for (path, mode, id) in
        [("", 0o770, "home"), ("run", 0o707, "run"), ("identity.json", 0o644, "keys")]
    {
        let path = home.path().join(path);
        let before = std::fs::metadata(&path).unwrap().permissions();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let ran = on(home.path(), &["doctor", "--json"]);
        assert_eq!((ran.status, &found(&ran, id)["code"]), (9, &json!("not_private")), "{id}");
        std::fs::set_permissions(&path, before).unwrap();
    }
}

#[test]
fn a_lock_that_was_left_has_a_name() {
    let home = private_home();
    std::fs::write(home.path().join("run/messagingd.lock"), "999999\n").unwrap();
    let ran = on(home.path(), &["doctor", "--json"]);
    let check = found(&ran, "lock");
    assert_eq!(check["code"], "stale_lock");
    assert!(check["next"].as_str().unwrap().contains("messaging daemon start"));
}

#[test]
fn a_daemon_of_another_release_and_none_at_all_have_a_name() {
    let hello = Hello { version: "0.0.9".into(), ..Hello::new(1, None) };
    let daemon = FakeDaemon::greeting(hello.line(), |_, _| Step::HangUp);
    let check = found(&on(daemon.home(), &["doctor", "--json"]), "daemon");
    assert_eq!((&check["state"], &check["code"]), (&json!("fail"), &json!("daemon_mismatch")));
    assert!(check["message"].as_str().unwrap().contains("0.0.9"), "{check}");
    let home = private_home();
    let check = found(&on(home.path(), &["doctor", "--json"]), "daemon");
    assert_eq!(check["code"], "daemon_unavailable");
}

#[test]
fn a_damaged_store_and_one_that_is_none_have_a_name() {
    let home = private_home();
    let store = home.path().join("messaging.db");
    let says = |code: &str| {
        let check = found(&on(home.path(), &["doctor", "--json"]), "store");
        assert_eq!((&check["state"], &check["code"]), (&json!("fail"), &json!(code)), "{check}");
    };
    std::fs::write(&store, "something else, and longer than a header of a database would be here")
        .unwrap();
    says("store_refused");
    std::fs::remove_file(&store).unwrap();
    assert_eq!(on(home.path(), &["daemon", "start"]).status, 0);
    assert_eq!(on(home.path(), &["daemon", "stop"]).status, 0);
    let mut bytes = std::fs::read(&store).unwrap();
    // Everything behind the first page, which says what kind of file it is.
    bytes[8_192..].fill(0x5a);
    std::fs::write(&store, bytes).unwrap();
    says("store_damaged");
}
