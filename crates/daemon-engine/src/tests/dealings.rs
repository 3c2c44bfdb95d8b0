//! `conv.read` of an agent, `agents.list` and `agents.read`: what a session exchanged, looked at and not touched.
//! Spec: §8.2 "conv.read", "Your agents"

use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};

/// Alice's `api` and bob's `web`, who wrote to each other, and a task each way.
struct Talk {
    bench: Bench,
    api: Session,
    web: Session,
}

impl Talk {
    fn new() -> Self {
        let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("bob", "pc")]);
        let (api, web) = (bench.session(0, "api", json!({})), bench.session(1, "web", json!({})));
        bench.session(2, "web", json!({}));
        bench.session(2, "other", json!({}));
        bench.advance(2_000);
        bench.admin(0);
        Self { bench, api, web }
    }

    fn send(&mut self, from_api: bool, to: &str, text: &str, more: Value) -> Value {
        let mut params = json!({"to": to, "parts": [{"text": text}]});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let from = if from_api { &self.api } else { &self.web };
        let sent = self.bench.ask(from, "msg.send", params).unwrap();
        self.bench.advance(1_000);
        sent["results"][0].clone()
    }

    fn read(&mut self, with: &str, more: Value) -> Result<Value, String> {
        let mut params = json!({"conversation": format!("agent:{with}")});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.bench.ask(&self.api, "conv.read", params)
    }

    /// One word for each entry of a page.
    fn words(page: &Value) -> Vec<String> {
        let entries = page["entries"].as_array().unwrap();
        entries
            .iter()
            .map(|entry| {
                let text = entry.get("preview").or(entry.get("title")).and_then(Value::as_str);
                let (kind, way) = (&entry["type"], &entry["direction"]);
                format!(
                    "{} {} {}",
                    kind.as_str().unwrap(),
                    way.as_str().unwrap(),
                    text.unwrap_or("-")
                )
            })
            .collect()
    }
}

#[test]
fn a_conversation_with_an_agent_shows_mail_both_ways_and_each_task_once() {
    let mut talk = Talk::new();
    talk.send(true, "bob/web@desk", "one", json!({}));
    talk.send(false, "alice/api", "two", json!({}));
    let task =
        talk.send(true, "bob/web@desk", "find it", json!({"kind": "task"}))["taskId"].clone();
    talk.send(true, "bob/web@desk", "and more", json!({"taskId": task}));
    talk.send(false, "alice/api", "do this", json!({"kind": "task"}));
    // Any machine of that person is the same agent; another agent and another session are others.
    talk.send(true, "bob/web@pc", "three", json!({}));
    talk.send(true, "bob/other", "not this", json!({}));
    let working = json!({"taskId": task, "state": "TASK_STATE_WORKING"});
    talk.bench.ask(&talk.web, "task.update", working).unwrap();
    talk.bench.advance(1_000);
    let page = talk.read("bob/web", json!({})).unwrap();
    assert_eq!(page["kind"], "agent");
    assert_eq!(page["conversation"], "agent:bob/web");
    assert_eq!(page["more"], false);
    assert_eq!(
        Talk::words(&page),
        [
            "mail out -",
            "mail in two",
            "task out find it",
            "mail out -",
            "task in do this",
            "mail out -"
        ],
    );
    let entries = page["entries"].as_array().unwrap();
    assert_eq!(entries[2]["state"], "TASK_STATE_WORKING");
    assert_eq!(
        (&entries[2]["role"], &entries[4]["role"]),
        (&json!("requester"), &json!("executor"))
    );
    assert_eq!(entries[5]["peer"]["address"], "bob/web@pc");
    for entry in entries {
        let is_out = entry["direction"] == "out" && entry["type"] == "mail";
        assert_eq!(is_out, entry.get("preview").is_none() && entry["type"] == "mail", "{entry}");
    }
    // Somebody never met is an empty page.
    assert_eq!(talk.read("carol/x", json!({})).unwrap()["entries"], json!([]));
}

#[test]
fn looking_at_a_conversation_changes_no_stage_and_tells_nobody() {
    let mut talk = Talk::new();
    let id = talk.send(false, "alice/api", "two", json!({}))["envelopeId"].clone();
    let before = talk.bench.receipts(0, 1).len();
    talk.read("bob/web", json!({})).unwrap();
    talk.bench.call(0, CONN, "agents.list", json!({})).unwrap();
    talk.bench.call(0, CONN, "agents.read", json!({"agent": "api"})).unwrap();
    let one = json!({"agent": "api", "conversation": "agent:bob/web"});
    talk.bench.call(0, CONN, "agents.read", one).unwrap();
    talk.bench.advance(1_000);
    assert_eq!(talk.bench.receipts(0, 1).len(), before);
    assert_eq!(talk.bench.count(0, "SELECT count(*) FROM inbox WHERE stage = 'delivered'"), 1);
    assert_eq!(talk.bench.stage(&talk.web, id.as_str().unwrap()), "delivered");
}

