//! Who is woken for which mail, how often, and for what nobody ever is.
//! Spec: §8.6, D3.26, C8.6-01, C8.6-06 to C8.6-09

use messaging_core::ids::Ulid;
use messaging_store::{FaultPlan, How, StoreError};
use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};
use super::forge::mail;
use crate::events::LogEvent;
use crate::input::In;
use crate::wake::{WakeCommand, WakeEnd, WakeHost, WakeId};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

/// Alice's `api` writes to Bob's agents, whose clients went away.
struct Scene {
    bench: Bench,
    alice: Session,
    bob: Session,
}

fn host() -> Value {
    json!({"kind": "opencode", "location": "/home/bob/shop", "sessionID": "ses_1", "pid": 4242})
}

fn opencode() -> Value {
    json!({"agent": "opencode", "tier": "push", "host": host()})
}

impl Scene {
    fn new(session: Value) -> Self {
        Self::of(Bench::connected(&TWO), session)
    }

    fn of(mut bench: Bench, session: Value) -> Self {
        bench.admin(1);
        let alice = bench.session(0, "api", json!({}));
        let bob = bench.session(1, "web", session);
        bench.advance(3_000);
        bench.leave(&bob);
        bench.advance(3_000);
        Self { bench, alice, bob }
    }

    fn writes(&mut self) -> String {
        self.bench.send(&self.alice, "bob/web", "x")
    }

