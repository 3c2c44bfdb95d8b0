//! What a person lets others ask of their agents: each row of the table that decides, and each answer to what waits.
//! Spec: §6.9, D3.10, D3.11, D3.13, D6.4 `grant`, `request`

use std::thread;

use serde_json::{Value, json};

use crate::harness::{Agent, House, Machine, failure, wait};

/// Alice's and Bob's machines, who have said nothing about each other, and Bob's agent, whom Alice's machine knows.
fn strangers(house: &House) -> (Machine, Machine, Agent) {
    let alice = house.founder("alice", "laptop");
    let bob = house.stranger(&alice, "bob", "desk");
    let api = bob.agent("api");
    alice.knows("bob/api@desk");
    (alice, bob, api)
}

/// What waits for a person's answer.
fn waiting(machine: &Machine) -> Vec<Value> {
    machine.json(&["request", "list"])["requests"].as_array().unwrap().clone()
}

/// Waits until so many requests wait, and gives their ids.
#[track_caller]
fn requests(machine: &Machine, count: usize) -> Vec<String> {
    let found = wait("requests", || {
        let found = waiting(machine);
        (found.len() == count).then_some(found)
    });
    found.iter().map(|request| request["id"].as_str().unwrap().to_owned()).collect()
}

/// What became of a message, once it has become something: held, delivered, or why it was rejected.
#[track_caller]
fn fate(agent: &mut Agent, id: &str) -> String {
    wait(id, || {
        let sent = agent.call("item.read", json!({"id": id}));
        match sent["stage"].as_str().unwrap() {
            "accepted" | "relayed" => None,
            "rejected" => Some(sent["code"].as_str().unwrap().to_owned()),
            stage => Some(stage.to_owned()),
        }
    })
}

/// How the newest message in an inbox came past the person's consent.
fn class(agent: &mut Agent) -> String {
    let page = agent.call("inbox.list", json!({"limit": 1}));
    page["items"][0]["consent"].as_str().unwrap().to_owned()
}

#[test]
fn a_first_message_waits_until_it_is_allowed_once() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    let first = web.send("bob/api@desk", "Is the build green?");
    assert_eq!(web.reaches(&first, "held"), ["accepted", "relayed", "held"]);
    assert_eq!(requests(&bob, 1), [first.as_str()]);
    assert_eq!(api.texts(), Vec::<String>::new());
    assert_eq!(bob.json(&["status"])["counts"]["requests"], 1);
    let shown = bob.ok(&["request", "show", &first]);
    assert!(shown.contains("alice/web@laptop") && shown.contains("Is the build green?"), "{shown}");

    // Nobody is asked here, so nothing is done without a word that it shall be.
    let ran = bob.run(&["request", "once", &first]);
    assert_eq!((ran.status, waiting(&bob).len()), (2, 1), "{ran:?}");
    assert_eq!(bob.ok(&["request", "once", &first, "--yes"]), "allowed 1 request\n");
    assert_eq!(api.holds(1), ["Is the build green?"]);
    assert_eq!(class(&mut api), "guarded");
    api.call("item.read", json!({"id": first}));
    assert_eq!(web.reaches(&first, "read"), ["accepted", "relayed", "held", "read"]);
    assert_eq!(bob.fails(&["request", "once", &first, "--yes"]), failure(6, "not_found"));

    let second = web.send("bob/api@desk", "And now?");
    assert_eq!(fate(&mut web, &second), "held");
}

#[test]
fn always_lets_the_sender_ask_from_now_on() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    for text in ["one", "two"] {
        let id = web.send("bob/api@desk", text);
        assert_eq!(fate(&mut web, &id), "held");
    }
    let ids = requests(&bob, 2);
    bob.ok(&["request", "always", &ids[0], "--yes"]);
    // The other one waits on: it was asked before.
    assert_eq!(api.holds(1), ["one"]);
    assert_eq!(requests(&bob, 1), [ids[1].clone()]);
    let third = web.send("bob/api@desk", "three");
    assert_eq!(fate(&mut web, &third), "delivered");
    let grant = bob.json(&["grant", "list", "alice"])["grants"][0].clone();
    assert_eq!((&grant["ask"], grant.get("chat")), (&json!("open"), None));
    bob.ok(&["request", "once", &ids[1], "--yes"]);
    assert_eq!(api.holds(3).len(), 3);
}

