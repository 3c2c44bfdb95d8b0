//! Entries that this machine adds: signed on the head, tried again, and never counted twice.
//! Spec: §4 "Sequencing and forks", §7 "`roster.append` after auth"

use messaging_core::code::Code;
use messaging_core::roster::{Op, Role};
use messaging_wire::text;
use serde_json::{Value, json};

use super::bench::{Bench, CONN};

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

fn bench() -> Bench {
    let mut bench = Bench::connected(&TWO);
    bench.admin(0);
    bench.admin(1);
    bench.advance(3_000);
    bench
}

fn promote(bench: &mut Bench) -> String {
    let machine = bench.machine(1);
    bench.begin(0, CONN, "team.role", json!({"machine": machine, "role": "admin"}))
}

fn role(bench: &Bench, at: usize) -> Role {
    let machine = bench.machine(1);
    bench.engine(at).realm.member(&machine).unwrap().role
}

fn heads(bench: &Bench) -> Vec<u64> {
    (0..2).map(|at| bench.engine(at).realm.head().unwrap().seq).collect()
}

fn code(answer: Option<Result<Value, String>>) -> String {
    answer.expect("an answer").unwrap_err()
}

#[test]
fn an_entry_is_taken_by_the_relay_and_known_to_everybody() {
    let mut bench = bench();
    let id = promote(&mut bench);
    bench.settle();
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!((role(&bench, 0), role(&bench, 1)), (Role::Admin, Role::Admin));
    assert_eq!(heads(&bench), [2, 2]);
}

#[test]
fn what_the_roster_forbids_needs_no_network() {
    let mut bench = bench();
    let before = bench.relay.heard_from(1, "roster.append");
    let machine = bench.machine(0);
    let id = bench.begin(1, CONN, "team.role", json!({"machine": machine, "role": "member"}));
    bench.settle();
    assert_eq!(code(bench.answer(1, &id)), "forbidden");
    assert_eq!(bench.relay.heard_from(1, "roster.append"), before);
}

#[test]
fn an_entry_whose_answer_was_lost_is_found_after_the_reconnect() {
    let mut bench = bench();
    bench.relay.drops_answers = true;
    let id = promote(&mut bench);
    bench.settle();
    assert!(bench.answer(0, &id).is_none());
    bench.relay.drops_answers = false;
    bench.cut(0);
    bench.advance(2_000);
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!(bench.relay.heard_from(0, "roster.append"), 1, "it was not sent again");
    assert_eq!(heads(&bench), [2, 2]);
}

#[test]
fn an_entry_that_never_arrived_is_signed_again_after_the_reconnect() {
    let mut bench = bench();
    bench.relay.silent = true;
    let id = promote(&mut bench);
    bench.settle();
    bench.relay.silent = false;
    bench.cut(0);
    bench.advance(2_000);
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!(bench.relay.heard_from(0, "roster.append"), 2);
    assert_eq!(heads(&bench), [2, 2]);
}

#[test]
fn a_relay_that_does_not_answer_is_not_waited_for_for_ever() {
    let mut bench = bench();
    bench.relay.silent = true;
    let id = promote(&mut bench);
    bench.advance(14_999);
    assert!(bench.answer(0, &id).is_none());
    bench.advance(1);
    assert_eq!(code(bench.answer(0, &id)), "relay_unavailable");
    // It was taken all the same: the roster tells.
    bench.relay.silent = false;
    bench.cut(0);
    bench.advance(2_000);
    assert_eq!(heads(&bench)[0], heads(&bench)[1]);
}

#[test]
fn a_head_that_moved_is_fetched_and_the_entry_signed_again_three_times() {
    let mut bench = bench();
    let op = Op::MemberRekey {
        machine: bench.machine(1),
        enc: *bench.daemons[0].keys.identity.enc.public(),
    };
    let signing = bench.daemons[1].keys.identity.signing.clone();
    let other = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    // Only the relay has it yet.
    bench.relay.roster.apply(&other, None).unwrap();
    let id = promote(&mut bench);
    bench.settle();
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!(bench.relay.heard_from(0, "roster.append"), 2);
    assert_eq!(heads(&bench)[0], 3);

    let mut bench = self::bench();
    bench.relay.entry_nacks.extend([Code::RosterConflict; 4]);
    let id = promote(&mut bench);
    bench.settle();
    assert_eq!(code(bench.answer(0, &id)), "roster_conflict");
    assert_eq!(bench.relay.heard_from(0, "roster.append"), 4);
}

#[test]
fn an_entry_that_the_relay_took_and_denies_is_found() {
    let mut bench = bench();
    bench.relay.denies = 1;
    let id = promote(&mut bench);
    bench.settle();
    assert!(bench.answer(0, &id).unwrap().is_ok());
    assert_eq!(bench.relay.heard_from(0, "roster.append"), 1, "it was not sent again");
    assert_eq!(heads(&bench)[0], 2);
}

#[test]
fn an_entry_whose_answer_comes_too_late_is_fetched() {
    let mut bench = bench();
    bench.relay.drops_answers = true;
    let id = promote(&mut bench);
    bench.advance(15_000);
    assert_eq!(code(bench.answer(0, &id)), "relay_unavailable");
    assert_eq!(heads(&bench), [1, 2]);
    let (asked, head) = (bench.relay.last_append(0), bench.relay.roster.head().unwrap());
    bench.frame(0, &text::roster_ok(&asked, &head));
    bench.settle();
    assert_eq!(heads(&bench), [2, 2]);
}

#[test]
fn a_final_refusal_is_told_with_its_code() {
    for refusal in [Code::Forbidden, Code::InviteInvalid, Code::Expired] {
        let mut bench = bench();
        bench.relay.entry_nacks.push_back(refusal);
        let id = promote(&mut bench);
        bench.settle();
        assert_eq!(code(bench.answer(0, &id)), refusal.as_str());
        assert_eq!(heads(&bench), [1, 1]);
    }
}

#[test]
fn a_confirmation_of_another_entry_is_no_confirmation() {
    let mut bench = bench();
    bench.relay.silent = true;
    let id = promote(&mut bench);
    bench.settle();
    let asked = bench.relay.last_append(0);
    let head = bench.relay.roster.entries()[0].head();
    bench.frame(0, &text::roster_ok(&asked, &head));
    assert!(bench.answer(0, &id).is_none());
    assert_eq!(heads(&bench)[0], 1);
    assert_eq!(
        bench.last_error(0),
        Some("the relay confirmed another roster entry than this machine sent")
    );
}

#[test]
fn entries_go_one_after_another() {
    let mut bench = bench();
    let first = bench.begin(0, CONN, "team.invite", json!({"person": "carol"}));
    let second = bench.begin(0, CONN, "team.invite", json!({"person": "dave"}));
    bench.settle();
    assert!(bench.answer(0, &first).unwrap().is_ok());
    assert!(bench.answer(0, &second).unwrap().is_ok());
    assert_eq!(heads(&bench), [3, 3]);
}
