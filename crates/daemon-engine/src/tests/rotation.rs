//! The encryption key over weeks: replaced in time, by one entry each, without losing an envelope; and whatever dies,
//! fails or lies on the way.
//! Spec: §4 "Encryption-key rotation", §8.9, D3.22, D3.23

use messaging_core::code::Code;
use messaging_core::ids::EncKey;
use messaging_core::keys::Identity;
use messaging_core::limits::{CLOCK_SKEW_MS, RETAINED_KEYS, TTL_MS};
use messaging_core::roster::Op;
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use messaging_store::{FaultPlan, How, StoreError};
use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};
use crate::identity::RetainedKey;
use crate::status;

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];
const DAY: u64 = 86_400_000;
const HOUR: u64 = 3_600_000;
const WINDOW: u64 = TTL_MS + 2 * CLOCK_SKEW_MS;

fn bench() -> Bench {
    let mut bench = Bench::connected(&TWO);
    bench.admin(0);
    bench.admin(1);
    bench.advance(3_000);
    bench
}

/// Only bob rotates, and only when he is told.
fn manual() -> Bench {
    let mut bench = bench();
    for at in 0..2 {
        bench.configure(at, |config| config.rotate_enc_days = None);
        bench.admin(at);
    }
    bench
}

/// Lets days go by as on a machine that mostly sleeps: four minutes of every six hours are lived through.
fn pass(bench: &mut Bench, mut ms: u64) {
    while ms > 0 {
        let part = ms.min(6 * HOUR);
        bench.skip(part.saturating_sub(4 * 60_000));
        bench.advance(part.min(4 * 60_000));
        ms -= part;
    }
}

fn rotate(bench: &mut Bench) -> Result<Value, String> {
    bench.call(1, CONN, "identity.rotateEnc", json!({}))
}

/// How often bob's key was replaced in the roster, by whomever.
fn rekeys(bench: &Bench) -> usize {
    let own = bench.machine(1);
    let is_rekey = |op: &Op| matches!(op, Op::MemberRekey { machine, .. } if *machine == own);
    bench.relay.roster.entries().iter().filter(|entry| is_rekey(entry.op())).count()
}

fn current(bench: &Bench) -> EncKey {
    *bench.daemons[1].keys.identity.enc.public()
}

fn named(bench: &Bench) -> EncKey {
    bench.relay.roster.member(&bench.machine(1)).unwrap().enc
}

/// The file and the roster agree, nothing is left open, and no alarm stands.
fn is_settled(bench: &Bench, about: &str) {
    assert_eq!(current(bench), named(bench), "{about}");
    assert!(bench.daemons[1].keys.pending.is_none(), "{about}");
    assert_eq!(status::alarm(bench.engine(1)), None, "{about}");
    let held = bench.engine(1).home.keys.as_ref().unwrap();
    assert_eq!(held.to_value(), bench.daemons[1].keys.to_value(), "{about}: memory is the file");
}

fn mail(bench: &mut Bench, alice: &Session, bob: &Session, text: &str) {
    bench.send(alice, "bob/web", text);
    bench.advance(1_000);
    assert_eq!(bench.texts(bob).last().map(String::as_str), Some(text));
}

#[test]
fn a_key_is_replaced_every_period_and_no_mail_is_lost_over_months() {
    let mut bench = bench();
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    let mut most = 0;
    for day in 0..60 {
        mail(&mut bench, &alice, &bob, &format!("day {day}"));
        pass(&mut bench, DAY);
        most = most.max(bench.daemons[1].keys.retained.len());
        is_settled(&bench, &format!("day {day}"));
    }
    assert!((7..=8).contains(&rekeys(&bench)), "{} in sixty days", rekeys(&bench));
    assert!((1..=2).contains(&most), "{most} replaced keys at once");
    assert!(bench.daemons[1].log.iter().any(|event| event.name() == "rotate.done"));
}

#[test]
fn the_schedule_is_told_kept_and_may_be_off() {
    let mut bench = bench();
    let status = bench.call(1, CONN, "daemon.status", json!({})).unwrap();
    let next = status["rotation"]["nextAt"].as_u64().unwrap();
    assert_eq!(status["rotation"]["days"], 7);
    let wait = next - bench.now.wall.0;
    bench.skip(wait - 600_000);
    bench.advance(539_000);
    assert_eq!(rekeys(&bench), 0);
    bench.advance(122_000);
    assert_eq!(rekeys(&bench), 1);
    let status = bench.call(1, CONN, "daemon.status", json!({})).unwrap();
    assert_eq!(status["rotation"]["retained"], 1);
    assert!(status["rotation"]["nextAt"].as_u64().unwrap() >= bench.now.wall.0 + 6 * DAY);
    bench.configure(1, |config| config.rotate_enc_days = None);
    bench.admin(1);
    pass(&mut bench, 30 * DAY);
    assert_eq!(rekeys(&bench), 1);
    let status = bench.call(1, CONN, "daemon.status", json!({})).unwrap();
    assert_eq!(
        (&status["rotation"]["days"], &status["rotation"]["nextAt"]),
        (&json!(0), &Value::Null)
    );
}

