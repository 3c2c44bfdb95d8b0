//! Heads that members name: one that is ahead is fetched or withheld, one that contradicts raises the alarm.
//! Spec: §5 "Roster head check", D3.28

use messaging_core::roster::{Op, Roster};
use serde_json::json;

use super::bench::Bench;
use super::forge::mail;
use super::roster::{entry, evidence_rows, invite, seq};
use crate::store::evidence;

const THREE: [(&str, &str); 3] = [("alice", "laptop"), ("bob", "desk"), ("carol", "pc")];

#[test]
fn an_envelope_ahead_is_applied_after_a_sync_and_in_order() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let op = invite(&mut bench);
    let new = entry(&bench, &op, bench.now.wall);
    // Everybody but bob hears of it.
    bench.relay.roster.apply(&new, None).unwrap();
    let first = bench.forge(0, 1, mail("web", "first"));
    let second = bench.forge(0, 1, mail("web", "second"));
    bench.relay.silent = true;
    bench.deliver(1, &first);
    bench.deliver(1, &second);
    let third = bench.forge(2, 1, mail("web", "of another sender"));
    bench.deliver(1, &third);
    assert!(bench.texts(&bob).is_empty());
    // The page comes late.
    bench.relay.silent = false;
    let link = bench.daemons[1].link.unwrap();
    let asked: Vec<_> = bench
        .relay
        .heard
        .iter()
        .filter(|(at, frame)| *at == 1 && frame.t() == "roster.sync")
        .map(|(_, frame)| frame.print())
        .collect();
    assert_eq!(asked.len(), 1, "one sync for all of them");
    let now = bench.now.wall;
    bench.relay.hear(1, link, &asked[0], now);
    bench.settle();
    assert_eq!(bench.texts(&bob), ["first", "second", "of another sender"]);
    assert!(bench.acked(1, &first) && bench.acked(1, &second));
    assert!(!bench.engine(1).realm.sends_paused());
}

#[test]
fn a_withheld_entry_leaves_the_envelope_unacknowledged_kept_and_sends_paused() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    let alice = bench.session(0, "api", json!({}));
    bench.advance(3_000);
    let head = seq(&bench, 1);
    let op = invite(&mut bench);
    let new = entry(&bench, &op, bench.now.wall);
    bench.relay.roster.apply(&new, None).unwrap();
    let env = bench.forge(0, 1, mail("web", "ahead"));
    bench.relay.shows = Some(head);
    bench.deliver(1, &env);
    assert!(!bench.acked(1, &env) && !bench.is_seen(1, &env));
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Ahead), 1);
    assert_eq!(
        bench.last_error(1),
        Some("the relay withholds roster entries that a member has seen")
    );
    // Again: still withheld, and the proof is kept once.
    bench.deliver(1, &env);
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Ahead), 1);
    let before = bench.relay.sent_by(1).len();
    let id = bench.send(&bob, "alice/api", "paused");
    bench.advance(120_000);
    assert_eq!(bench.relay.sent_by(1).len(), before, "sends pause");
    assert_eq!(bench.stage(&bob, &id), "accepted");
    // The entries come after all, and the relay sends it again.
    bench.relay.shows = None;
    bench.advance(10_000);
    bench.deliver(1, &env);
    assert_eq!(bench.texts(&bob), ["ahead"]);
    assert!(bench.acked(1, &env));
    bench.advance(3_000);
    assert_eq!(bench.texts(&alice), ["paused"]);
}

#[test]
fn a_pause_ends_when_its_signer_is_gone() {
    let mut bench = Bench::connected(&THREE);
    let bob = bench.session(1, "web", json!({}));
    let alice = bench.session(0, "api", json!({}));
    bench.advance(3_000);
    // Carol claims a head that does not exist.
    let mut env = bench.forge(2, 1, mail("web", "x"));
    env["anchor"]["seq"] = json!(99);
    let env = bench.sign(2, env);
    bench.deliver(1, &env);
    assert!(bench.engine(1).realm.sends_paused());
    bench.send(&bob, "alice/api", "waits");
    assert!(bench.texts(&alice).is_empty());
    let remove = entry(&bench, &Op::MemberRemove { machine: bench.machine(2) }, bench.now.wall);
    bench.relay.append(&remove);
    bench.settle();
    assert!(!bench.engine(1).realm.sends_paused());
    bench.advance(3_000);
    assert_eq!(bench.texts(&alice), ["waits"]);
}

#[test]
fn nobody_but_its_signer_can_claim_to_have_seen_more() {
    let mut bench = Bench::connected(&THREE);
    let mut env = bench.forge(0, 1, mail("web", "x"));
    env["anchor"]["seq"] = json!(99);
    bench.deliver(1, &env);
    assert!(bench.acked(1, &env), "a bad signature is dropped before anything is fetched");
    assert!(!bench.engine(1).realm.sends_paused());
    assert_eq!(bench.relay.heard_from(1, "roster.sync"), 0);
}

/// A second history of the team, which carol was shown.
pub(super) fn other_history(bench: &Bench) -> Roster {
    let signing = &bench.daemons[0].keys.identity.signing;
    let mut other = Roster::new();
    let entries = bench.relay.roster.entries();
    for entry in &entries[..entries.len() - 1] {
        let raw = serde_json::from_str(entry.canonical().as_str()).unwrap();
        other.apply(&raw, None).unwrap();
    }
    let op = entries.last().unwrap().op().clone();
    let raw = other.sign_next(&op, bench.now.wall.plus(5), signing).unwrap();
    other.apply(&raw, None).unwrap();
    other
}

