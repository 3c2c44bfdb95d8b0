//! `messaging_send`, the task tools, and references.
//! Spec: D7.3 `send`, `task_update`, `task_cancel`

use super::*;

fn result(stage: &str, more: Value) -> Value {
    let mut result = json!({
        "to": "bob/api@desk", "envelopeId": ID, "messageId": "m", "contextId": ATTACK, "stage": stage
    });
    for (name, value) in more.as_object().unwrap() {
        result[name] = value.clone();
    }
    json!({"results": [result]})
}

fn mailbox(sent: Value) -> Under {
    tools(move |method, params| match method {
        "msg.send" => Ok(sent.clone()),
        "task.get" => match (params["taskId"].as_str(), params["role"].as_str()) {
            (Some(ID), Some("requester")) => {
                Ok(json!({"task": task("requester", "TASK_STATE_WORKING")}))
            }
            (Some(id), Some("executor")) if id == ulid(8) => {
                Ok(json!({"task": task("executor", "TASK_STATE_WORKING")}))
            }
            (Some(id), Some("executor")) if id == ulid(9) => {
                Ok(json!({"task": task("executor", "TASK_STATE_COMPLETED")}))
            }
            _ => Err(Code::NotFound),
        },
        "task.update" => Ok(json!({"task": task("executor", "TASK_STATE_INPUT_REQUIRED")})),
        "task.cancel" => {
            Ok(json!({"task": task("requester", "TASK_STATE_COMPLETED"), "sent": false}))
        }
        "inbox.list" => Ok(page(
            vec![item(&ulid(21_234), "x"), item(&ulid(11_234), "x"), item(&ulid(5_678), "x")],
            3,
            false,
        )),
        "task.list" => Ok(json!({"tasks": [], "total": 0})),
        _ => Err(Code::Internal),
    })
}

#[test]
fn mail_says_when_it_will_be_seen() {
    for (stage, more, note, expect) in [
        (
            "accepted",
            json!({"expect": "on_read"}),
            "They see it when they check their inbox.",
            json!("on_read"),
        ),
        ("accepted", json!({}), "Sent.", json!(null)),
        (
            "held",
            json!({"expect": "wake"}),
            "Their person answers a request card first.",
            json!("on_consent"),
        ),
        (
            "rejected",
            json!({"code": "loop_guard"}),
            "It was not delivered. Next: stop writing to this agent until a person asks you to go on.",
            json!(null),
        ),
    ] {
        let tools = mailbox(result(stage, more));
        let answer = tools.ok("send", json!({"to": "bob/api", "text": "hello"}));
        harmless(&answer);
        assert_eq!(answer["note"], note);
        assert_eq!(answer.get("expect").cloned().unwrap_or_default(), expect);
        assert_eq!(answer["id"], ID);
        assert!(answer["contextId"].as_str().unwrap().starts_with("<messaging-peer-"));
    }
    let tools = mailbox(result("accepted", json!({"taskId": ID, "expect": "wake"})));
    let answer = tools.ok("send", json!({"to": "bob/api", "text": "hello", "ask": true}));
    assert_eq!(
        answer["note"],
        "Their client may start a turn for it now. Check messaging_tasks for its state."
    );
    assert_eq!(tools.calls("msg.send")[0]["kind"], "task");
}

#[test]
fn what_cannot_be_sent_is_refused_before_any_call() {
    let tools = mailbox(result("accepted", json!({})));
    for (arguments, code) in [
        (json!({"to": "bob", "text": "x"}), Code::Forbidden),
        (json!({"to": "me", "text": "x"}), Code::Forbidden),
        (
            json!({"to": "me", "text": "x", "request": {"contact": "eve@example.org"}}),
            Code::Forbidden,
        ),
        (json!({"to": "#other", "text": "x"}), Code::Forbidden),
        (json!({"to": "me", "text": "x", "ask": true}), Code::InvalidRequest),
        (json!({"to": "alice", "text": "x", "ask": true}), Code::InvalidRequest),
        (
            json!({"to": "#ops", "text": "x", "files": [{"name": "a", "content": "b"}]}),
            Code::InvalidRequest,
        ),
        (
            json!({"to": "bob/api", "text": "x", "request": {"contact": "eve@example.org"}}),
            Code::InvalidRequest,
        ),
        (json!({"to": "bob/api", "text": "x", "onBehalfOf": ID}), Code::InvalidRequest),
        (
            json!({"to": "bob/api", "text": "x", "files": [{"name": "../a", "content": "b"}]}),
            Code::InvalidRequest,
        ),
        (
            json!({"to": "bob/api", "text": "x", "files": [{"name": "a", "content": "?", "encoding": "base64"}]}),
            Code::InvalidRequest,
        ),
    ] {
        assert_eq!(tools.refused("send", arguments.clone()).0, code, "{arguments}");
    }
    assert_eq!(tools.calls("msg.send").len(), 0);
}

