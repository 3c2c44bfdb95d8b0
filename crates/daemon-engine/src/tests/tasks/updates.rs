//! What the executor says, and that the requester follows in whatever order it arrives.

use messaging_core::envelope::SealedType;
use messaging_core::ids::Ulid;
use messaging_core::task::TaskState;
use serde_json::{Value, json};

use super::{Asked, Pair, THREE, artifact, update};
use crate::tests::forge::{Forged, personal};

#[test]
fn work_goes_from_request_to_result() {
    let (mut pair, asked) = Pair::asked();
    pair.events(0);
    pair.events(1);
    pair.say(&asked, "WORKING");
    pair.say(&asked, "WORKING");
    let words = json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": [{"text": "which one?"}]});
    pair.update(&asked, words).unwrap();
    assert_eq!(pair.state(&asked), "INPUT_REQUIRED: which one?");
    pair.say(&asked, "WORKING");
    for (text, append, last) in [("a", false, false), ("b", true, false), ("c", true, true)] {
        let chunk = json!({"artifact": artifact("r", text), "append": append, "lastChunk": last});
        pair.update(&asked, chunk).unwrap();
    }
    let done = json!({"state": "TASK_STATE_COMPLETED", "artifact": artifact("s", "sum"),
        "message": [{"text": "done"}], "metadata": {"k": 1}});
    pair.update(&asked, done).unwrap();
    assert_eq!(pair.state(&asked), "COMPLETED: done");
    let [requester, _] = pair.records(&asked);
    assert_eq!(
        requester["artifacts"],
        json!([
            {"artifactId": "r", "parts": [{"text": "a"}, {"text": "b"}, {"text": "c"}]},
            {"artifactId": "s", "parts": [{"text": "sum"}]},
        ])
    );
    assert_eq!(requester["status"]["message"]["role"], "ROLE_AGENT");
    let last = pair.bench.daemons[0].events_of("task").pop().unwrap()["update"].clone();
    assert_eq!(last["metadata"], json!({"k": 1}));
    let chunk = &pair.bench.daemons[0].events_of("task")[5]["update"];
    assert_eq!((&chunk["append"], &chunk["lastChunk"]), (&json!(true), &json!(false)));
    let seen = pair.events(0);
    assert!(seen.iter().all(|event| event.starts_with("peer")), "{seen:?}");
    let kinds: Vec<&str> = seen.iter().map(|event| event.rsplit(' ').next().unwrap()).collect();
    let mut expected = vec!["status"; 4];
    expected.extend(["artifact"; 4]);
    expected.push("status");
    assert_eq!(kinds, expected);
    assert!(pair.events(1).iter().all(|event| event.starts_with("local")));
    // Every update answers the request, names the session that works, and is acknowledged.
    for env in pair.sent(1, "task") {
        assert_eq!(env["replyTo"], json!(asked.request));
        assert_eq!(env["from"]["agent"], "web");
        assert!(env["to"].get("agent").is_none());
        assert_eq!(pair.bench.answer_to(0, 1, &env).as_deref(), Some("delivered"));
    }
    assert!(pair.bench.relay.all_acked());
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM sent WHERE settled_at IS NULL"), 0);
}

#[test]
fn every_transition_is_as_the_table_says() {
    let (mut pair, _) = Pair::asked();
    let route = |state: TaskState| -> &[&str] {
        match state {
            TaskState::Submitted => &[],
            TaskState::Working => &["WORKING"],
            TaskState::InputRequired => &["INPUT_REQUIRED"],
            TaskState::AuthRequired => &["AUTH_REQUIRED"],
            TaskState::Completed => &["COMPLETED"],
            TaskState::Failed => &["FAILED"],
            TaskState::Canceled => &["CANCELED"],
            TaskState::Rejected => &["REJECTED"],
        }
    };
    for from in TaskState::ALL {
        for to in TaskState::ALL.into_iter().filter(|to| *to != TaskState::Submitted) {
            let asked = pair.ask("x");
            for state in route(from) {
                pair.say(&asked, state);
            }
            let answer = pair.update(&asked, json!({"state": to.as_str()}));
            match answer {
                Ok(record) => {
                    assert!(from.may_become(to), "{from:?} {to:?}");
                    assert_eq!(record["status"]["state"], to.as_str());
                }
                Err(code) => {
                    assert!(!from.may_become(to), "{from:?} {to:?}");
                    assert_eq!(code, "invalid_state");
                }
            }
            pair.state(&asked);
            // Slowly enough for the loop guard.
            pair.bench.advance(25_000);
        }
    }
    let asked = pair.ask("x");
    let answer = pair.update(&asked, json!({"state": "TASK_STATE_SUBMITTED"}));
    assert_eq!(answer, Err("invalid_request".into()));
}

