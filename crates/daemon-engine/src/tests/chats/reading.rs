//! How conversations are listed, paged, marked read and followed.
//! Spec: §8.2 "Chats", "Resuming"; D3.20

use serde_json::{Value, json};

use super::{
    ALICE, BOB, Bench, CAROL, CONN, agent_says, arrives, bench, found, id, line, room, say,
};
use crate::input::Tier;

fn read(bench: &mut Bench, more: Value) -> Result<(Vec<String>, bool), String> {
    let mut params = json!({"conversation": "dm:bob"});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let page = bench.call(ALICE, CONN, "conv.read", params)?;
    assert_eq!(page["kind"], "lines");
    let texts = page["lines"].as_array().unwrap().iter();
    let texts = texts.map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    Ok((texts, page["more"].as_bool().unwrap()))
}

fn many(bench: &mut Bench, count: u64) {
    for n in 0..count {
        arrives(bench, BOB, ALICE, None, line(n, &format!("{n}")));
        bench.advance(1_000);
    }
}

#[test]
fn a_page_is_the_latest_lines_or_those_next_to_a_number_oldest_first() {
    let mut bench = bench();
    many(&mut bench, 60);
    let numbers = |from: u64, to: u64| (from..to).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(
        read(&mut bench, json!({})).unwrap(),
        (numbers(10, 60), true),
        "50 when it does not say"
    );
    assert_eq!(read(&mut bench, json!({"limit": 60})).unwrap(), (numbers(0, 60), false));
    assert_eq!(read(&mut bench, json!({"limit": 2})).unwrap(), (numbers(58, 60), true));
    // The first line has number 1.
    assert_eq!(read(&mut bench, json!({"before": 5, "limit": 2})).unwrap(), (numbers(2, 4), true));
    assert_eq!(read(&mut bench, json!({"before": 3, "limit": 2})).unwrap(), (numbers(0, 2), false));
    assert_eq!(read(&mut bench, json!({"after": 5, "limit": 2})).unwrap(), (numbers(5, 7), true));
    assert_eq!(
        read(&mut bench, json!({"after": 58, "limit": 2})).unwrap(),
        (numbers(58, 60), false)
    );
    for wrong in [
        json!({"limit": 101}),
        json!({"before": 1, "after": 1}),
        json!({"before": {"at": 1, "id": id(1)}}),
    ] {
        assert_eq!(read(&mut bench, wrong), Err("invalid_request".into()));
    }
    assert_eq!(room(&mut bench, ALICE, "dm:bob")["unread"], 60, "reading marks nothing read");
    assert_eq!(room(&mut bench, ALICE, "dm:bob")["readUpTo"], 0);
}

#[test]
fn a_page_of_a_thread_holds_its_first_line_and_its_replies() {
    let mut bench = bench();
    let reply = |bench: &mut Bench, n: u64, to: u64, text: &str| {
        let mut payload = line(n, text);
        payload["message"]["contextId"] = json!(id(to));
        arrives(bench, BOB, ALICE, None, payload)
    };
    arrives(&mut bench, BOB, ALICE, None, line(1, "first"));
    arrives(&mut bench, BOB, ALICE, None, line(2, "another"));
    reply(&mut bench, 3, 1, "second");
    reply(&mut bench, 4, 1, "third");
    reply(&mut bench, 5, 77, "of a line that is not here");
    let all = vec!["first".to_owned(), "second".to_owned(), "third".to_owned()];
    for n in [1, 3, 4] {
        let page = read(&mut bench, json!({"thread": id(n)})).unwrap();
        assert_eq!(page, (all.clone(), false), "by any of its lines");
    }
    let page = read(&mut bench, json!({"thread": id(1), "limit": 2})).unwrap();
    assert_eq!(page, (all[1..].to_vec(), true));
    let page = read(&mut bench, json!({"thread": id(1), "after": 0, "limit": 2})).unwrap();
    assert_eq!(page, (all[..2].to_vec(), true));
    assert_eq!(read(&mut bench, json!({"thread": id(77)})).unwrap().0.len(), 1);
    assert_eq!(read(&mut bench, json!({"thread": id(78)})), Err("not_found".into()));
}

