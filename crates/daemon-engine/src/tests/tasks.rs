//! Tasks between agents of one team: what each side remembers, and that both come to the same end.
//! Spec: §6.1 to §6.3, §6.7, D3.15, D3.16

mod chains;
mod endings;
mod follow_ups;
mod here;
mod lists;
mod requests;
mod updates;

use serde_json::{Value, json};

use super::bench::{Bench, Session};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];
const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];

/// Alice's `api` asks, Bob's `web` does.
struct Pair {
    bench: Bench,
    alice: Session,
    bob: Session,
}

/// A task that was asked for.
#[derive(Clone)]
struct Asked {
    task: String,
    request: String,
}

impl Pair {
    fn new() -> Self {
        Self::of(&TWO)
    }

    fn of(names: &[(&str, &str)]) -> Self {
        let mut bench = Bench::connected(names);
        let alice = bench.session(0, "api", json!({}));
        let bob = bench.session(1, "web", json!({}));
        bench.advance(3_000);
        Self { bench, alice, bob }
    }

    /// A pair with a task that was asked for and delivered.
    fn asked() -> (Self, Asked) {
        let mut pair = Self::new();
        let asked = pair.ask("do this");
        (pair, asked)
    }

    fn ask(&mut self, text: &str) -> Asked {
        let result = request(&mut self.bench, &self.alice, "bob/web", text, json!({}));
        self.bench.advance(1_000);
        asked(&result)
    }

    /// The executor's update.
    fn update(&mut self, asked: &Asked, more: Value) -> Result<Value, String> {
        let answer = update(&mut self.bench, &self.bob, asked, more);
        self.bench.advance(1_000);
        answer
    }

    /// The executor says a state.
    fn say(&mut self, asked: &Asked, state: &str) {
        self.update(asked, json!({"state": format!("TASK_STATE_{state}")})).unwrap();
    }

    fn cancel(&mut self, asked: &Asked) -> Value {
        let params = json!({"taskId": asked.task, "reason": "enough"});
        let answer = self.bench.ask(&self.alice, "task.cancel", params).unwrap();
        self.bench.advance(1_000);
        answer
    }

    fn reply(&mut self, asked: &Asked, text: &str) -> Result<Value, String> {
        let params = json!({"to": "bob/web", "taskId": asked.task, "parts": [{"text": text}]});
        let answer = self.bench.ask(&self.alice, "msg.send", params);
        self.bench.advance(1_000);
        answer.map(|sent| sent["results"][0].clone())
    }

    fn records(&mut self, asked: &Asked) -> [Value; 2] {
        [record(&mut self.bench, &self.alice, asked), record(&mut self.bench, &self.bob, asked)]
    }

    /// The state that both sides have, with the text that stands beside it.
    #[track_caller]
    fn state(&mut self, asked: &Asked) -> String {
        let [requester, executor] = self.records(asked);
        assert_eq!(requester["status"], executor["status"]);
        assert_eq!(requester["artifacts"], executor["artifacts"]);
        let state = executor["status"]["state"].as_str().unwrap();
        let state = state.strip_prefix("TASK_STATE_").unwrap().to_owned();
        match executor.pointer("/status/message/parts/0/text").and_then(Value::as_str) {
            Some(text) => format!("{state}: {text}"),
            None => state,
        }
    }

    /// Ends a daemon and starts it again; its sessions come back.
    fn restart(&mut self, at: usize) {
        let store = self.bench.kill(at);
        self.bench.start(at, store);
        self.bench.advance(2_000);
        self.alice = self.bench.resume(&self.alice);
        self.bob = self.bench.resume(&self.bob);
        self.bench.advance(2_000);
    }

    /// The task events of a daemon since the last time: origin, state, kind of update.
    fn events(&mut self, at: usize) -> Vec<String> {
        let events = std::mem::take(&mut self.bench.daemons[at].events);
        let tasks = events.iter().filter(|event| event["type"] == "task");
        tasks
            .map(|event| {
                let state = event["task"]["status"]["state"].as_str().unwrap();
                let state = state.strip_prefix("TASK_STATE_").unwrap();
                let update = event.pointer("/update/kind").and_then(Value::as_str).unwrap_or("-");
                format!("{} {state} {update}", event["origin"].as_str().unwrap())
            })
            .collect()
    }

    /// The sealed envelopes of a type that a daemon sent, in order.
    fn sent(&self, at: usize, kind: &str) -> Vec<Value> {
        let mut sent = self.bench.relay.sent_by(at);
        sent.retain(|env| env["type"].as_str().unwrap().starts_with(kind));
        sent.dedup_by(|a, b| a["id"] == b["id"]);
        sent
    }
}

fn request(bench: &mut Bench, from: &Session, to: &str, text: &str, more: Value) -> Value {
    let mut params = json!({"to": to, "kind": "task", "parts": [{"text": text}]});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    bench.ask(from, "msg.send", params).unwrap()["results"][0].clone()
}

fn asked(result: &Value) -> Asked {
    Asked {
        task: result["taskId"].as_str().unwrap().to_owned(),
        request: result["envelopeId"].as_str().unwrap().to_owned(),
    }
}

fn update(
    bench: &mut Bench,
    session: &Session,
    asked: &Asked,
    mut more: Value,
) -> Result<Value, String> {
    more["taskId"] = json!(asked.task);
    bench.ask(session, "task.update", more).map(|answer| answer["task"].clone())
}

fn record(bench: &mut Bench, session: &Session, asked: &Asked) -> Value {
    bench.ask(session, "task.get", json!({"taskId": asked.task})).unwrap()["task"].clone()
}

fn artifact(id: &str, text: &str) -> Value {
    json!({"artifactId": id, "parts": [{"text": text}]})
}