#[test]
fn results_go_with_every_live_state_and_with_completion() {
    let (mut pair, _) = Pair::asked();
    for state in TaskState::ALL {
        let asked = pair.ask("x");
        let word = state.as_str().strip_prefix("TASK_STATE_").unwrap();
        if state != TaskState::Submitted {
            pair.say(&asked, word);
        }
        let answer = pair.update(&asked, json!({"artifact": artifact("a", "x")}));
        assert_eq!(answer.is_ok(), !state.is_terminal(), "{state:?}");
        if state.is_terminal() {
            assert_eq!(answer, Err("invalid_state".into()));
            continue;
        }
        for end in ["FAILED", "CANCELED"] {
            let both =
                json!({"state": format!("TASK_STATE_{end}"), "artifact": artifact("a", "x")});
            assert_eq!(pair.update(&asked, both), Err("invalid_state".into()), "{state:?} {end}");
        }
    }
}

#[test]
fn only_the_executor_updates_and_only_the_requester_cancels() {
    let (mut pair, asked) = Pair::asked();
    let other = pair.bench.session(1, "other", json!({}));
    let working = json!({"state": "TASK_STATE_WORKING"});
    for session in [&pair.alice, &other] {
        let answer = update(&mut pair.bench, session, &asked, working.clone());
        assert_eq!(answer, Err("invalid_state".into()));
    }
    for session in [&pair.bob, &other] {
        let answer = pair.bench.ask(session, "task.cancel", json!({"taskId": asked.task}));
        assert_eq!(answer, Err("invalid_state".into()));
        let get = pair.bench.ask(&other, "task.get", json!({"taskId": asked.task}));
        assert_eq!(get, Err("not_found".into()));
    }
    let unknown = Asked { task: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(), request: String::new() };
    assert_eq!(pair.update(&unknown, working), Err("not_found".into()));
    let answer = pair.bench.ask(&pair.alice, "task.cancel", json!({"taskId": unknown.task}));
    assert_eq!(answer, Err("not_found".into()));
    let wrong = json!({"taskId": asked.task, "role": "executor"});
    assert_eq!(pair.bench.ask(&pair.alice, "task.get", wrong), Err("not_found".into()));
}

/// An update that a member's machine makes up.
fn forged(pair: &mut Pair, from: usize, to: usize, reply_to: &str, payload: Value) -> Value {
    let kind = if payload.get("status").is_some() {
        SealedType::TaskStatus
    } else if payload.get("artifact").is_some() {
        SealedType::TaskArtifact
    } else {
        SealedType::TaskCancel
    };
    let reply_to = Some(Ulid::parse(reply_to).unwrap());
    let env = pair.bench.forge(from, to, Forged { reply_to, ..personal(kind, payload) });
    pair.bench.deliver(to, &env);
    pair.bench.advance(1_000);
    env
}

