//! The conversation with the relay, and the outbox that it empties.
//! Spec: §7 "Connecting", "`send`"; D3.7

use std::collections::BTreeSet;

use messaging_core::code::Code;
use messaging_core::limits::TTL_MS;
use messaging_core::roster::Op;
use messaging_wire::text;
use serde_json::json;

use super::bench::{Bench, CONN};
use crate::events::LogEvent;
use crate::input::{In, LinkFault};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

fn dials(bench: &Bench, at: usize) -> usize {
    let dial = |event: &&LogEvent| matches!(event, LogEvent::RelayConnecting { .. });
    bench.daemons[at].log.iter().filter(dial).count()
}

#[test]
fn a_relay_that_names_another_origin_gets_no_hello() {
    let mut bench = Bench::offline(&TWO);
    bench.relay.up = true;
    bench.relay.origin = Some("ws://127.0.0.1:8081".to_owned());
    bench.advance(60_000);
    assert_eq!(bench.relay.heard_from(0, "hello"), 0);
    assert_eq!(bench.last_error(0), Some("the relay names another origin than its own"));
    assert!(dials(&bench, 0) <= 5, "it waits at least 15 s before it asks again");
    bench.relay.origin = None;
    bench.advance(30_000);
    assert!(bench.engine(0).link.is_ready());
}

#[test]
fn backoff_doubles_to_its_bound_and_starts_again_after_a_welcome_that_lasted() {
    let mut bench = Bench::offline(&TWO);
    bench.advance(10_000);
    let early = dials(&bench, 0);
    assert!((4..40).contains(&early), "{early}");
    bench.advance(3_600_000);
    let hour = dials(&bench, 0) - early;
    assert!((120..600).contains(&hour), "full jitter over at most 30 s: {hour}");
    bench.relay.up = true;
    bench.advance(31_000);
    assert!(bench.engine(0).link.is_ready());
    bench.advance(31_000);
    let before = dials(&bench, 0);
    bench.cut(0);
    bench.advance(501);
    assert_eq!(dials(&bench, 0), before + 1, "the first try comes within half a second");
}

#[test]
fn a_close_that_would_only_repeat_itself_waits_longer() {
    for code in [4001, 4003, 4004] {
        let mut bench = Bench::connected(&TWO);
        let before = dials(&bench, 0);
        bench.close(0, Some(code));
        bench.advance(14_999);
        assert_eq!(dials(&bench, 0), before, "{code}");
        bench.advance(20_000);
        assert_eq!(dials(&bench, 0), before + 1, "{code}");
        assert!(bench.engine(0).link.is_ready(), "{code} is a hint, and no more");
    }
    let mut bench = Bench::connected(&TWO);
    let before = dials(&bench, 0);
    bench.close(0, Some(1013));
    bench.advance(2_000);
    assert_eq!(dials(&bench, 0), before + 1, "a full relay is tried again with the usual backoff");
}

#[test]
fn a_refused_hello_is_told_in_our_own_words() {
    let mut bench = Bench::offline(&TWO);
    bench.relay.up = true;
    bench.relay.silent = true;
    bench.advance(2_000);
    bench.frame(0, &text::error(Code::NotMember, "SECRET WORDS OF THE RELAY", None));
    bench.close(0, Some(4001));
    assert_eq!(bench.last_error(0), Some("the relay does not count this machine as a member"));
    assert!(bench.engine(0).ready().is_ok(), "only the verified roster removes a machine");
}

#[test]
fn a_late_word_about_an_old_link_changes_nothing() {
    let mut bench = Bench::connected(&TWO);
    let old = bench.daemons[0].link.unwrap();
    bench.cut(0);
    bench.advance(2_000);
    assert!(bench.engine(0).link.is_ready());
    bench.input(0, In::LinkDown { link: old, close: Some(4003), why: LinkFault::Closed });
    bench.input(0, In::LinkFrame { link: old, text: "{".to_owned() });
    assert!(bench.engine(0).link.is_ready());
}

