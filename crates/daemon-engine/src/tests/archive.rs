//! `mail.search` and `mail.export`: a person finds everything that agents of this machine wrote and got, and takes it out.

use serde_json::{Value, json};

use super::bench::{Bench, CONN, Session};

fn bench() -> (Bench, Session, Session) {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("carol", "pc")]);
    let (api, web) = (bench.session(0, "api", json!({})), bench.session(1, "web", json!({})));
    bench.session(2, "db", json!({}));
    bench.advance(2_000);
    bench.admin(0);
    (bench, api, web)
}

fn search(bench: &mut Bench, params: Value) -> Value {
    bench.call(0, CONN, "mail.search", params).unwrap()
}

fn ids(hits: &Value) -> Vec<&str> {
    let hits = hits.as_array().unwrap();
    hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

/// Every entry of an export in pages of `limit`.
fn export(bench: &mut Bench, limit: u64, more: Value) -> Vec<Value> {
    let (mut entries, mut params) = (Vec::new(), json!({"limit": limit}));
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    loop {
        let page = bench.call(0, CONN, "mail.export", params.clone()).unwrap();
        entries.extend(page["entries"].as_array().unwrap().clone());
        match page.get("cursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return entries,
        }
    }
}

#[test]
fn mail_is_found_by_its_words_whichever_way_it_went() {
    let (mut bench, api, web) = bench();
    let out = bench.send(&api, "bob/web", "The build-server is \"green\" again 🌱");
    bench.advance(1_000);
    let came = bench.send(&web, "alice/api", "Green light from me — שלום 你好");
    bench.send(&api, "carol/db", "nothing of that");
    bench.advance(1_000);
    let found = |bench: &mut Bench, query: &str| -> Vec<String> {
        let result = search(bench, json!({"query": query}));
        assert!(result.get("cursor").is_none());
        ids(&result["hits"]).into_iter().map(ToOwned::to_owned).collect()
    };
    assert_eq!(found(&mut bench, "GREEN"), [&*came, &*out]);
    assert_eq!(found(&mut bench, "again green"), [&*out]);
    for (query, id) in [
        ("build-server", &out),
        ("\"green\"", &out),
        ("🌱", &out),
        ("שלום", &came),
        ("你好", &came),
    ] {
        assert_eq!(found(&mut bench, query), [&**id], "{query}");
    }
    for query in ["OR", "green*", "NEAR(green light)", "%", "text:green", "'"] {
        assert_eq!(found(&mut bench, query), Vec::<String>::new(), "{query} is no query language");
    }
    let hit = search(&mut bench, json!({"query": "light"}))["hits"][0].clone();
    assert_eq!(
        (&hit["direction"], &hit["peer"]["address"]),
        (&json!("in"), &json!("bob/web@desk"))
    );
    assert!(hit["excerpt"].as_str().unwrap().contains("light") && hit.get("message").is_none());
    assert_eq!(search(&mut bench, json!({"query": "that", "with": "bob"}))["hits"], json!([]));
    assert_eq!(
        search(&mut bench, json!({"query": "that", "with": "carol/db"}))["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(search(&mut bench, json!({"query": "that", "with": "#garden"}))["hits"], json!([]));
    // Nothing was read by that.
    assert_eq!(bench.stage(&web, &came), "delivered");
    let empty = bench.call(0, CONN, "mail.search", json!({"query": "  "}));
    assert_eq!(empty.unwrap_err(), "invalid_request");
    assert_eq!(
        bench.call(0, CONN, "mail.search", json!({"query": "x", "cursor": "x"})).unwrap_err(),
        "invalid_request"
    );
}

#[test]
fn a_search_goes_on_from_its_cursor_and_finds_each_message_once() {
    let (mut bench, api, _) = bench();
    let mut sent: Vec<String> = (0..7)
        .map(|n| {
            // Some of one moment.
            bench.advance(u64::from(n % 3 == 0));
            bench.send(&api, "bob/web", &format!("needle {n}"))
        })
        .collect();
    sent.reverse();
    let (mut found, mut params) = (Vec::new(), json!({"query": "needle", "limit": 2}));
    loop {
        let page = search(&mut bench, params.clone());
        found.extend(ids(&page["hits"]).into_iter().map(ToOwned::to_owned));
        match page.get("cursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    found.sort();
    sent.sort();
    assert_eq!(found, sent);
}

#[test]
fn an_export_holds_everything_once_and_to_the_byte() {
    let (mut bench, api, web) = bench();
    let parts = json!([
        {"text": "line\u{0}\r\n\u{1b}[2J \u{202e}x"}, {"raw": "AAEC/w==", "filename": "x.bin", "mediaType": "a/b"},
        {"data": {"b": 1, "a": [null, 2.5]}}, {"url": "https://a.example/x"},
    ]);
    let sent = bench.ask(&api, "msg.send", json!({"to": "bob/web", "parts": parts})).unwrap();
    bench.advance(1_000);
    bench
        .ask(
            &web,
            "msg.send",
            json!({"to": "alice/api", "parts": parts,
        "replyTo": sent["results"][0]["envelopeId"]}),
        )
        .unwrap();
    bench.send(&api, "carol/db", "to carol");
    // To a session of this very machine: it went, and it came.
    bench.session(0, "own", json!({}));
    let local = bench.send(&api, "alice/own", "to myself");
    bench.advance(1_000);
    let whole = export(&mut bench, 200, json!({}));
    assert_eq!(whole.len(), 5);
    for limit in 1..4 {
        assert_eq!(export(&mut bench, limit, json!({})), whole, "pages of {limit}");
    }
    let ways: Vec<&Value> = whole.iter().map(|entry| &entry["direction"]).collect();
    assert_eq!(ways.iter().filter(|way| **way == "in").count(), 2);
    let mine: Vec<&Value> = whole.iter().filter(|entry| entry["id"] == local).collect();
    assert_eq!(mine.len(), 2);
    for entry in whole.iter().filter(|entry| entry["peer"]["person"] == "bob") {
        assert_eq!(entry["message"]["parts"], parts, "{entry}");
    }
    let first = whole.iter().find(|entry| entry["direction"] == "out").unwrap();
    assert_eq!(first["history"].as_array().unwrap().last().unwrap()["stage"], "replied");
    assert_eq!(first["stage"], "replied");
    assert!(whole.windows(2).all(|two| two[0]["at"].as_u64() <= two[1]["at"].as_u64()));
    assert_eq!(export(&mut bench, 200, json!({"with": "carol"})).len(), 1);
    let later = bench.now.wall.plus(1);
    assert_eq!(export(&mut bench, 200, json!({"since": later})).len(), 0);
    // Looking is all it does.
    assert_eq!(bench.count(0, "SELECT count(*) FROM inbox WHERE stage <> 'delivered'"), 0);
}

#[test]
fn an_export_holds_the_lines_of_direct_conversations_and_channels_too() {
    let (mut bench, api, web) = bench();
    bench.admin(1);
    let say = |bench: &mut Bench, at: usize, room: &str, text: &str| {
        let line = json!({"conversation": room, "text": text});
        bench.call(at, CONN, "person.send", line).unwrap();
        bench.advance(1_000);
    };
    say(&mut bench, 0, "dm:bob", "to bob");
    bench.send(&web, "alice/api", "mail");
    bench.advance(1_000);
    bench
        .ask(&web, "msg.send", json!({"to": "alice", "parts": [{"text": "agent's line"}]}))
        .unwrap();
    // One's own agent of the same name is another.
    let own = bench.session(0, "web", json!({}));
    bench.ask(&own, "msg.send", json!({"to": "bob", "parts": [{"text": "own agent's"}]})).unwrap();
    bench.advance(1_000);
    bench.call(0, CONN, "channel.create", json!({"name": "ops", "persons": ["carol"]})).unwrap();
    say(&mut bench, 0, "channel:ops", "in the channel");
    say(&mut bench, 0, "dm:carol", "to carol");
    let what = |entries: &[Value]| -> Vec<String> {
        let text = |entry: &Value| entry["text"].as_str().unwrap_or("(mail)").to_owned();
        entries.iter().map(text).collect()
    };
    let whole = export(&mut bench, 200, json!({}));
    assert_eq!(
        what(&whole),
        [
            "to bob",
            "(mail)",
            "agent's line",
            "own agent's",
            "alice created #ops",
            "in the channel",
            "to carol"
        ]
    );
    assert_eq!((&whole[0]["type"], &whole[0]["conversation"]), (&json!("line"), &json!("dm:bob")));
    assert_eq!(whole[5]["conversation"], "channel:ops");
    for limit in 1..4 {
        assert_eq!(export(&mut bench, limit, json!({})), whole, "pages of {limit}");
    }
    for (with, expected) in [
        ("bob", vec!["to bob", "(mail)", "agent's line", "own agent's"]),
        ("bob/web", vec!["(mail)", "agent's line"]),
        ("bob/web@desk", vec!["(mail)", "agent's line"]),
        ("bob/web@phone", vec![]),
        ("carol", vec!["to carol"]),
        ("#ops", vec!["alice created #ops", "in the channel"]),
        ("#none", vec![]),
    ] {
        assert_eq!(what(&export(&mut bench, 2, json!({"with": with}))), expected, "{with}");
    }
    assert_eq!(search(&mut bench, json!({"query": "channel", "with": "#ops"}))["hits"], json!([]));
    assert_eq!(search(&mut bench, json!({"query": "carol"}))["hits"], json!([]));
    bench.call(0, CONN, "channel.leave", json!({"name": "ops"})).unwrap();
    assert_eq!(export(&mut bench, 200, json!({})).len(), 5);
    drop(api);
}

#[test]
fn pages_of_large_messages_fit_a_line() {
    let (mut bench, api, _) = bench();
    let text = "x".repeat(250_000);
    for _ in 0..20 {
        bench.send(&api, "bob/web", &text);
    }
    let first = bench.call(0, CONN, "mail.export", json!({"limit": 200})).unwrap();
    let entries = first["entries"].as_array().unwrap().len();
    assert!((2..20).contains(&entries), "{entries}");
    assert_eq!(export(&mut bench, 200, json!({})).len(), 20);
}

#[test]
fn what_was_sent_while_no_copies_were_kept_is_exported_without_its_text() {
    let (mut bench, api, _) = bench();
    bench.configure(0, |config| config.retention.sent_text = false);
    let api = bench.resume(&api);
    bench.admin(0);
    bench.send(&api, "bob/web", "unkept");
    let whole = export(&mut bench, 200, json!({}));
    assert_eq!(whole.len(), 1);
    assert!(whole[0].get("message").is_none());
    assert_eq!(search(&mut bench, json!({"query": "unkept"}))["hits"], json!([]));
}