#[test]
fn a_declined_message_is_told_so_and_a_blocked_person_reaches_nobody() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    let ask = |web: &mut Agent, text: &str| {
        let id = web.send("bob/api@desk", text);
        assert_eq!(fate(web, &id), "held");
        id
    };
    let first = ask(&mut web, "please");
    bob.ok(&["request", "decline", &first, "--yes"]);
    assert_eq!(web.reaches(&first, "rejected"), ["accepted", "relayed", "held", "rejected"]);
    assert_eq!(fate(&mut web, &first), "declined");

    // All of one person's at once.
    let many: Vec<String> = ["a", "b", "c"].iter().map(|text| ask(&mut web, text)).collect();
    requests(&bob, 3);
    let ran = bob.ok(&["request", "block", &many[1], "--all", "--yes"]);
    assert_eq!(ran, "blocked the sender and declined 3 requests\n");
    for id in &many {
        web.reaches(id, "rejected");
        assert_eq!(fate(&mut web, id), "declined");
    }
    let refused = web.send("bob/api@desk", "and now?");
    web.reaches(&refused, "rejected");
    assert_eq!(fate(&mut web, &refused), "refused");
    assert_eq!(bob.json(&["grant", "list", "alice"])["grants"][0]["chat"], "blocked");
    assert_eq!((waiting(&bob).len(), api.texts().len()), (0, 0));

    bob.ok(&["grant", "unblock", "alice", "--yes"]);
    ask(&mut web, "thank you");
}

#[test]
fn a_held_task_runs_once_it_is_allowed() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let task = alice.json(&["task", "send", "bob/api@desk", "find it"])["taskId"].clone();
    let task = task.as_str().unwrap();
    let ids = requests(&bob, 1);
    assert_eq!(waiting(&bob)[0]["kind"], "task");
    bob.ok(&["request", "once", &ids[0], "--yes"]);
    assert_eq!(api.event("inbox")["item"]["consent"], "guarded");
    let done =
        json!({"taskId": task, "state": "TASK_STATE_COMPLETED", "message": [{"text": "found"}]});
    api.call("task.update", done);
    wait("the result", || {
        let shown = alice.json(&["task", "show", task])["task"].clone();
        (shown["status"]["state"] == "TASK_STATE_COMPLETED").then_some(())
    });

    let declined = alice.json(&["task", "send", "bob/api@desk", "another"])["taskId"].clone();
    let ids = requests(&bob, 1);
    bob.ok(&["request", "decline", &ids[0], "--yes"]);
    wait("the refusal", || {
        let shown = alice.json(&["task", "show", declined.as_str().unwrap()])["task"].clone();
        (shown["delivery"]["code"] == "declined").then_some(())
    });
}

#[test]
fn what_a_grant_says_is_what_becomes_of_an_ask() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    let rows: &[(&[&str], &str, Option<&str>)] = &[
        (&["grant", "clear", "alice"], "held", None),
        (&["grant", "set", "alice", "--ask", "open"], "delivered", Some("guarded")),
        (&["grant", "trust", "alice"], "delivered", Some("trusted")),
        (&["grant", "untrust", "alice"], "delivered", Some("guarded")),
        (&["grant", "mute", "alice"], "delivered", Some("guarded")),
        (&["grant", "set", "alice", "--agent-mail", "blocked"], "delivered", Some("guarded")),
        (&["grant", "block", "alice"], "refused", None),
        (&["grant", "unblock", "alice"], "delivered", Some("guarded")),
        (&["grant", "set", "alice", "--ask", "request"], "held", None),
        (&["grant", "set", "alice", "--ask", "no"], "refused", None),
        (&["grant", "set", "alice", "--ask", "default"], "held", None),
    ];
    for (args, becomes, consent) in rows {
        bob.ok(&[args, &["--yes"][..]].concat());
        let before = api.texts().len();
        let id = web.send("bob/api@desk", &args.join(" "));
        assert_eq!(fate(&mut web, &id), *becomes, "{args:?}");
        assert_eq!(api.texts().len(), before + usize::from(consent.is_some()), "{args:?}");
        if let Some(consent) = consent {
            assert_eq!(class(&mut api), *consent, "{args:?}");
        }
    }
}

#[test]
fn an_answer_needs_no_leave_and_ones_own_agents_never_do() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    bob.knows("alice/web@laptop");
    let asked = web.send("bob/api@desk", "a question");
    assert_eq!(fate(&mut web, &asked), "held");
    bob.ok(&["request", "once", &asked, "--yes"]);
    api.holds(1);

    let answer = |api: &mut Agent, text: &str| {
        let params = json!({"to": "alice/web@laptop", "replyTo": asked, "parts": [{"text": text}]});
        let sent = api.call("msg.send", params);
        sent["results"][0]["envelopeId"].as_str().unwrap().to_owned()
    };
    let id = answer(&mut api, "an answer");
    assert_eq!(fate(&mut api, &id), "delivered");
    assert_eq!(class(&mut web), "guarded");
    alice.ok(&["grant", "trust", "bob", "--for", "1d", "--yes"]);
    let id = answer(&mut api, "a trusted answer");
    assert_eq!(fate(&mut api, &id), "delivered");
    assert_eq!(class(&mut web), "trusted");
    // Somebody who is blocked cannot slip through with an answer that was never one.
    alice.ok(&["grant", "block", "bob", "--yes"]);
    let fresh = api.send("alice/web@laptop", "no answer");
    assert_eq!(fate(&mut api, &fresh), "refused");

    let mut other = alice.agent("other");
    let own = other.send("alice/web@laptop", "between us");
    assert_eq!(fate(&mut other, &own), "delivered");
    assert_eq!(class(&mut web), "self");
}

