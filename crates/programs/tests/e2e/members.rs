//! Who is in the team: removals, roles, and what becomes of an admin's open invites.
//! Spec: §4, §7 "Removal", D3.28

use serde_json::{Value, json};

use crate::harness::{House, Machine, failure, wait};

fn members(list: &Value) -> Vec<String> {
    let name = |m: &Value| format!("{}@{} {}", m["person"], m["label"], m["role"]).replace('"', "");
    let mut names: Vec<_> = list["members"].as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

fn has(list: &Value, names: &[&str]) -> bool {
    members(list) == names
}

fn invites(list: &Value) -> usize {
    list["invites"].as_array().unwrap().len()
}

fn binding(machine: &Machine) -> Value {
    machine.json(&["device", "status"])["binding"].clone()
}

#[test]
fn a_member_that_is_online_is_removed() {
    let house = House::new();
    let (alice, bob) = house.two();
    let carol = house.guest(&alice, "carol", "pc");
    let mut api = bob.agent("api");
    let mut reader = carol.agent("reader");
    let mut writer = alice.agent("writer");
    writer.send("bob/api@desk", "before");
    assert_eq!(api.holds(1), ["before"]);
    carol.knows("bob/api@desk");
    let listed = || {
        let found = carol.call("contacts.list", json!({}));
        found["entries"].as_array().unwrap().iter().any(|entry| entry["person"] == "bob")
    };
    assert!(listed());

    // Nothing is done without a yes.
    assert_eq!(alice.fails(&["team", "remove", "bob@desk"]), failure(2, "invalid_request"));
    assert_eq!(bob.fails(&["team", "remove", "carol@pc", "--yes"]), failure(5, "forbidden"));
    alice.ok(&["team", "remove", "bob@desk", "--yes"]);

    wait("bob's own view", || (binding(&bob) == "removed").then_some(()));
    assert_eq!(bob.fails(&["send", "alice/writer@laptop", "x"]), failure(4, "not_member"));
    assert_eq!(api.texts(), ["before"], "what it had, it keeps");
    assert_eq!(bob.json(&["status"])["health"]["relay"], "offline");
    carol.roster("the removal", |list| has(list, &["alice@laptop admin", "carol@pc member"]));
    for machine in [&alice, &carol] {
        assert_eq!(machine.fails(&["send", "bob/api@desk", "x"]), failure(6, "no_recipients"));
    }
    assert!(reader.texts().is_empty() && !listed());
    // A removal stands: the next invite makes another machine, and this home stays out.
    let ticket = alice.ok(&["team", "invite", "bob"]);
    assert_eq!(bob.join(&ticket, "desk").failure(), failure(1, "invalid_state"));
    let again = house.machine("bob-again");
    assert_eq!(again.join(&ticket, "desk").status, 0, "the label is free again");
}

#[test]
fn a_member_that_is_offline_is_removed() {
    let house = House::new();
    let (alice, mut bob) = house.two();
    let carol = house.guest(&alice, "carol", "pc");
    let mut reader = carol.agent("reader");
    bob.agent("api");
    bob.knows("carol/reader@pc");
    bob.stop();
    let mut writer = alice.agent("writer");
    let lost = writer.send("bob/api@desk", "queued for a machine that never comes back");
    writer.reaches(&lost, "relayed");
    alice.ok(&["team", "remove", "bob@desk", "--yes"]);
    carol.roster("the removal", |list| has(list, &["alice@laptop admin", "carol@pc member"]));

    // The relay's word alone proves nothing: it works on, and nothing of it reaches anybody.
    bob.start();
    let words = wait("the relay's refusal", || {
        let status = bob.json(&["status"]);
        status["status"]["relay"]["lastError"].as_str().map(ToOwned::to_owned)
    });
    assert_eq!(words, "the relay does not count this machine as a member");
    assert_eq!(binding(&bob), "bound");
    let sent = bob.json(&["send", "carol/reader@pc", "from outside"]);
    assert_eq!(sent["stage"], "accepted");
    assert!(bob.agent("api").texts().is_empty(), "its queue is gone");
    writer.send("carol/reader@pc", "from inside");
    assert_eq!(reader.holds(1), ["from inside"]);
    assert_eq!(bob.stages(sent["envelopeId"].as_str().unwrap()), ["accepted"]);
}

#[test]
fn a_member_leaves_by_itself() {
    let house = House::new();
    let (alice, bob) = house.two();
    bob.ok(&["team", "leave", "--yes"]);
    assert_eq!(binding(&bob), "removed");
    alice.roster("the departure", |list| has(list, &["alice@laptop admin"]));
    assert_eq!(bob.fails(&["send", "alice/cli@laptop", "x"]), failure(4, "not_member"));
}

#[test]
fn roles_change_and_the_last_admin_stays() {
    let house = House::new();
    let (alice, bob) = house.two();
    let last = failure(5, "forbidden");
    assert_eq!(alice.fails(&["team", "role", "alice@laptop", "member"]), last);
    assert_eq!(alice.fails(&["team", "remove", "alice@laptop", "--yes"]), last);
    assert_eq!(alice.fails(&["team", "leave", "--yes"]), last);
    assert_eq!(bob.fails(&["team", "invite", "carol"]), failure(5, "forbidden"));
    assert_eq!(bob.fails(&["team", "role", "bob@desk", "admin"]), failure(5, "forbidden"));

    alice.ok(&["team", "role", "bob@desk", "admin"]);
    bob.roster("the promotion", |list| has(list, &["alice@laptop admin", "bob@desk admin"]));
    house.guest(&bob, "carol", "pc");
    alice.ok(&["team", "role", "alice@laptop", "member"]);
    let now = ["alice@laptop member", "bob@desk admin", "carol@pc member"];
    bob.roster("the demotion", |list| has(list, &now));
    assert_eq!(alice.fails(&["team", "invite", "dave"]), failure(5, "forbidden"));
    assert_eq!(bob.fails(&["team", "leave", "--yes"]), last);
    alice.ok(&["team", "leave", "--yes"]);
    bob.roster("the departure", |list| has(list, &now[1..]));
}

/// Demoting and removing an admin both take back what that machine left open, and nothing else.
fn takes_invites_back(act: &[&str], is_killed: bool) {
    let house = House::new();
    let (mut alice, bob) = house.two();
    alice.ok(&["team", "role", "bob@desk", "admin"]);
    bob.roster("the promotion", |list| has(list, &["alice@laptop admin", "bob@desk admin"]));
    let his = bob.ok(&["team", "invite", "carol"]);
    let hers = alice.ok(&["team", "invite", "dave"]);
    alice.roster("both invites", |list| invites(list) == 2);
    alice.ok(act);
    if is_killed {
        // Whatever it was about to do then, it still owes.
        alice.kill();
        alice.start();
        alice.connected();
    }
    let left = alice.roster("the revocation", |list| invites(list) == 1);
    assert_eq!(left["invites"][0]["person"], "dave");
    let carol = house.machine("carol");
    assert_eq!(carol.join(&his, "pc").failure(), failure(5, "invite_invalid"));
    let dave = house.machine("dave");
    assert_eq!(dave.join(&hers, "pc").status, 0);
}

#[test]
fn a_demoted_admins_open_invites_are_revoked() {
    takes_invites_back(&["team", "role", "bob@desk", "member"], false);
}

#[test]
fn a_removed_admins_open_invites_are_revoked() {
    takes_invites_back(&["team", "remove", "bob@desk", "--yes"], false);
}

#[test]
fn a_machine_that_dies_after_a_removal_still_revokes() {
    takes_invites_back(&["team", "remove", "bob@desk", "--yes"], true);
    takes_invites_back(&["team", "role", "bob@desk", "member"], true);
}