#[test]
fn missed_periods_are_made_up_for_by_one_rotation() {
    let mut bench = bench();
    bench.relay.up = false;
    bench.cut(1);
    pass(&mut bench, 40 * DAY);
    assert_eq!(rekeys(&bench), 0, "not while offline");
    assert!(bench.daemons[1].keys.pending.is_none(), "nor begun");
    bench.relay.up = true;
    pass(&mut bench, 2 * DAY);
    assert_eq!(rekeys(&bench), 1);
    is_settled(&bench, "after the absence");
}

#[test]
fn a_manual_rotation_says_the_key_and_restarts_the_period() {
    let mut bench = bench();
    let before = current(&bench);
    pass(&mut bench, 5 * DAY);
    let rotated = rotate(&mut bench).unwrap();
    assert_eq!(rotated["enc"], json!(named(&bench)));
    assert_eq!(rotated["until"], bench.now.wall.0 + WINDOW);
    assert_ne!(before, current(&bench));
    is_settled(&bench, "after the call");
    pass(&mut bench, 6 * DAY);
    assert_eq!(rekeys(&bench), 1, "the period began again");
    pass(&mut bench, 2 * DAY);
    assert_eq!(rekeys(&bench), 2);
}

#[test]
fn a_replaced_key_opens_until_its_time_is_over_and_is_erased_then() {
    let mut bench = manual();
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let old = current(&bench);
    bench.relay.holds_back = true;
    bench.send(&alice, "bob/web", "sealed before");
    rotate(&mut bench).unwrap();
    bench.relay.holds_back = false;
    bench.relay.redeliver();
    bench.advance(1_000);
    assert_eq!(bench.texts(&bob), ["sealed before"]);
    pass(&mut bench, WINDOW - 120_000);
    assert!(bench.daemons[1].keys.holds(&old));
    bench.advance(240_000);
    assert!(!bench.daemons[1].keys.holds(&old), "the file has forgotten it");
    is_settled(&bench, "after the window");
    mail(&mut bench, &alice, &bob, "sealed after");
}

#[test]
fn a_clock_that_went_wrong_erases_nothing_until_the_relay_agrees() {
    let mut bench = manual();
    let old = current(&bench);
    rotate(&mut bench).unwrap();
    let right = bench.now.wall;
    bench.now.wall = right.plus(365 * DAY);
    bench.advance(10 * 60_000);
    assert!(bench.daemons[1].keys.holds(&old), "the link was welcomed at another time");
    bench.now.wall = right.plus(10 * 60_000);
    bench.advance(60_000);
    assert!(bench.daemons[1].keys.holds(&old));
    pass(&mut bench, WINDOW + 60_000);
    assert!(!bench.daemons[1].keys.holds(&old));
}

#[test]
fn a_rotation_is_refused_offline_with_an_alarm_and_with_too_many_keys() {
    let mut bench = manual();
    bench.relay.up = false;
    bench.cut(1);
    assert_eq!(rotate(&mut bench), Err("relay_unavailable".into()));
    bench.relay.up = true;
    let mut rng = SeededRandom::new(3);
    let until = bench.now.wall.plus(DAY);
    for _ in 0..RETAINED_KEYS {
        let secret = Identity::generate(&mut rng).enc;
        bench.daemons[1].keys.retained.push(RetainedKey { secret, until });
    }
    bench.configure(1, |_| {});
    bench.admin(1);
    bench.advance(60_000);
    assert_eq!(rotate(&mut bench), Err("invalid_state".into()));
    pass(&mut bench, DAY + 60_000);
    assert!(rotate(&mut bench).is_ok());

    let lost = own_rekey(&bench, *Identity::generate(&mut rng).enc.public());
    bench.relay.append(&lost);
    bench.settle();
    assert!(bench.engine(1).is_restored());
    assert_eq!(rotate(&mut bench), Err("invalid_state".into()));
}

/// An entry by which bob's machine publishes a key.
fn own_rekey(bench: &Bench, enc: EncKey) -> Value {
    let op = Op::MemberRekey { machine: bench.machine(1), enc };
    let signing = &bench.daemons[1].keys.identity.signing;
    bench.relay.roster.sign_next(&op, bench.now.wall, signing).unwrap()
}

