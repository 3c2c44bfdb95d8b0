//! What may stand for an id.
//! Spec: §11, D7.3

use super::*;

const ONE: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const TWO: &str = "01ARZ3NDEKTSV4RRFFQ69H5FAV";

/// An inbox whose newest item is at a stage, over two items and one task.
fn inbox(stage: &'static str) -> Under {
    tools(move |method, params| match method {
        "inbox.list" => {
            let mut newest = item(ONE, "new");
            newest["stage"] = json!(stage);
            newest["from"]["address"] = json!("bob/api@desk");
            Ok(page(vec![newest, item(TWO, "old")], 1, false))
        }
        "inbox.get" => Ok(
            json!({"item": item(params["id"].as_str().unwrap(), "p"), "message": {"parts": [{"text": "x"}]}}),
        ),
        "item.read" => Ok(
            json!({"kind": "received", "item": item(params["id"].as_str().unwrap(), "p"), "message": {}}),
        ),
        "task.list" => {
            let mut one = task("requester", "TASK_STATE_WORKING");
            one["id"] = json!(ulid(55_501));
            one["delivery"] = json!({"stage": "read", "at": 1});
            Ok(json!({"tasks": [one], "total": 1}))
        }
        "msg.send" => Ok(json!({"results": [{
            "to": "bob/api@desk", "envelopeId": ulid(9), "messageId": "m", "contextId": "c", "stage": "accepted"
        }]})),
        "task.get" => Err(Code::NotFound),
        _ => Ok(json!({"acked": []})),
    })
}

#[test]
fn the_end_of_an_id_names_it_when_it_is_long_enough_and_the_only_one() {
    let tools = inbox("delivered");
    assert_eq!(tools.ok("read", json!({"id": "69g5fav"}))["id"], ONE);
    let (code, message) = tools.refused("read", json!({"id": "5fav"}));
    assert_eq!(code, Code::InvalidRequest);
    assert!(message.contains("several"), "{message}");
    for short in ["FAV", "V", ""] {
        assert_eq!(tools.refused("read", json!({"id": short})).0, Code::InvalidRequest);
    }
}

#[test]
fn an_id_of_another_session_is_not_found_by_its_end() {
    let tools = inbox("delivered");
    let (code, message) = tools.refused("read", json!({"id": "ZZZZ"}));
    assert_eq!(code, Code::NotFound);
    assert!(message.contains("of this session"), "{message}");
    // Nothing of the kind was asked of the daemon but this session's own lists.
    assert!(tools.names().iter().all(|name| name == "inbox.list" || name == "task.list"));
}

#[test]
fn the_newest_can_be_read_and_nothing_can_answer_it_unseen() {
    let tools = inbox("delivered");
    assert_eq!(tools.ok("read", json!({"id": "last"}))["id"], ONE);
    let reply = json!({"to": "bob/api", "text": "yes", "replyTo": "last"});
    let (code, message) = tools.refused("send", reply.clone());
    assert_eq!(code, Code::InvalidState);
    assert_eq!(message, "a newer message arrived from bob/api@desk; read it first or name the id");
    assert_eq!(tools.calls("msg.send").len(), 0);
    let seen = inbox("handed_to_agent");
    seen.ok("send", reply);
    assert_eq!(seen.calls("msg.send")[0]["replyTo"], ONE);
    for (tool, arguments) in [
        ("task_update", json!({"taskId": "last", "state": "working"})),
        ("task_cancel", json!({"taskId": "last"})),
    ] {
        assert_eq!(tools.refused(tool, arguments).0, Code::InvalidState, "{tool}");
    }
}
