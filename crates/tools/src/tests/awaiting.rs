//! `messaging_send` with `wait`: whatever comes first.
//! Spec: §11

use std::sync::atomic::AtomicUsize;

use super::*;

const SENT: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAW";

/// A daemon on which a question stands as `at` says at the n-th look: its stage, its code, its task's state.
fn asked(
    task: bool,
    at: impl Fn(usize) -> (&'static str, Option<&'static str>, &'static str) + Send + Sync + 'static,
) -> Under {
    let looks = AtomicUsize::new(0);
    tools(move |method, params| {
        let now = looks.load(Ordering::Relaxed);
        match method {
            "msg.send" => {
                assert_eq!(params["idempotencyKey"].as_str().unwrap().len(), 36);
                let mut one = json!({
                    "to": "bob/api@desk", "envelopeId": SENT, "messageId": "m", "contextId": "c", "stage": "accepted",
                    "expect": "next_turn"
                });
                if task {
                    one["taskId"] = json!(ID);
                }
                Ok(json!({"results": [one]}))
            }
            "item.read" => {
                let (stage, code, _) = at(looks.fetch_add(1, Ordering::Relaxed));
                let mut one = json!({"kind": "sent", "envelopeId": SENT, "to": "bob/api@desk", "stage": stage, "history": []});
                if let Some(code) = code {
                    one["code"] = json!(code);
                }
                Ok(one)
            }
            "task.get" => Ok(json!({"task": super::task("requester", at(now - 1).2)})),
            "contacts.list" => {
                let gone = at(now - 1).2 == "gone";
                let entry = json!({
                    "address": "bob/api@desk", "person": "bob", "device": "A".repeat(43), "label": "desk", "agent": "api",
                    "client": "codex", "state": "idle", "tier": "pull", "since": 1, "online": true, "features": []
                });
                let entries = if gone { vec![] } else { vec![entry] };
                Ok(json!({"entries": entries, "conversations": [], "reach": []}))
            }
            "inbox.ack" => Ok(json!({"acked": []})),
            _ => {
                let mut answer = item(ID, ATTACK);
                answer["replyTo"] = json!(SENT);
                Ok(page(vec![item(&ulid(4), "other"), answer], 0, false))
            }
        }
    })
}

fn ask(tools: &Under, seconds: u64) -> Value {
    tools.ok("send", json!({"to": "bob/api", "text": "how far?", "wait": seconds}))
}

#[test]
fn an_answer_ends_the_wait_and_is_shown_inside_its_fence() {
    let tools = asked(false, |look| (if look < 3 { "delivered" } else { "replied" }, None, ""));
    let answer = ask(&tools, 50);
    harmless(&answer);
    assert_eq!((&answer["outcome"], &answer["stage"]), (&json!("reply"), &json!("replied")));
    assert_eq!(answer["answer"]["id"], ID);
    assert_eq!(tools.link().now(), 7 + 6_000, "three looks, two seconds apart");
    let acks = tools.calls("inbox.ack");
    assert_eq!((&acks[0]["ids"], &acks[0]["stage"]), (&json!([ID]), &json!("handed_to_agent")));
    assert!(answer.get("key").is_none());
}

#[test]
fn a_wait_is_never_longer_than_asked_and_says_how_to_go_on() {
    let tools = asked(false, |_| ("relayed", None, ""));
    let answer = ask(&tools, 5);
    assert_eq!(answer["outcome"], "pending");
    assert_eq!(tools.link().now(), 7 + 5_000);
    let key = answer["key"].as_str().unwrap().to_owned();
    assert!(answer["note"].as_str().unwrap().contains("this key"));
    // With the key it is the same send.
    tools.ok("send", json!({"to": "bob/api", "text": "how far?", "wait": 5, "key": key}));
    let sends = tools.calls("msg.send");
    assert_eq!(sends[0]["idempotencyKey"], sends[1]["idempotencyKey"]);
    for bad in [0, 51] {
        let asked = json!({"to": "bob/api", "text": "x", "wait": bad});
        assert_eq!(tools.refused("send", asked).0, Code::InvalidRequest);
    }
    assert_eq!(
        tools.refused("send", json!({"to": "#ops", "text": "x", "wait": 5})).0,
        Code::InvalidRequest
    );
}

#[test]
fn expiry_refusal_a_hold_and_an_empty_chair_end_it_at_once() {
    for (stage, code, gone, outcome, note) in [
        ("expired", None, "", "expired", "It was not delivered."),
        ("rejected", Some("declined"), "", "ended", "It was not delivered."),
        ("held", None, "", "held", "Their person"),
        ("delivered", None, "gone", "ended", "Nobody is left"),
    ] {
        let tools = asked(false, move |_| (stage, code, gone));
        let answer = ask(&tools, 50);
        assert_eq!(answer["outcome"], outcome, "{stage}");
        assert!(answer["note"].as_str().unwrap().starts_with(note), "{answer}");
        assert_eq!(tools.link().now(), 7);
        assert_eq!(answer.get("code").and_then(Value::as_str), code);
    }
}

#[test]
fn a_task_is_answered_by_its_result_or_its_question() {
    for (state, outcome) in [
        ("TASK_STATE_COMPLETED", "reply"),
        ("TASK_STATE_INPUT_REQUIRED", "reply"),
        ("TASK_STATE_FAILED", "ended"),
        ("TASK_STATE_WORKING", "pending"),
    ] {
        let tools = asked(true, move |_| ("read", None, state));
        let asked = json!({"to": "bob/api", "text": "count", "ask": true, "wait": 50});
        let answer = tools.ok("send", asked);
        assert_eq!((&answer["outcome"], &answer["taskId"]), (&json!(outcome), &json!(ID)));
        assert!(answer.get("answer").is_none());
    }
}
