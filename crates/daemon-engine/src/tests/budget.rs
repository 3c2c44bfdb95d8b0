//! What one machine may send here: deferred, never refused, while it can still be taken.
//! Spec: §8.3 "Rate limit", "Quota"; D3.9

use messaging_core::envelope::SealedType;
use messaging_core::limits::TTL_MS;
use messaging_core::presence::{Draft, PresenceSeq};
use serde_json::{Value, json};

use super::bench::Bench;
use super::forge::{Forged, mail, message, personal, receipt};
use crate::config::Quota;

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

/// Bob, with a session, and budgets that are full.
fn bench() -> Bench {
    let mut bench = Bench::connected(&TWO);
    // A terminal: the loop guard leaves it alone.
    bench.session(1, "web", json!({"agent": "cli"}));
    bench.advance(61_000);
    bench
}

fn flood(bench: &mut Bench, count: usize, make: impl Fn(usize) -> Forged) -> Vec<Value> {
    (0..count)
        .map(|n| {
            let env = bench.forge(0, 1, make(n));
            bench.deliver(1, &env);
            env
        })
        .collect()
}

fn filed(bench: &Bench) -> i64 {
    bench.count(1, "SELECT count(*) FROM inbox")
}

#[test]
fn a_backlog_is_taken_at_the_budgets_pace_in_order_and_none_of_it_refused() {
    let mut bench = bench();
    let sent = flood(&mut bench, 100, |n| mail("web", &format!("m{n}")));
    assert_eq!(filed(&bench), 60);
    assert!(!bench.acked(1, &sent[60]) && !bench.is_seen(1, &sent[60]));
    assert_eq!(bench.answer_to(1, 0, &sent[60]), None);
    // The relay sends it again meanwhile: nothing comes of that.
    bench.deliver(1, &sent[60]);
    assert_eq!(filed(&bench), 60);
    bench.advance(1_000);
    assert_eq!(filed(&bench), 61);
    bench.advance(60_000);
    assert_eq!(filed(&bench), 100);
    let order = "SELECT group_concat(preview) FROM (SELECT preview FROM inbox ORDER BY seq)";
    let running = bench.daemons[1].running.as_ref().unwrap();
    let order: String = running.view().row(order, (), |row| row.get(0)).unwrap().unwrap();
    let expected: Vec<String> = (0..100).map(|n| format!("m{n}")).collect();
    assert_eq!(order, expected.join(","));
    assert!(sent.iter().all(|env| bench.acked(1, env)));
}

#[test]
fn what_does_not_fit_into_memory_is_taken_when_the_relay_sends_it_again() {
    let mut bench = bench();
    bench.configure(1, |config| config.quota = Quota { items: None, bytes: None });
    let sent = flood(&mut bench, 1_100, |_| mail("web", "x"));
    assert_eq!(filed(&bench), 60);
    bench.advance(1_100_000);
    assert_eq!(filed(&bench), 60 + 1_024);
    for env in &sent {
        bench.deliver(1, env);
    }
    assert_eq!(filed(&bench), 1_100);
}

#[test]
fn a_flood_of_ten_thousand_is_taken_in_order_at_the_budgets_pace_and_none_of_it_is_lost() {
    const FLOOD: usize = 10_000;
    let mut bench = bench();
    bench.configure(1, |config| config.quota = Quota { items: None, bytes: None });
    // Who floods does not listen.
    bench.kill(0);
    bench.advance(61_000);
    let sent = flood(&mut bench, FLOOD, |n| mail("web", &format!("{n}")));
    assert_eq!(filed(&bench), 60, "no more than the budget, however fast they come");
    // The relay keeps what is not acknowledged, and sends the oldest of it again, so many at a time.
    let began = bench.now.mono;
    let mut next = 0;
    while next < FLOOD {
        let taken = usize::try_from(filed(&bench)).unwrap();
        assert!(taken >= next, "what was acknowledged is there");
        next = taken;
        for env in sent.iter().skip(next).take(64) {
            bench.deliver(1, env);
        }
        bench.advance(60_000);
    }
    let minutes = bench.now.mono.since(began) / 60_000;
    assert!((166..=168).contains(&minutes), "{minutes} minutes for 9,940 of them");
    let in_order = "SELECT count(*) FROM (SELECT preview, row_number() OVER (ORDER BY seq) - 1 AS place FROM inbox)
                    WHERE CAST(preview AS INTEGER) = place";
    assert_eq!(bench.count(1, in_order), i64::try_from(FLOOD).unwrap());
    assert_eq!(filed(&bench), i64::try_from(FLOOD).unwrap());
    let acked: std::collections::BTreeSet<String> =
        bench.relay.acks_by(1).iter().map(ToString::to_string).collect();
    assert!(sent.iter().all(|env| acked.contains(env["id"].as_str().unwrap())));
    // Each was answered, or its answer waits its turn; none was refused.
    let answers = bench.receipts(1, 0);
    assert!(answers.iter().all(|(_, stage)| stage == "delivered"));
}

