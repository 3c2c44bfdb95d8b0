//! What presence tells, how often, and what is believed of others'.
//! Spec: §6.5, D3.18

use messaging_core::presence::{Draft, PresencePayload, PresenceSeq};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::config::Share;

const TWO: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];

/// The body of the last presence a daemon sent.
fn last(bench: &Bench, at: usize) -> Value {
    bench.relay.presence_by(at).pop().expect("a presence")["body"].clone()
}

pub(crate) fn payload(seq: u64, label: &str) -> PresencePayload {
    Draft {
        seq: PresenceSeq(seq),
        label: label.parse().unwrap(),
        live: Vec::new(),
        kept: Vec::new(),
        features: messaging_core::bounded::List::default(),
        away: false,
    }
    .fit()
}

#[test]
fn it_goes_on_change_at_most_each_2_s_and_at_least_each_60_s_while_connected() {
    let mut bench = Bench::connected(&TWO);
    bench.advance(5_000);
    let sent = |bench: &Bench| bench.relay.presence_by(0).len();
    let quiet = sent(&bench);
    let alice = bench.session(0, "api", json!({}));
    assert_eq!(sent(&bench), quiet + 1, "a change goes at once after a quiet time");
    for n in 0..10 {
        let state = if n % 2 == 0 { "busy" } else { "idle" };
        bench.ask(&alice, "session.update", json!({"state": state})).unwrap();
        bench.advance(100);
    }
    assert_eq!(sent(&bench), quiet + 1);
    bench.advance(1_000);
    assert_eq!(sent(&bench), quiet + 2);
    assert_eq!(last(&bench, 0)["sessions"][0]["state"], "idle");
    bench.advance(59_000);
    assert_eq!(sent(&bench), quiet + 2);
    bench.advance(2_000);
    assert_eq!(sent(&bench), quiet + 3);
    bench.cut(0);
    bench.relay.up = false;
    bench.advance(300_000);
    assert_eq!(sent(&bench), quiet + 3);
    bench.relay.up = true;
    bench.advance(31_000);
    assert_eq!(sent(&bench), quiet + 4, "a new link hears of the sessions at once");
}

#[test]
fn its_number_rises_across_restarts_and_a_store_from_the_past() {
    let mut bench = Bench::connected(&TWO);
    let first = last(&bench, 0)["seq"].as_u64().unwrap();
    bench.advance(3_000);
    bench.configure(0, |_| {});
    let second = last(&bench, 0)["seq"].as_u64().unwrap();
    assert!(second > first);
    let store = bench.kill(0);
    let store = super::bench::write(store, |tx| {
        tx.execute("UPDATE kv SET value = '1' WHERE key = 'presence.seq'", ())?;
        Ok(())
    });
    bench.start(0, store);
    bench.advance(3_000);
    assert!(last(&bench, 0)["seq"].as_u64().unwrap() > second);
}

#[test]
fn details_are_told_only_where_they_are_shared() {
    let details = json!({"repo": "r", "branch": "b", "doing": "d", "tier": "push"});
    for share in [
        Share::default(),
        Share { repo: true, branch: false, doing: true },
        Share { repo: true, branch: true, doing: true },
    ] {
        let mut bench = Bench::connected(&TWO);
        bench.configure(0, |config| config.share = share);
        bench.session(0, "api", details.clone());
        bench.advance(3_000);
        let body = last(&bench, 0);
        let session = &body["sessions"][0];
        assert_eq!(session.get("repo").is_some(), share.repo);
        assert_eq!(session.get("branch").is_some(), share.branch);
        assert_eq!(session.get("doing").is_some(), share.doing);
        assert_eq!(session["agent"], "api");
        assert_eq!(session["client"], "codex");
        assert_eq!(session["tier"], "push");
        assert_eq!(session["wake"], true);
        assert_eq!(body["label"], "laptop");
        assert_eq!(body["features"], json!(["tasks"]));
        assert!(body.get("away").is_none());
    }
}

