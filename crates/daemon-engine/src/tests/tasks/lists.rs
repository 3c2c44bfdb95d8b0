//! `task.list`: filters, order, pages.

use serde_json::{Value, json};

use super::{Pair, request};

fn ids(page: &Value) -> Vec<&str> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn a_list_is_filtered_and_most_recently_updated_first() {
    let (mut pair, first) = Pair::asked();
    let second = pair.ask("second");
    let more = json!({"contextId": "c"});
    let third = request(&mut pair.bench, &pair.alice, "bob/web", "third", more);
    let third = third["taskId"].as_str().unwrap().to_owned();
    pair.bench.advance(1_000);
    let list =
        |pair: &mut Pair, params: Value| pair.bench.ask(&pair.alice, "task.list", params).unwrap();
    let all = list(&mut pair, json!({}));
    assert_eq!(ids(&all), [&*third, &*second.task, &*first.task]);
    assert_eq!(all["total"], 3);
    pair.say(&first, "WORKING");
    let all = list(&mut pair, json!({}));
    assert_eq!(ids(&all), [&*first.task, &*third, &*second.task]);
    let after = all["tasks"][1]["updatedAt"].clone();
    for (filter, expected) in [
        (json!({"role": "requester"}), 3),
        (json!({"role": "executor"}), 0),
        (json!({"state": ["TASK_STATE_WORKING"]}), 1),
        (json!({"state": ["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"]}), 3),
        (json!({"state": ["TASK_STATE_FAILED"]}), 0),
        (json!({"contextId": "c"}), 1),
        (json!({"peer": "bob/web@desk"}), 3),
        (json!({"peer": "bob/web@pc"}), 0),
        (json!({"updatedAfter": after}), 2),
    ] {
        let page = list(&mut pair, filter.clone());
        assert_eq!(ids(&page).len(), expected, "{filter}");
        assert_eq!(page["total"], expected, "{filter}");
    }
}

#[test]
fn pages_follow_one_another_without_a_gap() {
    let mut pair = Pair::new();
    // All in one millisecond: only the id tells them apart.
    for _ in 0..7 {
        request(&mut pair.bench, &pair.alice, "bob/web", "x", json!({}));
    }
    let mut seen = Vec::new();
    let mut params = json!({"limit": 3});
    loop {
        let page = pair.bench.ask(&pair.alice, "task.list", params.clone()).unwrap();
        assert_eq!(page["total"], 7);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    let all = pair.bench.ask(&pair.alice, "task.list", json!({})).unwrap();
    assert_eq!(seen, ids(&all));
    for bad in ["", "x", "e30", &"A".repeat(513)] {
        let params = json!({"cursor": bad});
        assert_eq!(
            pair.bench.ask(&pair.alice, "task.list", params),
            Err("invalid_request".into()),
            "{bad}"
        );
    }
}
