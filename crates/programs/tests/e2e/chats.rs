//! People write to each other: direct lines, lines to oneself, channels, what a grant refuses, what is found and followed.
//! Spec: §6.8, §8.2 "Chats", D3.6, D3.10, D3.19, D3.20, D6.4 `chat`, `channel`, `search`, `notices`

use serde_json::{Value, json};

use crate::harness::{Following, House, Machine, failure, wait};

/// The lines of a conversation, as a terminal gets them.
fn lines(machine: &Machine, with: &str) -> Vec<Value> {
    machine.json(&["chat", with])["lines"].as_array().unwrap().clone()
}

/// Their texts, those that the daemon wrote about a channel left out.
fn texts(machine: &Machine, with: &str) -> Vec<String> {
    let lines = lines(machine, with);
    let said = lines.iter().filter(|line| line.get("notice").is_none());
    said.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a conversation has a line of this text, and gives it.
#[track_caller]
fn arrives(machine: &Machine, with: &str, text: &str) -> Value {
    wait(text, || {
        let ran = machine.run(&["chat", with, "--json"]);
        let page: Value = serde_json::from_str(&ran.stdout).ok()?;
        page["lines"].as_array()?.iter().find(|line| line["text"] == text).cloned()
    })
}

/// Waits until a line of one's own is in a state, and gives it.
#[track_caller]
fn becomes(machine: &Machine, with: &str, text: &str, state: &str) -> Value {
    wait(&format!("{text} {state}"), || {
        let line = arrives(machine, with, text);
        (line["state"] == state).then_some(line)
    })
}

fn notices(machine: &Machine) -> Vec<Value> {
    machine.json(&["notices", "--lines"])["notices"].as_array().unwrap().clone()
}

/// How many lines are not read.
fn unread(machine: &Machine) -> Value {
    machine.json(&["status"])["counts"]["unread"].clone()
}

/// The members of a channel, in order.
fn members(machine: &Machine, name: &str) -> Vec<String> {
    let view = machine.json(&["channel", "show", name]);
    let mut persons: Vec<String> = view["persons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|person| person.as_str().unwrap().to_owned())
        .collect();
    persons.sort();
    persons
}

#[test]
fn two_persons_write_to_each_other_directly() {
    let house = House::new();
    let (alice, bob) = house.two();
    let sent = alice.json(&["send", "bob", "Is the build green?"]);
    let line = arrives(&bob, "alice", "Is the build green?");
    assert_eq!((&line["id"], &line["direction"]), (&sent["id"], &json!("in")));
    assert_eq!((&line["person"], &line["label"]), (&json!("alice"), &json!("laptop")));
    becomes(&alice, "bob", "Is the build green?", "delivered");
    assert_eq!((unread(&bob), unread(&alice)), (json!(1), json!(0)));
    let told = notices(&bob);
    assert_eq!(told[0]["conversation"], "dm:alice");
    assert_eq!(told[0]["line"], "Is the build green?");

    // Looking on a pipe reads nothing; an acknowledged notice is not listed again.
    assert_eq!(texts(&bob, "alice"), ["Is the build green?"]);
    assert_eq!(unread(&bob), json!(1));
    bob.ok(&["notices", "ack", "--all"]);
    assert_eq!(notices(&bob), Vec::<Value>::new());
    bob.call("conv.markRead", json!({"conversation": "dm:alice", "upTo": line["seq"]}));
    assert_eq!(unread(&bob), json!(0));

    bob.ok(&["dm", "alice", "It is.\nLook."]);
    arrives(&alice, "bob", "It is.\nLook.");
    let id = sent["id"].as_str().unwrap();
    alice.ok(&["send", "bob", "Thanks.", "--reply", id]);
    let thanks = arrives(&bob, "alice", "Thanks.");
    assert_eq!(thanks["thread"], sent["id"]);
    let thread = bob.json(&["chat", "alice", "--thread", thanks["id"].as_str().unwrap()]);
    assert_eq!(thread["lines"].as_array().unwrap().len(), 2);
    let list = bob.ok(&["chat"]);
    assert!(list.starts_with("alice\t"), "{list}");
    assert_eq!(alice.fails(&["send", "nobody", "x"]), failure(6, "not_found"));
    assert_eq!(alice.fails(&["chat", "#none"]), failure(6, "not_found"));
}

#[test]
fn what_one_writes_to_oneself_is_on_all_of_ones_machines() {
    let house = House::new();
    let (alice, desk) = house.two();
    let phone = house.guest(&alice, "bob", "phone");
    desk.ok(&["send", "me", "milk"]);
    let line = arrives(&phone, "me", "milk");
    assert_eq!((&line["direction"], line.get("state")), (&json!("out"), None));
    // What is written to somebody else goes to all of their machines.
    alice.ok(&["send", "bob", "both of you"]);
    arrives(&desk, "alice", "both of you");
    arrives(&phone, "alice", "both of you");
    // An agent's line to its own person is there to be read.
    let mut api = desk.agent("api");
    api.call("msg.send", json!({"to": "bob", "parts": [{"text": "done"}]}));
    let told = arrives(&phone, "me", "done");
    assert_eq!((&told["agent"], &told["direction"]), (&json!("api"), &json!("in")));
}

#[test]
fn lines_written_while_the_other_machine_is_off_arrive_in_order() {
    let house = House::new();
    let (mut alice, mut bob) = house.two();
    bob.stop();
    let said: Vec<String> = (0..10).map(|n| format!("line {n}")).collect();
    for (n, text) in said.iter().enumerate() {
        alice.ok(&["send", "bob", text, "--key", text]);
        if n == 5 {
            alice.kill();
            alice.start();
            // The same line under the same key is sent once.
            alice.ok(&["send", "bob", text, "--key", text]);
        }
    }
    bob.start();
    arrives(&bob, "alice", "line 9");
    assert_eq!(texts(&bob, "alice"), said);
    becomes(&alice, "bob", "line 9", "delivered");
    let numbers: Vec<u64> =
        lines(&bob, "alice").iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn a_channel_is_founded_filled_changed_and_left() {
    let house = House::new();
    let (alice, bob) = house.two();
    let carol = house.guest(&alice, "carol", "pc");
    alice.roster("carol", |list| list["members"].as_array().unwrap().len() == 3);
    assert_eq!(alice.ok(&["channel", "create", "ops", "bob"]), "created #ops\n");
    wait("the channel", || (bob.run(&["channel", "show", "ops"]).status == 0).then_some(()));
    bob.ok(&["send", "#ops", "hello all"]);
    arrives(&alice, "#ops", "hello all");
    becomes(&bob, "#ops", "hello all", "delivered");

    bob.ok(&["channel", "invite", "#ops", "carol"]);
    wait("carol's channel", || (carol.run(&["channel", "show", "ops"]).status == 0).then_some(()));
    wait("the news", || (members(&alice, "ops") == ["alice", "bob", "carol"]).then_some(()));
    let news = lines(&alice, "#ops").into_iter().find(|line| {
        line["notice"] == true && line["text"].as_str().unwrap().contains("bob added carol")
    });
    assert!(news.is_some(), "{:?}", lines(&alice, "#ops"));
    // Whoever came later sees what is written from then on.
    carol.ok(&["send", "#ops", "thanks"]);
    arrives(&bob, "#ops", "thanks");
    assert_eq!(texts(&carol, "#ops"), ["thanks"]);

    // A member who is neither its creator nor an admin removes nobody.
    assert_eq!(bob.fails(&["channel", "remove", "ops", "carol"]), failure(5, "forbidden"));
    alice.ok(&["channel", "remove", "ops", "carol"]);
    wait("the end for carol", || {
        (carol.run(&["channel", "show", "ops"]).status == 6).then_some(())
    });
    assert_eq!(carol.fails(&["send", "#ops", "x"]), failure(6, "not_found"));
    wait("the news", || (members(&bob, "ops") == ["alice", "bob"]).then_some(()));
    assert_eq!(bob.run(&["channel", "leave", "ops"]).status, 2);
    bob.ok(&["channel", "leave", "ops", "--yes"]);
    assert_eq!(bob.fails(&["chat", "#ops"]), failure(6, "not_found"));
    wait("the news", || (members(&alice, "ops") == ["alice"]).then_some(()));
    assert_eq!(alice.fails(&["channel", "create", "ops"]), failure(1, "invalid_request"));
}

#[test]
fn lines_are_found_by_what_they_hold_and_a_query_is_no_language() {
    let house = House::new();
    let (alice, bob) = house.two();
    let said = [
        "well-known \"quotes\" and 100% of NEAR(x, y)",
        "日本語のテキスト",
        "مرحبا بالعالم",
        "party 🎉 time",
        "Straße and NAÏVE café",
        "plain words",
    ];
    for text in said {
        alice.ok(&["send", "bob", text]);
    }
    arrives(&bob, "alice", "plain words");
    for (query, found) in [
        ("well-known", Some(0)),
        ("\"quotes\"", Some(0)),
        ("NEAR(x,", Some(0)),
        ("100%", Some(0)),
        ("本語", Some(1)),
        ("مرحبا", Some(2)),
        ("🎉", Some(3)),
        ("naïve CAFÉ", Some(4)),
        ("words plain", Some(5)),
        ("plain OR party", None),
        ("text:plain", None),
        ("pla*", None),
        ("NOT", None),
    ] {
        for machine in [&alice, &bob] {
            let printed = machine.ok(&["search", "--json", "--", query]);
            let hits = serde_json::from_str::<Value>(&printed).unwrap()["hits"].clone();
            let texts: Vec<&str> =
                hits.as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect();
            let expected: Vec<&str> = found.iter().map(|at: &usize| said[*at]).collect();
            assert_eq!(texts, expected, "{query}");
        }
    }
    assert_eq!(bob.json(&["search", "plain", "--in", "alice"])["hits"][0]["person"], "alice");
    assert_eq!(bob.json(&["search", "plain", "--in", "me"])["hits"], json!([]));
}

#[test]
fn a_conversation_is_followed_through_a_restart_of_the_daemon() {
    let house = House::new();
    let (mut alice, bob) = house.two();
    alice.ok(&["send", "bob", "before"]);
    let following = Following::of(&alice, &["chat", "bob", "--follow"]);
    let says = |text: &'static str| move |told: &Value| told["line"]["text"] == text;
    following.until("the first line", says("before"));
    bob.ok(&["send", "alice", "live"]);
    following.until("a live line", says("live"));
    alice.ok(&["send", "bob", "mine"]);
    let told = following
        .until("a mark", |told| told["change"] == "state" && told["line"]["text"] == "mine");
    assert_eq!(told["line"]["state"], "delivered");

    alice.kill();
    following.until("a word", |told| told["connected"] == false);
    bob.ok(&["send", "alice", "meanwhile"]);
    alice.start();
    // The line may come before the word that the daemon is back: its relay may have been quicker than the look for it.
    let (mut back, mut line) = (false, false);
    following.until("another word, and what came meanwhile", |told| {
        back |= told["connected"] == true;
        line |= told["line"]["text"] == "meanwhile";
        back && line
    });
    bob.ok(&["send", "alice", "after"]);
    following.until("a line after it", says("after"));
}

#[test]
fn what_a_grant_says_is_what_becomes_of_a_line() {
    let house = House::new();
    let (alice, bob) = house.two();
    let mut web = alice.agent("web");
    let rows: &[(&[&str], &str, bool, &str)] = &[
        (&["grant", "clear", "alice"], "delivered", true, "delivered"),
        (&["grant", "mute", "alice"], "delivered", false, "delivered"),
        (&["grant", "set", "alice", "--agent-mail", "blocked"], "delivered", false, "refused"),
        (&["grant", "set", "alice", "--chat", "open"], "delivered", true, "refused"),
        (&["grant", "block", "alice"], "refused", false, "refused"),
        (&["grant", "clear", "alice"], "delivered", true, "delivered"),
    ];
    for (n, (args, person, told, agent)) in rows.iter().enumerate() {
        bob.ok(&[args, &["--yes"][..]].concat());
        bob.ok(&["notices", "ack", "--all"]);
        let (own, tool) = (format!("own {n}"), format!("tool {n}"));
        alice.ok(&["send", "bob", &own]);
        becomes(&alice, "bob", &own, person);
        let news = notices(&bob).iter().any(|notice| notice["line"] == own.as_str());
        assert_eq!(news, *told, "{args:?}");
        web.call("msg.send", json!({"to": "bob", "parts": [{"text": tool}]}));
        becomes(&alice, "bob", &tool, agent);
        // What is refused is not filed, and nobody is told of it.
        let filed = texts(&bob, "alice");
        assert_eq!(filed.contains(&own), *person == "delivered", "{args:?}");
        assert_eq!(filed.contains(&tool), *agent == "delivered", "{args:?}");
    }
}

#[test]
fn a_channels_grant_is_for_its_members() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let bob = house.stranger(&alice, "bob", "desk");
    bob.agent("api");
    alice.knows("bob/api@desk");
    let mut web = alice.agent("web");
    bob.ok(&["channel", "create", "ops", "alice"]);
    wait("the channel", || (alice.run(&["channel", "show", "ops"]).status == 0).then_some(()));
    let first = web.send("bob/api@desk", "by default");
    web.reaches(&first, "held");
    bob.ok(&["grant", "set", "#ops", "--ask", "open", "--yes"]);
    let second = web.send("bob/api@desk", "in the channel");
    web.reaches(&second, "delivered");
    // What is said about a person comes before what is said about a channel.
    bob.ok(&["grant", "set", "alice", "--ask", "no", "--yes"]);
    let third = web.send("bob/api@desk", "by name");
    web.reaches(&third, "rejected");
    bob.ok(&["grant", "clear", "alice", "--yes"]);
    bob.ok(&["channel", "remove", "ops", "alice"]);
    let fourth = web.send("bob/api@desk", "no longer in it");
    web.reaches(&fourth, "held");
    assert_eq!(bob.fails(&["grant", "mute", "#ops", "--yes"]), failure(1, "invalid_request"));
}
