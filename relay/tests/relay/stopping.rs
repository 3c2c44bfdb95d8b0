//! A stop in order.
//! Spec: W5.1 "Stop"

use messaging_wire::{ClientFrame, CloseCode, RelayFrame};

use crate::harness::{Client, Team, TestRelay, code_of, get, two_members};

#[tokio::test]
async fn connections_are_closed_with_1001_and_the_store_is_whole() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, mut link) = two_members(&relay).await;
    let (mut greeting, _) = Client::dial(&relay).await;
    let (id, envelope) = team.mail(&team.admin, &bob, "last words");
    admin.send(&ClientFrame::Send(envelope)).await;
    assert!(matches!(admin.next().await, RelayFrame::Ack(acked) if acked == id));
    let db = relay.db.clone();
    let stopping = relay.ask_to_stop();
    for client in [&mut admin, &mut link, &mut greeting] {
        assert_eq!(client.close_code().await, code_of(CloseCode::Stopping));
    }
    drop((admin, link, greeting));
    let (_folder, log) = stopping.ended().await;
    assert_eq!(log.last().unwrap()["event"], "relay.stopped");
    assert!(db.exists());
    let wal = db.with_extension("db-wal");
    assert!(!wal.exists() || wal.metadata().unwrap().len() == 0, "everything is in the file");
}

#[tokio::test]
async fn while_it_stops_it_says_so_and_takes_nobody() {
    let relay = TestRelay::start().await;
    let team = Team::found(&relay).await;
    let mut client = Client::login(&relay, &team.id, &team.admin.identity).await;
    let address = relay.address;
    let stopping = relay.ask_to_stop();
    // The close has arrived and is not answered yet: the relay waits for this client.
    assert_eq!(client.close_code().await, code_of(CloseCode::Stopping));
    let (status, _, body) = get(address, "/readyz").await;
    // The store may be closed by now, or just about to be.
    assert_eq!(status, 503);
    assert!(body.ends_with(r#""stopping"]}"#), "{body}");
    assert_eq!(get(address, "/healthz").await.0, 200);
    assert_eq!(Client::try_dial(address).await.err(), Some(503));
    drop(client);
    stopping.ended().await;
}

#[tokio::test]
async fn a_stopped_relay_starts_again_where_it_was() {
    let relay = TestRelay::start().await;
    let (team, admin, _bob, link) = two_members(&relay).await;
    drop((admin, link));
    let relay = relay.restart().await;
    let (mut admin, challenge) = Client::dial(&relay).await;
    admin.hello(&challenge, &team.id, &team.admin.identity).await;
    assert!(
        matches!(admin.next().await, RelayFrame::Welcome(welcome) if Some(&welcome.head) == team.roster.head().as_ref())
    );
}