#[test]
fn mail_waits_for_a_machine_that_is_away_and_arrives_in_order() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.cut(1);
    bench.cut(0);
    bench.relay.up = false;
    let sent: Vec<String> =
        (0..30).map(|n| bench.send(&alice, "bob/web", &format!("m{n}"))).collect();
    assert_eq!(bench.stage(&alice, &sent[0]), "accepted");
    bench.relay.up = true;
    bench.advance(120_000);
    let expected: Vec<String> = (0..30).map(|n| format!("m{n}")).collect();
    assert_eq!(bench.texts(&bob), expected);
    for id in &sent {
        assert_eq!(bench.stage(&alice, id), "delivered");
    }
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn what_was_in_flight_is_sent_again_byte_for_byte() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.relay.silent = true;
    let id = bench.send(&alice, "bob/web", "once");
    bench.relay.silent = false;
    bench.cut(0);
    bench.advance(2_000);
    let sends = bench.relay.sent_by(0);
    assert_eq!(sends.len(), 2);
    assert_eq!(sends[0], sends[1]);
    assert_eq!(bench.texts(&bob), ["once"]);
    assert_eq!(bench.stage(&alice, &id), "delivered");
}

#[test]
fn a_relay_that_answers_nothing_is_given_up() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.relay.silent = true;
    bench.send(&alice, "bob/web", "x");
    bench.advance(59_000);
    assert!(bench.engine(0).link.is_ready());
    bench.advance(2_000);
    assert_eq!(bench.last_error(0), Some("the relay did not answer what was sent"));
    bench.relay.silent = false;
    bench.advance(30_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn the_relay_owes_at_most_64_answers_and_hears_8_sends_a_second() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.relay.silent = true;
    for n in 0..100 {
        bench.send(&alice, "bob/web", &format!("m{n}"));
    }
    assert_eq!(bench.relay.sent_by(0).len(), 8);
    bench.advance(1_000);
    assert_eq!(bench.relay.sent_by(0).len(), 16);
    bench.advance(50_000);
    assert_eq!(bench.relay.sent_by(0).len(), 64);
}

/// Sends one message whose first `nacks` are answered with `code`, and gives what became of it over time.
fn nacked(code: Code, after: Option<u64>, nacks: usize) -> (Bench, super::bench::Session, String) {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.relay.nacks.extend(vec![(code, after); nacks]);
    let id = bench.send(&alice, "bob/web", "x");
    (bench, alice, id)
}

#[test]
fn a_refusal_for_now_is_tried_again_with_a_growing_wait() {
    let (mut bench, alice, id) = nacked(Code::Internal, None, 3);
    for (at, sends) in [(0, 1), (999, 1), (1, 2), (1_999, 2), (1, 3), (3_999, 3), (1, 4)] {
        bench.advance(at);
        assert_eq!(bench.relay.sent_by(0).len(), sends);
    }
    assert_eq!(bench.stage(&alice, &id), "delivered");

    let (mut bench, alice, id) = nacked(Code::RateLimited, None, 2);
    for (at, sends) in [(0, 1), (4_999, 1), (1, 2), (9_999, 2), (1, 3)] {
        bench.advance(at);
        assert_eq!(bench.relay.sent_by(0).len(), sends);
    }
    assert_eq!(bench.stage(&alice, &id), "delivered");

    let (mut bench, alice, id) = nacked(Code::RateLimited, Some(700), 1);
    bench.advance(699);
    assert_eq!(bench.relay.sent_by(0).len(), 1);
    bench.advance(1);
    assert_eq!(bench.stage(&alice, &id), "delivered");
}

#[test]
fn mail_behind_mail_that_waits_keeps_its_order_and_holds_up_nobody_else() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("carol", "pc")]);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    let carol = bench.session(2, "web", json!({}));
    bench.advance(3_000);
    bench.relay.nacks.push_back((Code::RateLimited, Some(10_000)));
    bench.send(&alice, "bob/web", "first");
    bench.send(&alice, "bob/web", "second");
    bench.send(&alice, "carol/web", "other");
    bench.advance(5_000);
    assert_eq!(bench.texts(&carol), ["other"]);
    assert!(bench.texts(&bob).is_empty());
    bench.advance(10_000);
    assert_eq!(bench.texts(&bob), ["first", "second"]);
}