#[test]
fn of_many_answers_at_once_one_is_taken() {
    let house = House::new();
    let (alice, bob, mut api) = strangers(&house);
    let mut web = alice.agent("web");
    let id = web.send("bob/api@desk", "once");
    requests(&bob, 1);
    let words = ["once", "once", "always", "decline", "once", "always", "decline", "once"];
    let statuses: Vec<i32> = thread::scope(|scope| {
        let bob = &bob;
        let id = &id;
        let runs: Vec<_> = words
            .iter()
            .map(|word| scope.spawn(move || bob.run(&["request", word, id, "--yes"]).status))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 6).count(), 7, "{statuses:?}");
    let word = words[statuses.iter().position(|status| *status == 0).unwrap()];
    if word == "decline" {
        web.reaches(&id, "rejected");
        assert_eq!(api.texts().len(), 0);
    } else {
        assert_eq!(api.holds(1), ["once"]);
    }
    assert_eq!(waiting(&bob).len(), 0);
}

#[test]
fn two_machines_of_one_person_that_answer_at_the_same_moment_agree() {
    let house = House::new();
    let (alice, desk, mut at_desk) = strangers(&house);
    let phone = house.stranger(&alice, "bob", "phone");
    let mut at_phone = phone.agent("api");
    alice.knows("bob/api@phone");
    let mut web = alice.agent("web");
    let ids = ["desk", "phone"].map(|label| {
        let id = web.send(&format!("bob/api@{label}"), "may I?");
        assert_eq!(fate(&mut web, &id), "held");
        id
    });
    thread::scope(|scope| {
        let one = scope.spawn(|| desk.ok(&["request", "always", &ids[0], "--yes"]));
        let other = scope.spawn(|| phone.ok(&["request", "block", &ids[1], "--yes"]));
        one.join().unwrap();
        other.join().unwrap();
    });
    let grant = |machine: &Machine| machine.json(&["grant", "list", "alice"])["grants"].clone();
    let agreed = wait("one grant on both machines", || {
        let (here, there) = (grant(&desk), grant(&phone));
        // Before the sync has come, each has its own.
        let settled = here == there && here[0]["id"].is_string();
        settled.then(|| here[0].clone())
    });
    let blocked = agreed["chat"] == "blocked";
    for (label, api) in [("desk", &mut at_desk), ("phone", &mut at_phone)] {
        let before = api.texts().len();
        let id = web.send(&format!("bob/api@{label}"), "and now?");
        assert_eq!(fate(&mut web, &id), if blocked { "refused" } else { "delivered" }, "{agreed}");
        assert_eq!(api.texts().len(), before + usize::from(!blocked));
    }
}

#[test]
fn what_a_removed_machine_allowed_lapses_and_what_it_refused_stays() {
    let house = House::new();
    let (alice, desk, _api) = strangers(&house);
    let carol = house.stranger(&alice, "carol", "pc");
    let phone = house.stranger(&alice, "bob", "phone");
    let (mut web, mut tool) = (alice.agent("web"), carol.agent("tool"));
    carol.knows("bob/api@desk");
    phone.ok(&["grant", "set", "alice", "--ask", "open", "--yes"]);
    phone.ok(&["grant", "block", "carol", "--yes"]);
    wait("the grants on the other machine", || {
        (desk.json(&["grant", "list"])["grants"].as_array().unwrap().len() == 2).then_some(())
    });
    let open = web.send("bob/api@desk", "open");
    assert_eq!(fate(&mut web, &open), "delivered");

    alice.ok(&["team", "remove", "bob@phone", "--yes"]);
    let review = wait("the review", || {
        let review = desk.json(&["grant", "review"])["review"].as_array().unwrap().clone();
        (!review.is_empty()).then_some(review)
    });
    assert_eq!((review.len(), &review[0]["ask"]), (1, &json!("open")));
    assert_eq!(review[0]["subject"]["person"], "alice");
    let held = web.send("bob/api@desk", "held again");
    assert_eq!(fate(&mut web, &held), "held");
    let refused = tool.send("bob/api@desk", "still blocked");
    assert_eq!(fate(&mut tool, &refused), "refused");
    desk.ok(&["grant", "set", "alice", "--ask", "open", "--yes"]);
    assert_eq!(desk.json(&["grant", "review"])["review"], json!([]));
}

