//! A task between two sessions of one machine, without a relay.

use serde_json::json;

use super::{artifact, asked, record, request, update};
use crate::tests::bench::Bench;

#[test]
fn two_sessions_of_one_machine_share_a_task() {
    let mut bench = Bench::offline(&[("alice", "laptop")]);
    let boss = bench.session(0, "boss", json!({}));
    let hand = bench.session(0, "hand", json!({}));
    let result = request(&mut bench, &boss, "alice/hand", "do this", json!({}));
    assert_eq!(result["stage"], "delivered");
    let task = asked(&result);
    assert_eq!(record(&mut bench, &boss, &task)["role"], "requester");
    assert_eq!(record(&mut bench, &boss, &task)["delivery"]["stage"], "delivered");
    assert_eq!(record(&mut bench, &hand, &task)["role"], "executor");
    let done = json!({"state": "TASK_STATE_COMPLETED", "artifact": artifact("r", "x")});
    update(&mut bench, &hand, &task, done).unwrap();
    for session in [&boss, &hand] {
        let record = record(&mut bench, session, &task);
        assert_eq!(record["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(record["artifacts"], json!([artifact("r", "x")]));
    }
    let origins: Vec<String> = bench.daemons[0]
        .events_of("task")
        .iter()
        .map(|event| format!("{} {}", event["task"]["role"], event["origin"]))
        .collect();
    assert_eq!(
        origins,
        [
            r#""requester" "local""#,
            r#""executor" "peer""#,
            r#""executor" "local""#,
            r#""requester" "peer""#,
            r#""executor" "local""#,
            r#""requester" "peer""#,
        ]
    );
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn a_cancel_within_one_machine_is_done_at_once() {
    let mut bench = Bench::offline(&[("alice", "laptop")]);
    let boss = bench.session(0, "boss", json!({}));
    let hand = bench.session(0, "hand", json!({}));
    let task = asked(&request(&mut bench, &boss, "alice/hand", "x", json!({})));
    let follow_up = json!({"to": "alice/hand", "taskId": task.task, "parts": [{"text": "more"}]});
    bench.ask(&boss, "msg.send", follow_up).unwrap();
    let answer = bench.ask(&boss, "task.cancel", json!({"taskId": task.task})).unwrap();
    assert_eq!(
        (&answer["sent"], &answer["task"]["status"]["state"]),
        (&json!(true), &json!("TASK_STATE_CANCELED"))
    );
    let executor = record(&mut bench, &hand, &task);
    assert_eq!(executor["status"], answer["task"]["status"]);
    assert_eq!(executor["history"].as_array().unwrap().len(), 2);
}

#[test]
fn a_terminal_of_this_machine_refuses_at_once() {
    let mut bench = Bench::offline(&[("alice", "laptop")]);
    let boss = bench.session(0, "boss", json!({}));
    bench.session(0, "cli", json!({"agent": "cli"}));
    let result = request(&mut bench, &boss, "alice/cli", "x", json!({}));
    assert_eq!((&result["stage"], &result["code"]), (&json!("rejected"), &json!("refused")));
    assert!(result.get("expect").is_none());
    let record = record(&mut bench, &boss, &asked(&result));
    assert_eq!(record["status"]["state"], "TASK_STATE_REJECTED");
}
