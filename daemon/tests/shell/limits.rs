//! Limits: how many clients, and what happens to those who ask and go.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use messaging_ipc::line::{CONNECTIONS, LINE_BYTES};
use serde_json::json;

use super::rig::{Client, Rig};

#[test]
fn one_connection_too_many_is_closed_without_a_hello() {
    let rig = Rig::start();
    let socket = rig.home().join("run/agent.sock");
    let mut clients: Vec<Client> =
        (0..CONNECTIONS).map(|_| Client::connect(&socket).unwrap()).collect();
    assert!(Client::connect(&socket).is_none());
    // The other socket has room of its own.
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok());
    // A place that is given back is taken again.
    drop(clients.pop());
    let place = (0..10_000).find_map(|_| Client::connect(&socket));
    assert!(place.is_some());
    for client in &mut clients {
        assert!(client.call("daemon.health", &json!({})).is_ok());
    }
}

#[test]
fn a_thousand_clients_that_ask_for_much_and_die_leave_no_trace() {
    let rig = Rig::start();
    let socket = rig.home().join("run/agent.sock");
    for round in 0..1_000u32 {
        let Some(mut client) = Client::connect(&socket) else { continue };
        let key = format!("key-of-the-client-number-{round}");
        client.ask("session.register", &json!({"key": key, "agent": "cli", "name": "mortal"}));
        for _ in 0..40 {
            client.ask("daemon.status", &json!({}));
        }
        client.ask("session.unregister", &json!({"key": key}));
        match round % 3 {
            // Gone without reading a word; gone in the middle of a line; gone politely.
            0 => {}
            1 => client.write(b"{\"jsonrpc\":\"2.0\",\"id\":"),
            _ => client.lines.get_ref().shutdown(Shutdown::Write).unwrap(),
        }
    }
    let mut client = rig.admin();
    assert_eq!(client.call("daemon.health", &json!({})).unwrap()["state"], "running");
    let register = json!({"key": "the-key-of-the-survivor", "agent": "cli", "name": "survivor"});
    assert_eq!(client.call("session.register", &register).unwrap()["name"], "survivor");
}

#[test]
fn a_client_that_reads_nothing_is_read_no_further_and_holds_up_nobody() {
    let rig = Rig::start();
    let mut deaf = rig.agent();
    let stream = deaf.lines.get_mut();
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let request = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.status\"}\n";
    let flood = request.repeat(1_000);
    // What the sockets and the slots hold is soon full.
    let taken = (0..200).take_while(|_| stream.write_all(&flood).is_ok()).count();
    assert!(taken < 200, "it took {taken} thousand requests and was read no answer");
    assert!(rig.agent().call("daemon.health", &json!({})).is_ok());
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok());
}

#[test]
fn lines_that_grow_a_hundredfold_in_memory_are_answered_one_after_another() {
    let rig = Rig::start();
    let head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.register\",\"params\":{\"x\":[";
    let line = format!("{head}{}0]}}}}\n", "{\"\":0},".repeat((LINE_BYTES - 200) / 7));
    let mut clients: Vec<Client> = (0..4).map(|_| rig.agent()).collect();
    for client in &mut clients {
        client.write(line.as_bytes());
    }
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok());
    for client in &mut clients {
        assert_eq!(client.read().unwrap()["error"]["data"]["code"], "invalid_request");
        assert!(client.call("daemon.health", &json!({})).is_ok(), "and the connection goes on");
    }
}
