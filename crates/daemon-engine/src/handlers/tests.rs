//! The methods rule by rule, over a store in memory and without a socket.

mod contacts;
mod dispatch;
mod inbox;
mod msg;
mod people;
mod screen;
mod session;
mod team;

use serde_json::{Value, json};

use crate::input::{ConnId, In, Tier};
use crate::tests::bench::Bench;

/// Opens a connection and names it.
fn connect(bench: &mut Bench, at: usize, tier: Tier) -> u64 {
    // Far from the numbers that `Bench::session` gives out.
    let conn = 1_000_000 + bench.daemons.iter().map(|daemon| daemon.log.len() as u64).sum::<u64>();
    bench.input(at, In::IpcOpened { conn: ConnId(conn), tier });
    conn
}

/// Registers a session and gives the answer.
fn register(bench: &mut Bench, conn: u64, key: &str, more: Value) -> Result<Value, String> {
    let mut params = json!({"key": padded(key), "agent": "codex"});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    bench.call(0, conn, "session.register", params)
}

/// A key of the right length.
fn padded(key: &str) -> String {
    format!("{key:->22}")
}
