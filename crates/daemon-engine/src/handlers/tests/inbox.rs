//! Inbox and items: order, looking, acknowledging, reading.

use serde_json::{Value, json};

use crate::tests::bench::{Bench, Session};

/// Bob's `writer` has sent `texts` to Alice's `api`, a second apart.
fn with_mail(texts: &[&str]) -> (Bench, Session, Session, Vec<String>) {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let api = bench.session(0, "api", json!({}));
    let writer = bench.session(1, "writer", json!({}));
    bench.advance(5_000);
    let mut ids = Vec::new();
    for text in texts {
        ids.push(bench.send(&writer, "alice/api", text));
        bench.advance(1_000);
    }
    (bench, api, writer, ids)
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_is_newest_first_and_pages() {
    let (mut bench, api, _, sent) = with_mail(&["one", "two", "three", "four"]);
    let page = bench.ask(&api, "inbox.list", json!({"limit": 3})).unwrap();
    assert_eq!(ids(&page), [&*sent[3], &*sent[2], &*sent[1]]);
    assert_eq!((&page["more"], &page["unread"]), (&json!(true), &json!(4)));
    let last = &page["items"][2];
    let before = json!({"at": last["at"], "id": last["id"]});
    let page = bench.ask(&api, "inbox.list", json!({"limit": 3, "before": before})).unwrap();
    assert_eq!(ids(&page), [&*sent[0]]);
    assert_eq!(page["more"], json!(false));
}

#[test]
fn within_one_millisecond_the_last_stored_comes_first() {
    let mut bench = Bench::connected(&[("alice", "laptop")]);
    let api = bench.session(0, "api", json!({}));
    let sent: Vec<String> =
        (0..5).map(|n| bench.send(&api, "alice/api", &format!("{n}"))).collect();
    let page = bench.ask(&api, "inbox.list", json!({"limit": 2})).unwrap();
    assert_eq!(ids(&page), [&*sent[4], &*sent[3]]);
    let last = &page["items"][1];
    let before = json!({"at": last["at"], "id": last["id"]});
    let page = bench.ask(&api, "inbox.list", json!({"before": before})).unwrap();
    assert_eq!(ids(&page), [&*sent[2], &*sent[1], &*sent[0]]);
}

#[test]
fn an_item_says_who_what_and_when() {
    let (mut bench, api, _, sent) = with_mail(&["hello"]);
    let page = bench.ask(&api, "inbox.list", json!({})).unwrap();
    let item = &page["items"][0];
    let machine = bench.machine(1);
    assert_eq!(
        item["from"],
        json!({"person": "bob", "device": machine, "label": "desk", "agent": "writer",
               "address": "bob/writer@desk"})
    );
    assert_eq!(item["id"], sent[0]);
    assert_eq!(item["to"], "api");
    assert_eq!(item["kind"], "message");
    assert_eq!(item["preview"], "hello");
    assert_eq!(item["attachments"], 0);
    assert_eq!(item["stage"], "delivered");
    assert_eq!(item["messageId"], item["contextId"]);
    // The hint was there, and the session is no push session.
    assert_eq!(item["wake"], false);
}

#[test]
fn looking_changes_nothing_and_tells_nobody() {
    let (mut bench, api, writer, sent) = with_mail(&["hello"]);
    for message in [false, true] {
        let params = json!({"id": sent[0], "message": message});
        let entry = bench.ask(&api, "inbox.get", params).unwrap();
        assert_eq!(entry["item"]["stage"], "delivered");
        assert_eq!(entry.get("message").is_some(), message);
        if message {
            let provenance = &entry["message"]["metadata"]["urn:messaging:ext:provenance:v1"];
            assert_eq!(provenance["from"], "bob/writer@desk");
            assert_eq!(entry["message"]["parts"][0]["text"], "hello");
        }
    }
    bench.advance(5_000);
    assert_eq!(bench.stage(&writer, &sent[0]), "delivered");
}

#[test]
fn an_ack_moves_forward_once_and_tells_the_sender_once() {
    let (mut bench, api, writer, sent) = with_mail(&["hello", "again"]);
    let ack = |stage: &str, ids: Vec<&String>| json!({"stage": stage, "ids": ids});
    let both = vec![&sent[0], &sent[1], &sent[0]];
    let answer = bench.ask(&api, "inbox.ack", ack("handed_to_agent", both)).unwrap();
    assert_eq!(answer["acked"], json!([sent[0], sent[1]]));
    bench.advance(2_000);
    assert_eq!(bench.stage(&writer, &sent[0]), "handed_to_agent");
    let receipts = bench.relay.heard_from(0, "send");
    for stage in ["handed_to_agent", "read", "read", "handed_to_agent"] {
        bench.ask(&api, "inbox.ack", ack(stage, vec![&sent[0]])).unwrap();
        bench.advance(2_000);
    }
    assert_eq!(bench.relay.heard_from(0, "send"), receipts + 1, "one receipt for one step");
    assert_eq!(bench.stage(&writer, &sent[0]), "read");
    let page = bench.ask(&api, "inbox.list", json!({"unreadOnly": true})).unwrap();
    assert_eq!(ids(&page), [&*sent[1]]);
    assert_eq!(page["unread"], 1);
}

#[test]
fn one_unknown_id_and_an_ack_changes_nothing() {
    let (mut bench, api, _, sent) = with_mail(&["hello"]);
    let params = json!({"stage": "read", "ids": [sent[0], "01ARZ3NDEKTSV4RRFFQ69G5FAV"]});
    assert_eq!(bench.ask(&api, "inbox.ack", params), Err("not_found".into()));
    let entry = bench.ask(&api, "inbox.get", json!({"id": sent[0]})).unwrap();
    assert_eq!(entry["item"]["stage"], "delivered");
}

#[test]
fn reading_marks_read_even_when_it_was_never_handed_over() {
    let (mut bench, api, writer, sent) = with_mail(&["hello"]);
    let read = bench.ask(&api, "item.read", json!({"id": sent[0]})).unwrap();
    assert_eq!((&read["kind"], &read["item"]["stage"]), (&json!("received"), &json!("read")));
    assert_eq!(read["message"]["parts"][0]["text"], "hello");
    bench.advance(2_000);
    let told = bench.ask(&writer, "item.read", json!({"id": sent[0]})).unwrap();
    assert_eq!(told["kind"], "sent");
    assert_eq!(told["to"], "alice/api@laptop");
    assert_eq!(told["stage"], "read");
    let stages: Vec<&str> = told["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["accepted", "relayed", "delivered", "read"]);
}

#[test]
fn items_belong_to_their_session() {
    let (mut bench, api, writer, sent) = with_mail(&["hello"]);
    let other = bench.session(0, "other", json!({}));
    for (session, method, params) in [
        (&other, "inbox.get", json!({"id": sent[0]})),
        (&other, "item.read", json!({"id": sent[0]})),
        (&other, "inbox.ack", json!({"ids": [sent[0]], "stage": "read"})),
        (&writer, "inbox.get", json!({"id": sent[0]})),
        (&api, "item.read", json!({"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})),
    ] {
        assert_eq!(bench.ask(session, method, params), Err("not_found".into()), "{method}");
    }
}

#[test]
fn a_subscriber_hears_of_items_and_of_its_deliveries_while_it_holds_the_key() {
    let (mut bench, api, writer, sent) = with_mail(&["hello"]);
    let event = bench.daemons[0].events_of("inbox")[0].clone();
    assert_eq!((&event["key"], &event["item"]["id"]), (&json!(api.key), &json!(sent[0])));
    let stages = |bench: &Bench| -> Vec<String> {
        let events = bench.daemons[1].events_of("delivery");
        events.iter().map(|event| event["stage"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(stages(&bench), ["relayed", "delivered"]);
    bench.ask(&api, "item.read", json!({"id": sent[0]})).unwrap();
    bench.advance(2_000);
    assert_eq!(stages(&bench), ["relayed", "delivered", "read"]);
    // A key that was given back is told nothing more.
    bench.ask(&api, "session.unregister", json!({})).unwrap();
    bench.advance(3_000);
    bench.send(&writer, "alice/api", "later");
    bench.advance(3_000);
    assert_eq!(bench.daemons[0].events_of("inbox").len(), 1);
}