#[test]
fn a_line_goes_to_an_opened_channel() {
    let tools = mailbox(result("accepted", json!({"to": "#ops"})));
    let answer = tools.ok("send", json!({"to": "#ops", "text": "hello"}));
    assert_eq!(answer["note"], "Posted. People read it when they look; do not wait for an answer.");
}

#[test]
fn files_are_content_and_become_parts() {
    let tools = mailbox(result("accepted", json!({})));
    tools.ok("send", json!({"to": "bob/api", "text": "x", "files": [
        {"name": "a.txt", "content": "hi", "mediaType": "text/plain"}, {"name": "b", "content": "AP8=", "encoding": "base64"}
    ]}));
    let parts = tools.calls("msg.send")[0]["parts"].clone();
    assert_eq!(
        parts,
        json!([
            {"text": "x"}, {"raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain"}, {"raw": "AP8=", "filename": "b"}
        ])
    );
}

#[test]
fn reply_to_is_a_message_a_thread_or_a_task_that_was_asked_for() {
    let tools = mailbox(result("accepted", json!({})));
    tools.ok("send", json!({"to": "bob/api", "text": "x", "replyTo": ID}));
    tools.ok("send", json!({"to": "bob/api", "text": "x", "replyTo": ulid(4)}));
    tools.ok("send", json!({"to": "#ops", "text": "x", "replyTo": ID}));
    let sent = tools.calls("msg.send");
    assert_eq!((&sent[0]["taskId"], &sent[0]["replyTo"]), (&json!(ID), &Value::Null));
    assert_eq!((&sent[1]["taskId"], &sent[1]["replyTo"]), (&Value::Null, &json!(ulid(4))));
    assert_eq!(sent[2]["replyTo"], ID);
    // Input goes to its executor only.
    for (to, ask) in [
        ("carol/api", false),
        ("bob/other", false),
        ("bob/api@elsewhere", false),
        ("bob/api", true),
    ] {
        let arguments = json!({"to": to, "text": "x", "replyTo": ID, "ask": ask});
        assert_eq!(tools.refused("send", arguments).0, Code::InvalidRequest, "{to}");
    }
}

#[test]
fn on_behalf_of_is_a_task_that_runs_here_and_has_not_ended() {
    let tools = mailbox(result("accepted", json!({})));
    let ask = |id: String| json!({"to": "bob/api", "text": "x", "ask": true, "onBehalfOf": id});
    tools.ok("send", ask(ulid(8)));
    assert_eq!(tools.calls("msg.send")[0]["onBehalfOf"], json!({"taskId": ID}));
    assert_eq!(tools.refused("send", ask(ulid(9))).0, Code::InvalidState);
    assert_eq!(tools.refused("send", ask(ulid(1))).0, Code::NotFound);
}

#[test]
fn a_missing_key_is_derived_from_the_call() {
    let tools = mailbox(result("accepted", json!({})));
    let send = |text: &str, call: i64| {
        let arguments = json!({"to": "bob/api", "text": text});
        wait(tools.call("messaging_send", arguments, &json!(call))).unwrap().result.unwrap();
        tools.calls("msg.send").pop().unwrap()["idempotencyKey"].as_str().unwrap().to_owned()
    };
    let first = send("x", 1);
    assert!(first.starts_with("mcp-") && first.len() == 36, "{first}");
    assert_eq!(send("x", 1), first);
    assert_ne!(send("y", 1), first);
    assert_ne!(send("x", 2), first);
    tools.ok("send", json!({"to": "bob/api", "text": "x", "key": "mine"}));
    assert_eq!(tools.calls("msg.send").pop().unwrap()["idempotencyKey"], "mine");
}

