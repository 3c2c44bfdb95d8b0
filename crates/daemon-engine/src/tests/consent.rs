//! The person's consent, from outside: what is delivered, held and refused, what they answer, and what their devices agree on.
//! Spec: §6.9, D3.10–D3.13

mod answers;
mod asks;
mod cards;
mod devices;
mod faults;
mod grants;

use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];
const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];

/// A team that said nothing about each other: Alice's `api`, Bob's `web`, and the persons' own connections.
struct Town {
    bench: Bench,
    alice: Session,
    bob: Session,
}

impl Town {
    fn new() -> Self {
        Self::of(&TWO)
    }

    fn of(names: &[(&str, &str)]) -> Self {
        let mut bench = Bench::reserved(names);
        for at in 0..names.len() {
            bench.admin(at);
        }
        let alice = bench.session(0, "api", json!({}));
        let bob = bench.session(1, "web", json!({}));
        bench.advance(3_000);
        Self { bench, alice, bob }
    }

    /// Bob says something about a person.
    fn says(&mut self, person: &str, levels: Value) -> Value {
        self.try_says(1, person, levels).unwrap()
    }

    fn try_says(&mut self, at: usize, person: &str, levels: Value) -> Result<Value, String> {
        let mut params = json!({"subject": {"person": person}});
        for (name, level) in levels.as_object().unwrap() {
            params[name] = level.clone();
        }
        let set = self.bench.call(at, CONN, "grant.set", params);
        self.bench.advance(1_000);
        set.map(|set| set["grant"].clone())
    }

    /// Alice's agent writes to Bob's.
    fn writes(&mut self, text: &str) -> String {
        let id = self.bench.send(&self.alice, "bob/web", text);
        self.bench.advance(1_000);
        id
    }

    /// Alice's agent asks Bob's to do a task.
    fn asks(&mut self, text: &str) -> (String, String) {
        let params = json!({"to": "bob/web", "kind": "task", "parts": [{"text": text}]});
        let sent = self.bench.ask(&self.alice, "msg.send", params).unwrap()["results"][0].clone();
        self.bench.advance(1_000);
        let word = |name: &str| sent[name].as_str().unwrap().to_owned();
        (word("envelopeId"), word("taskId"))
    }

    fn stage(&mut self, id: &str) -> String {
        self.bench.stage(&self.alice, id)
    }

    fn requests(&mut self, at: usize) -> Vec<Value> {
        let list = self.bench.call(at, CONN, "request.list", json!({})).unwrap();
        list["requests"].as_array().unwrap().clone()
    }

    fn answer(&mut self, id: &str, answer: &str) -> Result<Value, String> {
        self.answer_all(id, answer, false)
    }

    fn answer_all(&mut self, id: &str, answer: &str, all: bool) -> Result<Value, String> {
        let params = json!({"id": id, "answer": answer, "all": all});
        let answered = self.bench.call(1, CONN, "request.answer", params);
        self.bench.advance(1_000);
        answered.map(|answered| answered["answered"].clone())
    }

    fn preview(&mut self, id: &str, answer: &str, all: bool) -> Result<Value, String> {
        let params = json!({"id": id, "answer": answer, "all": all});
        self.bench.call(1, CONN, "request.answer.preview", params)
    }

    fn texts(&mut self) -> Vec<String> {
        self.bench.texts(&self.bob)
    }

    /// The class of the newest item in Bob's inbox.
    fn class(&mut self) -> String {
        let page = self.bench.ask(&self.bob, "inbox.list", json!({})).unwrap();
        page["items"][0]["consent"].as_str().unwrap().to_owned()
    }

    fn grants(&mut self, at: usize) -> Value {
        self.bench.call(at, CONN, "grant.list", json!({})).unwrap()
    }

    fn restart(&mut self, at: usize) {
        let store = self.bench.kill(at);
        self.bench.start(at, store);
        self.bench.advance(2_000);
        self.bench.admin(at);
        if at == self.alice.daemon {
            self.alice = self.bench.resume(&self.alice);
        } else if at == self.bob.daemon {
            self.bob = self.bench.resume(&self.bob);
        }
        self.bench.advance(3_000);
    }
}

/// Takes a machine off the team.
fn remove(bench: &mut Bench, at: usize) {
    let op = messaging_core::roster::Op::MemberRemove { machine: bench.machine(at) };
    let entry = super::roster::entry(bench, &op, bench.now.wall);
    bench.relay.append(&entry);
    bench.settle();
    bench.advance(1_000);
}