#[test]
fn no_key_is_published_while_an_alarm_stands() {
    let mut bench = bench();
    // A rotation was begun, and then an older copy of the home was put back.
    bench.relay.silent = true;
    bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    bench.advance(20_000);
    assert!(bench.daemons[1].keys.pending.is_some());
    bench.relay.silent = false;
    let lost = own_rekey(&bench, *Identity::generate(&mut SeededRandom::new(8)).enc.public());
    bench.relay.roster.apply(&lost, None).unwrap();
    bench.configure(1, |_| {});
    bench.admin(1);
    pass(&mut bench, 20 * DAY);
    assert_eq!(status::alarm(bench.engine(1)), Some(messaging_ipc::shapes::DaemonAlarm::Restored));
    assert_eq!(rekeys(&bench), 1, "neither the pending key nor a scheduled one");
    assert!(bench.daemons[1].keys.pending.is_some(), "and nothing was dropped");
    for (method, params) in [
        ("team.invite", json!({"person": "eve"})),
        (
            "team.add",
            json!({"machine": bench.machine(0), "enc": current(&bench), "person": "eve", "label": "x"}),
        ),
        ("team.role", json!({"machine": bench.machine(0), "role": "member"})),
    ] {
        assert_eq!(bench.call(1, CONN, method, params), Err("invalid_state".into()), "{method}");
    }
}

#[test]
fn an_unknown_outcome_is_settled_by_what_the_roster_says() {
    // The relay took the entry, and its answer was lost.
    let mut bench = manual();
    bench.relay.swallows = 1;
    let id = bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    bench.settle();
    bench.cut(1);
    bench.advance(40_000);
    assert!(bench.answer(1, &id).unwrap().is_ok(), "it was settled in time to say so");
    is_settled(&bench, "taken");
    assert_eq!(rekeys(&bench), 1);

    // The relay never heard of it.
    bench.relay.silent = true;
    let id = bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    bench.advance(30_000);
    assert_eq!(bench.answer(1, &id), Some(Err("relay_unavailable".into())));
    let kept = bench.daemons[1].keys.pending.as_ref().map(|key| *key.secret.public()).unwrap();
    bench.relay.silent = false;
    bench.cut(1);
    bench.advance(60_000);
    is_settled(&bench, "appended again");
    assert_eq!((named(&bench), rekeys(&bench)), (kept, 2), "with the key that was kept");
}

#[test]
fn a_refused_key_is_undone_and_a_scheduled_one_tried_again_later() {
    let mut bench = manual();
    let before = bench.daemons[1].keys.to_value();
    bench.relay.entry_nacks.push_back(Code::Forbidden);
    assert_eq!(rotate(&mut bench), Err("forbidden".into()));
    assert_eq!(bench.daemons[1].keys.to_value(), before);
    is_settled(&bench, "refused");
    bench.configure(1, |config| config.rotate_enc_days = Some(7));
    bench.relay.entry_nacks.extend([Code::RateLimited, Code::RateLimited]);
    bench.admin(1);
    let status = bench.call(1, CONN, "daemon.status", json!({})).unwrap();
    let due = status["rotation"]["nextAt"].as_u64().unwrap();
    for (minutes, refusals) in [(0, 1), (50, 1), (65, 2), (130, 2)] {
        let wait = due + minutes * 60_000 - bench.now.wall.0;
        pass(&mut bench, wait);
        bench.advance(4 * 60_000);
        let about = format!("{minutes} minutes after it was due");
        assert_eq!(bench.relay.entry_nacks.len(), 2 - refusals, "{about}");
        assert_eq!(rekeys(&bench), usize::from(minutes == 130), "{about}");
        is_settled(&bench, &about);
    }
}

#[test]
fn a_race_for_the_head_is_won_by_trying_again() {
    let mut bench = manual();
    bench.relay.entry_nacks.extend([Code::RosterConflict; 3]);
    assert!(rotate(&mut bench).is_ok());
    bench.relay.denies = 1;
    assert!(rotate(&mut bench).is_ok(), "taken, and called internal");
    assert_eq!(rekeys(&bench), 2);
    is_settled(&bench, "after both");
}

#[test]
fn an_admins_rekey_stops_the_schedule_until_a_manual_rotation() {
    let mut bench = bench();
    let machine = bench.machine(1);
    bench.call(0, CONN, "team.rekey", json!({"machine": machine})).unwrap();
    let old = current(&bench);
    pass(&mut bench, 20 * DAY);
    assert_eq!((rekeys(&bench), status::alarm(bench.engine(1))), (1, None));
    assert_eq!(bench.last_error(1), Some("an admin replaced this machine's encryption key"));
    bench.configure(1, |_| {});
    bench.admin(1);
    assert_eq!(
        bench.last_error(1),
        Some("an admin replaced this machine's encryption key"),
        "told at every start"
    );
    let rotated = rotate(&mut bench).unwrap();
    assert_eq!(rotated["enc"], json!(named(&bench)));
    is_settled(&bench, "a key of its own again");
    assert!(bench.daemons[1].keys.holds(&old));
    pass(&mut bench, 8 * DAY);
    assert_eq!(rekeys(&bench), 3, "and the schedule goes on");
}

