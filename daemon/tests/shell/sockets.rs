//! Sockets: who says what first, what is served where, and what a bad line comes to.

use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use messaging_ipc::line::LINE_BYTES;
use serde_json::{Value, json};

use super::rig::{Client, Rig};

#[test]
fn the_hello_is_the_first_line_on_both_sockets() {
    let rig = Rig::start();
    for client in [rig.admin(), rig.agent()] {
        assert_eq!(
            client.hello,
            json!({"jsonrpc": "2.0", "method": "hello", "params": {
                "daemon": "messagingd", "version": env!("CARGO_PKG_VERSION"), "protocol": 1,
                "pid": std::process::id(),
            }})
        );
    }
}

#[test]
fn both_sockets_are_this_users_alone() {
    let rig = Rig::start();
    for name in ["agent.sock", "admin.sock"] {
        let meta = std::fs::symlink_metadata(rig.home().join("run").join(name)).unwrap();
        assert!(meta.file_type().is_socket());
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn each_socket_serves_its_tiers() {
    let rig = Rig::start();
    let (mut admin, mut agent) = (rig.admin(), rig.agent());
    assert!(admin.call("daemon.health", &json!({})).is_ok());
    assert!(agent.call("daemon.health", &json!({})).is_ok());
    // Before the parameters are read, known or not.
    for method in ["team.list", "daemon.stop", "no.such.method"] {
        assert_eq!(agent.call(method, &json!({"nonsense": 1})), Err("forbidden".into()));
    }
    assert_eq!(admin.call("no.such.method", &json!({})), Err("invalid_request".into()));
}

#[test]
fn a_line_that_is_no_request_is_answered_and_the_connection_goes_on() {
    let rig = Rig::start();
    let mut client = rig.admin();
    let cases = [
        ("not json", -32_700, Value::Null),
        ("{\"a\":1,\"a\":2}", -32_700, Value::Null),
        ("[]", -32_600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"daemon.health\"}", -32_600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"daemon.health\"}", -32_600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"daemon.health\"}", -32_600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"daemon.health\",\"x\":1}", -32_600, json!(7)),
        ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"nothing\"}", -32_601, json!(7)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"daemon.health\",\"params\":[]}",
            -32_602,
            json!(7),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"daemon.health\",\"params\":{\"x\":1}}",
            -32_602,
            json!(7),
        ),
    ];
    for (line, code, id) in cases {
        client.write(format!("{line}\n \t\r\n\n").as_bytes());
        let answer = client.read().unwrap();
        assert_eq!(answer["error"]["code"], code, "{line}");
        assert_eq!(answer["id"], id, "{line}");
        assert_eq!(answer["error"]["data"]["code"], "invalid_request");
    }
    assert!(client.call("daemon.health", &json!({})).is_ok());
}

#[test]
fn the_line_cap_is_exact_and_a_longer_line_ends_the_connection() {
    let rig = Rig::start();
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.health\"}";
    let padded = |bytes: usize| format!("{request}{}\n", " ".repeat(bytes - request.len()));

    for bytes in [LINE_BYTES - 1, LINE_BYTES] {
        let mut client = rig.admin();
        client.write(padded(bytes).as_bytes());
        assert!(client.read().unwrap().get("result").is_some());
    }

    let mut client = rig.admin();
    client.write(padded(LINE_BYTES + 1).as_bytes());
    let answer = client.read().unwrap();
    assert_eq!(answer["id"], Value::Null);
    assert_eq!(answer["error"]["data"]["code"], "too_large");
    assert_eq!(client.read(), None);
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let rig = Rig::start();
    let mut client = rig.admin();
    let asked: Vec<u64> = (0..500).map(|_| client.ask("daemon.status", &json!({}))).collect();
    let mut answered: Vec<u64> =
        asked.iter().map(|_| client.read().unwrap()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
}

#[test]
fn a_client_that_closes_its_side_still_gets_its_answers() {
    let rig = Rig::start();
    let mut client = rig.admin();
    for _ in 0..20 {
        client.ask("daemon.health", &json!({}));
    }
    client.lines.get_ref().shutdown(Shutdown::Write).unwrap();
    let answers = client.drain();
    assert_eq!(answers.iter().filter(|byte| **byte == b'\n').count(), 20);
}

#[test]
fn a_key_works_only_where_it_was_registered() {
    let rig = Rig::start();
    let (mut first, mut second) = (rig.agent(), rig.agent());
    let key = json!({"key": "a-session-key-of-this-test"});
    let register = json!({"key": key["key"], "agent": "codex", "name": "api"});
    assert_eq!(first.call("session.register", &register).unwrap()["name"], "api");
    assert!(first.call("inbox.list", &key).is_ok());
    assert_eq!(second.call("inbox.list", &key), Err("not_found".into()));
    // Whoever knows a key may take its session up on a connection of its own.
    assert_eq!(second.call("session.register", &register).unwrap()["name"], "api");
    assert!(second.call("inbox.list", &key).is_ok());
}

#[test]
fn after_a_stop_nothing_is_left_and_the_home_starts_again() {
    let mut rig = Rig::start();
    let pid_file = rig.home().join("run/messagingd.lock");
    assert_eq!(std::fs::read_to_string(&pid_file).unwrap(), format!("{}\n", std::process::id()));
    let mut client = rig.admin();
    let answer = client.call("daemon.stop", &json!({})).unwrap();
    assert_eq!(answer, json!({"ok": true, "pid": std::process::id()}));
    assert_eq!(client.read(), None, "the connection ends");
    rig.wait();
    for name in ["agent.sock", "admin.sock", "messagingd.lock"] {
        assert!(!rig.home().join("run").join(name).exists(), "{name}");
    }
    rig.launch();
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok());
    rig.stop();
    assert!(Client::connect(&rig.home().join("run/admin.sock")).is_none());
}
