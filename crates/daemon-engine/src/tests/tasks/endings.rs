//! How tasks end: by their executor, by a cancel, by silence, or because nobody ever received them.

use messaging_core::code::Code;
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use serde_json::json;

use super::{Asked, Pair};

const DAY: u64 = 86_400_000;
const STATES: [&[&str]; 7] = [
    &[],
    &["WORKING"],
    &["INPUT_REQUIRED"],
    &["WORKING", "AUTH_REQUIRED"],
    &["WORKING", "COMPLETED"],
    &["FAILED"],
    &["REJECTED"],
];

#[test]
fn a_cancel_ends_a_live_task_and_leaves_an_ended_one_alone() {
    let (mut pair, _) = Pair::asked();
    for states in STATES {
        let asked = pair.ask("x");
        for state in states {
            pair.say(&asked, state);
        }
        let before = pair.state(&asked);
        pair.events(0);
        pair.events(1);
        let answer = pair.cancel(&asked);
        let ended = states.last().is_some_and(|s| ["COMPLETED", "FAILED", "REJECTED"].contains(s));
        assert_eq!(answer["sent"], !ended, "{states:?}");
        if ended {
            assert_eq!(pair.state(&asked), before);
            assert!(pair.events(0).is_empty() && pair.events(1).is_empty());
        } else {
            assert_eq!(pair.state(&asked), "CANCELED: enough");
            assert_eq!(pair.events(1), ["peer CANCELED status"]);
            assert_eq!(pair.events(0).last().unwrap(), "peer CANCELED status");
            let again = pair.cancel(&asked);
            assert_eq!(again["sent"], false);
        }
        pair.bench.advance(60_000);
    }
}

#[test]
fn a_cancel_that_meets_the_end_on_its_way_changes_nothing() {
    let (mut pair, asked) = Pair::asked();
    pair.bench.relay.holds_back = true;
    pair.say(&asked, "COMPLETED");
    let answer = pair.cancel(&asked);
    assert_eq!(answer["sent"], true);
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    pair.bench.relay.holds_back = false;
    pair.bench.relay.redeliver();
    pair.bench.advance(1_000);
    assert_eq!(pair.state(&asked), "COMPLETED");
    assert!(pair.bench.relay.all_acked());
    let cancel = pair.sent(0, "task.cancel").remove(0);
    assert_eq!(cancel["from"]["agent"], "api");
    assert_eq!(cancel["replyTo"], json!(asked.request));
    assert_eq!(pair.bench.answer_to(1, 0, &cancel).as_deref(), Some("delivered"));
    // The other way round: the executor hears of the cancel first, and its completion is refused.
    let asked = pair.ask("y");
    pair.cancel(&asked);
    let late = pair.update(&asked, json!({"state": "TASK_STATE_COMPLETED"}));
    assert_eq!(late, Err("invalid_state".into()));
    assert_eq!(pair.state(&asked), "CANCELED: enough");
}

#[test]
fn a_task_that_waits_ends_after_a_day_of_silence() {
    for state in ["INPUT_REQUIRED", "AUTH_REQUIRED"] {
        let (mut pair, asked) = Pair::asked();
        pair.say(&asked, state);
        pair.events(0);
        pair.events(1);
        pair.bench.advance(DAY - 120_000);
        assert_eq!(pair.state(&asked), state);
        pair.bench.advance(180_000);
        assert_eq!(pair.state(&asked), "FAILED: timed out waiting for input");
        assert_eq!(pair.events(0), ["peer FAILED status"]);
        assert_eq!(pair.events(1), ["peer FAILED status"]);
        let sent = pair.sent(1, "task.status").pop().unwrap();
        assert!(sent["from"].get("agent").is_none(), "the daemon speaks");
    }
}

