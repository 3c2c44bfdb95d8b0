//! How fast lines go out, and how many an agent may write to a person.
//! Spec: §8.2 "Pacing", §6.9, D3.6, D3.9

use serde_json::{Value, json};

use super::{ALICE, BOB, Bench, CAROL, CONN, agent_says, arrives, bench, found, line, say};

#[test]
fn fifty_lines_a_minute_go_to_a_machine_and_the_next_says_when() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob"]);
    for n in 1..50 {
        say(&mut bench, ALICE, "dm:bob", &format!("{n}")).unwrap();
    }
    let rows = bench.count(ALICE, "SELECT count(*) FROM lines");
    let params = json!({"conversation": "dm:bob", "text": "one more"});
    let call = bench.begin(ALICE, CONN, "person.send", params);
    bench.settle();
    let error = bench.error(ALICE, &call);
    assert_eq!(error["data"]["code"], "rate_limited");
    assert!((1..=1_200).contains(&error["data"]["retryAfterMs"].as_u64().unwrap()), "{error}");
    assert!(error["message"].as_str().unwrap().contains("try again in"), "{error}");
    assert_eq!(
        say(&mut bench, ALICE, "channel:ops", "x"),
        Err("rate_limited".into()),
        "any machine"
    );
    let invite = json!({"name": "ops", "persons": ["carol"]});
    assert_eq!(bench.call(ALICE, CONN, "channel.invite", invite), Err("rate_limited".into()));
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), rows, "nothing is stored");
    say(&mut bench, ALICE, "dm:carol", "another machine").unwrap();
    bench.advance(1_300);
    say(&mut bench, ALICE, "dm:bob", "later").unwrap();
}

#[test]
fn agents_write_thirty_lines_an_hour_to_one_person_whatever_the_room() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    let api = bench.session(ALICE, "api", json!({}));
    let web = bench.session(ALICE, "web", json!({}));
    for n in 0..30 {
        let (session, to) = [(&api, "bob"), (&web, "#ops")][n % 2];
        agent_says(&mut bench, session, to, "x").unwrap();
        bench.advance(3_000);
    }
    for to in ["bob", "#ops"] {
        assert_eq!(agent_says(&mut bench, &api, to, "x"), Err("rate_limited".into()), "{to}");
    }
    agent_says(&mut bench, &api, "carol", "x").unwrap();
    agent_says(&mut bench, &api, "alice", "one's own person is no other").unwrap();
    say(&mut bench, ALICE, "dm:bob", "the person is no agent").unwrap();
    bench.skip(3_600_000);
    bench.advance(60_000);
    agent_says(&mut bench, &api, "bob", "x").unwrap();
}

#[test]
fn agents_lines_that_go_to_no_machine_have_a_machines_pace_too() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let api = bench.session(0, "api", json!({}));
    let web = bench.session(0, "web", json!({}));
    for n in 0..50 {
        agent_says(&mut bench, [&api, &web][n % 2], "alice", "x").unwrap();
    }
    let more = agent_says(&mut bench, &api, "alice", "x");
    assert_eq!(more, Err("rate_limited".into()));
    assert_eq!(bench.count(0, "SELECT count(*) FROM lines"), 50);
    agent_says(&mut bench, &api, "bob", "another machine").unwrap();
    bench.advance(1_300);
    agent_says(&mut bench, &web, "alice", "x").unwrap();
}

#[test]
fn agents_lines_past_the_pace_are_refused_by_the_receiver_too() {
    let mut bench = bench();
    let answers: Vec<String> = (0..31)
        .map(|n| {
            bench.advance(2_000);
            arrives(&mut bench, BOB, ALICE, Some("api"), line(n, "x"))
        })
        .collect();
    assert!(answers[..30].iter().all(|answer| answer == "delivered"), "{answers:?}");
    assert_eq!(answers[30], "rejected rate_limited");
    let phone = super::BOB_PHONE;
    assert_eq!(
        arrives(&mut bench, phone, ALICE, Some("b"), line(40, "x")),
        "rejected rate_limited",
        "of one person"
    );
    assert_eq!(
        arrives(&mut bench, BOB, ALICE, Some("api"), line(3, "x")),
        "delivered",
        "what is here is no more"
    );
    assert_eq!(arrives(&mut bench, CAROL, ALICE, Some("api"), line(41, "x")), "delivered");
    assert_eq!(
        arrives(&mut bench, BOB, ALICE, None, line(42, "x")),
        "delivered",
        "a person is no agent"
    );
    assert_eq!(
        arrives(&mut bench, super::ALICE_PAD, ALICE, Some("own"), line(43, "x")),
        "delivered"
    );
    let all: Value = bench.call(ALICE, CONN, "notice.list", json!({})).unwrap()["counts"].clone();
    assert_eq!(all["unread"], 33);
}
