//! The person's answers to what is held, and what each of them leaves behind.
//! Spec: §6.9 "Holds", D3.11

use messaging_core::envelope::SealedType;
use messaging_core::limits::{LOOP_GUARD_MAX, TTL_MS};
use serde_json::json;

use super::super::bench::CONN;
use super::super::forge::{mail, personal};
use super::{THREE, Town, remove};

#[test]
fn once_delivers_one_guarded_and_says_nothing_for_later() {
    let mut town = Town::new();
    let id = town.writes("may I?");
    assert_eq!(town.answer(&id, "once").unwrap(), json!([id]));
    assert_eq!((town.texts(), town.class()), (vec!["may I?".into()], "guarded".into()));
    assert_eq!(town.bench.daemons[1].events_of("inbox").len(), 1);
    assert_eq!(town.stage(&id), "held", "the sender hears next when an agent takes it");
    town.bench.ask(&town.bob, "item.read", json!({"id": id})).unwrap();
    town.bench.advance(1_000);
    assert_eq!(town.stage(&id), "read");
    assert!(town.requests(1).is_empty());
    assert_eq!(town.answer(&id, "once").unwrap_err(), "not_found");
    let id = town.writes("again?");
    assert_eq!(town.stage(&id), "held");
    assert_eq!(town.grants(1)["grants"], json!([]));
}

#[test]
fn always_opens_asks_and_keeps_what_else_was_said() {
    let mut town = Town::new();
    town.says("alice", json!({"chat": "muted", "agentMail": "blocked"}));
    let id = town.writes("one");
    town.answer(&id, "always").unwrap();
    let grant = town.grants(1)["grants"][0].clone();
    assert_eq!(
        (&grant["chat"], &grant["agentMail"], &grant["ask"]),
        (&json!("muted"), &json!("blocked"), &json!("open"))
    );
    let id = town.writes("two");
    assert_eq!(town.stage(&id), "delivered");
    assert_eq!(town.texts(), ["one", "two"]);
}

#[test]
fn decline_tells_the_sender_so() {
    let mut town = Town::new();
    let id = town.writes("no?");
    town.answer(&id, "decline").unwrap();
    assert_eq!(town.stage(&id), "rejected declined");
    assert!(town.texts().is_empty() && town.requests(1).is_empty());
    assert_eq!(town.grants(1)["grants"], json!([]));
}

#[test]
fn block_declines_and_refuses_from_then_on() {
    let mut town = Town::new();
    town.says("alice", json!({"agentMail": "blocked"}));
    let id = town.writes("one");
    town.answer(&id, "block").unwrap();
    assert_eq!(town.stage(&id), "rejected declined");
    let grant = town.grants(1)["grants"][0].clone();
    assert_eq!((&grant["chat"], &grant["agentMail"]), (&json!("blocked"), &json!("blocked")));
    let id = town.writes("two");
    assert_eq!(town.stage(&id), "rejected refused");
}

#[test]
fn all_answers_every_ask_of_that_person_and_nobody_elses() {
    let mut town = Town::of(&THREE);
    let first = town.writes("one");
    let (task, _) = town.asks("two");
    let carols = town.bench.forge(2, 1, mail("web", "Carol's"));
    town.bench.deliver(1, &carols);
    let preview = town.preview(&task, "once", true).unwrap();
    assert_eq!(preview["count"], 2);
    assert_eq!(town.answer_all(&task, "once", true).unwrap(), json!([first, task]));
    assert_eq!(town.texts(), ["one", "two"]);
    assert_eq!(town.requests(1).len(), 1);
}

