//! What the person sets, and how it reads before and after.
//! Spec: §6.9 "Grants", D1.8, D3.13

use messaging_core::limits::{TRUST_DEFAULT_MS, TRUST_MAX_MS};
use serde_json::{Value, json};

use super::super::bench::CONN;
use super::{THREE, Town};

#[test]
fn a_grant_says_the_whole_and_none_at_all_is_a_clear() {
    let mut town = Town::new();
    let first = town.says("alice", json!({"chat": "muted", "ask": "no"}));
    assert_eq!(first["by"], json!(town.bench.machine(1)));
    assert_eq!(first["subject"], json!({"person": "alice"}));
    let second = town.says("alice", json!({"ask": "open"}));
    assert_eq!(second.get("chat"), None, "a level that is left out is the default");
    assert!(second["ts"].as_u64() > first["ts"].as_u64());
    assert_ne!(second["id"], first["id"]);
    let clear = town.says("alice", json!({}));
    assert_eq!(clear.get("ask"), None);
    assert_eq!(town.grants(1)["grants"], json!([clear]));
}

#[test]
fn a_later_grant_wins_also_when_the_clock_went_back() {
    let mut town = Town::of(&[("alice", "laptop"), ("bob", "desk"), ("bob", "phone")]);
    let first = town.says("alice", json!({"ask": "open"}));
    town.bench.now.wall = town.bench.now.wall.minus(60_000);
    let second = town.says("alice", json!({"chat": "blocked"}));
    assert_eq!(second["ts"].as_u64().unwrap(), first["ts"].as_u64().unwrap() + 1);
    town.bench.advance(1_000);
    assert_eq!(town.grants(2)["grants"][0]["chat"], "blocked");
}

#[test]
fn trust_has_an_end_of_thirty_days_or_another_within_ninety() {
    let mut town = Town::new();
    let now = town.bench.now.wall;
    let grant = town.says("alice", json!({"ask": "open", "trust": true}));
    assert_eq!(grant["trustedUntil"], json!(now.plus(TRUST_DEFAULT_MS)));
    let until = town.bench.now.wall.plus(TRUST_MAX_MS);
    town.says("alice", json!({"ask": "open", "trustedUntil": until}));
    let now = town.bench.now.wall;
    for levels in [
        json!({"trust": true}),
        json!({"ask": "request", "trust": true}),
        json!({"ask": "open", "trustedUntil": now}),
        json!({"ask": "open", "trustedUntil": now.plus(TRUST_MAX_MS + 60_000)}),
        json!({"ask": "open", "trust": false, "trustedUntil": now.plus(60_000)}),
        json!({"discoverable": true}),
    ] {
        let told = format!("{levels}");
        assert_eq!(town.try_says(1, "alice", levels).unwrap_err(), "invalid_request", "{told}");
    }
}

#[test]
fn of_oneself_one_says_only_whether_one_is_found() {
    let mut town = Town::new();
    assert_eq!(town.says("bob", json!({"discoverable": false}))["discoverable"], false);
    for levels in [json!({"ask": "open"}), json!({"chat": "open"}), json!({"agentMail": "open"})] {
        assert_eq!(town.try_says(1, "bob", levels).unwrap_err(), "invalid_request");
    }
    assert_eq!(town.try_says(1, "zoe", json!({"ask": "no"})).unwrap_err(), "not_found");
}

#[test]
fn grants_are_listed_newest_first_and_by_subject() {
    let mut town = Town::of(&THREE);
    let alice = town.says("alice", json!({"ask": "no"}));
    let carol = town.says("carol", json!({"chat": "blocked"}));
    assert_eq!(town.grants(1), json!({"grants": [carol, alice], "review": []}));
    let one = json!({"subject": {"person": "alice"}});
    let listed = town.bench.call(1, CONN, "grant.list", one).unwrap();
    assert_eq!(listed["grants"], json!([alice]));
    let none = json!({"subject": {"channel": "eng"}});
    assert_eq!(town.bench.call(1, CONN, "grant.list", none).unwrap_err(), "not_found");
}

#[test]
fn two_thousand_grants_are_held() {
    let mut town = Town::of(&THREE);
    town.says("alice", json!({"ask": "no"}));
    let store = town.bench.kill(1);
    let store = super::super::bench::write(store, |tx| {
        tx.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
             INSERT INTO grants (subject, grant, ts, gid, by_device)
             SELECT 'person:p' || i, grant, ts, gid, by_device FROM grants, n",
            (),
        )
        .map(drop)
    });
    town.bench.start(1, store);
    town.bench.advance(3_000);
    town.bench.admin(1);
    assert_eq!(town.try_says(1, "carol", json!({"ask": "no"})).unwrap_err(), "rate_limited");
    assert!(town.try_says(1, "alice", json!({"ask": "open"})).is_ok(), "one that is there changes");
}

