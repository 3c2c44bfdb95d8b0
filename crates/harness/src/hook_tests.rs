//! A hook against a scripted daemon, event by event.
//! Spec: §11 "After-tool delivery"

use super::*;
use crate::process::Process;
use crate::testing::{ATTACK, harmless, id, item_value};
use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::testing::SeededRandom;
use messaging_ipc::scalars::SessionKey;
use messaging_ipc::shapes::SessionTier;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A daemon with an inbox, and the place of one session's hooks.
struct Scene {
    daemon: FakeDaemon,
    stages: Arc<Mutex<BTreeMap<usize, &'static str>>>,
    options: Options,
    now: u64,
}

/// Items are numbered; those from 50 on belong to a task.
fn listed(n: usize, stage: &str) -> Value {
    let mut item = item_value(n, ATTACK);
    item["stage"] = json!(stage);
    if n >= 50 {
        item["taskId"] = json!(id(500));
    }
    item
}

fn task(state: &str) -> Value {
    json!({"task": {
        "id": id(500), "contextId": "c", "role": "executor", "session": "mcp", "peer": item_value(1, "")["from"],
        "title": "t", "status": {"state": state}, "request": {"parts": [{"text": "t"}]}, "requestId": id(50),
        "history": [], "artifacts": [], "createdAt": 1, "updatedAt": 2
    }})
}

impl Scene {
    fn new() -> Self {
        Self::with("TASK_STATE_INPUT_REQUIRED")
    }

    fn with(state: &'static str) -> Self {
        let stages: Arc<Mutex<BTreeMap<usize, &'static str>>> = Arc::default();
        let rows = Arc::clone(&stages);
        let daemon = FakeDaemon::start(move |method, params| {
            let mut rows = rows.lock().unwrap();
            Step::Result(match method {
                "session.register" => json!({
                    "key": params["key"], "name": "mcp", "address": "alice/mcp@laptop", "takenOver": false,
                    "unread": rows.len()
                }),
                "inbox.list" => {
                    let items: Vec<Value> =
                        rows.iter().rev().map(|(n, stage)| listed(*n, stage)).collect();
                    json!({"items": items, "unread": rows.len(), "more": false})
                }
                "inbox.ack" => {
                    for (n, stage) in rows.iter_mut() {
                        if params["ids"].as_array().unwrap().contains(&json!(id(*n))) {
                            *stage = "handed_to_agent";
                        }
                    }
                    json!({"acked": params["ids"]})
                }
                "task.get" => task(state),
                "task.list" => json!({"tasks": [], "total": 0}),
                _ => json!({"ok": true}),
            })
        });
        let run = daemon.home().join("run");
        std::fs::hard_link(run.join("admin.sock"), run.join("agent.sock")).unwrap();
        Self { daemon, stages, options: Options::default(), now: 1_000 }
    }

    fn arrives(&self, n: usize) {
        self.stages.lock().unwrap().insert(n, "delivered");
    }

    fn stage(&self, n: usize) -> &'static str {
        self.stages.lock().unwrap()[&n]
    }

    fn shown(&self) -> PathBuf {
        self.daemon.home().join("x.shown")
    }

    fn seat(&self) -> Vec<Found> {
        let record = Record {
            key: SessionKey::parse("kkkkkkkkkkkkkkkkkkkkkkkk").unwrap(),
            server: Process { pid: 1, start: 1 },
            agent: ClientKind::parse("mcp").unwrap(),
            name: SessionName::parse("mcp").unwrap(),
            tier: SessionTier::Pull,
            ticket_file: None,
        };
        vec![Found { record, shown: self.shown() }]
    }

    /// One event of the conversation `c`, and what is printed. `takes` is false for a harness that is gone by then.
    fn at(&mut self, moment: Moment, takes: bool) -> Option<Value> {
        // The hooks of a conversation follow each other.
        self.now = self.now.max(clock::wall().0) + 10;
        let harness = Harness::ClaudeCode;
        let name = match moment {
            Moment::Start { .. } => "SessionStart",
            Moment::Prompt(_) => "UserPromptSubmit",
            Moment::Tool { .. } => "PostToolUse",
            Moment::Stop { .. } => "Stop",
        };
        let event = Event { conversation: "c".into(), name, moment };
        let began = Began { wall: Ms(self.now), until: Instant::now() + Duration::from_secs(5) };
        let place = Place::home(self.daemon.home());
        let mut printed = None;
        let hook = Hook { harness, place: &place, options: &self.options, event, began };
        hook.act(
            &|_| self.seat(),
            |document| {
                printed = Some(document.clone());
                takes
            },
            &mut SeededRandom::new(1),
        );
        printed
    }

    fn text(&mut self, moment: Moment) -> Option<String> {
        let document = self.at(moment, true)?;
        let text = document["hookSpecificOutput"]["additionalContext"].as_str();
        let text = text.or_else(|| document["reason"].as_str()).unwrap().to_owned();
        harmless(&text);
        Some(text)
    }

    fn prompt(&mut self) -> Option<String> {
        self.text(Moment::Prompt("go on".into()))
    }

    fn tool(&mut self) -> Option<String> {
        self.text(Moment::Tool { ours: false })
    }

    fn stop(&mut self) -> Option<String> {
        self.text(Moment::Stop { going_on: false })
    }

    fn calls(&self, method: &str) -> usize {
        self.daemon.seen().iter().filter(|(name, _)| name == method).count()
    }
}