#[test]
fn a_task_that_is_let_in_is_done_like_any() {
    let mut town = Town::new();
    let (id, task) = town.asks("build it");
    town.answer(&id, "once").unwrap();
    let record = town.bench.ask(&town.bob, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(record["task"]["chain"]["depth"], 1);
    let done = json!({"taskId": task, "state": "TASK_STATE_COMPLETED"});
    town.bench.ask(&town.bob, "task.update", done).unwrap();
    town.bench.advance(1_000);
    let record = town.bench.ask(&town.alice, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn a_declined_task_ends_at_its_requester() {
    let mut town = Town::new();
    let (id, task) = town.asks("build it");
    town.answer(&id, "decline").unwrap();
    let record = town.bench.ask(&town.alice, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_REJECTED");
    assert_eq!(record["task"]["delivery"]["code"], "declined");
}

#[test]
fn an_answer_is_one_of_the_kind() {
    let mut town = Town::new();
    let id = town.writes("x");
    assert_eq!(town.answer(&id, "accept").unwrap_err(), "invalid_request");
    assert_eq!(town.preview(&id, "accept", false).unwrap_err(), "invalid_request");
    let unknown = "01HF7YAT00AAAAAAAAAAAAAAAA";
    assert_eq!(town.answer(unknown, "once").unwrap_err(), "not_found");
    assert_eq!(town.preview(unknown, "once", false).unwrap_err(), "not_found");
    assert_eq!(town.requests(1).len(), 1);
}

#[test]
fn each_preview_is_one_fixed_sentence_and_changes_nothing() {
    let mut town = Town::new();
    let id = town.writes("x");
    for (answer, sentence) in [
        ("once", "Deliver this request from alice to web once, guarded."),
        (
            "always",
            "Deliver this request from alice, and let alice and their agents ask your agents from now on without asking you.",
        ),
        ("decline", "Decline this request from alice; they are told so."),
        (
            "block",
            "Block alice: decline this request and refuse everything they or their agents send you.",
        ),
    ] {
        let preview = town.preview(&id, answer, false).unwrap();
        assert_eq!(preview["sentence"], sentence);
        assert_eq!(
            (
                &preview["kind"],
                &preview["from"],
                &preview["agent"],
                &preview["to"],
                &preview["count"]
            ),
            (&json!("message"), &json!({"name": "alice"}), &json!("api"), &json!("web"), &json!(1))
        );
    }
    let second = town.writes("y");
    let preview = town.preview(&second, "decline", true).unwrap();
    assert_eq!(
        preview["sentence"],
        "Decline this request from alice; they are told so. This answers 2 requests."
    );
    assert_eq!(town.requests(1).len(), 2);
    assert_eq!(town.stage(&id), "held");
}

#[test]
fn an_ask_ends_unanswered_at_its_expiry_and_nothing_is_sent() {
    let mut town = Town::new();
    let env = town.bench.forge(0, 1, mail("web", "x"));
    town.bench.deliver(1, &env);
    town.bench.skip(TTL_MS - 1_000);
    assert_eq!(town.requests(1).len(), 1);
    town.bench.skip(1_000);
    let id = env["id"].as_str().unwrap();
    assert!(town.requests(1).is_empty(), "before the sweep too");
    assert_eq!(town.answer(id, "once").unwrap_err(), "not_found");
    town.bench.advance(61_000);
    assert_eq!(town.bench.count(1, "SELECT count(*) FROM held"), 0);
    assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), "held", "and nothing after it");
}

#[test]
fn an_ask_whose_sender_left_ends_at_the_answer() {
    let mut town = Town::of(&THREE);
    let env = town.bench.forge(2, 1, mail("web", "x"));
    town.bench.deliver(1, &env);
    remove(&mut town.bench, 2);
    let requests = town.requests(1);
    assert_eq!((&requests[0]["person"], &requests[0]["label"]), (&json!("carol"), &json!("pc")));
    let id = env["id"].as_str().unwrap();
    assert_eq!(town.answer(id, "always").unwrap(), json!([id]));
    assert!(town.texts().is_empty());
    assert_eq!(town.bench.receipts(1, 2).len(), 1, "no more than that it was held");
    assert_eq!(town.grants(1)["grants"], json!([]));
}

#[test]
fn what_is_let_in_passes_the_policy_of_that_moment() {
    let mut town = Town::new();
    let id = town.writes("x");
    town.bench.leave(&town.bob);
    town.bench.skip(25 * 3_600_000);
    town.bench.advance(61_000);
    assert_eq!(town.answer(&id, "once").unwrap(), json!([id]));
    town.bench.advance(1_000);
    assert_eq!(town.stage(&id), "rejected unknown_session");
    assert!(town.requests(1).is_empty());
}

#[test]
fn a_block_of_another_moment_declines_what_is_answered_once() {
    let mut town = Town::new();
    let id = town.writes("x");
    town.says("alice", json!({"chat": "blocked"}));
    town.answer(&id, "once").unwrap();
    assert_eq!(town.stage(&id), "rejected declined");
}

#[test]
fn once_outruns_a_level_that_is_now_no() {
    let mut town = Town::new();
    let id = town.writes("x");
    town.says("alice", json!({"ask": "no"}));
    town.answer(&id, "once").unwrap();
    assert_eq!((town.texts(), town.class()), (vec!["x".into()], "guarded".into()));
}

#[test]
fn the_loop_guard_counts_an_ask_when_it_is_let_in() {
    let mut town = Town::new();
    for round in 0..2 {
        for _ in 0..20 {
            let env = town.bench.forge(0, 1, mail("web", "x"));
            town.bench.deliver(1, &env);
            town.bench.advance(1_000);
            assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), "held", "{round}");
        }
        let id = town.requests(1)[0]["id"].as_str().unwrap().to_owned();
        let answer = if round == 0 { "decline" } else { "once" };
        assert_eq!(town.answer_all(&id, answer, true).unwrap().as_array().unwrap().len(), 20);
    }
    assert_eq!(town.texts().len(), 20, "the declined ones were not counted");
    town.says("alice", json!({"ask": "open"}));
    for count in 20..=LOOP_GUARD_MAX {
        let env = town.bench.forge(0, 1, mail("web", "y"));
        town.bench.deliver(1, &env);
        town.bench.advance(1_000);
        let expected = if count < LOOP_GUARD_MAX { "delivered" } else { "rejected loop_guard" };
        assert_eq!(town.bench.answer_to(1, 0, &env).unwrap(), expected, "{count}");
    }
}