    /// Mail that alice's agent sends in the same moment as everything else.
    fn many(&mut self, to: &'static str, count: usize) -> Vec<String> {
        const AGENTS: [&str; 4] = ["api", "two", "three", "four"];
        (0..count)
            .map(|n| {
                let from_agent = Some(AGENTS[n % AGENTS.len()]);
                let env = self.bench.forge(0, 1, super::forge::Forged { from_agent, ..waking(to) });
                self.bench.deliver(1, &env);
                env["id"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    /// The calls that were wished for since this was asked last.
    fn calls(&mut self) -> Vec<(WakeId, WakeHost, Vec<String>)> {
        let named = |ids: Vec<Ulid>| ids.iter().map(|id| id.as_str().to_owned()).collect();
        std::mem::take(&mut self.bench.daemons[1].wakes)
            .into_iter()
            .map(|(call, host, ids)| (call, host, named(ids)))
            .collect()
    }

    /// The one call.
    fn call(&mut self) -> (WakeId, Vec<String>) {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        let (call, _, ids) = calls.remove(0);
        (call, ids)
    }

    fn ends(&mut self, call: WakeId, end: WakeEnd) {
        self.bench.input(1, In::Woken { call, end });
    }

    /// Bob's client is there again, as it was.
    fn back(&mut self) -> Session {
        self.bench.input(1, In::IpcOpened { conn: crate::ConnId(77), tier: crate::Tier::Agent });
        let mut params = opencode();
        params["key"] = json!(self.bob.key);
        self.bench.call(1, 77, "session.register", params).unwrap();
        Session { daemon: 1, conn: 77, key: self.bob.key.clone() }
    }
}

fn waking(to: &'static str) -> super::forge::Forged {
    let mut forged = mail(to, "x");
    forged.payload["wake"] = json!(true);
    forged
}

#[test]
fn mail_for_a_client_that_is_away_is_one_call_to_its_host() {
    let mut scene = Scene::new(opencode());
    let id = scene.writes();
    let calls = scene.calls();
    let host = WakeHost::Opencode {
        pid: 4242,
        location: "/home/bob/shop".into(),
        session_id: "ses_1".into(),
    };
    assert_eq!(calls, [(WakeId(1), host, vec![id])]);
    scene.ends(WakeId(1), WakeEnd::Done);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
    let done = LogEvent::WakeCall { outcome: "done", ids: 1 };
    assert!(scene.bench.daemons[1].log.contains(&done));
}

#[test]
fn nobody_is_called_without_a_host_a_hint_a_push_tier_or_the_bridge() {
    for session in [
        json!({"agent": "opencode", "tier": "push"}),
        json!({"agent": "opencode", "tier": "pull", "host": host()}),
    ] {
        let mut scene = Scene::new(session);
        scene.writes();
        assert!(scene.calls().is_empty());
    }
    let mut scene = Scene::new(opencode());
    let quiet = json!({"to": "bob/web", "parts": [{"text": "x"}], "wake": false});
    scene.bench.ask(&scene.alice, "msg.send", quiet).unwrap();
    assert!(scene.calls().is_empty());
    scene.bench.configure(1, |config| config.wake_bridge = false);
    scene.writes();
    assert!(scene.calls().is_empty());
    // A session that said goodbye to its host has none.
    let mut scene = Scene::new(opencode());
    let bob = scene.back();
    let plain = json!({"agent": "opencode", "tier": "push"});
    scene.bench.ask(&bob, "session.register", plain).unwrap();
    scene.bench.leave(&bob);
    scene.writes();
    assert!(scene.calls().is_empty());
}

#[test]
fn a_client_that_is_there_is_told_and_not_called() {
    let mut scene = Scene::new(opencode());
    let bob = scene.back();
    scene.writes();
    assert!(scene.calls().is_empty());
    scene.bench.leave(&bob);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty(), "what it could have read wakes nobody later");
}

#[test]
fn what_consent_holds_refuses_or_mutes_wakes_nobody() {
    let mut scene = Scene::of(Bench::reserved(&TWO), opencode());
    let says = |scene: &mut Scene, levels: Value| {
        let mut params = levels;
        params["subject"] = json!({"person": "alice"});
        scene.bench.call(1, CONN, "grant.set", params).unwrap();
        scene.bench.advance(1_000);
    };
    let held = scene.writes();
    scene.bench.advance(60_000);
    assert_eq!(scene.bench.stage(&scene.alice, &held), "held");
    assert!(scene.calls().is_empty(), "held");
    // The person's answer lets it in, and then it wakes.
    let answer = json!({"id": held, "answer": "once"});
    scene.bench.call(1, CONN, "request.answer", answer).unwrap();
    assert_eq!(scene.call().1, [held]);
    scene.ends(WakeId(1), WakeEnd::Done);
    says(&mut scene, json!({"ask": "no"}));
    scene.writes();
    says(&mut scene, json!({"chat": "blocked", "ask": "open"}));
    scene.writes();
    assert!(scene.calls().is_empty(), "blocked");
    says(&mut scene, json!({"chat": "muted", "ask": "open"}));
    let muted = scene.writes();
    scene.bench.advance(60_000);
    assert_eq!(scene.bench.stage(&scene.alice, &muted), "delivered");
    assert!(scene.calls().is_empty(), "muted");
    says(&mut scene, json!({"chat": "open", "ask": "open"}));
    let loud = scene.writes();
    assert_eq!(scene.call().1, [loud]);
}

#[test]
fn one_call_of_a_session_at_a_time_names_at_most_16_items_that_still_wait() {
    let mut scene = Scene::new(opencode());
    let sent = scene.many("web", 20);
    let (first, ids) = scene.call();
    assert_eq!(ids, sent[..1]);
    scene.bench.advance(300_000);
    assert!(scene.calls().is_empty(), "one at a time, however long it takes");
    scene.ends(first, WakeEnd::Done);
    let (second, ids) = scene.call();
    assert_eq!(ids, sent[1..17]);
    // What was handed over meanwhile is named no more.
    let bob = scene.back();
    scene.bench.ask(&bob, "inbox.ack", json!({"ids": sent, "stage": "handed_to_agent"})).unwrap();
    scene.bench.leave(&bob);
    scene.ends(second, WakeEnd::Done);
    assert!(scene.calls().is_empty());
}

#[test]
fn at_most_four_sessions_are_called_at_once() {
    let mut scene = Scene::new(opencode());
    for (name, id) in [("two", "s2"), ("three", "s3"), ("four", "s4"), ("five", "s5")] {
        let mut more = opencode();
        more["host"]["sessionID"] = json!(id);
        let session = scene.bench.session(1, name, more);
        scene.bench.leave(&session);
    }
    for to in ["web", "two", "three", "four", "five"] {
        scene.many(to, 1);
    }
    let calls = scene.calls();
    assert_eq!(calls.len(), 4);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
    scene.ends(calls[2].0, WakeEnd::Refused);
    let (_, host, _) = scene.calls().pop().expect("the fifth");
    assert!(matches!(host, WakeHost::Opencode { session_id, .. } if session_id == "s5"));
}

#[test]
fn what_may_pass_is_tried_again_after_1_2_and_4_s_and_everything_else_ends_it() {
    for end in [WakeEnd::Unreachable, WakeEnd::TimedOut, WakeEnd::ServerError] {
        let mut scene = Scene::new(opencode());
        let id = scene.writes();
        for wait in [1_000, 2_000, 4_000] {
            let (call, ids) = scene.call();
            assert_eq!(ids, [id.as_str()]);
            scene.ends(call, end);
            scene.bench.advance(wait - 1);
            assert!(scene.calls().is_empty());
            scene.bench.advance(1);
        }
        let (call, _) = scene.call();
        scene.ends(call, end);
        scene.bench.advance(600_000);
        assert!(scene.calls().is_empty());
        // A word about a call that is over is none.
        scene.ends(call, WakeEnd::Unreachable);
        scene.bench.advance(600_000);
        assert!(scene.calls().is_empty());
    }
    for end in [
        WakeEnd::Refused,
        WakeEnd::NoRegistration,
        WakeEnd::NotPrivate,
        WakeEnd::Malformed,
        WakeEnd::OtherProcess,
        WakeEnd::NotLoopback,
    ] {
        let mut scene = Scene::new(opencode());
        scene.writes();
        let (call, _) = scene.call();
        scene.ends(call, end);
        scene.bench.advance(600_000);
        assert!(scene.calls().is_empty());
        let outcome = end.as_str();
        assert!(scene.bench.daemons[1].log.contains(&LogEvent::WakeCall { outcome, ids: 1 }));
    }
}

#[test]
fn a_client_that_came_back_ends_the_tries() {
    let mut scene = Scene::new(opencode());
    scene.writes();
    let (call, _) = scene.call();
    scene.ends(call, WakeEnd::Unreachable);
    let bob = scene.back();
    scene.bench.advance(10_000);
    scene.bench.leave(&bob);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
    // Also when it came while a call was under way.
    scene.writes();
    let (call, _) = scene.call();
    let bob = scene.back();
    scene.bench.leave(&bob);
    scene.ends(call, WakeEnd::TimedOut);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
}

#[test]
fn what_was_not_stored_wakes_nobody() {
    for (step, how) in
        (0..40).flat_map(|step| [(step, How::Lost), (step, How::AppliedButReportedLost)])
    {
        let mut scene = Scene::new(opencode());
        let env = scene.bench.forge(0, 1, waking("web"));
        scene.bench.set_faults(1, FaultPlan::nth(step, how, StoreError::Full));
        scene.bench.deliver(1, &env);
        let id = env["id"].as_str().unwrap();
        let stored = format!("SELECT count(*) FROM inbox WHERE id = '{id}'");
        let before = scene.bench.count(1, &stored);
        assert!(scene.calls().len() <= usize::try_from(before).unwrap(), "{step} {how:?}");
        scene.bench.set_faults(1, FaultPlan::none());
        scene.bench.advance(120_000);
        scene.bench.deliver(1, &env);
        assert_eq!(scene.bench.count(1, &stored), 1);
    }
}

fn with_command() -> Scene {
    let mut scene = Scene::new(opencode());
    let argv = vec!["/usr/local/bin/wake".to_owned(), "web".to_owned()];
    let command = WakeCommand { argv, folder: None };
    scene.bench.configure(1, |config| {
        config.wake_commands.insert("web".parse().unwrap(), command);
        config.wake_bridge = false;
    });
    scene
}

#[test]
fn the_command_that_a_person_named_goes_before_the_host_and_rests_a_minute() {
    let mut scene = with_command();
    let id = scene.writes();
    let calls = scene.calls();
    assert_eq!(calls.len(), 1);
    assert!(matches!(&calls[0].1, WakeHost::Command { session, command }
        if session.as_str() == "web" && command.argv[0] == "/usr/local/bin/wake"));
    assert_eq!(calls[0].2, [id]);
    let second = scene.writes();
    scene.ends(calls[0].0, WakeEnd::Done);
    scene.bench.advance(59_999);
    let third = scene.writes();
    assert!(scene.calls().is_empty(), "the client that was started may still be starting");
    scene.bench.advance(1);
    let (call, ids) = scene.call();
    assert_eq!(ids, [second, third]);
    // A failure is not tried again; a status that asks for it is.
    scene.ends(call, WakeEnd::Failed);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
    scene.writes();
    let (call, _) = scene.call();
    scene.ends(call, WakeEnd::AgainLater);
    scene.bench.advance(1_000);
    let (call, _) = scene.call();
    scene.ends(call, WakeEnd::Killed);
    scene.bench.advance(600_000);
    assert!(scene.calls().is_empty());
}

#[test]
fn a_kept_session_that_can_be_woken_says_so() {
    let kept = |scene: &Scene| {
        let presence = scene.bench.relay.presence_by(1).pop().unwrap()["body"].clone();
        let sessions = presence["sessions"].as_array().unwrap().clone();
        sessions.into_iter().find(|session| session["agent"] == "web").unwrap()
    };
    let mut scene = with_command();
    scene.bench.advance(61_000);
    assert_eq!((&kept(&scene)["kept"], &kept(&scene)["wake"]), (&json!(true), &json!(true)));
    scene.bench.configure(1, |config| config.wake_commands.clear());
    scene.bench.advance(61_000);
    assert_eq!((&kept(&scene)["kept"], &kept(&scene)["wake"]), (&json!(true), &Value::Null));
}