#[test]
fn each_preview_is_one_fixed_sentence_of_the_same_call() {
    let mut town = Town::new();
    let mut preview = |params: Value| town.bench.call(1, CONN, "grant.set.preview", params);
    let alice = json!({"person": "alice"});
    for (levels, sentence) in [
        (
            json!({"chat": "muted", "agentMail": "blocked", "ask": "no"}),
            "For alice: lines muted; their agents' lines blocked; requests to your agents refused; trust off.",
        ),
        (
            json!({"ask": "open", "trust": true}),
            "For alice: lines open; their agents' lines open; requests to your agents run at once; trust until 2027-02-14.",
        ),
        (
            json!({"chat": "blocked"}),
            "For alice: lines blocked; their agents' lines blocked; requests to your agents refused; trust off.",
        ),
        (
            json!({"chat": "blocked", "agentMail": "open", "ask": "open", "trust": true}),
            "For alice: lines blocked; their agents' lines blocked; requests to your agents refused; trust off.",
        ),
        (
            json!({}),
            "For alice: back to the defaults: lines open; their agents' lines open; requests to your agents ask you first; trust off.",
        ),
    ] {
        let mut params = json!({"subject": alice});
        for (name, level) in levels.as_object().unwrap() {
            params[name] = level.clone();
        }
        assert_eq!(preview(params).unwrap()["sentence"], sentence);
    }
    for (found, sentence) in [
        (
            true,
            "People outside your organisation can find you by your exact email once you are in a hosted realm.",
        ),
        (
            false,
            "People outside your organisation cannot find you by your email once you are in a hosted realm.",
        ),
    ] {
        let params = json!({"subject": {"person": "bob"}, "discoverable": found});
        assert_eq!(preview(params).unwrap()["sentence"], sentence);
    }
    for params in [
        json!({"subject": alice, "trust": true}),
        json!({"subject": alice, "discoverable": true}),
        json!({"subject": {"person": "bob"}, "chat": "open"}),
    ] {
        assert_eq!(preview(params).unwrap_err(), "invalid_request");
    }
    assert_eq!(preview(json!({"subject": {"person": "zoe"}})).unwrap_err(), "not_found");
    assert_eq!(town.grants(1)["grants"], json!([]), "nothing was set");
}

#[test]
fn the_person_is_told_a_week_before_trust_ends_and_once() {
    let mut town = Town::new();
    let grant = town.says("alice", json!({"ask": "open", "trust": true}));
    let week = 7 * 86_400_000;
    town.bench.skip(TRUST_DEFAULT_MS - week - 180_000);
    town.bench.advance(60_000);
    let alerts = |town: &mut Town| {
        let list = town.bench.call(1, CONN, "notice.list", json!({})).unwrap();
        let notices = list["notices"].as_array().unwrap().clone();
        notices.into_iter().filter(|notice| notice["category"] == "alert").collect::<Vec<_>>()
    };
    assert!(alerts(&mut town).is_empty());
    town.bench.advance(240_000);
    let told = alerts(&mut town);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["id"], format!("a_trust{}", grant["id"].as_str().unwrap()));
    assert_eq!(told[0]["from"]["name"], "alice");
    assert_eq!(
        told[0]["line"],
        "Trust you gave this person ends on 2027-02-14; renew it or let it lapse."
    );
    town.bench.call(1, CONN, "notice.ack", json!({"ids": [told[0]["id"]]})).unwrap();
    town.bench.skip(week / 2);
    // Also when the notice itself was swept.
    let store = town.bench.kill(1);
    let store =
        super::super::bench::write(store, |tx| tx.execute("DELETE FROM notices", ()).map(drop));
    town.bench.start(1, store);
    town.bench.advance(61_000);
    town.bench.admin(1);
    assert!(alerts(&mut town).is_empty());
}

#[test]
fn a_person_is_shown_with_what_was_said_about_them() {
    let mut town = Town::of(&THREE);
    let grant = town.says("alice", json!({"chat": "muted", "ask": "no"}));
    let mut shown = |person: &str| {
        let detail = town.bench.call(1, CONN, "people.get", json!({"person": person})).unwrap();
        detail.get("grant").cloned()
    };
    assert_eq!(shown("alice"), Some(grant));
    assert_eq!(shown("carol"), None);
}

#[test]
fn what_cannot_be_said_names_the_parameter() {
    let mut town = Town::new();
    let found = json!({"name": "ops", "persons": ["alice"]});
    town.bench.call(1, CONN, "channel.create", found).unwrap();
    let (alice, bob) = (json!({"person": "alice"}), json!({"person": "bob"}));
    let ops = json!({"channel": "ops"});
    for (subject, name, level, field) in [
        (&ops, "chat", json!("muted"), "chat"),
        (&ops, "discoverable", json!(true), "discoverable"),
        (&bob, "chat", json!("open"), "subject"),
        (&bob, "ask", json!("open"), "subject"),
        (&alice, "discoverable", json!(true), "discoverable"),
    ] {
        for method in ["grant.set", "grant.set.preview"] {
            let mut params = json!({"subject": subject});
            params[name] = level.clone();
            let id = town.bench.begin(1, CONN, method, params);
            town.bench.settle();
            let error = town.bench.error(1, &id);
            assert_eq!(error["data"]["code"], "invalid_request", "{error}");
            assert_eq!(error["data"]["field"], field, "{method} {subject} {name}");
        }
    }
    assert_eq!(town.grants(1)["grants"], json!([]));
}
