//! What becomes of lines that arrive, honest and forged.
//! Spec: §6.8 "Delivery", "Transcript"; D3.19, D3.20

use serde_json::{Value, json};

use super::{
    ALICE, ALICE_PAD, BOB, Bench, CAROL, CONN, arrives, bench, id, line, lines, room, texts,
};
use crate::tests::notices::notices;

#[test]
fn a_line_is_filed_answered_and_told_and_makes_no_item() {
    let mut bench = bench();
    let web = bench.session(ALICE, "web", json!({"tier": "push"}));
    bench.call(ALICE, CONN, "conv.subscribe", json!({})).unwrap();
    assert_eq!(arrives(&mut bench, BOB, ALICE, None, line(1, "hi")), "delivered");
    let filed = lines(&mut bench, ALICE, "dm:bob").remove(0);
    assert_eq!((&filed["person"], &filed["direction"]), (&json!("bob"), &json!("in")));
    assert_eq!(filed["device"], json!(bench.machine(BOB)));
    assert!(filed.get("state").is_none());
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM inbox"), 0);
    assert_eq!(bench.texts(&web), Vec::<String>::new());
    assert_eq!(bench.daemons[ALICE].events_of("inbox").len(), 0);
    let events = bench.daemons[ALICE].events_of("conv");
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["person"], events[0].get("text")), (&json!("bob"), None));
    let told = notices(&mut bench, ALICE);
    assert_eq!(told[0]["id"], format!("m_{}", id(1)));
    assert_eq!((&told[0]["from"], &told[0]["line"]), (&json!({"name": "bob"}), &json!("hi")));
}

#[test]
fn a_notice_copies_no_text_and_shows_the_first_line_cleaned_and_cut() {
    let mut bench = bench();
    let long = format!("\u{1b}[31m{}\nsecond line", "é".repeat(200));
    arrives(&mut bench, BOB, ALICE, None, line(1, &long));
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM notices WHERE text IS NOT NULL"), 0);
    let shown = notices(&mut bench, ALICE)[0]["line"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("[U+001B][31mé") && shown.ends_with('…'), "{shown}");
    assert_eq!(shown.encode_utf16().count(), 120);
    let plain = bench.call(ALICE, CONN, "notice.list", json!({})).unwrap();
    assert!(plain["notices"][0].get("line").is_none());
}

#[test]
fn a_notice_shows_the_first_line_that_is_not_blank() {
    let mut bench = bench();
    arrives(&mut bench, BOB, ALICE, None, line(1, "\n \t\r\nhello\nmore"));
    arrives(&mut bench, CAROL, ALICE, None, line(2, "\n \n"));
    let shown = notices(&mut bench, ALICE);
    assert_eq!((&shown[1]["line"], &shown[0]["line"]), (&json!("hello"), &json!("")));
}

#[test]
fn a_message_id_that_is_here_is_filed_once_and_answered_all_the_same() {
    let mut bench = bench();
    assert_eq!(arrives(&mut bench, BOB, ALICE, None, line(1, "first")), "delivered");
    assert_eq!(arrives(&mut bench, BOB, ALICE, None, line(1, "second")), "delivered");
    assert_eq!(arrives(&mut bench, CAROL, ALICE, None, line(1, "third")), "delivered");
    assert_eq!(texts(&mut bench, ALICE, "dm:bob"), ["first"]);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 1);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM notices"), 1);
}

#[test]
fn a_text_is_its_text_parts_in_lines_cut_without_splitting_a_pair() {
    let mut bench = bench();
    let mut payload = line(1, "x");
    payload["message"]["parts"] =
        json!([{"text": "one"}, {"data": 1}, {"text": "two"}, {"url": "https://a.example/"}]);
    arrives(&mut bench, BOB, ALICE, None, payload);
    let long = format!("x{}", "😀".repeat(4_000));
    arrives(&mut bench, BOB, ALICE, None, line(2, &long));
    let filed = lines(&mut bench, ALICE, "dm:bob");
    assert_eq!((&filed[0]["text"], filed[0].get("truncated")), (&json!("one\ntwo"), None));
    assert_eq!(filed[1]["text"], format!("x{}", "😀".repeat(3_999)));
    assert_eq!(filed[1]["truncated"], true);
}

#[test]
fn a_line_of_the_future_is_dated_when_it_came() {
    let mut bench = bench();
    let forged = super::personal(super::SealedType::Message, line(1, "early"));
    let env = bench.forge(BOB, ALICE, forged);
    bench.now.wall = bench.now.wall.minus(60_000);
    bench.deliver(ALICE, &env);
    assert_eq!(lines(&mut bench, ALICE, "dm:bob")[0]["at"], json!(bench.now.wall.0));
    arrives(&mut bench, CAROL, ALICE, None, line(2, "late"));
}