#[test]
fn a_day_begins_again_with_every_word_and_only_for_those_who_wait() {
    let (mut pair, asked) = Pair::asked();
    let waiting = pair.ask("submitted");
    let working = pair.ask("working");
    pair.say(&working, "WORKING");
    pair.say(&asked, "INPUT_REQUIRED");
    pair.bench.advance(DAY - 120_000);
    pair.reply(&asked, "not yet").unwrap();
    pair.bench.advance(DAY - 120_000);
    assert_eq!(pair.state(&asked), "INPUT_REQUIRED");
    pair.update(&asked, json!({"artifact": super::artifact("a", "x")})).unwrap();
    pair.bench.advance(DAY - 120_000);
    assert_eq!(pair.state(&asked), "INPUT_REQUIRED");
    pair.bench.advance(180_000);
    assert_eq!(pair.state(&asked), "FAILED: timed out waiting for input");
    assert_eq!(pair.state(&waiting), "SUBMITTED");
    assert_eq!(pair.state(&working), "WORKING");
}

#[test]
fn a_request_that_the_relay_refuses_is_rejected() {
    let mut pair = Pair::new();
    pair.bench.relay.nacks.push_back((Code::UnknownDevice, None));
    let asked = pair.ask("x");
    let [record, _] = [super::record(&mut pair.bench, &pair.alice, &asked), json!(null)];
    assert_eq!(record["status"]["state"], "TASK_STATE_REJECTED");
    assert_eq!(
        record["status"]["message"]["parts"][0]["text"],
        "delivery rejected: unknown_device"
    );
    assert_eq!(pair.events(0), ["local SUBMITTED -", "peer REJECTED status"]);
}

#[test]
fn a_request_that_nobody_took_in_time_has_failed() {
    for relayed in [false, true] {
        let mut pair = Pair::new();
        let store = pair.bench.kill(1);
        pair.bench.relay.up = relayed;
        if !relayed {
            pair.bench.cut(0);
        }
        let asked = pair.ask("x");
        pair.bench.advance(DAY);
        let record = super::record(&mut pair.bench, &pair.alice, &asked);
        assert_eq!(record["delivery"]["stage"], if relayed { "relayed" } else { "accepted" });
        assert_eq!(record["status"]["state"], "TASK_STATE_SUBMITTED");
        pair.events(0);
        pair.bench.advance(TTL_MS + 2 * CLOCK_SKEW_MS);
        let record = super::record(&mut pair.bench, &pair.alice, &asked);
        assert_eq!(record["status"]["state"], "TASK_STATE_FAILED", "relayed: {relayed}");
        let text = "delivery failed: expired";
        assert_eq!(record["status"]["message"]["parts"][0]["text"], text);
        assert_eq!(record["delivery"]["stage"], "expired");
        assert_eq!(pair.events(0), ["peer FAILED status"]);
        // The executor comes back, and has nothing.
        pair.bench.relay.up = true;
        pair.bench.start(1, store);
        pair.bench.advance(60_000);
        assert_eq!(pair.bench.count(1, "SELECT count(*) FROM tasks"), 0);
    }
}

#[test]
fn an_executor_that_speaks_after_all_had_received_the_request() {
    let mut pair = Pair::new();
    // The request reaches Bob, and nothing of what Bob says reaches Alice.
    let asked = pair.ask("x");
    let store = pair.bench.kill(0);
    pair.say_alone(&asked, "WORKING");
    let store = crate::tests::bench::write(store, |tx| {
        // As if Alice had never heard that it was relayed.
        tx.execute("UPDATE sent SET stage = 'relayed', settled_at = NULL, exp = ts", ())?;
        tx.execute("UPDATE tasks SET delivery = json_set(delivery, '$.stage', 'relayed')", ())
            .map(drop)
    });
    pair.bench.relay.holds_back = true;
    pair.bench.start(0, store);
    pair.bench.advance(10 * 60_000);
    pair.alice = pair.bench.resume(&pair.alice);
    let record = super::record(&mut pair.bench, &pair.alice, &asked);
    assert_eq!(record["status"]["message"]["parts"][0]["text"], "delivery failed: expired");
    pair.bench.relay.holds_back = false;
    pair.bench.relay.redeliver();
    pair.bench.advance(1_000);
    assert_eq!(pair.state(&asked), "WORKING");
    pair.say(&asked, "FAILED");
    assert_eq!(pair.state(&asked), "FAILED");
    let late = pair.update(&asked, json!({"state": "TASK_STATE_WORKING"}));
    assert_eq!(late, Err("invalid_state".into()));
}

