//! Limits: how many clients, and what happens to those who ask and go.

use std::net::Shutdown;

use messaging_ipc::line::CONNECTIONS;
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
