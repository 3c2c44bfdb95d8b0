//! Every write of a conversation fails, lost or applied but reported lost; in the end everything is as if none had.
//! Spec: §7 "Store failures", §8.8

use messaging_store::{Fault, FaultPlan, How, StoreError};
use serde_json::json;

use super::bench::{Bench, Session};
use crate::events::LogEvent;

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

struct Scene {
    bench: Bench,
    alice: Session,
    bob: Session,
}

fn scene() -> Scene {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    Scene { bench, alice, bob }
}

impl Scene {
    /// One message, repeated under its key until the call says that it was taken; then read and answered.
    fn play(&mut self) {
        let ask = json!({"to": "bob/web", "parts": [{"text": "ping"}], "idempotencyKey": "k1"});
        self.persist(0, "msg.send", ask);
        self.wait_for(1, "SELECT count(*) FROM inbox", 1);
        let items = self.persist(1, "inbox.list", json!({}));
        let id = items["items"][0]["id"].clone();
        self.persist(1, "item.read", json!({"id": id}));
        let answer = json!({"to": "alice/api", "parts": [{"text": "pong"}], "replyTo": id,
            "idempotencyKey": "k2"});
        self.persist(1, "msg.send", answer);
        self.wait_for(0, "SELECT count(*) FROM inbox", 1);
        self.settle();
    }

    /// Repeats a call until it succeeds.
    fn persist(
        &mut self,
        who: usize,
        method: &str,
        params: serde_json::Value,
    ) -> serde_json::Value {
        for _ in 0..40 {
            let session = if who == 0 { &self.alice } else { &self.bob };
            match self.bench.ask(session, method, params.clone()) {
                Ok(result) => return result,
                Err(code) => assert_eq!(code, "internal", "{method}"),
            }
            self.bench.advance(1_000);
        }
        panic!("{method} never succeeded");
    }

    fn wait_for(&mut self, at: usize, sql: &str, rows: i64) {
        for _ in 0..1_500 {
            if self.bench.count(at, sql) == rows {
                return;
            }
            self.bench.advance(2_000);
            self.bench.relay.redeliver();
        }
        panic!("{sql} never gave {rows}");
    }

    fn settle(&mut self) {
        for _ in 0..8 {
            self.bench.advance(30_000);
            self.bench.relay.redeliver();
        }
    }

    /// Nothing was lost, nothing shown twice, no stage lied, and nothing was acknowledged that was not kept.
    fn check(&mut self) {
        let bench = &mut self.bench;
        assert_eq!(bench.texts(&self.bob), ["ping"]);
        assert_eq!(bench.texts(&self.alice), ["pong"]);
        for at in 0..2 {
            assert_eq!(bench.count(at, "SELECT count(*) FROM outbox"), 0);
            assert_eq!(bench.count(at, "SELECT count(*) FROM sent"), 1);
            assert_eq!(bench.count(at, "SELECT count(*) FROM inbox"), 1);
            assert!(bench.engine(at).link.is_ready());
        }
        let stage = |at| format!("SELECT count(*) FROM sent WHERE stage = '{at}'");
        assert_eq!(bench.count(0, &stage("replied")), 1);
        assert_eq!(bench.count(1, &stage("delivered")), 1);
        assert!(bench.relay.all_acked());
        // Memory and store say the same after a restart.
        let heads: Vec<_> = (0..2).map(|at| bench.engine(at).realm.head()).collect();
        bench.configure(0, |_| {});
        bench.configure(1, |_| {});
        let again: Vec<_> = (0..2).map(|at| bench.engine(at).realm.head()).collect();
        assert_eq!(heads, again);
    }
}

/// How many steps a daemon's store takes in the undisturbed scene.
fn steps(who: usize) -> u64 {
    let mut scene = scene();
    scene.bench.set_faults(who, FaultPlan::none());
    scene.play();
    let steps = scene.bench.daemons[who].running.as_ref().unwrap().steps();
    scene.check();
    steps
}

