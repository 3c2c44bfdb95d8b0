//! Mail between agents of one team, from the call to the read receipt.
//! Spec: §6.1, §6.4, §8.4

use serde_json::json;

use super::bench::Bench;

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

#[test]
fn mail_goes_from_one_agent_to_another_and_is_read() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({"tier": "push"}));
    bench.advance(3_000);
    let id = bench.send(&alice, "bob/web", "hello");
    assert_eq!(bench.stage(&alice, &id), "delivered");
    assert_eq!(bench.texts(&bob), ["hello"]);

    let events = bench.daemons[1].events_of("inbox");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["item"]["from"]["address"], "alice/api@laptop");
    assert_eq!(events[0]["item"]["consent"], "guarded");
    assert_eq!(events[0]["item"]["wake"], true);

    bench.ask(&bob, "inbox.ack", json!({"ids": [id], "stage": "handed_to_agent"})).unwrap();
    assert_eq!(bench.stage(&alice, &id), "handed_to_agent");
    let read = bench.ask(&bob, "item.read", json!({"id": id})).unwrap();
    assert_eq!(read["message"]["parts"][0]["text"], "hello");
    assert_eq!(bench.stage(&alice, &id), "read");
    let stages: Vec<&str> = bench.daemons[0]
        .events_of("delivery")
        .iter()
        .map(|e| e["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["relayed", "delivered", "handed_to_agent", "read"]);
    assert!(bench.relay.all_acked());
}