#[test]
fn a_final_refusal_ends_the_delivery_with_its_code() {
    for code in [Code::TooLarge, Code::NotMember, Code::InvalidRequest, Code::Forbidden] {
        let (mut bench, alice, id) = nacked(code, None, 1);
        assert_eq!(bench.stage(&alice, &id), format!("rejected {code}"));
        assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
        bench.advance(600_000);
        assert_eq!(bench.relay.sent_by(0).len(), 1);
    }
    let (mut bench, alice, id) = nacked(Code::Duplicate, None, 1);
    assert_eq!(bench.stage(&alice, &id), "relayed", "it has it already");
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn a_refused_head_is_synced_and_tried_once_more() {
    let (mut bench, alice, id) = nacked(Code::RosterConflict, None, 1);
    assert_eq!(bench.relay.heard_from(0, "roster.sync"), 1);
    assert_eq!(bench.relay.sent_by(0).len(), 2);
    assert_eq!(bench.stage(&alice, &id), "delivered");
    let (mut bench, alice, id) = nacked(Code::RosterConflict, None, 2);
    assert_eq!(bench.relay.sent_by(0).len(), 2);
    assert_eq!(bench.stage(&alice, &id), "rejected roster_conflict");
}

#[test]
fn mail_that_nobody_took_in_time_expires() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.cut(0);
    bench.relay.up = false;
    let id = bench.send(&alice, "bob/web", "x");
    bench.skip(TTL_MS);
    bench.advance(61_000);
    assert_eq!(bench.stage(&alice, &id), "expired");
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 0);
    bench.relay.up = true;
    bench.advance(60_000);
    assert!(bench.relay.sent_by(0).is_empty());
}

#[test]
fn the_outbox_survives_the_process_and_holds_no_plaintext() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.cut(0);
    bench.relay.up = false;
    bench.send(&alice, "bob/web", "THE WORDS THEMSELVES");
    let store = bench.kill(0);
    let tables = ["outbox", "sent", "kv", "evidence", "idempotency"];
    for table in tables {
        store
            .view()
            .each(&format!("SELECT * FROM {table}"), (), |row| {
                for at in 0..30 {
                    if let Ok(text) = row.get::<_, String>(at) {
                        assert!(!text.contains("THE WORDS"), "{table}");
                    }
                }
                Ok(true)
            })
            .unwrap();
    }
    bench.start(0, store);
    bench.relay.up = true;
    bench.advance(60_000);
    assert_eq!(bench.texts(&bob), ["THE WORDS THEMSELVES"]);
}

#[test]
fn a_full_outbox_refuses_new_mail_and_keeps_the_old() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let store = bench.kill(0);
    let store = super::bench::write(store, |tx| {
        tx.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO outbox (id, to_device, to_person, type, class, bytes, created_at, exp, envelope)
             SELECT printf('01HF7YAT00%016d', i), 'x', 'x', 'message', 'contact', 1, 0, 9000000000000, '{}' FROM n",
            (),
        )?;
        Ok(())
    });
    bench.relay.up = false;
    bench.start(0, store);
    let alice = bench.resume(&alice);
    let params = json!({"to": "bob/web", "parts": [{"text": "x"}]});
    assert_eq!(bench.ask(&alice, "msg.send", params).unwrap_err(), "rate_limited");
    assert_eq!(bench.count(0, "SELECT count(*) FROM outbox"), 5_000);
    assert_eq!(bench.count(0, "SELECT count(*) FROM sent"), 0);
}