#[test]
fn a_rotation_that_an_admin_overtook_is_not_finished_by_itself() {
    let mut bench = manual();
    bench.relay.silent = true;
    bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    bench.advance(30_000);
    bench.relay.silent = false;
    let machine = bench.machine(1);
    bench.cut(1);
    bench.relay.up = false;
    bench.call(0, CONN, "team.rekey", json!({"machine": machine})).unwrap();
    let cut_off = named(&bench);
    bench.relay.up = true;
    bench.advance(10 * 60_000);
    assert_eq!(named(&bench), cut_off, "the admin's word stands");
    assert!(bench.daemons[1].keys.pending.is_none());
    assert!(rotate(&mut bench).is_ok());
    is_settled(&bench, "rotated by hand");
}

#[test]
fn a_file_that_cannot_be_written_stops_a_rotation_and_nothing_is_published_that_is_not_on_disk() {
    let mut bench = manual();
    bench.daemons[1].can_save = false;
    assert_eq!(rotate(&mut bench), Err("internal".into()));
    bench.advance(10 * 60_000);
    assert_eq!(rekeys(&bench), 0);
    bench.daemons[1].can_save = true;
    bench.advance(2 * 60_000);
    is_settled(&bench, "nothing was begun");

    // The disk fills up between the two writes.
    let id = bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    while bench.daemons[1].keys.pending.is_none() {
        assert!(bench.step());
    }
    bench.daemons[1].can_save = false;
    bench.advance(60_000);
    assert_eq!(bench.answer(1, &id), Some(Err("internal".into())));
    assert_eq!(rekeys(&bench), 1);
    assert_eq!(status::alarm(bench.engine(1)), None, "the key is here");
    let alice = bench.session(0, "api", json!({}));
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    mail(&mut bench, &alice, &bob, "opened with the key that waits");
    bench.daemons[1].can_save = true;
    bench.advance(5 * 60_000);
    is_settled(&bench, "written in the end");
}

/// Rotates by hand and kills the machine after `steps` steps.
fn rotate_with_a_death(steps: usize, swallow: bool) -> bool {
    let mut bench = manual();
    let first = current(&bench);
    bench.relay.swallows = u32::from(swallow);
    bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    let mut more = true;
    for _ in 0..steps {
        more = bench.step();
    }
    let store = bench.kill(1);
    bench.start(1, store);
    bench.advance(3 * 60_000);
    let about = format!("after {steps} steps");
    is_settled(&bench, &about);
    assert!(rekeys(&bench) <= 1, "{about}: one entry");
    assert!(bench.daemons[1].keys.holds(&first), "{about}");
    bench.skip(WINDOW);
    bench.advance(3 * 60_000);
    assert_eq!(bench.daemons[1].keys.holds(&first), rekeys(&bench) == 0, "{about}");
    is_settled(&bench, &about);
    more
}

#[test]
fn a_machine_may_die_at_any_step_of_a_rotation() {
    for swallow in [false, true] {
        let mut steps = 0;
        while rotate_with_a_death(steps, swallow) {
            steps += 1;
        }
        assert!(steps > 4, "a rotation has more steps than {steps}");
    }
}

/// Rotates by hand while one write of the store fails.
fn rotate_with_a_fault(step: u64, how: How) -> bool {
    let mut bench = manual();
    bench.set_faults(1, FaultPlan::nth(step, how, StoreError::Io));
    let id = bench.begin(1, CONN, "identity.rotateEnc", json!({}));
    bench.advance(3 * 60_000);
    assert!(bench.answer(1, &id).is_some(), "write {step} {how:?}: every call is answered");
    let reached = bench.daemons[1].running.as_ref().unwrap().steps() > step;
    bench.advance(3 * 60_000);
    is_settled(&bench, &format!("write {step} {how:?}"));
    reached
}

#[test]
fn any_write_of_the_store_may_fail_during_a_rotation() {
    for how in [How::Lost, How::AppliedButReportedLost, How::EndsTransaction] {
        let step = (0..60).take_while(|step| rotate_with_a_fault(*step, how)).count();
        assert!(step > 3, "{step} writes");
    }
}

#[test]
fn a_time_before_the_window_is_over_is_when_the_oldest_key_goes() {
    let mut bench = manual();
    let at = bench.now.wall;
    rotate(&mut bench).unwrap();
    pass(&mut bench, DAY);
    rotate(&mut bench).unwrap();
    let until: Vec<Ms> = bench.daemons[1].keys.retained.iter().map(|key| key.until).collect();
    assert!(until[0] > until[1], "newest first");
    assert!(until[1].0 - at.0 - WINDOW < 60_000);
}