#[test]
fn no_agent_answers_for_the_person() {
    let mut town = Town::new();
    let id = town.writes("x");
    let conn = 7_000_000;
    town.bench.input(
        1,
        crate::input::In::IpcOpened {
            conn: crate::input::ConnId(conn),
            tier: crate::input::Tier::Agent,
        },
    );
    for (method, params) in [
        ("request.list", json!({})),
        ("request.answer", json!({"id": id, "answer": "once"})),
        ("request.answer.preview", json!({"id": id, "answer": "once"})),
        ("grant.list", json!({})),
        ("grant.set", json!({"subject": {"person": "alice"}, "ask": "open"})),
        ("grant.set.preview", json!({"subject": {"person": "alice"}, "ask": "open"})),
    ] {
        assert_eq!(town.bench.call(1, conn, method, params).unwrap_err(), "forbidden", "{method}");
    }
    assert_eq!(town.requests(1).len(), 1);
}

#[test]
fn a_suggestion_is_listed_and_dismissed() {
    let mut town = Town::new();
    let id = "01HF7YAT00AAAAAAAAAAAAAAAA";
    let store = town.bench.kill(1);
    let store = super::super::bench::write(store, move |tx| {
        tx.execute(
            "INSERT INTO suggestions (id, agent, email, at) VALUES (?1, 'web', 'dan@example.org', 7)",
            messaging_store::params![id],
        )
        .map(drop)
    });
    town.bench.start(1, store);
    town.bench.advance(3_000);
    town.bench.admin(1);
    assert_eq!(
        town.requests(1),
        [
            json!({"kind": "suggestion", "id": id, "agent": "web", "email": "dan@example.org", "at": 7})
        ]
    );
    for answer in ["once", "always", "accept", "block"] {
        assert_eq!(town.answer(id, answer).unwrap_err(), "invalid_request", "{answer}");
    }
    let preview = town.preview(id, "decline", false).unwrap();
    assert_eq!(
        preview["sentence"],
        "Dismiss web's suggestion to contact dan@example.org; nothing is sent."
    );
    assert_eq!((&preview["kind"], &preview["from"]["name"]), (&json!("suggestion"), &json!("bob")));
    assert_eq!(town.answer(id, "decline").unwrap(), json!([id]));
    assert!(town.requests(1).is_empty());
}

#[test]
fn message_requests_are_for_other_organisations() {
    let mut town = Town::new();
    for (method, params) in [
        ("contact.request", json!({"email": "a@b.example", "text": "hello"})),
        ("contact.request.preview", json!({"email": "a@b.example"})),
    ] {
        assert_eq!(town.bench.call(1, CONN, method, params).unwrap_err(), "invalid_request");
    }
}