#[test]
fn a_conversation_is_introduced_once_and_counts_what_waits() {
    let mut scene = Scene::new();
    scene.arrives(1);
    let text = scene.text(Moment::Start { afresh: true }).unwrap();
    assert!(
        text.contains("You are alice/mcp@laptop.") && text.contains("One unread message waits")
    );
    // It was counted, not shown.
    let text = scene.prompt().unwrap();
    assert!(text.starts_with("New through messaging.") && text.contains(id(1).as_str()), "{text}");
    let mut late = Scene::new();
    let text = late.prompt().unwrap();
    assert!(text.starts_with("Messaging is on"), "a server that was not up yet: {text}");
    assert_eq!(late.prompt(), None);
}

#[test]
fn an_item_is_shown_once_and_handed_over_at_the_next_event() {
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    assert!(scene.tool().unwrap().contains(id(1).as_str()));
    assert_eq!(scene.stage(1), "delivered");
    assert_eq!(scene.stop(), None);
    assert_eq!(scene.stage(1), "handed_to_agent");
    assert_eq!(scene.tool(), None);
    assert_eq!(scene.calls("inbox.ack"), 1);
}

#[test]
fn what_could_not_be_printed_or_was_cleared_waits_again() {
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    scene.at(Moment::Tool { ours: false }, false).unwrap();
    assert!(scene.tool().unwrap().contains(id(1).as_str()));
    assert_eq!(scene.stage(1), "delivered");
    // The conversation is emptied before anything proves that the agent saw it.
    scene.text(Moment::Start { afresh: false });
    assert_eq!(scene.stage(1), "delivered");
    assert!(scene.prompt().unwrap().contains(id(1).as_str()));
    scene.prompt();
    assert_eq!(scene.stage(1), "handed_to_agent");
}

#[test]
fn a_hook_beside_another_proves_nothing_and_says_nothing() {
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    scene.tool().unwrap();
    let mut held = Held::open(&scene.shown()).unwrap();
    held.shown.offered_at = clock::wall().0 + 60_000;
    held.save().unwrap();
    // It has the file still.
    assert_eq!(scene.tool(), None);
    drop(held);
    scene.arrives(2);
    assert_eq!(scene.tool(), None);
    assert_eq!((scene.stage(1), scene.stage(2)), ("delivered", "delivered"));
}

#[test]
fn a_persons_prompt_begins_anew_and_what_a_host_sends_does_not() {
    let mut scene = Scene::new();
    scene.prompt();
    assert_eq!(scene.calls("session.update"), 1);
    scene.text(Moment::Prompt("<channel source=\"x\">…</channel>".into()));
    scene.tool();
    scene.stop();
    scene.text(Moment::Start { afresh: false });
    assert_eq!(scene.calls("session.update"), 1);
}

#[test]
fn what_came_as_a_prompt_is_not_shown_again_and_counts_with_the_next_event() {
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    scene.arrives(2);
    let pushed = format!("<channel source=\"messaging\">… id {} …</channel>", id(1));
    let text = scene.text(Moment::Prompt(pushed)).unwrap();
    assert!(text.contains(id(2).as_str()) && !text.contains(id(1).as_str()));
    assert_eq!(scene.stage(1), "delivered");
    scene.tool();
    assert_eq!((scene.stage(1), scene.stage(2)), ("handed_to_agent", "handed_to_agent"));
}

#[test]
fn our_own_tools_say_themselves_what_is_new() {
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    assert_eq!(scene.text(Moment::Tool { ours: true }), None);
    assert!(scene.tool().is_some());
}

#[test]
fn a_stop_is_held_for_an_awaited_answer_three_times_until_the_person_writes() {
    let mut scene = Scene::new();
    scene.options.hold_stop = true;
    scene.text(Moment::Start { afresh: true });
    scene.arrives(1);
    assert_eq!(scene.stop(), None, "ordinary mail holds nothing");
    scene.arrives(50);
    assert_eq!(scene.stop(), None, "a task's request is no answer");
    for n in 51..54 {
        scene.arrives(n);
        let document = scene.at(Moment::Stop { going_on: false }, true).unwrap();
        assert_eq!(document["decision"], "block");
        assert!(document["reason"].as_str().unwrap().contains(id(n).as_str()));
        assert_eq!(scene.text(Moment::Stop { going_on: true }), None);
        assert_eq!(scene.stage(n), "handed_to_agent");
    }
    scene.arrives(54);
    assert_eq!(scene.stop(), None, "three times");
    scene.arrives(55);
    assert_eq!(scene.text(Moment::Stop { going_on: true }), None, "it goes on already");
    scene.prompt();
    scene.arrives(56);
    assert!(scene.stop().is_some());
}