#[test]
fn a_page_is_no_longer_than_a_line_of_the_socket() {
    let mut bench = bench();
    let long = "\u{1}".repeat(8_000);
    for n in 0..100 {
        arrives(&mut bench, BOB, ALICE, None, line(n, &long));
        bench.advance(1_000);
    }
    let page = bench
        .call(ALICE, CONN, "conv.read", json!({"conversation": "dm:bob", "limit": 100}))
        .unwrap();
    let lines = page["lines"].as_array().unwrap();
    assert!(page.to_string().len() < messaging_ipc::line::LINE_BYTES);
    assert!((50..100).contains(&lines.len()), "{}", lines.len());
    assert_eq!((&page["more"], &lines.last().unwrap()["id"]), (&json!(true), &json!(id(99))));
}

#[test]
fn unknown_rooms_are_not_found_and_those_with_lines_stay() {
    let mut bench = bench();
    for (conversation, found) in
        [("dm:nobody", false), ("channel:none", false), ("dm:carol", true), ("dm:alice", true)]
    {
        for (method, more) in [
            ("conv.read", json!({})),
            ("conv.markRead", json!({"upTo": 1})),
            ("search", json!({"query": "x"})),
        ] {
            let mut params = more;
            params["conversation"] = json!(conversation);
            let result = bench.call(ALICE, CONN, method, params);
            assert_eq!(result.is_ok(), found, "{method} {conversation}");
            assert!(found || result == Err("not_found".into()));
        }
    }
}

#[test]
fn conversations_are_listed_newest_first_with_what_is_unread() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob"]);
    arrives(&mut bench, BOB, ALICE, None, line(1, "one"));
    arrives(&mut bench, BOB, ALICE, None, line(2, "two"));
    arrives(&mut bench, CAROL, ALICE, None, line(3, "three"));
    say(&mut bench, ALICE, "dm:carol", "four").unwrap();
    let list = |bench: &mut Bench, limit: u64| {
        let list = bench.call(ALICE, CONN, "conv.list", json!({"limit": limit})).unwrap();
        list["conversations"].as_array().unwrap().clone()
    };
    let rooms = list(&mut bench, 100);
    let names: Vec<&str> =
        rooms.iter().map(|room| room["conversation"].as_str().unwrap()).collect();
    assert_eq!(names, ["dm:carol", "dm:bob", "channel:ops"]);
    assert_eq!(
        rooms[1],
        json!({"conversation": "dm:bob", "kind": "dm", "person": "bob", "readUpTo": 0, "unread": 2,
            "lastSeq": 3, "lastAt": rooms[1]["lastAt"]})
    );
    assert_eq!(rooms[0]["unread"], 1, "one's own line is never unread");
    assert_eq!(rooms[2]["kind"], "channel");
    assert_eq!(list(&mut bench, 1).len(), 1);
    let conn = crate::tests::bench::CONN + 1;
    bench.input(
        ALICE,
        crate::input::In::IpcOpened { conn: crate::input::ConnId(conn), tier: Tier::Agent },
    );
    let contacts = bench.call(ALICE, conn, "contacts.list", json!({})).unwrap();
    assert_eq!(contacts["conversations"], json!(rooms));
    let reach: Vec<&Value> =
        contacts["reach"].as_array().unwrap().iter().map(|reach| &reach["person"]).collect();
    assert_eq!(reach, ["bob", "carol"], "whoever one writes with is told about");
    for method in ["conv.list", "conv.markRead", "conv.subscribe", "person.send"] {
        assert_eq!(bench.call(ALICE, conn, method, json!({})), Err("forbidden".into()), "{method}");
    }
}

#[test]
fn a_cursor_moves_forward_only_and_never_past_the_newest_number() {
    let mut bench = bench();
    many(&mut bench, 4);
    let mark = |bench: &mut Bench, up_to: u64| {
        bench
            .call(ALICE, CONN, "conv.markRead", json!({"conversation": "dm:bob", "upTo": up_to}))
            .unwrap()
    };
    assert_eq!(mark(&mut bench, 0), json!({"readUpTo": 0, "unread": 4}));
    assert_eq!(mark(&mut bench, 3), json!({"readUpTo": 3, "unread": 1}));
    assert_eq!(mark(&mut bench, 1), json!({"readUpTo": 3, "unread": 1}));
    assert_eq!(mark(&mut bench, 1_000), json!({"readUpTo": 4, "unread": 0}));
    arrives(&mut bench, BOB, ALICE, None, line(50, "new"));
    assert_eq!(room(&mut bench, ALICE, "dm:bob")["unread"], 1, "what comes later is unread");
    let counts = bench.call(ALICE, CONN, "notice.list", json!({})).unwrap()["counts"].clone();
    assert_eq!(counts["unread"], 1);
    let sent = bench.relay.sent_by(ALICE);
    assert!(sent.iter().all(|env| env["type"] != "message"), "nothing says what was read");
}