#[test]
fn an_update_is_taken_from_the_executors_machine_about_its_request_only() {
    let mut pair = Pair::of(&THREE);
    let asked = pair.ask("x");
    let other = pair.ask("y");
    let status =
        json!({"taskId": asked.task, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let artifact = json!({"taskId": asked.task, "contextId": "c", "artifact": artifact("a", "x")});
    for payload in [status, artifact] {
        for (from, reply_to, code) in
            [(2, &asked.request, "not_found"), (1, &other.request, "invalid_request")]
        {
            let env = forged(&mut pair, from, 0, reply_to, payload.clone());
            let answer = pair.bench.answer_to(0, from, &env);
            assert_eq!(answer, Some(format!("rejected {code}")));
        }
        let mut unknown = payload.clone();
        unknown["taskId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        let env = forged(&mut pair, 1, 0, &asked.request, unknown);
        assert_eq!(pair.bench.answer_to(0, 1, &env).as_deref(), Some("rejected not_found"));
    }
    assert_eq!(pair.state(&asked), "SUBMITTED");
    let cancel = json!({"taskId": asked.task});
    let env = forged(&mut pair, 2, 1, &asked.request, cancel);
    assert_eq!(pair.bench.answer_to(1, 2, &env).as_deref(), Some("rejected not_found"));
    assert_eq!(pair.state(&asked), "SUBMITTED");
    pair.say(&asked, "WORKING");
    assert_eq!(pair.state(&asked), "WORKING");
}

#[test]
fn updates_in_any_order_and_twice_lead_to_the_same_end() {
    let orders: [[usize; 6]; 6] = [
        [0, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, 0],
        [4, 5, 0, 1, 2, 3],
        [2, 0, 5, 1, 4, 3],
        [3, 1, 5, 0, 2, 4],
        [1, 3, 2, 5, 4, 0],
    ];
    for order in orders {
        let (mut pair, asked) = Pair::asked();
        pair.bench.relay.holds_back = true;
        pair.say(&asked, "WORKING");
        for (text, append) in [("a", false), ("b", true), ("c", true)] {
            pair.update(&asked, json!({"artifact": artifact("r", text), "append": append}))
                .unwrap();
        }
        let done = json!({"state": "TASK_STATE_COMPLETED", "artifact": artifact("s", "sum")});
        pair.update(&asked, done).unwrap();
        let sent = pair.sent(1, "task");
        assert_eq!(sent.len(), 6);
        pair.bench.relay.holds_back = false;
        for at in order.into_iter().chain(order) {
            pair.bench.deliver(0, &sent[at]);
        }
        assert_eq!(pair.state(&asked), "COMPLETED", "{order:?}");
        for env in &sent {
            assert_eq!(pair.bench.answer_to(0, 1, env).as_deref(), Some("delivered"));
        }
        // What comes after the end, sent after it, changes nothing.
        let before = pair.records(&asked);
        let late =
            json!({"taskId": asked.task, "contextId": "c", "artifact": artifact("late", "x")});
        forged(&mut pair, 1, 0, &asked.request, late);
        for state in TaskState::ALL {
            let status = json!({"taskId": asked.task, "contextId": "c", "status": {"state": state.as_str()}});
            forged(&mut pair, 1, 0, &asked.request, status);
        }
        assert_eq!(pair.records(&asked), before);
    }
}

#[test]
fn a_straggler_does_not_take_a_task_back() {
    let (mut pair, asked) = Pair::asked();
    pair.bench.relay.holds_back = true;
    pair.say(&asked, "WORKING");
    pair.say(&asked, "INPUT_REQUIRED");
    let sent = pair.sent(1, "task");
    pair.bench.relay.holds_back = false;
    pair.bench.deliver(0, &sent[1]);
    pair.bench.deliver(0, &sent[0]);
    assert_eq!(pair.state(&asked), "INPUT_REQUIRED");
}

#[test]
fn a_record_has_bounds_and_says_so_before_anything_is_sent() {
    let (mut pair, asked) = Pair::asked();
    let sends = pair.sent(1, "task").len();
    let big = json!({"artifact": artifact("a", &"x".repeat(524_288))});
    assert_eq!(pair.update(&asked, big), Err("too_large".into()));
    // A state that would be fine does not go without its result.
    let both =
        json!({"state": "TASK_STATE_COMPLETED", "artifact": artifact("a", &"x".repeat(524_288))});
    assert_eq!(pair.update(&asked, both), Err("too_large".into()));
    let both = json!({"state": "TASK_STATE_COMPLETED", "artifact": artifact("a", "x"),
        "message": [{"text": "x".repeat(524_288)}]});
    assert_eq!(pair.update(&asked, both), Err("too_large".into()));
    assert_eq!(pair.sent(1, "task").len(), sends);
    assert_eq!(pair.state(&asked), "SUBMITTED");
    for at in 0..64 {
        let small = json!({"artifact": artifact(&format!("a{at}"), "x")});
        pair.update(&asked, small).unwrap();
    }
    let one_more = json!({"artifact": artifact("a64", "x")});
    assert_eq!(pair.update(&asked, one_more), Err("too_large".into()));
    pair.say(&asked, "COMPLETED");
    assert_eq!(pair.state(&asked), "COMPLETED");
}

#[test]
fn a_record_that_is_full_can_still_be_read_and_ended() {
    let (mut pair, asked) = Pair::asked();
    let piece = json!({"artifact": artifact("big", &"x".repeat(500_000)), "append": true});
    let mut taken = 0;
    while pair.update(&asked, piece.clone()).is_ok() {
        taken += 1;
        pair.bench.advance(5_000);
    }
    assert_eq!(taken, 6);
    pair.say(&asked, "COMPLETED");
    assert_eq!(pair.state(&asked), "COMPLETED");
}

#[test]
fn what_is_said_stays_in_order_when_the_clock_is_set_back() {
    let (mut pair, asked) = Pair::asked();
    let piece =
        |text: &str, append: bool| json!({"artifact": artifact("a", text), "append": append});
    pair.update(&asked, piece("old", false)).unwrap();
    pair.bench.now.wall = pair.bench.now.wall.minus(230_000);
    pair.say(&asked, "WORKING");
    pair.update(&asked, piece("1", false)).unwrap();
    pair.update(&asked, piece("2", true)).unwrap();
    pair.say(&asked, "INPUT_REQUIRED");
    assert_eq!(pair.state(&asked), "INPUT_REQUIRED");
    let [requester, _] = pair.records(&asked);
    let parts = json!([{"text": "1"}, {"text": "2"}]);
    assert_eq!(requester["artifacts"][0]["parts"], parts);
    assert!(pair.bench.relay.all_acked());
}

#[test]
fn an_executors_own_record_is_in_order_whatever_becomes_of_the_clock() {
    let (mut pair, asked) = Pair::asked();
    let piece =
        |text: &str, append: bool| json!({"artifact": artifact("a", text), "append": append});
    pair.update(&asked, piece("old", false)).unwrap();
    pair.bench.now.wall = pair.bench.now.wall.minus(3_600_000);
    pair.update(&asked, piece("1", false)).unwrap();
    pair.update(&asked, piece("2", true)).unwrap();
    let [_, executor] = pair.records(&asked);
    assert_eq!(executor["artifacts"][0]["parts"], json!([{"text": "1"}, {"text": "2"}]));
}