#[test]
fn a_stop_is_not_held_for_a_task_that_waits_for_nothing_nor_without_being_asked_to() {
    let mut scene = Scene::with("TASK_STATE_WORKING");
    scene.options.hold_stop = true;
    scene.text(Moment::Start { afresh: true });
    scene.arrives(51);
    assert_eq!(scene.stop(), None);
    let mut scene = Scene::new();
    scene.text(Moment::Start { afresh: true });
    scene.arrives(51);
    assert_eq!(scene.stop(), None);
}

#[test]
fn a_stop_is_held_for_whom_the_person_named() {
    for (who, holds) in [
        ("bob", true),
        ("bob/api", true),
        ("bob/api@desk", true),
        ("bob/other", false),
        ("bob/api@x", false),
    ] {
        let mut scene = Scene::new();
        scene.options.hold_stop = true;
        scene.options.hold_from = vec![Sender::parse(who).unwrap()];
        scene.text(Moment::Start { afresh: true });
        scene.arrives(1);
        assert_eq!(scene.stop().is_some(), holds, "{who}");
    }
    assert_eq!(Sender::parse("*"), None);
}

#[test]
fn without_a_daemon_one_notice_is_said_when_a_conversation_begins() {
    let home = messaging_client::testing::private_home();
    let place = Place::home(home.path());
    let say = |moment| {
        let event = Event { conversation: "c".into(), name: "SessionStart", moment };
        let began = Began { wall: Ms(1), until: Instant::now() + PATIENCE };
        let options = Options::default();
        let mut printed = None;
        let hook = Hook { harness: Harness::Codex, place: &place, options: &options, event, began };
        let none = |_: &Place| Vec::new();
        let print = |document: &Value| {
            printed = Some(document.clone());
            true
        };
        hook.act(&none, print, &mut SeededRandom::new(1));
        printed
    };
    assert!(say(Moment::Start { afresh: true }).is_some());
    assert!(say(Moment::Start { afresh: false }).is_none());
    assert!(say(Moment::Prompt("x".into())).is_none());
    std::fs::remove_dir(home.path().join("run")).unwrap();
    assert!(say(Moment::Start { afresh: true }).is_none(), "nobody uses it here");
}

#[test]
fn a_daemon_that_says_nothing_is_not_waited_for() {
    for step in [Step::Silence, Step::HangUp, Step::Raw(b"{}\n".to_vec())] {
        let daemon = FakeDaemon::start(move |_, _| step.clone());
        let run = daemon.home().join("run");
        std::fs::hard_link(run.join("admin.sock"), run.join("agent.sock")).unwrap();
        let start = Instant::now();
        let place = Place::home(daemon.home());
        let options = Options::default();
        let event = Event {
            conversation: "c".into(),
            name: "PostToolUse",
            moment: Moment::Tool { ours: false },
        };
        let began = Began { wall: Ms(1), until: start + PATIENCE };
        let hook = Hook { harness: Harness::Codex, place: &place, options: &options, event, began };
        let scene = Scene::new();
        hook.act(&|_| scene.seat(), |_| panic!("nothing is said"), &mut SeededRandom::new(1));
        assert!(start.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn an_event_goes_to_its_own_conversation_or_to_none() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new();
    let found = |conversations: &[Option<&str>]| {
        let mut all = Vec::new();
        for (n, conversation) in conversations.iter().enumerate() {
            let shown = folder.path().join(format!("{n}.shown"));
            let text = json!({"conversation": conversation}).to_string();
            std::fs::write(&shown, text).unwrap();
            std::fs::set_permissions(&shown, std::os::unix::fs::PermissionsExt::from_mode(0o600))
                .unwrap();
            all.push(Found { shown, ..scene.seat().remove(0) });
        }
        all
    };
    let pick = |conversations: &[Option<&str>], moment: Moment| {
        let event = Event { conversation: "c".into(), name: "x", moment };
        let picked = choose(found(conversations), &event)?;
        picked.shown.file_stem()?.to_str()?.parse::<usize>().ok()
    };
    let tool = || Moment::Tool { ours: false };
    let start = |afresh| Moment::Start { afresh };
    assert_eq!(pick(&[], tool()), None);
    assert_eq!(pick(&[None], tool()), Some(0));
    assert_eq!(pick(&[Some("d"), Some("c")], tool()), Some(1));
    assert_eq!(pick(&[Some("d")], tool()), None);
    assert_eq!(pick(&[Some("d")], start(true)), None, "a second agent without a server of its own");
    assert_eq!(
        pick(&[Some("d")], start(false)),
        Some(0),
        "the process went on to another conversation"
    );
    assert_eq!(pick(&[None, None], start(true)), None);
    assert_eq!(pick(&[Some("d"), None], start(true)), Some(1));
    assert_eq!(pick(&[Some("d"), None], tool()), None);
}