#[test]
fn a_subscription_is_told_what_changed_since_and_then_goes_on() {
    let mut bench = bench();
    many(&mut bench, 3);
    let sent = say(&mut bench, ALICE, "dm:carol", "hello").unwrap();
    let subscribe = |bench: &mut Bench, params: Value| {
        bench.daemons[ALICE].events.clear();
        let answer = bench.call(ALICE, CONN, "conv.subscribe", params).unwrap();
        let events = bench.daemons[ALICE].events_of("conv");
        let told: Vec<(u64, String)> = events
            .iter()
            .map(|e| (e["seq"].as_u64().unwrap(), e["change"].as_str().unwrap().to_owned()))
            .collect();
        (answer, told)
    };
    let line = |seq: u64| (seq, "line".to_owned());
    let (answer, told) = subscribe(&mut bench, json!({}));
    assert_eq!((answer, told.len()), (json!({"seq": 5, "gap": false}), 0), "nothing is told again");
    let (answer, told) = subscribe(&mut bench, json!({"since": 1}));
    assert_eq!(answer, json!({"seq": 5, "gap": false}));
    assert_eq!(
        told,
        [line(2), line(3), (5, "state".to_owned())],
        "each line once, by its latest change"
    );
    let state = bench.daemons[ALICE].events_of("conv").pop().unwrap();
    assert_eq!((&state["id"], &state["person"]), (&sent["id"], &json!("alice")));
    let (answer, told) = subscribe(&mut bench, json!({"since": 5}));
    assert_eq!((answer, told.len()), (json!({"seq": 5, "gap": false}), 0));
    let (answer, told) = subscribe(&mut bench, json!({"since": 6}));
    assert_eq!(
        (answer, told.len()),
        (json!({"seq": 5, "gap": true}), 0),
        "a number that is not there yet"
    );
    bench.daemons[ALICE].events.clear();
    arrives(&mut bench, BOB, ALICE, None, super::line(60, "new"));
    assert_eq!(
        bench.daemons[ALICE].events_of("conv").len(),
        1,
        "once, however often it subscribed"
    );
    assert_eq!(bench.daemons[ALICE].events_of("conv")[0]["seq"], 6);
}

#[test]
fn what_events_cannot_tell_is_a_gap() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob"]);
    let gap = |bench: &mut Bench, since: u64| {
        bench.call(ALICE, CONN, "conv.subscribe", json!({"since": since})).unwrap()["gap"].clone()
    };
    bench.call(ALICE, CONN, "channel.leave", json!({"name": "ops"})).unwrap();
    assert_eq!(gap(&mut bench, 1), true, "a channel was deleted since");
    assert_eq!(gap(&mut bench, 2), false);
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        for n in 0..501_u64 {
            super::filed(tx, 2_000 + n, "x")?;
        }
        Ok(())
    });
    bench.start(ALICE, store);
    bench.settle();
    bench.admin(ALICE);
    assert_eq!(gap(&mut bench, 2), true, "501 lines");
    assert_eq!(gap(&mut bench, 3), false, "500 lines");
}

#[test]
fn events_go_to_followers_of_conversations_and_never_to_a_sessions_subscription() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    arrives(&mut bench, BOB, ALICE, None, line(1, "x"));
    agent_says(&mut bench, &api, "bob", "y").unwrap();
    assert_eq!(bench.daemons[ALICE].events_of("conv").len(), 0);
    assert_eq!(bench.daemons[ALICE].events_of("notice").len(), 0);
}

#[test]
fn mail_and_tasks_write_no_line() {
    let mut bench = bench();
    let api = bench.session(ALICE, "api", json!({}));
    bench.session(BOB, "web", json!({"features": ["tasks"]}));
    bench.advance(3_000);
    bench.send(&api, "bob/web@desk", "mail");
    let task = json!({"to": "bob/web@desk", "kind": "task", "parts": [{"text": "do"}]});
    bench.ask(&api, "msg.send", task).unwrap();
    for at in [ALICE, BOB] {
        assert_eq!(bench.count(at, "SELECT count(*) FROM lines"), 0);
        assert_eq!(bench.count(at, "SELECT count(*) FROM notices"), 0);
    }
}
