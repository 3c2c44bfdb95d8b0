//! What holds a credential is not sent, not stored, and not repeated.

use serde_json::{Value, json};

use crate::events::LogEvent;
use crate::tests::bench::{Bench, Session};

/// A token of GitHub's form; put together here, so that no file holds one.
fn token() -> String {
    format!("{}{}", "gh", "p_") + &"aB3dE5gH7jK9mN2pQ4sT6vW8xY0z".repeat(2)[..36]
}

fn pair() -> (Bench, Session, Session) {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    (bench, alice, bob)
}

fn refusal(bench: &mut Bench, session: &Session, method: &str, mut params: Value) -> Value {
    params["key"] = json!(session.key);
    let id = bench.begin(session.daemon, session.conn, method, params);
    bench.settle();
    bench.error(session.daemon, &id)
}

#[test]
fn every_call_that_sends_is_screened_and_nothing_is_kept() {
    let (mut bench, alice, bob) = pair();
    let asked = json!({"to": "bob/web", "kind": "task", "parts": [{"text": "do"}]});
    let task = bench.ask(&alice, "msg.send", asked).unwrap()["results"][0]["taskId"].clone();
    bench.advance(1_000);
    let rows = |bench: &Bench| {
        ["sent", "outbox", "tasks", "idempotency"]
            .map(|table| [0, 1].map(|at| bench.count(at, &format!("SELECT count(*) FROM {table}"))))
    };
    let before = rows(&bench);
    let text = format!("the token is {}.", token());
    let cases = [
        (
            &alice,
            "msg.send",
            json!({"to": "bob/web", "parts": [{"text": "a"}, {"text": text}],
            "idempotencyKey": "k"}),
            "parts[1]",
        ),
        (
            &alice,
            "msg.send",
            json!({"to": "bob/web", "parts": [{"text": "a"}], "metadata": {"k": [{"x": text}]}}),
            "metadata",
        ),
        (
            &alice,
            "msg.send",
            json!({"to": "bob/web", "kind": "task", "parts": [{"text": text}]}),
            "parts[0]",
        ),
        (
            &alice,
            "msg.send",
            json!({"to": "bob/web", "taskId": task, "parts": [{"data": {token(): 1}}]}),
            "parts[0]",
        ),
        (&alice, "task.cancel", json!({"taskId": task, "reason": text}), "reason"),
        (
            &bob,
            "task.update",
            json!({"taskId": task, "state": "TASK_STATE_WORKING", "message": [{"text": text}]}),
            "message",
        ),
        (
            &bob,
            "task.update",
            json!({"taskId": task, "artifact": {"parts": [{"text": text}]}}),
            "artifact",
        ),
    ];
    for (session, method, params, field) in cases {
        let error = refusal(&mut bench, session, method, params);
        assert_eq!(error["data"]["code"], "secret_refused", "{method}: {error}");
        assert_eq!(error["data"]["field"], field);
        assert_eq!(error["data"]["kind"], "github_token");
        assert_eq!(error["message"], format!("{field} holds a GitHub token; nothing was sent"));
        assert!(!error.to_string().contains(&token()[4..]));
        let kind = "github_token";
        assert!(
            bench.daemons[session.daemon].log.contains(&LogEvent::SecretRefused { method, kind })
        );
    }
    assert_eq!(rows(&bench), before);
    for daemon in &bench.daemons {
        assert!(!format!("{:?}", daemon.log).contains(&token()[4..]));
    }
}

#[test]
fn who_may_do_what_comes_before_and_repeated_calls_after() {
    let (mut bench, alice, bob) = pair();
    let text = token();
    let unknown = json!({"taskId": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "state": "TASK_STATE_WORKING",
        "message": [{"text": text}]});
    assert_eq!(bench.ask(&bob, "task.update", unknown), Err("not_found".into()));
    let send = json!({"to": "bob/web", "parts": [{"text": text}], "replyTo": "01ARZ3NDEKTSV4RRFFQ69G5FAV"});
    assert_eq!(bench.ask(&alice, "msg.send", send), Err("not_found".into()));
    let send =
        |text: &str| json!({"to": "bob/web", "parts": [{"text": text}], "idempotencyKey": "k"});
    bench.ask(&alice, "msg.send", send("plain")).unwrap();
    assert_eq!(bench.ask(&alice, "msg.send", send(&text)), Err("secret_refused".into()));
}

#[test]
fn it_can_be_turned_off_for_everybody() {
    let (mut bench, alice, _) = pair();
    bench.configure(0, |config| config.refuse_secrets = false);
    let alice = bench.resume(&alice);
    let send = json!({"to": "bob/web", "parts": [{"text": token()}]});
    assert!(bench.ask(&alice, "msg.send", send).is_ok());
}