#[test]
fn own_lines_from_another_machine_are_outgoing_and_own_agents_lines_are_for_the_person() {
    let mut bench = bench();
    arrives(&mut bench, ALICE_PAD, ALICE, None, line(1, "mine"));
    arrives(&mut bench, ALICE_PAD, ALICE, Some("api"), line(2, "my agent's"));
    let directions: Vec<Value> =
        lines(&mut bench, ALICE, "dm:alice").iter().map(|line| line["direction"].clone()).collect();
    assert_eq!(directions, ["out", "in"]);
    assert_eq!(room(&mut bench, ALICE, "dm:alice")["unread"], 1);
    assert_eq!(notices(&mut bench, ALICE).len(), 1);
}

#[test]
fn a_line_that_is_no_line_is_refused() {
    let mut bench = bench();
    let cases =
        [("messageId", json!("not-a-ulid")), ("taskId", json!(id(5))), ("contextId", json!("c"))];
    for (n, (member, value)) in cases.into_iter().enumerate() {
        let mut payload = line(10 + n as u64, "x");
        payload["message"][member] = value;
        let mut env =
            bench.forge(BOB, ALICE, super::personal(super::SealedType::Message, line(99, "x")));
        env["id"] = json!(id(50 + n as u64));
        let env = bench.reseal(BOB, ALICE, env, &payload);
        bench.deliver(ALICE, &env);
        assert_eq!(
            bench.answer_to(ALICE, BOB, &env).as_deref(),
            Some("rejected invalid_request"),
            "{member}"
        );
    }
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 0);
}

#[test]
fn lines_go_with_time_and_are_not_found_any_more() {
    let mut bench = bench();
    arrives(&mut bench, BOB, ALICE, None, line(1, "forget me"));
    let found = |bench: &mut Bench| {
        let hits = bench.call(ALICE, CONN, "search", json!({"query": "forget"})).unwrap();
        hits["hits"].as_array().unwrap().len()
    };
    assert_eq!(found(&mut bench), 1);
    bench.now.wall = bench.now.wall.plus(28 * 86_400_000);
    bench.skip(6 * 3_600_000);
    bench.advance(2_000);
    assert_eq!(found(&mut bench), 1);
    bench.now.wall = bench.now.wall.plus(2 * 86_400_000);
    bench.skip(6 * 3_600_000);
    bench.advance(2_000);
    assert_eq!(found(&mut bench), 0);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 0);
    let index = "SELECT count(*) FROM lines_found WHERE lines_found MATCH '\"forget\"'";
    assert_eq!(bench.count(ALICE, index), 0);
    arrives(&mut bench, BOB, ALICE, None, line(2, "later"));
    assert_eq!(lines(&mut bench, ALICE, "dm:bob")[0]["seq"], 2, "no number is used again");
}

#[test]
fn the_cap_is_looked_at_often_enough() {
    let mut bench = bench();
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        let text = "x".repeat(1 << 20);
        (0..17).try_for_each(|n| super::filed_in(tx, "dm:bob", 9_000 + n, &text, "x"))
    });
    bench.start(ALICE, store);
    bench.settle();
    for n in 0..16 {
        arrives(&mut bench, BOB, ALICE, None, line(n, "more"));
    }
    let bytes = bench.count(ALICE, "SELECT sum(bytes) FROM lines WHERE person = 'bob'");
    assert!((15 << 20..=16 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn a_person_past_the_cap_loses_their_oldest_lines() {
    use crate::store::lines;
    let mut bench = bench();
    for n in 0..5 {
        arrives(&mut bench, BOB, ALICE, None, line(n, "12345678"));
    }
    arrives(&mut bench, CAROL, ALICE, None, line(9, "carol's"));
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        let bob = "bob".parse().unwrap();
        assert_eq!(lines::bound(tx, &bob, 5, 40)?, 0, "at the cap");
        assert_eq!(lines::bound(tx, &bob, 4, 40)?, 1, "one line too many");
        assert_eq!(lines::bound(tx, &bob, 4, 31)?, 1, "one byte too many");
        Ok(())
    });
    bench.start(ALICE, store);
    bench.settle();
    bench.admin(ALICE);
    let ids: Vec<Value> =
        super::lines(&mut bench, ALICE, "dm:bob").iter().map(|line| line["id"].clone()).collect();
    assert_eq!(ids, [json!(id(2)), json!(id(3)), json!(id(4))]);
    assert_eq!(texts(&mut bench, ALICE, "dm:carol"), ["carol's"]);
    let index = "SELECT count(*) FROM lines_found WHERE lines_found MATCH '\"12345678\"'";
    assert_eq!(bench.count(ALICE, index), 3);
    assert_eq!(
        bench.count(ALICE, "SELECT count(*) FROM notices"),
        4,
        "a line's notice goes with it"
    );
}