#[test]
fn either_side_may_start_again_in_every_state() {
    for restarted in [0, 1] {
        for states in STATES {
            let (mut pair, asked) = Pair::asked();
            for state in states {
                pair.restart(restarted);
                pair.say(&asked, state);
            }
            let before = pair.records(&asked);
            pair.restart(restarted);
            assert_eq!(pair.records(&asked), before, "{restarted} {states:?}");
            let ended = pair.cancel(&asked)["sent"] == false;
            pair.restart(restarted);
            let state = pair.state(&asked);
            assert_eq!(state.starts_with("CANCELED"), !ended, "{state}");
        }
    }
}

#[test]
fn what_was_said_while_the_other_side_was_away_arrives() {
    for away in [0, 1] {
        let (mut pair, asked) = Pair::asked();
        let store = pair.bench.kill(away);
        if away == 0 {
            pair.say_alone(&asked, "WORKING");
            pair.say_alone(&asked, "COMPLETED");
        } else {
            pair.bench.ask(&pair.alice, "task.cancel", json!({"taskId": asked.task})).unwrap();
        }
        pair.bench.advance(3 * DAY);
        pair.bench.start(away, store);
        pair.bench.advance(5_000);
        pair.alice = pair.bench.resume(&pair.alice);
        pair.bob = pair.bench.resume(&pair.bob);
        let state = pair.state(&asked);
        assert_eq!(state, if away == 0 { "COMPLETED" } else { "CANCELED" });
    }
}

#[test]
fn a_requester_that_was_away_too_long_still_learns_the_end() {
    let (mut pair, asked) = Pair::asked();
    let store = pair.bench.kill(0);
    pair.say_alone(&asked, "WORKING");
    let done = json!({"state": "TASK_STATE_COMPLETED", "artifact": super::artifact("r", "x")});
    super::update(&mut pair.bench, &pair.bob, &asked, done).unwrap();
    // Everything that was sent meanwhile has expired.
    pair.bench.advance(8 * DAY);
    pair.bench.start(0, store);
    pair.bench.advance(10 * 60_000);
    pair.alice = pair.bench.resume(&pair.alice);
    pair.bob = pair.bench.resume(&pair.bob);
    assert_eq!(pair.state(&asked), "COMPLETED");
}

#[test]
fn a_task_whose_executor_was_removed_can_be_ended() {
    let (mut pair, asked) = Pair::asked();
    pair.say(&asked, "WORKING");
    pair.bench.admin(0);
    let machine = pair.bench.machine(1);
    let remove = json!({"machine": machine});
    pair.bench.call(0, crate::tests::bench::CONN, "team.remove", remove).unwrap();
    pair.bench.advance(1_000);
    let answer = pair.cancel(&asked);
    assert_eq!(answer["sent"], false);
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[test]
fn ended_tasks_go_after_their_days_and_open_ones_stay() {
    let (mut pair, ended) = Pair::asked();
    let open = pair.ask("open");
    pair.say(&ended, "COMPLETED");
    for at in [0, 1] {
        assert_eq!(pair.bench.count(at, "SELECT count(*) FROM tasks"), 2);
    }
    pair.bench.skip(31 * DAY);
    pair.bench.advance(7 * 3_600_000);
    for at in [0, 1] {
        assert_eq!(pair.bench.count(at, "SELECT count(*) FROM tasks"), 1);
    }
    let left = format!("SELECT count(*) FROM tasks WHERE id = '{}'", open.task);
    assert_eq!(pair.bench.count(0, &left), 1);
}

impl Pair {
    /// The executor says a state while the requester's daemon is down.
    fn say_alone(&mut self, asked: &Asked, state: &str) {
        let state = json!({"state": format!("TASK_STATE_{state}")});
        super::update(&mut self.bench, &self.bob, asked, state).unwrap();
        self.bench.advance(1_000);
    }
}