#[test]
fn a_member_that_went_is_told_nothing_and_costs_nothing() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let id = bench.send(&alice, "bob/web", "x");
    let op = Op::MemberRemove { machine: bench.machine(0) };
    let signing = bench.daemons[0].keys.identity.signing.clone();
    // A second admin, so that the first may go.
    let role =
        Op::MemberRole { machine: bench.machine(1), role: messaging_core::roster::Role::Admin };
    for op in [role, op] {
        let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
        bench.relay.append(&entry);
        bench.settle();
    }
    bench.ask(&bob, "item.read", json!({"id": id})).unwrap();
    assert_eq!(bench.count(1, "SELECT count(*) FROM outbox"), 0);
}

#[test]
fn requests_have_names_of_their_own() {
    let mut link = crate::link::Link::default();
    let names: BTreeSet<String> = (0..1_000).map(|_| link.req().to_string()).collect();
    assert_eq!(names.len(), 1_000);
}

#[test]
fn no_refusal_puts_mail_off_for_more_than_an_hour() {
    let (mut bench, alice, id) = nacked(Code::RateLimited, Some(u64::MAX >> 12), 1);
    bench.advance(3_599_000);
    assert_eq!(bench.stage(&alice, &id), "accepted");
    bench.advance(2_000);
    assert_eq!(bench.stage(&alice, &id), "delivered");
}

#[test]
fn mail_put_off_while_the_clock_was_ahead_goes_when_it_is_right_again() {
    let year = 365 * 86_400_000;
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let right = bench.now.wall;
    // Only this machine's clock is wrong: what it seals before is good, what the relay says is heard too late.
    bench.relay.silent = true;
    bench.send(&alice, "bob/web", "patience");
    let env = bench.relay.sent_by(0).pop().unwrap();
    bench.relay.silent = false;
    bench.now.wall = right.plus(year);
    bench.frame(0, &text::nack(env["id"].as_str().unwrap(), Code::Internal, "later", None));
    bench.now.wall = right.plus(1_000);
    bench.advance(2_000);
    assert!(bench.texts(&bob).is_empty(), "it waits for next year");
    bench.advance(61_000);
    assert_eq!(bench.texts(&bob), ["patience"]);
}

#[test]
fn a_machine_that_woke_dials_at_once_and_sends_again_what_was_in_flight() {
    let mut bench = Bench::connected(&TWO);
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    bench.admin(0);
    // The link died in its sleep, and nothing has told it so.
    bench.relay.silent = true;
    bench.send(&alice, "bob/web", "x");
    bench.relay.silent = false;
    let before = dials(&bench, 0);
    bench.call(0, super::bench::CONN, "daemon.woke", json!({})).unwrap();
    assert_eq!(dials(&bench, 0), before + 1);
    assert!(bench.engine(0).link.is_ready());
    assert_eq!(bench.texts(&bob), ["x"]);
    // Between two tries it does not wait for the next.
    bench.relay.up = false;
    bench.cut(0);
    bench.advance(20_000);
    bench.relay.up = true;
    bench.call(0, super::bench::CONN, "daemon.woke", json!({})).unwrap();
    assert!(bench.engine(0).link.is_ready());
}

#[test]
fn a_refusal_that_cannot_be_sent_does_not_fill_the_disk() {
    let mut bench = Bench::connected(&TWO);
    bench.advance(3_000);
    let store = bench.kill(1);
    let store = super::bench::write(store, |tx| {
        tx.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO outbox (id, to_device, to_person, type, class, bytes, created_at, exp, envelope, next_at)
             SELECT printf('01HF7YAT00%016d', i), 'x', 'x', 'message', 'contact', 1, 0, 9000000000000, '{}', ?1 FROM n",
            [1_800_000_000_000_i64 + 600_000],
        )?;
        Ok(())
    });
    bench.start(1, store);
    bench.advance(2_000);
    let env = bench.forge(0, 1, super::forge::mail("nobody", "x"));
    bench.deliver(1, &env);
    assert!(bench.acked(1, &env) && bench.is_seen(1, &env));
    assert_eq!(bench.count(1, "SELECT count(*) FROM outbox"), 5_000);
}

