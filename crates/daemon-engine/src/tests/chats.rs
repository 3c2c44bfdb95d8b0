//! The person's conversations, rule by rule: lines, their delivery, channels, and how they are read.
//! Spec: §6.8, §8.2 "Chats"

mod channels;
mod delivery;
mod lines;
mod paces;
mod reading;
mod receiving;
mod search;

use messaging_core::envelope::SealedType;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::random;
use messaging_core::testing::SeededRandom;
use messaging_ipc::shapes::Direction;
use messaging_store::StoreError;
use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};
use super::forge::{Forged, personal};
use crate::store::lines::{self as rows, LineRow};

/// Two persons with two machines each, and one with one.
const TEAM: [(&str, &str); 5] =
    [("alice", "laptop"), ("alice", "pad"), ("bob", "desk"), ("bob", "phone"), ("carol", "pc")];
/// Where they stand in the bench.
const ALICE: usize = 0;
const ALICE_PAD: usize = 1;
const BOB: usize = 2;
const BOB_PHONE: usize = 3;
const CAROL: usize = 4;

fn bench() -> Bench {
    let mut bench = Bench::connected(&TEAM);
    for at in 0..TEAM.len() {
        bench.admin(at);
    }
    bench
}

/// The person of a daemon writes a line.
fn say(bench: &mut Bench, at: usize, room: &str, text: &str) -> Result<Value, String> {
    bench.call(at, CONN, "person.send", json!({"conversation": room, "text": text}))
}

/// A session writes a line.
fn agent_says(bench: &mut Bench, from: &Session, to: &str, text: &str) -> Result<Value, String> {
    bench.ask(from, "msg.send", json!({"to": to, "parts": [{"text": text}]}))
}

/// The lines of a room, oldest first.
fn lines(bench: &mut Bench, at: usize, room: &str) -> Vec<Value> {
    let page = bench.call(at, CONN, "conv.read", json!({"conversation": room, "limit": 100}));
    page.map(|page| page["lines"].as_array().unwrap().clone()).unwrap_or_default()
}

fn texts(bench: &mut Bench, at: usize, room: &str) -> Vec<String> {
    lines(bench, at, room).iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// One conversation as `conv.list` has it.
fn room(bench: &mut Bench, at: usize, room: &str) -> Value {
    let list = bench.call(at, CONN, "conv.list", json!({})).unwrap();
    let rooms = list["conversations"].as_array().unwrap();
    rooms.iter().find(|found| found["conversation"] == room).cloned().unwrap_or(Value::Null)
}

/// What a daemon sent beside receipts and presence, opened: its recipient's label and the payload.
fn said(bench: &Bench, at: usize) -> Vec<(String, Value, Value)> {
    let sent = bench.relay.sent_by(at).into_iter();
    sent.filter(|env| env["type"] == "message")
        .map(|env| {
            let to = super::relay::device(&env, "to");
            let at = (0..TEAM.len()).find(|at| bench.machine(*at) == to).unwrap();
            let label = TEAM[at].1.to_owned();
            let payload = bench.open(&env);
            (label, env, payload)
        })
        .collect()
}

/// Founds a channel as the person of a daemon.
fn found(bench: &mut Bench, at: usize, name: &str, persons: &[&str]) -> Value {
    let params = json!({"name": name, "persons": persons});
    let channel = bench.call(at, CONN, "channel.create", params).unwrap();
    bench.advance(1_000);
    channel["channel"].clone()
}

/// A line as it is sealed, under an id of its own.
fn line(n: u64, text: &str) -> Value {
    json!({"kind": "message", "message": {
        "messageId": id(n), "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// A channel operation as it is sealed.
fn op(n: u64, conv: Value) -> Value {
    let mut payload = line(n, conv["op"].as_str().unwrap());
    payload["conv"] = conv;
    payload["conv"]["kind"] = json!("channel");
    payload
}

fn id(n: u64) -> Ulid {
    random::ulid(super::bench::START.wall, &mut SeededRandom::new(5_000 + n))
}

/// Sends something that a member's machine forged, and gives what was answered.
fn arrives(
    bench: &mut Bench,
    from: usize,
    to: usize,
    agent: Option<&'static str>,
    payload: Value,
) -> String {
    let forged = Forged { from_agent: agent, ..personal(SealedType::Message, payload) };
    let env = bench.forge(from, to, forged);
    bench.deliver(to, &env);
    // A daemon sends eight envelopes a second.
    bench.advance(150);
    bench.answer_to(to, from, &env).unwrap_or_default()
}

/// Files a line of bob's as it stands in the store, and nothing else.
fn filed(tx: &mut messaging_store::Tx<'_>, n: u64, text: &str) -> Result<(), StoreError> {
    filed_in(tx, "dm:bob", n, text, text)
}

/// Files a line of bob's in a room, found by `fold`.
fn filed_in(
    tx: &mut messaging_store::Tx<'_>,
    room: &str,
    n: u64,
    text: &str,
    fold: &str,
) -> Result<(), StoreError> {
    let seq = rows::next_seq(tx)?;
    let row = LineRow {
        id: id(n),
        seq,
        change_seq: seq,
        room: room.parse().unwrap(),
        person: "bob".parse().unwrap(),
        device: MachineId::from_bytes(&[1; 32]),
        label: None,
        agent: None,
        direction: Direction::In,
        text: text.to_owned(),
        thread: None,
        notice: false,
        truncated: false,
        state: None,
        refused: Vec::new(),
        at: super::bench::START.wall,
        filed_at: super::bench::START.wall,
    };
    rows::insert(tx, &row, fold)
}