#[test]
fn a_contradicting_head_raises_an_alarm_that_survives_a_restart() {
    let mut bench = Bench::connected(&THREE);
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let theirs = other_history(&bench).head().unwrap();
    let mut env = bench.forge(2, 1, mail("web", "x"));
    env["anchor"]["hash"] = json!(theirs.hash);
    let env = bench.sign(2, env);
    bench.deliver(1, &env);
    assert!(bench.acked(1, &env));
    assert_eq!(bench.answer_to(1, 2, &env).as_deref(), Some("rejected roster_conflict"));
    assert_eq!(bench.count(1, "SELECT count(*) FROM inbox"), 0, "not applied");
    let alarm = |bench: &Bench| {
        let alarms = bench.engine(1).realm.divergence();
        assert_eq!(alarms.len(), 1);
        (alarms[0].device, alarms[0].seq, alarms[0].theirs, alarms[0].envelope_id.to_string())
    };
    let raised = alarm(&bench);
    assert_eq!(raised.0, bench.machine(2));
    assert_eq!(raised.1, theirs.seq);
    assert_eq!(raised.2, theirs.hash);
    assert_eq!(json!(raised.3), env["id"]);

    // Presence from the same side: no second alarm, no answer.
    bench.deliver(1, &env);
    bench.configure(1, |_| {});
    assert_eq!(alarm(&bench), raised);
    let status = crate::status::daemon(bench.engine(1));
    assert_eq!(status.divergence.unwrap().len(), 1);
    assert!(bench.engine(1).link.is_ready(), "the machine goes on working");
}

#[test]
fn an_alarm_ends_when_its_evidence_proves_nothing_any_more() {
    let mut bench = Bench::connected(&THREE);
    let theirs = other_history(&bench).head().unwrap();
    let mut env = bench.forge(2, 1, mail("web", "x"));
    env["anchor"]["hash"] = json!(theirs.hash);
    let env = bench.sign(2, env);
    bench.deliver(1, &env);
    assert_eq!(bench.engine(1).realm.divergence().len(), 1);
    let store = bench.kill(1);
    let store = super::bench::write(store, |tx| {
        tx.execute("UPDATE evidence SET envelope = replace(envelope, '\"ts\":1', '\"ts\":2')", ())?;
        Ok(())
    });
    bench.start(1, store);
    bench.settle();
    assert!(bench.engine(1).realm.divergence().is_empty());
}

#[test]
fn a_contradicting_receipt_or_presence_is_not_answered() {
    let mut bench = Bench::connected(&THREE);
    let theirs = other_history(&bench).head().unwrap();
    let mut env = bench.forge(2, 1, super::forge::receipt("01HF7YAT00AAAAAAAAAAAAAAAA", "read"));
    env["anchor"]["hash"] = json!(theirs.hash);
    let env = bench.sign(2, env);
    bench.deliver(1, &env);
    assert!(bench.acked(1, &env));
    assert_eq!(bench.engine(1).realm.divergence().len(), 1);
    assert!(bench.receipts(1, 2).is_empty());
}

#[test]
fn a_member_that_claims_to_have_seen_more_makes_this_machine_ask_now_and_then() {
    let mut bench = Bench::connected(&THREE);
    bench.session(1, "web", json!({}));
    bench.advance(3_000);
    let claim = |bench: &mut Bench| {
        let mut env = bench.forge(2, 1, mail("web", "x"));
        env["anchor"]["seq"] = json!(99);
        let env = bench.sign(2, env);
        bench.deliver(1, &env);
        assert!(!bench.acked(1, &env) && !bench.is_seen(1, &env));
    };
    for _ in 0..50 {
        claim(&mut bench);
    }
    assert_eq!(bench.relay.heard_from(1, "roster.sync"), 1);
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Ahead), 1);
    bench.advance(5_000);
    claim(&mut bench);
    assert_eq!(bench.relay.heard_from(1, "roster.sync"), 2);
    assert!(bench.engine(1).link.is_ready());
}

#[test]
fn one_signer_cannot_take_up_the_room_for_alarms() {
    let mut bench = Bench::connected(&THREE);
    bench.advance(3_000);
    let claim = |bench: &mut Bench, by: usize, hash: &str| {
        let mut env = bench.forge(by, 1, mail("web", "x"));
        env["anchor"]["hash"] = json!(hash);
        let env = bench.sign(by, env);
        bench.deliver(1, &env);
    };
    for n in 0..40 {
        let hash = messaging_core::ids::Hash::from_bytes(&[n; 32]).to_string();
        claim(&mut bench, 2, &hash);
    }
    assert_eq!(bench.engine(1).realm.divergence().len(), 2);
    let theirs = other_history(&bench).head().unwrap().hash.to_string();
    claim(&mut bench, 0, &theirs);
    let signers: Vec<_> =
        bench.engine(1).realm.divergence().iter().map(|alarm| alarm.device).collect();
    assert_eq!(signers.last(), Some(&bench.machine(0)), "another's proof still counts");
    assert_eq!(evidence_rows(&bench, 1, evidence::Kind::Diverged), 3);
}