#[test]
fn a_task_that_is_cancelled_while_it_waits_ends_on_both_sides_and_never_begins() {
    let mut town = Town::of(&THREE);
    let (id, task) = town.asks("build it");
    let cancel = json!({"taskId": task});
    let carols = town.bench.forge(2, 1, personal(SealedType::TaskCancel, cancel.clone()));
    town.bench.deliver(1, &carols);
    assert_eq!(town.bench.answer_to(1, 2, &carols).unwrap(), "rejected not_found");
    assert_eq!(town.requests(1).len(), 1, "nobody else cancels it");
    town.bench.ask(&town.alice, "task.cancel", cancel).unwrap();
    town.bench.advance(1_000);
    let record = town.bench.ask(&town.alice, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_CANCELED");
    assert!(town.requests(1).is_empty());
    assert_eq!(town.answer(&id, "once").unwrap_err(), "not_found");
    let get = json!({"taskId": task});
    assert_eq!(town.bench.ask(&town.bob, "task.get", get.clone()).unwrap_err(), "not_found");
    assert!(town.texts().is_empty());
    // Nor does the end of the request change how the task ended.
    town.bench.skip(TTL_MS + 60_000);
    town.bench.advance(61_000);
    let record = town.bench.ask(&town.alice, "task.get", get).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[test]
fn what_waits_is_listed_unopened_and_what_is_damaged_can_be_declined() {
    let mut town = Town::new();
    let (damaged, whole) = (town.writes("one"), town.writes("two"));
    let store = town.bench.kill(1);
    let id = damaged.clone();
    let store = super::super::bench::write(store, move |tx| {
        tx.execute("UPDATE held SET envelope = '', payload = ''", ())?;
        tx.execute("UPDATE held SET shown = '{' WHERE id = ?1", [id.as_str()]).map(drop)
    });
    town.bench.start(1, store);
    town.bench.advance(3_000);
    town.bench.admin(1);
    let requests = town.requests(1);
    assert_eq!(requests.len(), 1);
    assert_eq!((&requests[0]["id"], &requests[0]["preview"]), (&json!(whole), &json!("two")));
    town.answer(&damaged, "decline").unwrap();
    assert_eq!(town.stage(&damaged), "rejected declined");
    assert_eq!(town.requests(1).len(), 1);
}

/// Carol's agent asked Alice's, which hands the task on to Bob's, where it waits. Gives the request's id and the task's.
fn handed_on(town: &mut Town, after_ms: u64) -> (String, String) {
    town.try_says(0, "carol", json!({"ask": "open"})).unwrap();
    let carol = town.bench.session(2, "api", json!({}));
    let params = json!({"to": "alice/api", "kind": "task", "parts": [{"text": "build it"}]});
    let sent = town.bench.ask(&carol, "msg.send", params).unwrap()["results"][0].clone();
    town.bench.advance(1_000);
    town.bench.skip(after_ms);
    town.bench.advance(30_000);
    let on = json!({"taskId": sent["taskId"]});
    let params =
        json!({"to": "bob/web", "kind": "task", "parts": [{"text": "build it"}], "onBehalfOf": on});
    let sent = town.bench.ask(&town.alice, "msg.send", params).unwrap()["results"][0].clone();
    town.bench.advance(1_000);
    let word = |name: &str| sent[name].as_str().unwrap().to_owned();
    let (id, task) = (word("envelopeId"), word("taskId"));
    assert_eq!(town.stage(&id), "held");
    assert_eq!(town.requests(1)[0]["chain"]["depth"], 2);
    (id, task)
}

/// What became of a held task that was let in when its chain held no longer.
fn refused_at_the_release(town: &mut Town, id: &str, task: &str, code: &str) {
    let get = json!({"taskId": task});
    assert_eq!(town.answer(id, "always").unwrap(), json!([id]), "it counts as answered");
    assert_eq!(town.stage(id), format!("rejected {code}"));
    assert!(town.texts().is_empty() && town.requests(1).is_empty());
    assert_eq!(town.bench.ask(&town.bob, "task.get", get.clone()).unwrap_err(), "not_found");
    let record = town.bench.ask(&town.alice, "task.get", get).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_REJECTED");
    assert_eq!(record["task"]["delivery"]["code"], code);
    assert_eq!(town.grants(1)["grants"][0]["ask"], "open", "what the answer said stays said");
}

#[test]
fn a_held_task_whose_chain_lost_a_signer_is_refused_when_it_is_let_in() {
    let mut town = Town::of(&THREE);
    let (id, task) = handed_on(&mut town, 0);
    remove(&mut town.bench, 2);
    refused_at_the_release(&mut town, &id, &task, "not_member");
}

#[test]
fn a_held_task_whose_chain_ended_is_refused_when_it_is_let_in() {
    const DAY_MS: u64 = 86_400_000;
    let mut town = Town::of(&THREE);
    let (id, task) = handed_on(&mut town, 4 * DAY_MS);
    // Carol's grant ends before the envelope does that was handed on.
    town.bench.skip(4 * DAY_MS);
    town.bench.advance(30_000);
    assert_eq!(town.requests(1).len(), 1);
    refused_at_the_release(&mut town, &id, &task, "expired");
}

#[test]
fn an_ask_that_nobody_answers_ends_on_both_sides_by_the_clock_alone() {
    let mut town = Town::new();
    let mail = town.writes("may I?");
    let (request, task) = town.asks("build it");
    let told = town.bench.receipts(1, 0).len();
    town.restart(1);
    assert_eq!(town.requests(1).len(), 2, "what waits outlives a restart");
    town.bench.skip(TTL_MS - 120_000);
    town.bench.advance(60_000);
    assert_eq!(town.requests(1).len(), 2);
    town.bench.advance(20 * 60_000);
    assert!(town.requests(1).is_empty());
    let notices = town.bench.call(1, CONN, "notice.list", json!({})).unwrap();
    assert_eq!(notices["counts"]["requests"], 0);
    for id in [&mail, &request] {
        assert_eq!(town.answer(id, "once").unwrap_err(), "not_found");
        assert_eq!(town.stage(id), "expired");
    }
    let record = town.bench.ask(&town.alice, "task.get", json!({"taskId": task})).unwrap();
    assert_eq!(record["task"]["status"]["state"], "TASK_STATE_FAILED");
    let said = &record["task"]["status"]["message"]["parts"][0]["text"];
    assert_eq!(said, "delivery failed: expired");
    assert!(town.texts().is_empty());
    assert_eq!(town.bench.receipts(1, 0).len(), told, "nothing is sent");
}

/// The notices of requests that Bob has not seen.
fn asks_told(town: &mut Town) -> Vec<String> {
    let list = town.bench.call(1, CONN, "notice.list", json!({})).unwrap();
    let asks = list["notices"].as_array().unwrap().iter();
    let asks = asks.filter(|notice| notice["category"] == "request");
    asks.map(|notice| notice["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_was_answered_is_no_news_any_more() {
    for answer in ["once", "always", "decline", "block"] {
        let mut town = Town::new();
        let (first, second) = (town.writes("one"), town.writes("two"));
        assert_eq!(asks_told(&mut town), [format!("r_{second}"), format!("r_{first}")]);
        town.answer(&first, answer).unwrap();
        assert_eq!(asks_told(&mut town), [format!("r_{second}")], "{answer}");
        town.restart(1);
        assert_eq!(asks_told(&mut town), [format!("r_{second}")], "{answer}");
        town.answer_all(&second, answer, true).unwrap();
        assert!(asks_told(&mut town).is_empty(), "{answer}");
    }
    // What ended without the person stays told: they have not seen it.
    let mut town = Town::new();
    let (id, task) = town.asks("build it");
    town.bench.ask(&town.alice, "task.cancel", json!({"taskId": task})).unwrap();
    town.bench.advance(1_000);
    assert!(town.requests(1).is_empty());
    assert_eq!(asks_told(&mut town), [format!("r_{id}")]);
    // A suggestion that was dismissed is no news either.
    let mut town = Town::new();
    let suggest =
        json!({"to": "bob", "parts": [{"text": "x"}], "request": {"contact": "dan@example.org"}});
    let sent = town.bench.ask(&town.bob, "msg.send", suggest).unwrap();
    let id = sent["results"][0]["messageId"].as_str().unwrap().to_owned();
    assert_eq!(asks_told(&mut town), [format!("r_{id}")]);
    town.answer(&id, "decline").unwrap();
    assert!(asks_told(&mut town).is_empty());
}