#[test]
fn mail_chat_answers_and_presence_have_budgets_of_their_own() {
    let mut bench = bench();
    flood(&mut bench, 61, |_| mail("web", "x"));
    let line = json!({"kind": "message", "message": message("hi")});
    let lines = flood(&mut bench, 61, |_| personal(SealedType::Message, line.clone()));
    assert!(bench.answer_to(1, 0, &lines[59]).is_some() || !bench.acked(1, &lines[60]));
    assert!(bench.acked(1, &lines[59]) && !bench.acked(1, &lines[60]));
    let answers = flood(&mut bench, 241, |_| receipt("01HF7YAT00AAAAAAAAAAAAAAAA", "read"));
    assert!(bench.acked(1, &answers[239]) && !bench.acked(1, &answers[240]));
}

#[test]
fn a_cancel_and_an_unknown_type_count_as_mail() {
    let mut bench = bench();
    flood(&mut bench, 58, |_| mail("web", "x"));
    let cancel = json!({"taskId": "01HF7YAT00CCCCCCCCCCCCCCCC"});
    let cancels = flood(&mut bench, 1, |_| personal(SealedType::TaskCancel, cancel.clone()));
    assert!(bench.acked(1, &cancels[0]));
    let unknown = |bench: &mut Bench| {
        let mut env = bench.forge(0, 1, mail("web", "x"));
        env["type"] = json!("hologram");
        let env = bench.sign(0, env);
        bench.deliver(1, &env);
        env
    };
    let first = unknown(&mut bench);
    let second = unknown(&mut bench);
    assert!(bench.acked(1, &first) && !bench.acked(1, &second));
    let late = flood(&mut bench, 1, |_| mail("web", "x"));
    assert!(!bench.acked(1, &late[0]));
}

#[test]
fn what_would_expire_first_is_dropped_and_told_once_a_minute() {
    let mut bench = bench();
    flood(&mut bench, 60, |_| mail("web", "x"));
    let old = || Forged { age_ms: TTL_MS - 60_000, ..mail("web", "x") };
    let dropped = flood(&mut bench, 3, |_| old());
    // The answers wait behind the receipts of the sixty.
    bench.advance(10_000);
    assert!(dropped.iter().all(|env| bench.acked(1, env) && bench.is_seen(1, env)));
    let told = |bench: &Bench, sent: &[Value]| {
        sent.iter().filter(|env| bench.answer_to(1, 0, env).is_some()).count()
    };
    assert_eq!(told(&bench, &dropped), 1);
    assert_eq!(bench.answer_to(1, 0, &dropped[0]).as_deref(), Some("rejected rate_limited"));
    // There is room for a redelivery: it waits.
    flood(&mut bench, 10, |_| mail("web", "x"));
    let waits = flood(&mut bench, 1, |_| Forged { age_ms: TTL_MS - 62_000, ..mail("web", "x") });
    assert!(!bench.acked(1, &waits[0]));
}

#[test]
fn chat_that_would_expire_first_is_told_each_time() {
    let mut bench = bench();
    let line = json!({"kind": "message", "message": message("hi")});
    flood(&mut bench, 60, |_| personal(SealedType::Message, line.clone()));
    let old = |_| Forged { age_ms: TTL_MS - 60_000, ..personal(SealedType::Message, line.clone()) };
    let dropped = flood(&mut bench, 5, old);
    bench.advance(10_000);
    for env in &dropped {
        assert_eq!(bench.answer_to(1, 0, env).as_deref(), Some("rejected rate_limited"));
    }
}

