//! Contacts, the inbox, tasks, search and news.
//! Spec: D7.3

use super::*;
use std::collections::BTreeSet;

fn entry(person: &str, agent: &str, client: &str) -> Value {
    json!({
        "address": format!("{person}/{agent}@desk"), "person": person, "device": "A".repeat(43), "label": "desk",
        "agent": agent, "client": client, "state": "idle", "tier": "pull", "since": 1, "online": true, "features": [],
        "doing": ATTACK, "repo": "https://example.org/a/rather/long/name/of/a/repository.git", "branch": "main"
    })
}

fn status() -> Value {
    json!({
        "version": "0", "protocol": 1, "storeSchema": 1, "pid": 1, "startedAt": 1, "state": "running",
        "realm": {"kind": "roster"}, "relay": {"state": "connected"}
    })
}

fn contacts(entries: Vec<Value>) -> Under {
    tools(move |method, _| match method {
        "contacts.list" => Ok(json!({
            "entries": entries,
            "conversations": [
                {"conversation": "channel:ops", "kind": "channel", "readUpTo": 0, "unread": 3, "name": "operations"},
                {"conversation": "channel:secret", "kind": "channel", "readUpTo": 0, "unread": 1},
                {"conversation": "dm:zoe", "kind": "dm", "readUpTo": 0, "unread": 0}
            ],
            "reach": [{"person": "bob", "can": {"chat": true, "agentMail": true, "ask": "no"}, "source": "card", "at": 5}]
        })),
        "daemon.status" => Ok(status()),
        _ => Ok(page(vec![], 0, false)),
    })
}

#[test]
fn contacts_show_reach_as_card_or_default_and_only_opened_channels() {
    let tools = contacts(vec![
        entry("alice", "mcp", "mcp"),
        entry("bob", "api", "codex"),
        entry("carol", "tty", "cli"),
    ]);
    let answer = tools.ok("contacts", json!({}));
    harmless(&answer);
    assert_eq!(answer["me"]["address"], "alice/mcp@laptop");
    assert_eq!(answer["me"]["relay"], "connected");
    let persons = answer["persons"].as_array().unwrap();
    let names: Vec<&str> =
        persons.iter().map(|person| person["person"].as_str().unwrap()).collect();
    assert_eq!(names, ["alice", "bob", "carol", "zoe"]);
    assert_eq!(persons[1]["can"]["source"], "card");
    assert_eq!(persons[1]["can"]["card"], 5);
    assert_eq!(persons[2]["can"]["source"], "default");
    assert_eq!(persons[1]["can"]["chat"], false);
    assert_eq!(persons[2]["agents"][0]["can"]["ask"], "no");
    assert_eq!(persons[0]["agents"][0]["can"]["ask"], "open");
    assert_eq!(answer["channels"].as_array().unwrap().len(), 1);
    assert_eq!(answer["channels"][0]["channel"], "#ops");
    assert_eq!(inside(&answer["channels"][0]["name"]), "operations");
    let asked = tools.ok("contacts", json!({"can": "ask"}));
    assert_eq!(asked["persons"].as_array().unwrap().len(), 1);
    let found = tools.ok("contacts", json!({"query": "CAROL"}));
    assert_eq!(found["persons"][0]["person"], "carol");
}

#[test]
fn sixty_contacts_with_twenty_agents_each_are_read_page_by_page() {
    let entries = (0..60).flat_map(|p| {
        (0..20).map(move |a| entry(&format!("p{p:02}"), &format!("a{a:02}"), "codex"))
    });
    let tools = contacts(entries.collect());
    let mut seen = BTreeSet::new();
    let mut cursor = None;
    loop {
        let mut asked = json!({"limit": 200});
        if let Some(cursor) = cursor {
            asked["cursor"] = cursor;
        }
        let answer = tools.ok("contacts", asked);
        for person in answer["persons"].as_array().unwrap() {
            for agent in person["agents"].as_array().unwrap() {
                assert!(seen.insert(agent["address"].as_str().unwrap().to_owned()));
            }
        }
        if answer["more"] == false {
            break;
        }
        cursor = Some(answer["cursor"].clone());
    }
    assert_eq!(seen.len(), 1_200);
}

