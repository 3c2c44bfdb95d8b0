//! Mail between agents of one team, from the call to the read receipt.
//! Spec: §6.1, §6.4, §8.4

use messaging_core::ids::Ulid;
use serde_json::json;

use super::bench::Bench;
use super::forge::{Forged, mail};

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

#[test]
fn a_reply_marks_what_it_answers_only_from_the_machine_that_was_written_to() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("carol", "pc")]);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let id = bench.send(&alice, "bob/web", "question");
    let of = Ulid::parse(&id).unwrap();
    let stranger = Forged { reply_to: Some(of), ..mail("api", "not yours") };
    let env = bench.forge(2, 0, stranger);
    bench.deliver(0, &env);
    assert_eq!(bench.stage(&alice, &id), "delivered", "only the stage is left alone");
    assert_eq!(bench.texts(&alice), ["not yours"]);

    let params = json!({"to": "alice/api", "parts": [{"text": "answer"}], "replyTo": id});
    let sent = bench.ask(&bob, "msg.send", params).unwrap();
    assert_eq!(bench.stage(&alice, &id), "replied");
    // The reply joins the conversation.
    let items = bench.ask(&alice, "inbox.list", json!({})).unwrap();
    assert_eq!(items["items"][0]["replyTo"], json!(id));
    assert_eq!(items["items"][0]["contextId"], sent["results"][0]["contextId"]);
    // And nothing moves it back.
    bench.ask(&bob, "item.read", json!({"id": id})).unwrap();
    assert_eq!(bench.stage(&alice, &id), "replied");
}

#[test]
fn provenance_is_the_realms_word_over_the_peers() {
    let mut bench = Bench::connected(&TWO);
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let mut forged = mail("web", "hi");
    forged.payload["message"]["metadata"] = json!({
        "kept": 1,
        "urn:messaging:ext:provenance:v1": {"person": "carol", "from": "carol/boss@pc"},
    });
    let env = bench.forge(0, 1, forged);
    bench.deliver(1, &env);
    let read = bench.ask(&bob, "item.read", json!({"id": env["id"]})).unwrap();
    let metadata = &read["message"]["metadata"];
    assert_eq!(metadata["kept"], 1);
    let machine = bench.machine(0);
    assert_eq!(
        metadata["urn:messaging:ext:provenance:v1"],
        json!({"person": "alice", "device": machine, "label": "laptop", "agent": "api",
            "from": "alice/api@laptop"})
    );
}

#[test]
fn receipts_go_out_in_the_order_of_their_stages() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let id = bench.send(&alice, "bob/web", "x");
    for stage in ["handed_to_agent", "handed_to_agent", "read", "handed_to_agent"] {
        bench.ask(&bob, "inbox.ack", json!({"ids": [id], "stage": stage})).unwrap();
    }
    let stages: Vec<String> = bench.receipts(1, 0).into_iter().map(|(_, stage)| stage).collect();
    assert_eq!(stages, ["delivered", "handed_to_agent", "read"]);
}

#[test]
fn a_preview_is_cut_and_counts_what_is_no_text() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let parts = json!([
        {"text": "😀".repeat(139)}, {"data": {"k": 1}}, {"text": "tail"}, {"url": "https://a.example/"},
    ]);
    bench.ask(&alice, "msg.send", json!({"to": "bob/web", "parts": parts})).unwrap();
    let items = bench.ask(&bob, "inbox.list", json!({})).unwrap();
    assert_eq!(items["items"][0]["attachments"], 2);
    assert_eq!(items["items"][0]["preview"], format!("{}\nt", "😀".repeat(139)));
}

#[test]
fn a_wake_needs_the_senders_hint_and_a_push_session() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "pushed", json!({"tier": "push"}));
    bench.session(1, "pulled", json!({"tier": "pull"}));
    bench.advance(3_000);
    for (to, hint, wake) in
        [("pushed", true, true), ("pushed", false, false), ("pulled", true, false)]
    {
        let params = json!({"to": format!("bob/{to}"), "parts": [{"text": "x"}], "wake": hint});
        bench.ask(&alice, "msg.send", params).unwrap();
        let last = bench.daemons[1].events_of("inbox").pop().unwrap().clone();
        assert_eq!(last["item"]["wake"], wake, "{to} {hint}");
    }
}

#[test]
fn mail_between_machines_of_one_person_is_of_class_self() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("alice", "desk")]);
    let first = bench.session(0, "api", json!({}));
    let second = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.send(&first, "alice/web@desk", "mine");
    let items = bench.ask(&second, "inbox.list", json!({})).unwrap();
    assert_eq!(items["items"][0]["consent"], "self");
    let own = bench.session(0, "other", json!({}));
    bench.send(&first, "alice/other@laptop", "same machine");
    let items = bench.ask(&own, "inbox.list", json!({})).unwrap();
    assert_eq!(items["items"][0]["consent"], "self");
}