#[test]
fn answers_that_would_expire_first_are_dropped_in_silence() {
    let mut bench = bench();
    let about = "01HF7YAT00AAAAAAAAAAAAAAAA";
    flood(&mut bench, 240, |_| receipt(about, "read"));
    let old = |_| Forged { age_ms: TTL_MS - 60_000, ..receipt(about, "read") };
    let dropped = flood(&mut bench, 1, old);
    assert!(bench.acked(1, &dropped[0]));
    assert!(bench.receipts(1, 0).is_empty());
}

#[test]
fn a_duplicate_costs_nothing() {
    let mut bench = bench();
    let env = flood(&mut bench, 1, |_| mail("web", "x")).remove(0);
    for _ in 0..100 {
        bench.deliver(1, &env);
    }
    flood(&mut bench, 59, |_| mail("web", "x"));
    assert_eq!(filed(&bench), 60);
}

#[test]
fn presence_over_its_budget_is_dropped() {
    let mut bench = bench();
    let mut seq = 0;
    let mut send = |bench: &mut Bench| {
        seq += 1;
        let draft = Draft {
            seq: PresenceSeq(bench.now.wall.0 * 2 + seq),
            label: "laptop".parse().unwrap(),
            live: Vec::new(),
            kept: Vec::new(),
            features: messaging_core::bounded::List::default(),
            away: false,
        };
        let env = bench.forge_presence(0, &draft.fit());
        bench.deliver(1, &env);
        bench.count(1, "SELECT seq FROM presence") - i64::try_from(bench.now.wall.0 * 2).unwrap()
    };
    for n in 1..=240 {
        assert_eq!(send(&mut bench), n);
    }
    assert_eq!(send(&mut bench), 240);
    bench.advance(300);
    assert!(bench.count(1, "SELECT count(*) FROM seen") == 0, "presence is never marked");
}

#[test]
fn a_senders_share_of_the_inbox_is_bounded() {
    for (quota, taken) in [
        (Quota { items: Some(2), bytes: None }, 2),
        (Quota { items: None, bytes: Some(1_000) }, 1),
        (Quota { items: None, bytes: None }, 4),
    ] {
        let mut bench = bench();
        bench.configure(1, |config| config.quota = quota);
        let text = "x".repeat(400);
        let sent = flood(&mut bench, 4, |_| mail("web", &text));
        assert_eq!(filed(&bench), taken);
        let last = bench.answer_to(1, 0, &sent[3]).unwrap();
        let refused = taken < 4;
        assert_eq!(last, if refused { "rejected rate_limited" } else { "delivered" });
    }
}

#[test]
fn mail_to_this_very_machine_has_the_same_budget() {
    let mut bench = bench();
    let session = bench.session(1, "own", json!({}));
    for n in 0..60 {
        bench.send(&session, "bob/web", &format!("m{n}"));
    }
    let params = json!({"to": "bob/web", "parts": [{"text": "one more"}]});
    assert_eq!(bench.ask(&session, "msg.send", params).unwrap_err(), "rate_limited");
    assert_eq!(bench.count(1, "SELECT count(*) FROM sent"), 60, "the refused call left nothing");
    bench.advance(1_000);
    bench.send(&session, "bob/web", "later");
}

#[test]
fn two_agents_that_answer_each_other_are_stopped_and_a_terminal_is_not() {
    let mut bench = Bench::connected(&TWO);
    bench.session(1, "web", json!({}));
    bench.session(0, "api", json!({}));
    bench.session(0, "me", json!({"agent": "cli"}));
    bench.advance(61_000);
    let from = |agent: &'static str| Forged { from_agent: Some(agent), ..mail("web", "x") };
    let refused = |bench: &mut Bench, agent: &'static str, count: usize| {
        let mut refused = 0;
        for _ in 0..count {
            let env = bench.forge(0, 1, from(agent));
            bench.deliver(1, &env);
            bench.advance(2_000);
            match bench.answer_to(1, 0, &env).as_deref() {
                Some("delivered") => {}
                Some("rejected loop_guard") => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        refused
    };
    assert_eq!(refused(&mut bench, "me", 40), 0);
    assert_eq!(refused(&mut bench, "api", 35), 5);
    // A name that the machine makes up counts against the machine.
    assert_eq!(refused(&mut bench, "made-up", 35), 5);
    assert_eq!(refused(&mut bench, "made-up-2", 3), 3);
    bench.advance(600_000);
    assert_eq!(refused(&mut bench, "api", 1), 0);
}
