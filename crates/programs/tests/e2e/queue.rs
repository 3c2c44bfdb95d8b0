//! A thousand envelopes that wait at the relay outlive it.
//! Spec: §7 "`send`", "Delivery"; W5.5

use std::collections::BTreeMap;

use futures_util::SinkExt as _;
use messaging_core::ids::RosterPerson;
use messaging_core::invite;
use messaging_core::roster::{Op, Roster};
use messaging_core::testing::SeededRandom;
use messaging_testkit::party::{self, Machine as Member, append_op, found, login, mail, next};
use messaging_wire::{ClientFrame, RelayFrame, RosterSync};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{House, wait};

/// A machine takes sixty a minute of another, at once when it was silent before.
const SENDERS: usize = 20;
const EACH: usize = 50;

#[test]
fn a_restarted_relay_delivers_a_thousand_queued_envelopes_once_and_in_order() {
    let mut house = House::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rng = SeededRandom::new(3);
    let members: Vec<_> = (0..=SENDERS).map(|n| Member::new(n, &mut rng).unwrap()).collect();
    let (url, (admin, senders)) = (house.relay.url(), members.split_first().unwrap());
    let mut roster = runtime.block_on(found(&url, &members)).unwrap();

    let ticket = runtime.block_on(invited(&url, &mut roster, admin, &mut rng));
    let mut bob = house.machine("bob");
    assert_eq!(bob.join(&ticket, "desk").status, 0);
    bob.welcome_all();
    // A terminal: the loop guard would end what looks like two agents in a circle.
    bob.terminal("reader");
    bob.stop();

    runtime.block_on(async {
        let roster = fetched(&url, &roster, admin).await;
        let bob = roster.members().find(|member| member.person.as_str() == "bob").unwrap();
        for (n, sender) in senders.iter().enumerate() {
            let mut socket = login(&url, roster.team_id().unwrap(), sender).await.unwrap();
            for number in 0..EACH {
                let text = format!("{n} {number}");
                let (_, frame) = mail(&roster, sender, (bob, "reader"), &text, &mut rng).unwrap();
                socket.feed(Message::text(frame)).await.unwrap();
            }
            socket.flush().await.unwrap();
            let mut acks = 0;
            while acks < EACH {
                match next(&mut socket).await.unwrap() {
                    RelayFrame::Ack(_) => acks += 1,
                    RelayFrame::Nack(nack) => panic!("{nack:?}"),
                    _ => {}
                }
            }
        }
    });

    house.relay.kill().unwrap();
    house.relay.start_again().unwrap();
    house.relay.stop().unwrap();
    house.relay.start_again().unwrap();

    bob.start();
    let mut reader = bob.terminal("reader");
    // Counting is cheap, and the daemon has other work.
    wait("a thousand messages", || {
        let page = reader.call("inbox.list", json!({"limit": 1}));
        (page["unread"].as_u64()? >= (SENDERS * EACH) as u64).then_some(())
    });
    let mut ids = Vec::new();
    let mut page = json!({"limit": 200});
    loop {
        let found = reader.call("inbox.list", page.clone());
        let items = found["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["preview"].as_str().unwrap().to_owned()));
        match (items.last(), found["more"] == true) {
            (Some(last), true) => page["before"] = json!({"at": last["at"], "id": last["id"]}),
            _ => break,
        }
    }
    let mut came: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // The newest comes first.
    for text in ids.iter().rev() {
        let (sender, number) = text.split_once(' ').unwrap();
        came.entry(sender.parse().unwrap()).or_default().push(number.parse().unwrap());
    }
    let in_order: Vec<usize> = (0..EACH).collect();
    assert_eq!(came.len(), SENDERS);
    assert!(came.values().all(|numbers| *numbers == in_order), "{came:?}");
}

async fn invited(url: &str, roster: &mut Roster, admin: &Member, rng: &mut SeededRandom) -> String {
    let mut socket = login(url, roster.team_id().unwrap(), admin).await.unwrap();
    let bob = RosterPerson::parse("bob").unwrap();
    let new = invite::create(&bob, 600_000, party::now().unwrap(), rng).unwrap();
    let op: &Op = &new.op;
    append_op(&mut socket, roster, admin, op).await.unwrap();
    let ticket = json!({
        "v": "messaging/1", "relay": url, "team": roster.team_id(), "inviteId": new.id,
        "secret": new.secret, "person": "bob", "expires": new.expires,
    });
    format!("messaging1.{}", messaging_core::b64::encode(ticket.to_string().as_bytes()))
}

/// The roster as the relay has it now.
async fn fetched(url: &str, known: &Roster, machine: &Member) -> Roster {
    let mut socket = login(url, known.team_id().unwrap(), machine).await.unwrap();
    let sync = RosterSync { req: "sync".parse().unwrap(), after: None };
    socket.send(Message::text(ClientFrame::RosterSync(sync).print())).await.unwrap();
    loop {
        if let RelayFrame::Roster(page) = next(&mut socket).await.unwrap()
            && page.req.is_some()
        {
            return Roster::from_entries(&page.entries).unwrap();
        }
    }
}