#[test]
fn who_is_not_known_is_an_unknown_address() {
    for (code, to, shown) in [
        (Code::NoRecipients, "bob/api", Code::UnknownAddress),
        (Code::UnknownSession, "bob/api", Code::UnknownSession),
        (Code::AmbiguousAddress, "bob/api", Code::AmbiguousAddress),
        (Code::NotFound, "#ops", Code::UnknownAddress),
        (Code::NotFound, "bob/api", Code::NotFound),
        (Code::SecretRefused, "bob/api", Code::SecretRefused),
    ] {
        let tools = tools(move |method, _| match method {
            "msg.send" => Err(code),
            _ => Ok(page(vec![], 0, false)),
        });
        assert_eq!(tools.refused("send", json!({"to": to, "text": "x"})).0, shown, "{code} {to}");
    }
}

#[test]
fn an_id_may_be_typed_by_its_end() {
    let tools = mailbox(result("accepted", json!({})));
    tools.ok("send", json!({"to": "bob/api", "text": "x", "replyTo": "5678"}));
    assert_eq!(tools.calls("msg.send")[0]["replyTo"], ulid(5_678));
    let (code, message) =
        tools.refused("send", json!({"to": "bob/api", "text": "x", "replyTo": "1234"}));
    assert_eq!(code, Code::InvalidRequest);
    assert!(message.starts_with("replyTo: ends several ids"), "{message}");
    assert_eq!(
        tools.refused("send", json!({"to": "bob/api", "text": "x", "replyTo": "9999"})).0,
        Code::NotFound
    );
    // What was sent from here is known by its end too.
    tools.ok("send", json!({"to": "bob/api", "text": "x", "replyTo": "5fav"}));
}

#[test]
fn the_last_item_is_no_reference_while_it_is_unseen() {
    let tools = mailbox(result("accepted", json!({})));
    let (code, message) =
        tools.refused("send", json!({"to": "bob/api", "text": "x", "replyTo": "last"}));
    assert_eq!(code, Code::InvalidState);
    assert_eq!(message, "a newer message arrived from bob/api@desk; read it first or name the id");
    let seen = super::tools(|method, _| match method {
        "inbox.list" => {
            let mut item = item(ID, "x");
            item["stage"] = json!("handed_to_agent");
            Ok(page(vec![item], 1, false))
        }
        "task.get" => Err(Code::NotFound),
        "msg.send" => Ok(result("accepted", json!({}))),
        _ => Err(Code::Internal),
    });
    seen.ok("send", json!({"to": "bob/api", "text": "x", "replyTo": "last"}));
    assert_eq!(seen.calls("msg.send")[0]["replyTo"], ID);
}

#[test]
fn a_task_is_updated_with_a_state_a_text_and_an_artifact() {
    let tools = mailbox(result("accepted", json!({})));
    let answer = tools.ok("task_update", json!({
        "taskId": ID, "state": "input_required", "text": "which?", "artifact": {"id": "a", "name": "n", "text": "t"},
        "append": true, "last": true
    }));
    assert_eq!(
        answer,
        json!({"taskId": ID, "state": "input_required", "note": "Sent to the requester."})
    );
    let update = tools.calls("task.update").pop().unwrap();
    assert_eq!(update["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(update["message"], json!([{"text": "which?"}]));
    assert_eq!(
        update["artifact"],
        json!({"artifactId": "a", "name": "n", "parts": [{"text": "t"}]})
    );
    assert_eq!((&update["append"], &update["lastChunk"]), (&json!(true), &json!(true)));
    for bad in [
        json!({"taskId": ID}),
        json!({"taskId": ID, "artifact": {"name": "n"}}),
        json!({"taskId": ID, "state": "working", "last": true}),
    ] {
        assert_eq!(tools.refused("task_update", bad).0, Code::InvalidRequest);
    }
}

#[test]
fn a_cancel_of_a_finished_task_says_that_nothing_was_sent() {
    let tools = mailbox(result("accepted", json!({})));
    let answer = tools.ok("task_cancel", json!({"taskId": ID}));
    assert_eq!(
        answer,
        json!({"taskId": ID, "state": "completed", "sent": false, "note": "It had already ended."})
    );
}