#[test]
fn each_write_of_a_conversation_may_fail_once() {
    for who in 0..2 {
        let steps = steps(who).min(120);
        assert!(steps > 20, "{steps}");
        for how in [How::Lost, How::AppliedButReportedLost, How::EndsTransaction] {
            for step in 0..steps {
                let mut scene = scene();
                scene.bench.set_faults(who, FaultPlan::nth(step, how, StoreError::Full));
                scene.play();
                scene.check();
            }
        }
    }
}

#[test]
fn a_store_that_fails_for_a_while_stops_nothing_for_good() {
    for who in 0..2 {
        let mut scene = scene();
        let plan = FaultPlan::none().and(Fault {
            from: 0,
            until: 25,
            how: How::Lost,
            error: StoreError::Full,
        });
        scene.bench.set_faults(who, plan);
        scene.play();
        scene.check();
        let told = |bench: &Bench, wanted: fn(&LogEvent) -> bool| {
            bench.daemons[who].log.iter().filter(|event| wanted(event)).count()
        };
        let failing = told(&scene.bench, |e| matches!(e, LogEvent::StoreFailing { .. }));
        let recovered = told(&scene.bench, |e| matches!(e, LogEvent::StoreRecovered {}));
        assert_eq!((failing, recovered), (1, 1), "told once each");
    }
}

#[test]
fn while_the_store_fails_the_engine_rests_instead_of_spinning() {
    let mut scene = scene();
    scene.bench.set_faults(0, FaultPlan::always(StoreError::Full));
    let before = scene.bench.daemons[0].running.as_ref().unwrap().steps();
    scene.bench.advance(600_000);
    let tried = scene.bench.daemons[0].running.as_ref().unwrap().steps() - before;
    assert!(tried < 100, "{tried} writes in ten minutes");
    assert!(tried > 5, "it keeps trying: {tried}");
    let health = crate::status::health(scene.bench.engine(0));
    assert_eq!(health.state, messaging_ipc::shapes::DaemonState::Running);
}

#[test]
fn a_daemon_killed_at_any_step_loses_nothing() {
    // The process dies right after each input of the scene, in turn.
    for kills in 0..12 {
        let mut scene = scene();
        let id = {
            let ask = json!({"to": "bob/web", "parts": [{"text": "ping"}], "idempotencyKey": "k1"});
            scene.persist(0, "msg.send", ask)["results"][0]["envelopeId"].clone()
        };
        for round in 0..kills {
            let who = round % 2;
            let store = scene.bench.kill(who);
            scene.bench.start(who, store);
            let session = if who == 0 { &scene.alice } else { &scene.bob };
            let session = scene.bench.resume(session);
            if who == 0 {
                scene.alice = session;
            } else {
                scene.bob = session;
            }
            scene.bench.advance(700);
        }
        scene.settle();
        assert_eq!(scene.bench.texts(&scene.bob), ["ping"]);
        let id = id.as_str().unwrap().to_owned();
        assert_eq!(scene.bench.stage(&scene.alice, &id), "delivered");
    }
}

#[test]
fn a_failed_write_does_not_have_the_whole_chain_verified_again() {
    let mut scene = scene();
    let bench = &mut scene.bench;
    let first =
        |bench: &Bench| std::sync::Arc::as_ptr(&bench.engine(0).realm.roster().entries()[0]);
    let before = first(bench);
    bench.set_faults(0, FaultPlan::nth(0, How::Lost, StoreError::Full));
    let ask = json!({"to": "bob/web", "parts": [{"text": "x"}]});
    assert_eq!(bench.ask(&scene.alice, "msg.send", ask), Err("internal".into()));
    bench.advance(5_000);
    assert_eq!(first(bench), before);
    // An entry whose write failed is another matter.
    bench.set_faults(0, FaultPlan::nth(0, How::Lost, StoreError::Full));
    let op = messaging_core::roster::Op::MemberRole {
        machine: bench.machine(1),
        role: messaging_core::roster::Role::Admin,
    };
    let signing = bench.daemons[0].keys.identity.signing.clone();
    let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    bench.relay.append(&entry);
    bench.settle();
    assert_ne!(first(bench), before);
    bench.advance(60_000);
    assert_eq!(bench.engine(0).realm.head(), bench.relay.roster.head());
}