/// An inbox of `count` items, newest first, whose pages the daemon cuts as it would.
fn inbox(count: usize, preview: String) -> Under {
    tools(move |method, params| match method {
        "inbox.list" => {
            let start = match params["before"]["id"].as_str() {
                Some(id) => (0..count).position(|n| ulid(n) == id).unwrap() + 1,
                None => 0,
            };
            let end =
                (start + usize::try_from(params["limit"].as_u64().unwrap()).unwrap()).min(count);
            let items = (start..end).map(|n| item(&ulid(n), &preview)).collect();
            Ok(page(items, count, end < count))
        }
        "inbox.ack" => Ok(json!({"acked": []})),
        _ => Err(Code::Internal),
    })
}

#[test]
fn the_inbox_hands_over_what_it_shows_and_pages_through_five_hundred() {
    for preview in ["x".repeat(280), ATTACK.repeat(3), "\u{200b}".repeat(280)] {
        let tools = inbox(500, preview);
        let mut seen = Vec::new();
        let mut cursor: Option<Value> = None;
        loop {
            let mut asked = json!({"limit": 50});
            if let Some(cursor) = cursor.take() {
                asked["cursor"] = cursor;
            }
            let answer = tools.ok("inbox", asked);
            harmless(&answer);
            let shown: Vec<String> = answer["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["id"].as_str().unwrap().to_owned())
                .collect();
            assert!(!shown.is_empty());
            let acked = tools.calls("inbox.ack").pop().unwrap();
            assert_eq!(acked["ids"], json!(shown));
            assert_eq!(acked["stage"], "handed_to_agent");
            seen.extend(shown);
            if answer["more"] == false {
                break;
            }
            cursor = Some(answer["cursor"].clone());
        }
        assert_eq!(seen, (0..500).map(ulid).collect::<Vec<_>>());
    }
}

#[test]
fn an_inbox_item_is_shown_with_its_consent_and_foreign_ids_are_fenced() {
    let tools = inbox(1, "hello".into());
    let item = &tools.ok("inbox", json!({}))["items"][0];
    assert_eq!(item["consent"], "trusted");
    assert_eq!(item["from"]["address"], "bob/api@desk");
    assert_eq!(inside(&item["from"]["agent"]), "api");
    assert_eq!(item["messageId"], "m1");
    assert!(item["contextId"].as_str().unwrap().starts_with("<messaging-peer-"));
    assert_eq!(inside(&item["preview"]), "hello");
}

#[test]
fn an_inbox_of_one_sender_shows_and_hands_over_no_other() {
    let tools = inbox(3, "x".into());
    assert_eq!(tools.ok("inbox", json!({"from": "bob/api"}))["items"].as_array().unwrap().len(), 3);
    assert_eq!(tools.ok("inbox", json!({"from": "carol"}))["items"], json!([]));
    assert_eq!(tools.calls("inbox.ack").len(), 1);
    assert_eq!(tools.refused("inbox", json!({"from": "#ops"})).0, Code::InvalidRequest);
    assert_eq!(tools.refused("inbox", json!({"cursor": "zz"})).0, Code::InvalidRequest);
}

#[test]
fn tasks_name_their_authors_and_a_page_that_does_not_fit_is_asked_for_again_shorter() {
    let tools = tools(|method, params| match method {
        "task.list" => {
            let limit = usize::try_from(params["limit"].as_u64().unwrap()).unwrap();
            let tasks: Vec<Value> = (0..limit)
                .map(|_| {
                    let mut task = task("requester", "TASK_STATE_WORKING");
                    for member in ["request", "history", "artifacts"] {
                        task.as_object_mut().unwrap().remove(member);
                    }
                    task["status"]["message"]["parts"][0]["text"] = json!("y".repeat(5_000));
                    task
                })
                .collect();
            Ok(json!({"tasks": tasks, "total": 500, "nextCursor": format!("c{limit}")}))
        }
        _ => Ok(page(vec![], 0, false)),
    });
    let answer = tools.ok("tasks", json!({"limit": 100, "state": "open", "role": "mine"}));
    let shown = answer["tasks"].as_array().unwrap();
    assert_eq!(answer["cursor"], format!("c{}", shown.len()));
    assert_eq!(shown[0]["titleAuthor"], "ours");
    assert!(!shown[0]["title"].as_str().unwrap().contains("<messaging-peer-"));
    assert_eq!(shown[0]["statusAuthor"], "peer");
    assert_eq!(shown[0]["statusTruncated"], true);
    assert!(inside(&shown[0]["status"]).starts_with("yyy"));
    assert_eq!(tools.calls("task.list")[0]["state"].as_array().unwrap().len(), 4);
}

#[test]
fn search_covers_the_opened_channels_only() {
    let tools = tools(|method, params| match method {
        "search" => Ok(json!({"hits": [{
            "id": ID, "conversation": params["conversation"], "seq": 1, "at": 1, "person": "bob", "device": "A".repeat(43),
            "direction": "in", "text": ATTACK
        }], "more": false})),
        _ => Ok(page(vec![], 0, false)),
    });
    let answer = tools.ok("search", json!({"query": "x"}));
    harmless(&answer);
    assert_eq!(answer["hits"][0]["conversation"], "channel:ops");
    assert_eq!(tools.calls("search").len(), 1);
    for with in ["#other", "bob", "me"] {
        assert_eq!(tools.refused("search", json!({"query": "x", "with": with})).0, Code::Forbidden);
    }
    assert_eq!(
        tools.refused("search", json!({"query": "x", "with": "bob/api"})).0,
        Code::InvalidRequest
    );
    assert_eq!(tools.calls("search").len(), 1);
}

#[test]
fn news_are_told_once_and_again_when_more_came() {
    let tools = inbox(2, "x".into());
    let news = tools.run("inbox", json!({})).news.unwrap();
    assert_eq!(
        news.sentence(),
        "You have 2 unread messages and 0 changed tasks; call messaging_inbox or messaging_tasks."
    );
    assert_eq!(tools.run("inbox", json!({})).news, None);
    let event = json!({"type": "task", "key": KEY, "origin": "peer", "task": task("requester", "TASK_STATE_COMPLETED")});
    tools.heard(&serde_json::from_value(event).unwrap());
    assert_eq!(tools.run("inbox", json!({})).news.unwrap().tasks, 1);
    assert_eq!(tools.run("inbox", json!({})).news, None);
}

#[test]
fn arguments_that_no_tool_takes_name_their_field() {
    let tools = inbox(0, String::new());
    for (tool, arguments, field) in [
        ("send", json!({"to": "bob/*", "text": "x"}), "to"),
        ("send", json!({"to": "repo:x", "text": "x"}), "to"),
        ("send", json!({"to": "bob/api"}), "text"),
        ("inbox", json!({"limit": 51}), "limit"),
        ("read", json!({"id": "x"}), "id"),
        ("task_update", json!({"taskId": ID, "state": "submitted"}), "state"),
        ("task_update", json!({"taskId": ID, "text": "x", "artifact": {"text": "x"}}), "text"),
        ("tasks", json!({"state": "all"}), "state"),
    ] {
        let (code, message) = tools.refused(tool, arguments);
        assert_eq!(code, Code::InvalidRequest, "{tool}");
        assert!(message.starts_with(field), "{tool}: {message}");
    }
    assert_eq!(tools.refused("inbox", json!({"other": 1})).0, Code::InvalidRequest);
    assert!(wait(tools.call("messaging_grant", json!({}), &json!(1))).is_none());
}
