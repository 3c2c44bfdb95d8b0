//! What a requester says after its request.

use messaging_core::ids::Ulid;
use serde_json::json;

use super::{Pair, THREE};
use crate::tests::forge::{Forged, mail};

#[test]
fn a_follow_up_joins_the_task_on_both_sides_and_its_stage_is_known() {
    let (mut pair, asked) = Pair::asked();
    pair.say(&asked, "INPUT_REQUIRED");
    pair.events(1);
    let sent = pair.reply(&asked, "the blue one").unwrap();
    assert_eq!(sent["taskId"], json!(asked.task));
    let [requester, executor] = pair.records(&asked);
    for record in [&requester, &executor] {
        assert_eq!(record["history"][1]["parts"][0]["text"], "the blue one");
        assert_eq!(record["history"][1]["contextId"], record["contextId"]);
        assert_eq!(record["history"].as_array().unwrap().len(), 2);
    }
    assert_eq!(
        executor["history"][1]["metadata"]["urn:messaging:ext:provenance:v1"]["person"],
        "alice"
    );
    let follow_up = &requester["followUps"][0];
    assert_eq!(follow_up["envelopeId"], sent["envelopeId"]);
    assert_eq!(follow_up["messageId"], sent["messageId"]);
    assert_eq!(follow_up["stage"], "delivered");
    let item = pair.bench.daemons[1].events_of("inbox")[0]["item"].clone();
    assert_eq!((&item["kind"], &item["taskId"]), (&json!("message"), &json!(asked.task)));
    assert_eq!(item["replyTo"], json!(asked.request));
    assert_eq!(pair.events(1), ["peer INPUT_REQUIRED -"]);
    pair.bench.ask(&pair.bob, "item.read", json!({"id": sent["envelopeId"]})).unwrap();
    let [requester, _] = pair.records(&asked);
    assert_eq!(requester["followUps"][0]["stage"], "read");
    // The request was not answered by it.
    assert_ne!(requester["delivery"]["stage"], "replied");
    let list = pair.bench.ask(&pair.alice, "task.list", json!({})).unwrap();
    for absent in ["followUps", "history", "request", "artifacts"] {
        assert!(list["tasks"][0].get(absent).is_none(), "{absent}");
    }
}

#[test]
fn the_newest_twenty_are_kept_in_sight() {
    let (mut pair, asked) = Pair::asked();
    for at in 0..23 {
        pair.reply(&asked, &format!("m{at}")).unwrap();
        pair.bench.advance(30_000);
    }
    let [requester, executor] = pair.records(&asked);
    assert_eq!(requester["followUps"].as_array().unwrap().len(), 20);
    assert_eq!(requester["history"].as_array().unwrap().len(), 24);
    assert_eq!(executor["history"].as_array().unwrap().len(), 24);
    assert_eq!(requester["followUps"][19]["messageId"], requester["history"][23]["messageId"]);
}

#[test]
fn a_follow_up_goes_to_the_executor_of_a_live_task_of_ones_own() {
    let (mut pair, asked) = Pair::asked();
    let other = pair.bench.session(0, "other", json!({}));
    let text = json!([{"text": "x"}]);
    let send = |to: &str| json!({"to": to, "taskId": asked.task, "parts": text});
    assert_eq!(pair.bench.ask(&other, "msg.send", send("bob/web")), Err("invalid_state".into()));
    assert_eq!(
        pair.bench.ask(&pair.bob, "msg.send", send("alice/api")),
        Err("invalid_state".into())
    );
    for to in ["bob/other", "bob/web@pc", "alice/api"] {
        let answer = pair.bench.ask(&pair.alice, "msg.send", send(to));
        assert_eq!(answer, Err("invalid_request".into()), "{to}");
    }
    pair.say(&asked, "COMPLETED");
    assert_eq!(pair.reply(&asked, "late"), Err("invalid_state".into()));
    let unknown = json!({"to": "bob/web", "taskId": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "parts": text});
    assert_eq!(pair.bench.ask(&pair.alice, "msg.send", unknown), Err("not_found".into()));
}

#[test]
fn the_executor_takes_them_from_the_requesters_machine_while_the_task_lives() {
    let mut pair = Pair::of(&THREE);
    let asked = pair.ask("x");
    let forged = |pair: &mut Pair, from: usize, to: &'static str| {
        let mut letter = mail(to, "more");
        letter.payload["message"]["taskId"] = json!(asked.task);
        let reply_to = Some(Ulid::parse(&asked.request).unwrap());
        let env = pair.bench.forge(from, 1, Forged { reply_to, ..letter });
        pair.bench.deliver(1, &env);
        pair.bench.advance(1_000);
        pair.bench.answer_to(1, from, &env).unwrap()
    };
    pair.bench.session(1, "other", json!({}));
    assert_eq!(forged(&mut pair, 2, "web"), "rejected not_found");
    assert_eq!(forged(&mut pair, 0, "other"), "rejected not_found");
    assert_eq!(forged(&mut pair, 0, "web"), "delivered");
    pair.say(&asked, "COMPLETED");
    assert_eq!(forged(&mut pair, 0, "web"), "rejected invalid_state");
    assert_eq!(pair.records(&asked)[1]["history"].as_array().unwrap().len(), 2);
}

#[test]
fn a_follow_up_may_answer_a_message_of_its_own_choice() {
    let (mut pair, asked) = Pair::asked();
    let params =
        json!({"to": "alice/api", "parts": [{"text": "a question"}], "replyTo": asked.request});
    let question = pair.bench.ask(&pair.bob, "msg.send", params).unwrap();
    let question = question["results"][0]["envelopeId"].clone();
    pair.bench.advance(1_000);
    assert_eq!(pair.records(&asked)[0]["delivery"]["stage"], "replied");
    let params = json!({"to": "bob/web", "taskId": asked.task, "parts": [{"text": "an answer"}],
        "replyTo": question});
    pair.bench.ask(&pair.alice, "msg.send", params).unwrap();
    pair.bench.advance(1_000);
    let bob = &pair.bob;
    let read = pair.bench.ask(bob, "item.read", json!({"id": question})).unwrap();
    assert_eq!(read["stage"], "replied");
    let [requester, executor] = pair.records(&asked);
    assert_eq!(requester["history"][1]["parts"], executor["history"][1]["parts"]);
}
