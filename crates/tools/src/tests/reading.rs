//! `messaging_read`: pieces, receipts, authors, conversations.
//! Spec: D7.3 `read`, C12-21

use super::*;

/// An inbox of one item that holds these parts.
fn mail(parts: Value) -> Under {
    tools(move |method, _| match method {
        "inbox.get" => Ok(json!({"item": item(ID, "p"), "message": {"parts": parts}})),
        "item.read" => Ok(json!({"kind": "received", "item": item(ID, "p"), "message": {}})),
        "inbox.ack" => Ok(json!({"acked": []})),
        _ => Ok(page(vec![], 0, false)),
    })
}

#[test]
fn a_message_is_looked_at_shown_and_then_marked_read() {
    let tools = mail(json!([
        {"text": ATTACK}, {"raw": "aGk=", "filename": ATTACK, "mediaType": "text/plain"},
        {"raw": "AP8=", "filename": "x"}, {"url": "https://x"}, {"data": {"<system>": ATTACK}}
    ]));
    let answer = tools.ok("read", json!({"id": ID}));
    harmless(&answer);
    assert_eq!(answer["kind"], "message");
    assert_eq!(answer["type"], "message");
    let parts = answer["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 5);
    assert!(parts.iter().all(|part| part["author"] == "peer"));
    assert_eq!(inside(&parts[1]["content"]), "hi");
    assert_eq!(parts[2]["bytes"], 2);
    assert!(parts[2].get("content").is_none());
    let order: Vec<String> =
        tools.names().into_iter().filter(|name| name != "inbox.list").collect();
    assert_eq!(order, ["inbox.get", "item.read"]);
}

#[test]
fn a_long_body_is_read_in_pieces_and_counts_as_read_with_the_last() {
    let body: String = (0..60_000).map(|n| format!("{n} <b> ")).collect();
    assert!(body.len() > 500 * 1_024);
    let tools = mail(json!([{"text": body}, {"text": "the end"}]));
    let mut text = String::new();
    let mut cursor: Option<Value> = None;
    loop {
        let mut asked = json!({"id": ID});
        if let Some(cursor) = cursor.take() {
            asked["cursor"] = cursor;
        }
        let answer = tools.ok("read", asked);
        for part in answer["parts"].as_array().unwrap() {
            text.push_str(&inside(&part["text"]));
        }
        match answer.get("cursor") {
            Some(next) => {
                assert_eq!(tools.calls("item.read").len(), 0);
                cursor = Some(next.clone());
            }
            None => break,
        }
    }
    assert_eq!(text, format!("{body}the end"));
    assert_eq!(tools.calls("item.read").len(), 1);
    assert!(tools.calls("inbox.ack").iter().all(|ack| ack["stage"] == "handed_to_agent"));
}

#[test]
fn a_truncated_read_sends_no_read_receipt() {
    let tools = mail(json!([{"text": "x".repeat(100_000)}]));
    let answer = tools.ok("read", json!({"id": ID}));
    assert_eq!(answer["truncated"], true);
    // The end alone is not the whole.
    tools.ok("read", json!({"id": ID, "part": 0, "offset": 99_000}));
    assert_eq!(tools.calls("item.read").len(), 0);
    assert_eq!(tools.calls("inbox.ack")[0]["stage"], "handed_to_agent");
}

#[test]
fn an_id_is_looked_up_in_the_inbox_then_among_tasks_then_among_what_was_sent() {
    let tools = tools(|method, _| match method {
        "inbox.get" | "task.get" => Err(Code::NotFound),
        "item.read" => Ok(json!({
            "kind": "sent", "envelopeId": ID, "to": "bob/api@desk", "stage": "rejected", "code": "declined",
            "history": [{"stage": "accepted", "at": 1}, {"stage": "rejected", "code": "declined", "at": 2}]
        })),
        _ => Ok(page(vec![], 0, false)),
    });
    let answer = tools.ok("read", json!({"id": ID}));
    assert_eq!(answer["kind"], "delivery");
    assert_eq!(answer["history"][1]["code"], "declined");
    assert!(
        answer["note"]
            .as_str()
            .unwrap()
            .starts_with("It was not delivered. Next: do not send it again")
    );
    let order: Vec<String> =
        tools.names().into_iter().filter(|name| name != "inbox.list").collect();
    assert_eq!(order, ["inbox.get", "task.get", "item.read"]);
}

fn record(role: &'static str) -> Under {
    tools(move |method, _| match method {
        "inbox.get" => Err(Code::NotFound),
        "task.get" => {
            let mut task = task(role, "TASK_STATE_COMPLETED");
            if role == "requester" {
                task["followUps"] = json!([{"envelopeId": ulid(3), "messageId": "m", "at": 1, "stage": "delivered", "stageAt": 1}]);
            }
            Ok(json!({"task": task}))
        }
        _ => Ok(page(vec![], 0, false)),
    })
}

#[test]
fn authors_follow_role_and_field_and_ours_is_cleaned_but_never_fenced() {
    for (role, request, report) in [("requester", "ours", "peer"), ("executor", "peer", "ours")] {
        let tools = record(role);
        let answer = tools.ok("read", json!({"id": ID}));
        harmless(&answer);
        assert_eq!(answer["kind"], "task");
        assert_eq!(answer["titleAuthor"], request);
        assert_eq!(answer["statusAuthor"], report);
        // Whatever its A2A role says.
        assert_eq!(answer["history"][0]["author"], request);
        assert_eq!(answer["history"][0]["from"], "requester");
        assert_eq!(answer["artifacts"][0]["author"], report);
        assert_eq!(answer["artifacts"][0]["parts"][1]["bytes"], 2);
        for (text, author) in [
            (&answer["title"], request),
            (&answer["status"], report),
            (&answer["history"][0]["parts"][0]["text"], request),
            (&answer["artifacts"][0]["parts"][0]["text"], report),
            (&answer["artifacts"][0]["name"], report),
        ] {
            let fenced = text.as_str().unwrap().starts_with("<messaging-peer-");
            assert_eq!(fenced, author == "peer", "{role}: {text}");
        }
        assert!(answer["artifacts"][0]["id"].as_str().unwrap().starts_with("<messaging-peer-"));
        if role == "requester" {
            assert_eq!(answer["followUps"][0]["unread"], true);
            assert_eq!(answer["note"], "1 of your follow-ups were not read before it ended.");
            assert_eq!(answer["from"]["address"], "alice/mcp@laptop");
        } else {
            assert_eq!(answer["from"]["address"], "bob/api@desk");
            assert_eq!(answer["consent"], "trusted");
        }
    }
}

#[test]
fn a_task_longer_than_an_answer_goes_on_with_its_cursor() {
    let tools = tools(|method, _| match method {
        "inbox.get" => Err(Code::NotFound),
        "task.get" => {
            let mut task = task("requester", "TASK_STATE_COMPLETED");
            task["artifacts"] = json!([
                {"artifactId": "a", "parts": [{"text": "a".repeat(60_000)}]},
                {"artifactId": "b", "parts": [{"text": "b".repeat(10)}]}
            ]);
            Ok(json!({"task": task}))
        }
        _ => Ok(page(vec![], 0, false)),
    });
    let mut text = String::new();
    let mut asked = json!({"id": ID});
    loop {
        let answer = tools.ok("read", asked);
        for part in answer["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|one| one["parts"].as_array().unwrap())
        {
            text.push_str(&inside(&part["text"]));
        }
        let Some(next) = answer.get("cursor") else { break };
        asked = json!({"id": ID, "cursor": next});
    }
    assert_eq!(text, "a".repeat(60_000) + &"b".repeat(10));
}

fn channel(lines: usize, text: String) -> Under {
    tools(move |method, params| match method {
        "conv.read" => {
            let limit = params["limit"].as_u64().unwrap();
            let all = 1..=u64::try_from(lines).unwrap();
            let seqs: Vec<u64> = match (params["after"].as_u64(), params["before"].as_u64()) {
                (Some(after), _) => {
                    all.filter(|seq| *seq > after).take(usize::try_from(limit).unwrap()).collect()
                }
                (None, before) => {
                    let mut seqs: Vec<u64> = all
                        .rev()
                        .filter(|seq| before.is_none_or(|before| *seq < before))
                        .take(usize::try_from(limit).unwrap())
                        .collect();
                    seqs.reverse();
                    seqs
                }
            };
            let more = seqs.first() != Some(&1);
            let lines: Vec<Value> = seqs.iter().map(|seq| json!({
                "id": ID, "conversation": "channel:ops", "seq": seq, "at": seq, "person": "bob", "device": "A".repeat(43),
                "agent": "api", "direction": if seq % 2 == 0 { "out" } else { "in" }, "text": text
            })).collect();
            Ok(
                json!({"kind": "lines", "conversation": "channel:ops", "lines": lines, "more": more}),
            )
        }
        _ => Ok(page(vec![], 0, false)),
    })
}

#[test]
fn a_channel_is_read_backwards_in_pages_that_fit() {
    let tools = channel(120, ATTACK.repeat(10));
    let mut seen: Vec<u64> = Vec::new();
    let mut asked = json!({"with": "#ops", "limit": 100});
    loop {
        let answer = tools.ok("read", asked);
        harmless(&answer);
        let page: Vec<u64> = answer["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["seq"].as_u64().unwrap())
            .collect();
        assert!(page.windows(2).all(|two| two[0] < two[1]));
        seen = [page, seen].concat();
        if answer["more"] == false {
            break;
        }
        asked = json!({"with": "#ops", "limit": 100, "before": answer["before"]});
    }
    assert_eq!(seen, (1..=120).collect::<Vec<_>>());
}

#[test]
fn a_line_longer_than_an_answer_goes_on_after_its_cursor() {
    let tools = channel(1, "語".repeat(8_000));
    let mut text = String::new();
    let mut asked = json!({"with": "#ops"});
    loop {
        let answer = tools.ok("read", asked);
        let line = &answer["lines"][0];
        text.push_str(&inside(&line["text"]));
        if line.get("truncated").is_none() {
            break;
        }
        asked = json!({"with": "#ops", "after": answer["after"]});
    }
    assert_eq!(text, "語".repeat(8_000));
}

#[test]
fn an_agents_conversation_is_mail_and_tasks_with_their_authors() {
    let tools = tools(|method, _| match method {
        "conv.read" => {
            Ok(json!({"kind": "agent", "conversation": "agent:bob/api", "more": false, "entries": [
                {"type": "mail", "id": ulid(1), "at": 1, "direction": "in", "peer": peer(), "preview": ATTACK, "attachments": 0,
                 "stage": "read", "messageId": "m", "contextId": "c"},
                {"type": "mail", "id": ulid(2), "at": 2, "direction": "out", "peer": peer(), "stage": "read", "messageId": "m", "contextId": "c"},
                {"type": "task", "id": ulid(3), "at": 3, "direction": "out", "role": "requester", "peer": peer(), "title": ATTACK,
                 "state": "TASK_STATE_WORKING", "updatedAt": 3}
            ]}))
        }
        _ => Ok(page(vec![], 0, false)),
    });
    let answer = tools.ok("read", json!({"with": "bob/api"}));
    harmless(&answer);
    let entries = answer["entries"].as_array().unwrap();
    assert!(entries[0]["preview"].as_str().unwrap().starts_with("<messaging-peer-"));
    assert!(entries[1].get("preview").is_none());
    assert_eq!(entries[2]["titleAuthor"], "ours");
    assert!(!entries[2]["title"].as_str().unwrap().starts_with("<messaging-peer-"));
    assert_eq!(entries[2]["state"], "working");
}

#[test]
fn conversations_with_persons_and_other_channels_are_refused_before_any_call() {
    let tools = channel(1, "x".into());
    for with in ["bob", "me", "alice", "#other"] {
        let answer = tools.run("read", json!({"with": with}));
        assert_eq!(answer.result.unwrap_err().code, Code::Forbidden, "{with}");
    }
    assert_eq!(tools.calls("conv.read").len(), 0);
    assert_eq!(tools.refused("read", json!({"id": ID, "with": "#ops"})).0, Code::InvalidRequest);
    assert_eq!(tools.refused("read", json!({})).0, Code::InvalidRequest);
}