#[test]
fn kept_sessions_come_last_idle_and_without_what_they_did() {
    let mut bench = Bench::connected(&TWO);
    let all = Share { repo: true, branch: true, doing: true };
    bench.configure(0, |config| config.share = all);
    let gone = bench.session(0, "gone", json!({"doing": "x", "state": "busy", "tier": "push"}));
    bench.session(0, "here", json!({"doing": "y"}));
    bench.leave(&gone);
    bench.advance(3_000);
    let sessions = last(&bench, 0)["sessions"].clone();
    assert_eq!(sessions[0]["agent"], "here");
    assert_eq!(sessions[1]["agent"], "gone");
    assert_eq!(sessions[1]["kept"], true);
    assert_eq!(sessions[1]["state"], "idle");
    assert!(sessions[1].get("doing").is_none());
    assert!(sessions[1].get("wake").is_none(), "nothing here would wake it");
}

#[test]
fn the_highest_number_counts_and_another_label_does_not() {
    let mut bench = Bench::connected(&TWO);
    let base = bench.now.wall.0 * 2;
    let stored = |bench: &Bench| bench.count(1, "SELECT coalesce(max(seq), 0) FROM presence");
    for (seq, label, expected) in [
        (base + 5, "laptop", base + 5),
        (base + 4, "laptop", base + 5),
        (base + 5, "laptop", base + 5),
        (base + 9, "desk", base + 5),
        (base + 6, "laptop", base + 6),
    ] {
        let env = bench.forge_presence(0, &payload(seq, label));
        bench.deliver(1, &env);
        assert_eq!(stored(&bench), i64::try_from(expected).unwrap());
        assert!(!bench.acked(1, &env), "presence is not acknowledged");
    }
    assert!(bench.receipts(1, 0).is_empty(), "and never answered");
}

#[test]
fn a_body_over_64_kib_is_dropped() {
    let mut bench = Bench::connected(&TWO);
    let mut env = bench.forge_presence(0, &payload(bench.now.wall.0 * 2, "laptop"));
    env["body"]["later"] = json!("x".repeat(70_000));
    let env = bench.sign(0, env);
    let before = bench.count(1, "SELECT max(seq) FROM presence");
    bench.deliver(1, &env);
    assert_eq!(bench.count(1, "SELECT max(seq) FROM presence"), before);
    env_is_told(&bench, "too_large");
}

fn env_is_told(bench: &Bench, code: &str) {
    let told = bench.daemons[1].log.iter().any(|event| {
        matches!(event, crate::events::LogEvent::InboundDropped { code: told, .. } if told.as_str() == code)
    });
    assert!(told, "{code}");
}

#[test]
fn a_sender_cuts_its_own_to_size() {
    let mut bench = Bench::connected(&TWO);
    let all = Share { repo: true, branch: true, doing: true };
    bench.configure(0, |config| config.share = all);
    let wide = "é".repeat(200);
    for n in 0..100 {
        let details = json!({"repo": wide, "branch": wide, "doing": wide});
        bench.session(0, &format!("s{n}"), details);
    }
    bench.advance(3_000);
    let body = last(&bench, 0);
    assert!(body.to_string().len() <= messaging_core::limits::PRESENCE_BYTES);
    assert_eq!(body["sessions"].as_array().unwrap().len(), 100);
    assert!(body["sessions"][0].get("doing").is_none());
    assert!(bench.count(1, "SELECT count(*) FROM presence") == 1, "and the other side takes it");
}

#[test]
fn who_is_online_is_the_relays_word() {
    let mut bench = Bench::connected(&TWO);
    let machine = bench.machine(1);
    assert!(bench.engine(0).realm.is_online(&machine));
    bench.cut(1);
    bench.relay.up = false;
    bench.settle();
    assert!(!bench.engine(0).realm.is_online(&machine));
    bench.cut(0);
    assert!(!bench.engine(0).realm.is_online(&machine), "without a link nobody is");
}
