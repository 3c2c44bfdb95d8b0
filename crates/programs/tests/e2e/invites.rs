//! Invites: each admits one machine, once, in time, at its relay, and nobody with another ticket.
//! Spec: §4 "Invites", "Invite expiry"

use messaging_core::b64;
use messaging_core::ids::RosterPerson;
use messaging_core::invite;
use messaging_core::roster::Roster;
use messaging_core::testing::SeededRandom;
use messaging_testkit::party::{self, Machine as Member, append_op, found, login};
use serde_json::{Value, json};

use crate::harness::{House, failure};

const PREFIX: &str = "messaging1.";

fn opened(ticket: &str) -> Value {
    let text = ticket.trim().strip_prefix(PREFIX).unwrap();
    serde_json::from_slice(&b64::decode(text).unwrap()).unwrap()
}

fn sealed(ticket: &Value) -> String {
    format!("{PREFIX}{}", b64::encode(ticket.to_string().as_bytes()))
}

/// A team whose admin makes invites of any kind, and the ticket of one that lives for `ttl_ms`.
fn invite_for(house: &House, ttl_ms: u64) -> (Roster, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = house.relay.url();
        let mut rng = SeededRandom::new(7);
        let machines = [Member::new(0, &mut rng).unwrap()];
        let mut roster = found(&url, &machines).await.unwrap();
        let team = *roster.team_id().unwrap();
        let mut socket = login(&url, &team, &machines[0]).await.unwrap();
        let bob = RosterPerson::parse("bob").unwrap();
        let new = invite::create(&bob, ttl_ms, party::now().unwrap(), &mut rng).unwrap();
        append_op(&mut socket, &mut roster, &machines[0], &new.op).await.unwrap();
        let ticket = json!({
            "v": "messaging/1", "relay": url, "team": team, "inviteId": new.id, "secret": new.secret,
            "person": "bob", "expires": new.expires,
        });
        (roster, ticket)
    })
}

#[test]
fn an_expired_invite_admits_nobody() {
    let house = House::new();
    // A millisecond: by the time it is used, it is over.
    let (_, mut ticket) = invite_for(&house, 1);
    let bob = house.machine("bob");
    let refused = failure(5, "invite_invalid");
    assert_eq!(bob.join(&sealed(&ticket), "desk").failure(), refused);
    // A ticket that says otherwise convinces the machine it is on, and not the relay.
    ticket["expires"] = json!(party::now().unwrap().plus(86_400_000));
    assert_eq!(bob.join(&sealed(&ticket), "desk").failure(), refused);
    // The home is as good as new.
    let (_, good) = invite_for(&house, 60_000);
    assert_eq!(bob.join(&sealed(&good), "desk").status, 0);
}

#[test]
fn an_invite_admits_one_machine_once() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let ticket = alice.ok(&["team", "invite", "bob"]);
    let bob = house.machine("bob");
    assert_eq!(bob.join(&ticket, "desk").status, 0);
    assert_eq!(bob.join(&ticket, "desk").failure(), failure(1, "invalid_state"));
    let second = house.machine("second");
    for label in ["desk", "other"] {
        assert_eq!(second.join(&ticket, label).failure(), failure(5, "invite_invalid"));
    }
    let list = alice.roster("the guest", |list| list["members"].as_array().unwrap().len() == 2);
    assert_eq!(list["invites"], json!([]));
}

#[test]
fn a_label_that_is_taken_leaves_the_invite_open() {
    let house = House::new();
    let (alice, _bob) = house.two();
    let ticket = alice.ok(&["team", "invite", "bob"]);
    let second = house.machine("second");
    assert_eq!(second.join(&ticket, "desk").failure(), failure(5, "forbidden"));
    assert_eq!(second.join(&ticket, "phone").status, 0);
}

#[test]
fn a_revoked_invite_admits_nobody() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let invited = alice.json(&["team", "invite", "bob"]);
    let id = invited["inviteId"].as_str().unwrap();
    alice.ok(&["team", "revoke", id]);
    let bob = house.machine("bob");
    let joined = bob.join(invited["ticket"].as_str().unwrap(), "desk");
    assert_eq!(joined.failure(), failure(5, "invite_invalid"));
    assert_eq!(alice.fails(&["team", "revoke", id]), failure(5, "invite_invalid"));
}

#[test]
fn a_tampered_ticket_admits_nobody() {
    let house = House::new();
    let alice = house.founder("alice", "laptop");
    let ticket = alice.ok(&["team", "invite", "bob"]);
    let bob = house.machine("bob");
    let other = opened(&alice.ok(&["team", "invite", "carol"]));
    let changed = |name: &str, value: Value| {
        let mut ticket = opened(&ticket);
        ticket[name] = value;
        sealed(&ticket)
    };
    // The secret is another invite's, or none; the invite is another's, or none; the person is not the invited one.
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for tampered in [
        changed("secret", other["secret"].clone()),
        changed("secret", json!(b64::encode(&[7; 32]))),
        changed("inviteId", other["inviteId"].clone()),
        changed("inviteId", json!(unknown)),
        changed("person", json!("carol")),
    ] {
        assert_eq!(
            bob.join(&tampered, "desk").failure(),
            failure(5, "invite_invalid"),
            "{tampered}"
        );
    }
    // What is no ticket is not even tried.
    let mut cut = ticket.trim().to_owned();
    cut.truncate(cut.len() - 5);
    for text in [
        cut,
        ticket.replace(PREFIX, "messaging-team."),
        changed("secret", json!("short")),
        changed("relay", json!("ws://relay.example/v1/connect")),
        changed("relay", json!("https://relay.example/v1/connect")),
    ] {
        let (status, code) = bob.join(&text, "desk").failure();
        assert_eq!((status, code.as_str()), (1, "invalid_request"), "{text}");
    }
    // The true one is as good as before.
    assert_eq!(bob.join(&ticket, "desk").status, 0);
}

#[test]
fn a_ticket_of_another_relay_leads_nowhere() {
    let (here, there) = (House::new(), House::new());
    let alice = here.founder("alice", "laptop");
    let ticket = alice.ok(&["team", "invite", "bob"]);
    let moved = |relay: String| {
        let mut ticket = opened(&ticket);
        ticket["relay"] = json!(relay);
        sealed(&ticket)
    };
    let bob = here.machine("bob");
    // A relay that knows nothing of the team; the right one under a name that it does not go by; and none at all.
    assert_eq!(bob.join(&moved(there.relay.url()), "desk").failure(), failure(5, "invite_invalid"));
    let alias = here.relay.url().replace("127.0.0.1", "localhost");
    assert_eq!(bob.join(&moved(alias), "desk").failure(), failure(7, "relay_unavailable"));
    let port = there.relay.port();
    drop(there);
    let nobody = moved(format!("ws://127.0.0.1:{port}/v1/connect"));
    assert_eq!(bob.join(&nobody, "desk").failure(), failure(7, "relay_unavailable"));
    assert_eq!(bob.join(&ticket, "desk").status, 0);
}
