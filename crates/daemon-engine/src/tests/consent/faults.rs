//! An answer to a request happens wholly or not at all: whatever write of it fails, and wherever the daemon dies in it.
//! Spec: §6.9 "Holds", D3.11, §8.8

use messaging_store::{Fault, FaultPlan, How, StoreError};
use serde_json::{Value, json};

use super::super::bench::CONN;
use super::Town;

/// Bob has two devices, so that what he says is told to another; his agent is on the first.
const NAMES: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("bob", "phone")];
const DESK: usize = 1;
const PHONE: usize = 2;

/// What is asked, and what is answered.
#[derive(Clone, Copy, Debug)]
struct Case {
    task: bool,
    answer: &'static str,
}

/// How a write goes wrong.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// It fails, and the daemon goes on.
    Fails(How),
    /// It is not made, nor is any after it: the daemon dies.
    Dies,
}

impl Trouble {
    fn plan(self, step: u64) -> FaultPlan {
        match self {
            Self::Fails(how) => FaultPlan::nth(step, how, StoreError::Full),
            Self::Dies => {
                let fault =
                    Fault { from: step, until: u64::MAX, how: How::Lost, error: StoreError::Io };
                FaultPlan::none().and(fault)
            }
        }
    }
}

/// Alice's agent asked, Bob has not answered, and his desk has no link: what it has to say stays in its outbox.
fn asked(case: Case) -> (Town, String) {
    let mut town = Town::of(&NAMES);
    // What he says about her already stays as it is.
    town.says("alice", json!({"agentMail": "blocked"}));
    let id = if case.task {
        let params = json!({"to": "bob/web@desk", "kind": "task", "parts": [{"text": "may I?"}]});
        let sent = town.bench.ask(&town.alice, "msg.send", params).unwrap();
        sent["results"][0]["envelopeId"].as_str().unwrap().to_owned()
    } else {
        town.bench.send(&town.alice, "bob/web@desk", "may I?")
    };
    town.bench.advance(2_000);
    town.bench.relay.up = false;
    town.bench.cut(DESK);
    (town, id)
}

/// What the store holds of the request and of its answer.
fn stands(town: &Town) -> Vec<i64> {
    let counts = [
        "SELECT count(*) FROM held",
        "SELECT count(*) FROM notices WHERE acked_at IS NULL",
        "SELECT count(*) FROM grants WHERE json_extract(grant, '$.ask') = 'open'",
        "SELECT count(*) FROM grants WHERE json_extract(grant, '$.chat') = 'blocked'",
        "SELECT count(*) FROM inbox",
        "SELECT count(*) FROM tasks",
        "SELECT count(*) FROM outbox WHERE type = 'receipt'",
        "SELECT count(*) FROM outbox WHERE type = 'message'",
        "SELECT count(*) FROM ancestry",
    ];
    counts.iter().map(|sql| town.bench.count(DESK, sql)).collect()
}

fn answer(town: &mut Town, id: &str, case: Case) -> Result<Value, String> {
    let params = json!({"id": id, "answer": case.answer});
    town.bench.call(DESK, CONN, "request.answer", params)
}

/// Bob's desk starts anew, still without a link.
fn restart(town: &mut Town) {
    let store = town.bench.kill(DESK);
    town.bench.start(DESK, store);
    town.bench.settle();
    town.bench.admin(DESK);
    town.bob = town.bench.resume(&town.bob);
}

/// The request was answered once, whatever happened on the way.
fn check(town: &mut Town, id: &str, case: Case, what: &str) {
    town.bench.relay.up = true;
    town.bench.advance(120_000);
    assert!(town.requests(DESK).is_empty(), "{what}");
    let lets_in = matches!(case.answer, "once" | "always");
    let texts: &[&str] = if lets_in { &["may I?"] } else { &[] };
    assert_eq!(town.texts(), texts, "{what}");
    let receipts: Vec<String> = town
        .bench
        .receipts(DESK, 0)
        .into_iter()
        .filter(|(about, _)| about == id)
        .map(|(_, stage)| stage)
        .collect();
    let (told, stage) = if lets_in {
        (vec!["held"], "held")
    } else {
        (vec!["held", "rejected declined"], "rejected declined")
    };
    assert_eq!(receipts, told, "{what}");
    assert_eq!(town.stage(id), stage, "{what}");
    let (ask, chat) = match case.answer {
        "always" => (json!("open"), Value::Null),
        "block" => (Value::Null, json!("blocked")),
        _ => (Value::Null, Value::Null),
    };
    for at in [DESK, PHONE] {
        let grants = town.grants(at)["grants"].clone();
        assert_eq!(grants.as_array().unwrap().len(), 1, "{what}");
        assert_eq!((&grants[0]["ask"], &grants[0]["chat"]), (&ask, &chat), "{what} {at}");
        assert_eq!(grants[0]["agentMail"], "blocked", "{what} {at}");
    }
    assert_eq!(town.bench.count(DESK, "SELECT count(*) FROM outbox"), 0, "{what}");
    if case.task {
        let state = "SELECT count(*) FROM tasks WHERE state = 'TASK_STATE_SUBMITTED'";
        let (here, there) = (town.bench.count(DESK, state), town.bench.count(0, state));
        assert_eq!((here, there), (i64::from(lets_in), i64::from(lets_in)), "{what}");
    }
}

/// One trouble at each write of one answer.
fn at_every_write(case: Case, trouble: Trouble) {
    let (mut town, id) = asked(case);
    let before = stands(&town);
    assert_eq!(before[0], 1, "it is held");
    town.bench.set_faults(DESK, FaultPlan::none());
    answer(&mut town, &id, case).unwrap();
    let (steps, after) =
        (town.bench.daemons[DESK].running.as_ref().unwrap().steps(), stands(&town));
    assert!(steps > 3, "{steps}");
    assert_ne!(before, after);
    check(&mut town, &id, case, "undisturbed");
    for step in 0..=steps {
        let what = format!("{case:?} {trouble:?} at {step} of {steps}");
        let (mut town, id) = asked(case);
        town.bench.set_faults(DESK, trouble.plan(step));
        let first = answer(&mut town, &id, case);
        if matches!(trouble, Trouble::Dies) {
            restart(&mut town);
        }
        town.bench.set_faults(DESK, FaultPlan::none());
        let stands = stands(&town);
        let is_done = stands == after;
        assert!(is_done || stands == before, "{what}: {stands:?}, not {before:?} or {after:?}");
        assert!(is_done || first.is_err(), "{what}: it was promised");
        match answer(&mut town, &id, case) {
            Ok(answered) => {
                assert_eq!((answered["answered"].clone(), is_done), (json!([id]), false))
            }
            Err(code) => assert_eq!((code.as_str(), is_done), ("not_found", true), "{what}"),
        }
        check(&mut town, &id, case, &what);
    }
}

#[test]
fn an_answer_in_which_a_write_fails_is_given_wholly_or_not_at_all() {
    for answer in ["once", "always", "decline", "block"] {
        for how in [How::Lost, How::AppliedButReportedLost, How::EndsTransaction] {
            at_every_write(Case { task: true, answer }, Trouble::Fails(how));
        }
    }
}

#[test]
fn an_answer_in_which_the_daemon_dies_is_given_wholly_or_not_at_all() {
    for answer in ["once", "always", "decline", "block"] {
        for task in [false, true] {
            at_every_write(Case { task, answer }, Trouble::Dies);
        }
    }
}
