//! `sent.list`, and every stage with its time: what became of what a session sent.
//! Spec: §8.4

use serde_json::{Value, json};

use super::bench::{Bench, Session};

fn bench() -> (Bench, Session, Session) {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let (api, web) = (bench.session(0, "api", json!({})), bench.session(1, "web", json!({})));
    bench.advance(2_000);
    (bench, api, web)
}

fn list(bench: &mut Bench, session: &Session, params: Value) -> Value {
    bench.ask(session, "sent.list", params).unwrap()
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_session_sent_is_listed_newest_first_in_pages() {
    let (mut bench, api, web) = bench();
    let mut sent = Vec::new();
    for n in 0..5 {
        sent.push(bench.send(&api, "bob/web", &format!("m{n}")));
        // Two of one moment keep their order.
        bench.advance(if n == 2 { 0 } else { 10 });
    }
    bench.send(&web, "alice/api", "another session's");
    sent.reverse();
    let all = list(&mut bench, &api, json!({}));
    assert_eq!((ids(&all), &all["more"]), (sent.clone(), &json!(false)));
    assert_eq!(all["items"][0]["to"], "bob/web@desk");
    assert_eq!(all["items"][0]["preview"], "m4");
    let mut pages = Vec::new();
    let mut params = json!({"limit": 2});
    loop {
        let page = list(&mut bench, &api, params.clone());
        pages.extend(ids(&page));
        let last = page["items"].as_array().unwrap().last().unwrap().clone();
        params["before"] = json!({"at": last["at"], "id": last["id"]});
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(pages, sent);
    let wrong = bench.ask(&api, "sent.list", json!({"limit": 201}));
    assert_eq!(wrong.unwrap_err(), "invalid_request");
    let params = json!({"key": "k".repeat(22)});
    assert_eq!(bench.call(0, api.conn, "sent.list", params).unwrap_err(), "not_found");
}

#[test]
fn unanswered_is_what_was_shown_and_not_replied_to() {
    let (mut bench, api, web) = bench();
    let sent: Vec<String> = (0..4).map(|n| bench.send(&api, "bob/web", &format!("m{n}"))).collect();
    bench.advance(1_000);
    let unanswered = |bench: &mut Bench| ids(&list(bench, &api, json!({"unanswered": true})));
    assert_eq!(unanswered(&mut bench), Vec::<String>::new(), "nobody saw them yet");
    bench.ask(&web, "inbox.ack", json!({"ids": [sent[0]], "stage": "handed_to_agent"})).unwrap();
    bench.ask(&web, "inbox.ack", json!({"ids": [sent[1], sent[2]], "stage": "read"})).unwrap();
    bench.advance(1_000);
    assert_eq!(unanswered(&mut bench), [&*sent[2], &*sent[1], &*sent[0]]);
    let answer = json!({"to": "alice/api", "parts": [{"text": "yes"}], "replyTo": sent[1]});
    bench.ask(&web, "msg.send", answer).unwrap();
    bench.advance(1_000);
    assert_eq!(unanswered(&mut bench), [&*sent[2], &*sent[0]]);
}

#[test]
fn what_belongs_to_a_task_is_answered_when_its_agent_says_how_it_stands() {
    let (mut bench, api, web) = bench();
    let request = json!({"to": "bob/web", "kind": "task", "parts": [{"text": "find it"}]});
    let sent = bench.ask(&api, "msg.send", request).unwrap()["results"][0].clone();
    let (id, task) = (sent["envelopeId"].as_str().unwrap().to_owned(), sent["taskId"].clone());
    bench.advance(1_000);
    bench.ask(&web, "item.read", json!({"id": id})).unwrap();
    bench.advance(1_000);
    let unanswered = |bench: &mut Bench| ids(&list(bench, &api, json!({"unanswered": true})));
    assert_eq!(unanswered(&mut bench), [&*id]);
    let say = |bench: &mut Bench, state: &str| {
        bench.ask(&web, "task.update", json!({"taskId": task, "state": state})).unwrap();
        bench.advance(1_000);
    };
    say(&mut bench, "TASK_STATE_WORKING");
    assert_eq!(unanswered(&mut bench), Vec::<String>::new());
    let more = json!({"to": "bob/web", "taskId": task, "parts": [{"text": "the blue one"}]});
    let more = bench.ask(&api, "msg.send", more).unwrap()["results"][0]["envelopeId"].clone();
    bench.advance(1_000);
    bench.ask(&web, "item.read", json!({"id": more})).unwrap();
    bench.advance(1_000);
    assert_eq!(unanswered(&mut bench), [more.as_str().unwrap()]);
    say(&mut bench, "TASK_STATE_COMPLETED");
    assert_eq!(unanswered(&mut bench), Vec::<String>::new());

    // Every stage with its time, of the request and of what followed.
    let record = bench.ask(&api, "task.get", json!({"taskId": task})).unwrap()["task"].clone();
    let stages = |history: &Value| -> Vec<String> {
        let steps = history.as_array().unwrap();
        assert!(steps.windows(2).all(|two| two[0]["at"].as_u64() <= two[1]["at"].as_u64()));
        steps.iter().map(|step| step["stage"].as_str().unwrap().to_owned()).collect()
    };
    let whole = ["accepted", "relayed", "delivered", "read"];
    assert_eq!(stages(&record["deliveryHistory"]), whole);
    assert_eq!(stages(&record["followUps"][0]["history"]), whole);
    let read = bench.ask(&api, "item.read", json!({"id": id})).unwrap();
    assert_eq!(read["history"], record["deliveryHistory"]);
}

#[test]
fn a_sender_reads_its_own_message_while_copies_are_kept() {
    let (mut bench, api, _) = bench();
    let id = bench.send(&api, "bob/web", "what I said");
    let read = bench.ask(&api, "item.read", json!({"id": id})).unwrap();
    assert_eq!(read["message"]["parts"], json!([{"text": "what I said"}]));
    bench.configure(0, |config| config.retention.sent_text = false);
    let api = bench.resume(&api);
    let quiet = bench.send(&api, "bob/web", "not kept");
    let read = bench.ask(&api, "item.read", json!({"id": quiet})).unwrap();
    assert!(read.get("message").is_none());
    let page = list(&mut bench, &api, json!({}));
    assert!(page["items"][0].get("preview").is_none());
    assert_eq!(page["items"][1]["preview"], "what I said");
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent_text"), 1);
    // The copy goes with its record.
    bench.advance(1_000);
    bench.skip(40 * 86_400_000);
    bench.advance(1_000);
    bench.skip(40 * 86_400_000);
    bench.advance(1_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent"), 0);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent_text"), 0);
}