#[test]
fn pages_go_back_and_on_from_an_entry_and_meet_nothing_twice() {
    let mut talk = Talk::new();
    for n in 0..35 {
        talk.send(
            n % 2 == 0,
            if n % 2 == 0 { "bob/web@desk" } else { "alice/api" },
            "x",
            json!({}),
        );
    }
    let ids = |page: &Value| -> Vec<Value> {
        page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
    };
    let place = |page: &Value, at: usize| -> Value {
        let entry = &page["entries"][at];
        json!({"at": entry["at"], "id": entry["id"]})
    };
    let all = talk.read("bob/web", json!({"limit": 100})).unwrap();
    assert_eq!(ids(&all).len(), 35);
    let latest = talk.read("bob/web", json!({})).unwrap();
    assert_eq!((ids(&latest).len(), &latest["more"]), (30, &json!(true)));
    assert_eq!(ids(&latest), ids(&all)[5..]);
    let earlier = talk.read("bob/web", json!({"before": place(&latest, 0)})).unwrap();
    assert_eq!((ids(&earlier), &earlier["more"]), (ids(&all)[..5].to_vec(), &json!(false)));
    let back = talk.read("bob/web", json!({"before": place(&latest, 0), "limit": 2})).unwrap();
    assert_eq!((ids(&back), &back["more"]), (ids(&all)[3..5].to_vec(), &json!(true)));
    let on = talk.read("bob/web", json!({"after": place(&all, 2), "limit": 3})).unwrap();
    assert_eq!((ids(&on), &on["more"]), (ids(&all)[3..6].to_vec(), &json!(true)));
    let end = talk.read("bob/web", json!({"after": place(&all, 34)})).unwrap();
    assert_eq!((ids(&end), &end["more"]), (vec![], &json!(false)));
    for wrong in [
        json!({"limit": 101}),
        json!({"before": 7}),
        json!({"before": place(&all, 1), "after": place(&all, 2)}),
    ] {
        assert_eq!(talk.read("bob/web", wrong).unwrap_err(), "invalid_request");
    }
}

#[test]
fn agents_are_listed_with_their_figures_the_most_recent_first() {
    let mut talk = Talk::new();
    let quiet = talk.bench.session(0, "quiet", json!({}));
    talk.bench.leave(&quiet);
    talk.bench.session(0, "busy", json!({"state": "busy"}));
    talk.send(false, "alice/api", "two", json!({}));
    let last = talk.send(true, "bob/other", "three", json!({}));
    let list = talk.bench.call(0, CONN, "agents.list", json!({})).unwrap();
    let agents = list["agents"].as_array().unwrap();
    let names: Vec<&Value> = agents.iter().map(|agent| &agent["agent"]).collect();
    assert_eq!(names, ["api", "busy", "quiet"]);
    assert_eq!((&agents[0]["conversations"], &agents[0]["unread"]), (&json!(2), &json!(1)));
    assert_eq!(agents[0]["state"], "idle");
    assert_eq!((&agents[1]["state"], &agents[2]["state"]), (&json!("busy"), &json!("kept")));
    assert!(agents[1].get("lastAt").is_none());

    let read = |talk: &mut Talk, more: Value| {
        let mut params = json!({"agent": "api"});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        talk.bench.call(0, CONN, "agents.read", params)
    };
    let with = read(&mut talk, json!({})).unwrap();
    assert_eq!(with["kind"], "conversations");
    let with = with["conversations"].as_array().unwrap();
    assert_eq!(
        (&with[0]["conversation"], &with[0]["unread"]),
        (&json!("agent:bob/other"), &json!(0))
    );
    assert_eq!(
        (&with[1]["conversation"], &with[1]["unread"]),
        (&json!("agent:bob/web"), &json!(1))
    );
    assert!(with[0]["lastAt"].as_u64() > with[1]["lastAt"].as_u64());
    let first = read(&mut talk, json!({"limit": 1})).unwrap();
    assert_eq!(first["conversations"], json!([with[0]]), "no more than were asked for");
    let page = read(&mut talk, json!({"conversation": "agent:bob/other"})).unwrap();
    assert_eq!((&page["kind"], &page["more"]), (&json!("entries"), &json!(false)));
    assert_eq!(page["entries"][0]["id"], last["envelopeId"]);
    let place = json!({"at": page["entries"][0]["at"], "id": page["entries"][0]["id"]});
    let before = read(&mut talk, json!({"conversation": "agent:bob/other", "before": place}));
    assert_eq!(before.unwrap()["entries"], json!([]));
    let nobody = talk.bench.call(0, CONN, "agents.read", json!({"agent": "nobody"}));
    assert_eq!(nobody.unwrap_err(), "not_found");
    assert_eq!(read(&mut talk, json!({"conversation": "dm:bob"})).unwrap_err(), "invalid_request");
}