#[test]
fn a_home_that_runs_twice_stops_fighting_for_the_link_and_says_so() {
    let mut bench = Bench::connected(&TWO);
    bench.admin(1);
    for _ in 0..3 {
        assert!(bench.engine(1).link.is_ready());
        bench.close(1, Some(4004));
        bench.advance(45_000);
    }
    assert!(!bench.engine(1).link.is_ready(), "it gives way to the other copy");
    assert_eq!(bench.last_error(1), Some(crate::TWIN));
    let status = bench.call(1, CONN, "daemon.status", json!({})).unwrap();
    assert_eq!(status["relay"]["lastError"], crate::TWIN);
    assert!(status["twinSince"].is_u64());
    let dials = bench.relay.heard_from(1, "hello");
    bench.advance(19 * 60_000);
    assert_eq!(bench.relay.heard_from(1, "hello"), dials, "for twenty minutes");
    let told = super::notices::notices(&mut bench, 1);
    assert_eq!(told.len(), 1);
    assert!(told[0]["line"].as_str().unwrap().starts_with("Another copy of this home"));

    bench.advance(25 * 60_000);
    assert!(bench.engine(1).link.is_ready(), "then it looks again");
    bench.close(1, Some(4004));
    bench.advance(60_000);
    assert!(!bench.engine(1).link.is_ready(), "one replacement is enough now");
    bench.advance(3 * 3_600_000);
    assert!(bench.engine(1).link.is_ready() && !bench.engine(1).link.has_twin(bench.now.mono));
    assert_eq!(super::notices::notices(&mut bench, 1).len(), 1, "told once");
}

#[test]
fn a_presence_of_this_machine_that_this_home_never_sent_is_a_twins() {
    let mut bench = Bench::connected(&TWO);
    bench.admin(1);
    bench.advance(3_000);
    let own = bench.relay.presence_by(1).pop().unwrap();
    let seq = own["body"]["seq"].as_u64().unwrap();
    bench.deliver(1, &own);
    assert!(!bench.engine(1).link.has_twin(bench.now.mono), "its own comes back");
    let later = super::presence::payload(seq + 60_000, "desk");
    let other = bench.forge_presence(1, &later);
    bench.deliver(1, &other);
    assert!(bench.engine(1).link.has_twin(bench.now.mono));
    assert!(bench.engine(1).link.is_ready(), "the link is kept");
    assert_eq!(bench.count(1, "SELECT count(*) FROM presence WHERE person = 'bob'"), 0);
    let since = bench.call(1, CONN, "daemon.status", json!({})).unwrap()["twinSince"].clone();
    assert_eq!(since, json!(bench.now.wall));
    bench.advance(61_000);
    let told = super::notices::notices(&mut bench, 1);
    assert!(told[0]["line"].as_str().unwrap().starts_with("Another copy of this home"));

    bench.close(1, Some(4004));
    bench.advance(15 * 60_000);
    assert!(!bench.engine(1).link.is_ready(), "one replacement is enough now");
}

#[test]
fn a_presence_from_before_this_home_was_restored_is_no_twins() {
    let mut bench = Bench::connected(&TWO);
    bench.advance(3_000);
    let seq = bench.relay.presence_by(1).pop().unwrap()["body"]["seq"].as_u64().unwrap();
    let earlier = bench.forge_presence(1, &super::presence::payload(seq + 60_000, "desk"));
    let store = bench.kill(1);
    bench.advance(60_000);
    bench.start(1, store);
    bench.advance(3_000);
    bench.deliver(1, &earlier);
    assert!(!bench.engine(1).link.has_twin(bench.now.mono));
}

#[test]
fn an_envelope_of_this_machine_that_this_home_never_sent_is_a_twins_and_is_taken_once() {
    let mut bench = Bench::connected(&TWO);
    bench.session(1, "desk", json!({}));
    bench.advance(3_000);
    let env = bench.forge(1, 1, super::forge::mail("desk", "from the other copy"));
    bench.deliver(1, &env);
    bench.deliver(1, &env);
    assert!(bench.engine(1).link.has_twin(bench.now.mono));
    assert!(bench.acked(1, &env));
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 1, "nothing is lost or taken twice");
}
