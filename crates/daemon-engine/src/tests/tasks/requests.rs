//! A request: both records, what clients hear, and what is refused.

use serde_json::json;

use super::{Pair, asked, record, request};
use crate::tests::bench::Bench;

#[test]
fn both_sides_record_a_request() {
    let (mut pair, asked) = Pair::asked();
    let [requester, executor] = pair.records(&asked);
    for (record, role, session, peer) in [
        (&requester, "requester", "api", "bob/web@desk"),
        (&executor, "executor", "web", "alice/api@laptop"),
    ] {
        assert_eq!(record["id"], json!(asked.task));
        assert_eq!(record["role"], role);
        assert_eq!(record["session"], session);
        assert_eq!(record["peer"]["address"], peer);
        assert_eq!(record["status"]["state"], "TASK_STATE_SUBMITTED");
        assert_eq!(record["title"], "do this");
        assert_eq!(record["requestId"], json!(asked.request));
        assert_eq!(record["history"], json!([record["request"]]));
        assert_eq!(record["artifacts"], json!([]));
        assert_eq!(record["contextId"], requester["contextId"]);
        assert_eq!(
            record["chain"]["addresses"],
            json!(["alice/api@laptop", "bob/web@desk"]),
            "{role}"
        );
        assert_eq!(
            (&record["chain"]["depth"], &record["chain"]["maxDepth"]),
            (&json!(1), &json!(4))
        );
        assert!(record.get("grants").is_none());
    }
    assert_eq!(requester["delivery"]["stage"], "delivered");
    assert_eq!(requester["followUps"], json!([]));
    assert!(executor.get("delivery").is_none() && executor.get("followUps").is_none());
    let provenance = "urn:messaging:ext:provenance:v1";
    assert_eq!(executor["request"]["metadata"][provenance]["from"], "alice/api@laptop");
    assert!(requester["request"].get("metadata").is_none());

    assert_eq!(pair.events(0), ["local SUBMITTED -"]);
    let inbox = pair.bench.daemons[1].events_of("inbox")[0]["item"].clone();
    assert_eq!((&inbox["kind"], &inbox["taskId"]), (&json!("task"), &json!(asked.task)));
    assert_eq!(inbox["chain"], executor["chain"]);
    assert_eq!(pair.events(1), ["peer SUBMITTED -"]);
    // The request is read like any item, and that shows.
    pair.bench.ask(&pair.bob, "item.read", json!({"id": asked.request})).unwrap();
    assert_eq!(pair.records(&asked)[0]["delivery"]["stage"], "read");
    assert!(pair.bench.relay.all_acked());
}

#[test]
fn a_terminal_takes_no_task_and_may_ask_for_one() {
    let mut pair = Pair::new();
    let terminal = pair.bench.session(1, "cli", json!({"agent": "cli"}));
    pair.bench.advance(3_000);
    let result = request(&mut pair.bench, &pair.alice, "bob/cli", "do this", json!({}));
    pair.bench.advance(1_000);
    let record = record(&mut pair.bench, &pair.alice, &asked(&result));
    assert_eq!(record["status"]["state"], "TASK_STATE_REJECTED");
    assert_eq!(record["status"]["message"]["parts"][0]["text"], "delivery rejected: refused");
    assert_eq!(
        (&record["delivery"]["stage"], &record["delivery"]["code"]),
        (&json!("rejected"), &json!("refused"))
    );
    assert_eq!(pair.events(0), ["local SUBMITTED -", "peer REJECTED status"]);
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM tasks"), 0);
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM inbox"), 0);

    let result = request(&mut pair.bench, &terminal, "alice/api", "and this", json!({}));
    pair.bench.advance(1_000);
    assert_eq!(super::record(&mut pair.bench, &pair.alice, &asked(&result))["title"], "and this");
}

#[test]
fn a_request_to_nobody_is_rejected_with_its_code() {
    let mut pair = Pair::new();
    let result = request(&mut pair.bench, &pair.alice, "bob/nobody@desk", "x", json!({}));
    assert_eq!(result["stage"], "accepted");
    pair.bench.advance(1_000);
    let record = record(&mut pair.bench, &pair.alice, &asked(&result));
    assert_eq!(
        record["status"]["message"]["parts"][0]["text"],
        "delivery rejected: unknown_session"
    );
}

#[test]
fn a_repeated_call_asks_once() {
    let mut pair = Pair::new();
    let once = json!({"idempotencyKey": "k"});
    let first = request(&mut pair.bench, &pair.alice, "bob/web", "x", once.clone());
    pair.bench.advance(1_000);
    let again = request(&mut pair.bench, &pair.alice, "bob/web", "x", once);
    pair.bench.advance(1_000);
    assert_eq!(first, again);
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM tasks"), 1);
    assert_eq!(pair.events(0), ["local SUBMITTED -"]);
}

#[test]
fn a_task_is_asked_for_once_under_its_id() {
    let (mut pair, asked) = Pair::asked();
    let first = pair.sent(0, "message").remove(0);
    // The same request in another envelope: its chain holds, its task is known.
    let payload = pair.bench.opened(1, &first);
    let mut env = first.clone();
    env["id"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let env = pair.bench.reseal(0, 1, env, &payload);
    pair.bench.deliver(1, &env);
    pair.bench.advance(1_000);
    assert_eq!(pair.bench.answer_to(1, 0, &env).as_deref(), Some("rejected invalid_request"));
    assert_eq!(pair.records(&asked)[1]["requestId"], json!(asked.request));
    // And the first one again is seen already.
    pair.bench.deliver(1, &first);
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM inbox"), 1);
}

#[test]
fn a_request_needs_a_chain_for_this_very_hop() {
    let (mut pair, _) = Pair::asked();
    let carol = Bench::connected(&super::THREE);
    drop(carol);
    let first = pair.sent(0, "message").remove(0);
    let payload = pair.bench.opened(1, &first);
    let twisted = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut payload = payload.clone();
        change(&mut payload);
        payload
    };
    let cases = [
        // Another task under the same grant.
        (twisted(&|p| p["message"]["taskId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV")), "forbidden"),
        (
            twisted(&|p| {
                p["message"]["taskId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
                p["delegation"][0]["task"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
            }),
            "bad_signature",
        ),
        (twisted(&|p| drop(p.as_object_mut().unwrap().remove("delegation"))), "invalid_request"),
        (twisted(&|p| p["message"]["taskId"] = json!("not-a-ulid")), "invalid_request"),
    ];
    for (at, (payload, code)) in cases.into_iter().enumerate() {
        let mut env = first.clone();
        env["id"] = json!(format!("01ARZ3NDEKTSV4RRFFQ69G5FA{at}"));
        let env = pair.bench.reseal(0, 1, env, &payload);
        pair.bench.deliver(1, &env);
        pair.bench.advance(1_000);
        let answer = pair.bench.answer_to(1, 0, &env);
        assert_eq!(answer, Some(format!("rejected {code}")));
    }
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM tasks"), 1);
    assert_eq!(pair.bench.count(1, "SELECT count(*) FROM inbox"), 1);
}
