//! What holds a credential is not sent, not stored, and not repeated.

use messaging_core::secrets::testing::table;
use messaging_core::{b64, secrets};
use messaging_store::types::Value as Cell;
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

/// Every text that a daemon's store holds.
fn stored(bench: &Bench, at: usize) -> String {
    let view = bench.daemons[at].running.as_ref().unwrap().view();
    let names = view.rows("SELECT name FROM sqlite_schema WHERE type = 'table'", (), |row| {
        row.get::<_, String>(0)
    });
    let mut text = String::new();
    for name in names.unwrap() {
        let rows = view.rows(&format!("SELECT * FROM {name}"), (), |row| {
            let columns = row.as_ref().column_count();
            let values: Vec<String> =
                (0..columns).map(|at| format!("{:?}", row.get::<_, Cell>(at))).collect();
            Ok(values.join(" "))
        });
        text += &rows.unwrap().join("\n");
    }
    text
}

/// Where in a call a text can stand, at several depths.
fn places(text: &str) -> Vec<(&'static str, Value)> {
    let parts = |part: Value| json!([{"text": "a"}, part]);
    let send = |more: Value| {
        let mut params = json!({"to": "bob/web", "parts": [{"text": "a"}]});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    vec![
        ("parts[1]", send(json!({"parts": parts(json!({"text": format!("see {text} there")}))}))),
        ("parts[1]", send(json!({"parts": parts(json!({"data": {"a": [{"b": text}]}}))}))),
        ("parts[1]", send(json!({"parts": parts(json!({"data": {text: 1}}))}))),
        (
            "parts[1]",
            send(json!({"parts": parts(json!({"raw": b64::encode_standard(text.as_bytes())}))})),
        ),
        ("parts[1]", send(json!({"parts": parts(json!({"text": "x", "metadata": {"k": text}}))}))),
        ("metadata", send(json!({"metadata": {"deep": [[{"er": text}]]}}))),
        ("parts[1]", send(json!({"kind": "task", "parts": parts(json!({"text": text}))}))),
    ]
}

#[test]
fn no_kind_of_credential_gets_into_an_error_a_log_line_or_a_row_wherever_it_stands() {
    let (mut bench, alice, bob) = pair();
    let mut tails = Vec::new();
    let mut refused = 0;
    for (kind, positives, _) in table() {
        for secret in positives {
            assert_eq!(secrets::find(&secret), Some(kind));
            for (field, params) in places(&secret) {
                let error = refusal(&mut bench, &alice, "msg.send", params);
                assert_eq!(error["data"]["code"], "secret_refused", "{field}: {}", kind.as_str());
                assert_eq!(
                    (&error["data"]["field"], &error["data"]["kind"]),
                    (&json!(field), &json!(kind.as_str()))
                );
                assert!(!error.to_string().contains(&secret));
                refused += 1;
            }
            // The middle of it, which no name or word of ours holds.
            let letters: Vec<char> = secret.chars().collect();
            let middle = letters.len() / 2;
            tails.push(letters[middle - 5..middle + 5].iter().collect::<String>());
        }
    }
    assert_eq!(refused, 14 * 2 * 7);
    // A shape that is wrong is refused before, and says nothing of what it held.
    let (_, [secret, _], _) = table().swap_remove(3);
    for params in [
        json!({"to": secret, "parts": [{"text": "a"}]}),
        json!({"to": "bob/web", "parts": secret}),
        json!({secret.clone(): 1}),
    ] {
        let error = refusal(&mut bench, &alice, "msg.send", params);
        assert!(!error.to_string().contains(&secret[8..20]), "{error}");
    }
    bench.advance(5_000);
    for (at, session) in [(0, &alice), (1, &bob)] {
        let held = stored(&bench, at);
        let log = format!("{:?}", bench.daemons[at].log);
        let events = format!("{:?}", bench.daemons[at].events);
        assert!(held.contains("alice") && !session.key.is_empty());
        for tail in &tails {
            assert!(!held.contains(tail) && !log.contains(tail) && !events.contains(tail));
        }
    }
    assert_eq!(
        bench.daemons[0].log.iter().filter(|event| event.name() == "secret.refused").count(),
        refused
    );
}