#[test]
fn what_waits_outlives_the_daemon() {
    let house = House::new();
    let (alice, mut bob, _) = strangers(&house);
    let mut web = alice.agent("web");
    let id = web.send("bob/api@desk", "remember me");
    requests(&bob, 1);
    bob.kill();
    bob.start();
    assert_eq!(requests(&bob, 1), [id.as_str()]);
    let mut api = bob.agent("api");
    bob.ok(&["request", "once", &id, "--yes"]);
    assert_eq!(api.holds(1), ["remember me"]);
    api.call("item.read", json!({"id": id}));
    web.reaches(&id, "read");
}

#[test]
fn in_a_team_nobody_has_to_ask_for_leave_to_write() {
    let house = House::new();
    let (alice, _bob, _) = strangers(&house);
    let request = ["contact", "request", "carol@example.com", "Hello.", "--yes"];
    assert_eq!(alice.fails(&request), failure(1, "invalid_request"));
    let own = ["grant", "set", "me", "--ask", "open", "--yes"];
    assert_eq!(alice.fails(&own), failure(1, "invalid_request"));
    assert_eq!(alice.fails(&["grant", "block", "nobody", "--yes"]), failure(6, "not_found"));
    let off = alice.json(&["grant", "discoverable", "off", "--yes"]);
    assert_eq!(off["grant"]["discoverable"], false);
}

#[test]
#[cfg(debug_assertions)]
fn a_held_task_that_nobody_answers_ends_at_its_expiry() {
    const DAYS_MS: u64 = 8 * 86_400_000;
    let house = House::new();
    let (alice, mut bob, _api) = strangers(&house);
    let sent = alice.json(&["task", "send", "bob/api@desk", "Build it."]);
    let (id, task) = (sent["envelopeId"].as_str().unwrap(), sent["taskId"].as_str().unwrap());
    assert_eq!(requests(&bob, 1), [id]);
    bob.stop();
    bob.daemon().set_ahead(DAYS_MS);
    bob.start();
    assert!(waiting(&bob).is_empty());
    assert_eq!(bob.json(&["notices"])["counts"]["requests"], 0);
    for answer in ["once", "always", "decline", "block"] {
        let args = ["request", answer, id, "--yes"];
        assert_eq!(bob.fails(&args), failure(6, "not_found"), "{answer}");
    }
    assert_eq!(bob.json(&["grant", "list"])["grants"], json!([]));
    // Whoever asked was told nothing: their own clock ends it there.
    let shown = alice.json(&["task", "show", task])["task"].clone();
    assert_eq!(
        (&shown["status"]["state"], &shown["delivery"]["stage"]),
        (&json!("TASK_STATE_SUBMITTED"), &json!("held"))
    );
}

#[test]
fn what_a_person_takes_is_on_their_card() {
    let house = House::new();
    let (alice, bob, _api) = strangers(&house);
    let reach = |of: &str| alice.json(&["people", "show", of])["reach"].clone();
    assert_eq!(
        (&reach("bob")["source"], &reach("bob")["can"]["ask"]),
        (&json!("default"), &json!("request"))
    );
    bob.ok(&["grant", "set", "alice", "--ask", "no", "--agent-mail", "blocked", "--yes"]);
    wait("a card", || (reach("bob")["source"] == "card").then_some(()));
    let can = reach("bob")["can"].clone();
    assert_eq!(can, json!({"chat": true, "agentMail": false, "ask": "no"}));
    let shown = alice.ok(&["people", "show", "bob"]);
    assert!(shown.contains("requests refused (as they said 20"), "{shown}");
    // A block is not announced; what is refused drops the card.
    bob.ok(&["grant", "block", "alice", "--yes"]);
    alice.ok(&["send", "bob", "hello?"]);
    wait("no card", || (reach("bob")["source"] == "default").then_some(()));
    assert_eq!(
        alice.json(&["contact", "card", "bob"])["sent"],
        false,
        "it was asked for by itself"
    );
    bob.ok(&["grant", "unblock", "alice", "--yes"]);
    wait("a card again", || (reach("bob")["source"] == "card").then_some(()));
    assert_eq!(bob.json(&["contact", "card", "alice"])["sent"], true);
    assert_eq!(bob.fails(&["contact", "card", "carol"]), failure(6, "not_found"));
}
