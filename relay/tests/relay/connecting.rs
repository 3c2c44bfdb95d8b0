//! From the challenge to the welcome.
//! Spec: §7 "Connecting", W5.3, checklist 7.12–7.23

use messaging_core::code::Code;
use messaging_core::limits::{FRAME_BYTES, PRE_AUTH_FRAME_BYTES};
use messaging_core::relay_auth::Challenge;
use messaging_wire::{ClientFrame, CloseCode, Hello, RelayFrame};
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Client, Machine, Team, TestRelay, code_of, now, two_members};

#[tokio::test]
async fn the_challenge_comes_first_names_the_origin_and_is_fresh() {
    let relay = TestRelay::start().await;
    let (_first, one) = Client::dial(&relay).await;
    let (_second, other) = Client::dial(&relay).await;
    assert_eq!(one.relay, format!("ws://{}", relay.address));
    assert_ne!(one.nonce, other.nonce);
}

#[tokio::test]
async fn a_good_hello_is_welcomed_with_the_head_and_the_others() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, _link) = two_members(&relay).await;
    let (mut again, challenge) = Client::dial(&relay).await;
    again.hello(&challenge, &team.id, &bob.identity).await;
    match again.next().await {
        RelayFrame::Welcome(welcome) => {
            assert_eq!(Some(welcome.head), team.roster.head());
            assert_eq!(welcome.online, [team.admin.id()], "the others only");
        }
        other => panic!("{other:?}"),
    }
    admin.settle().await;
}

#[tokio::test]
async fn a_refused_hello_is_told_why_and_closed_with_4001() {
    let relay = TestRelay::start().await;
    let team = Team::found(&relay).await;
    let key = &team.admin.identity.signing;
    let stranger = Machine::new("mallory", "box");

    let (mut client, challenge) = Client::dial(&relay).await;
    let elsewhere = Challenge { relay: "wss://relay.example".into(), ..challenge };
    let hello = Hello::sign(&elsewhere, &team.id, now(), key).unwrap();
    client.send(&ClientFrame::Hello(hello)).await;
    assert_eq!(client.refused().await, (Code::BadSignature, code_of(CloseCode::AuthFailed)));

    let (mut client, challenge) = Client::dial(&relay).await;
    let hello = Hello::sign(&challenge, &team.id, now().minus(400_000), key).unwrap();
    client.send(&ClientFrame::Hello(hello)).await;
    assert_eq!(client.refused().await, (Code::Expired, code_of(CloseCode::AuthFailed)));

    let (mut client, challenge) = Client::dial(&relay).await;
    client.hello(&challenge, &team.id, &stranger.identity).await;
    assert_eq!(client.refused().await, (Code::NotMember, code_of(CloseCode::AuthFailed)));

    let (mut client, _) = Client::dial(&relay).await;
    client.send_text(r#"{"t":"hello","team":"x"}"#).await;
    assert_eq!(client.refused().await, (Code::InvalidRequest, code_of(CloseCode::AuthFailed)));
    assert_eq!(relay.event("auth.refused")["code"], "bad_signature");
}

#[tokio::test]
async fn a_late_hello_closes_with_4001() {
    let relay = TestRelay::with(|config| config.limits.hello_timeout_ms = 20).await;
    let (mut client, _) = Client::dial(&relay).await;
    assert_eq!(client.refused().await, (Code::Expired, code_of(CloseCode::AuthFailed)));
}

#[tokio::test]
async fn the_ninth_frame_without_a_hello_closes_with_4002() {
    let relay = TestRelay::start().await;
    let (mut client, _) = Client::dial(&relay).await;
    for n in 0..8 {
        client.send_text(format!(r#"{{"t":"ping","id":"{n}"}}"#)).await;
        assert!(
            matches!(client.next().await, RelayFrame::Pong(Some(id)) if id.as_str() == n.to_string())
        );
    }
    client.send_text(r#"{"t":"ping"}"#).await;
    assert_eq!(client.refused().await, (Code::RateLimited, code_of(CloseCode::Protocol)));
}

#[tokio::test]
async fn what_is_no_frame_closes_with_4002() {
    let relay = TestRelay::start().await;
    for message in [
        Message::text("hello?"),
        Message::text(r#"{"t":1}"#),
        Message::text(r#"["t"]"#),
        Message::text(r#"{"t":"ping","t":"ping"}"#),
        Message::binary(&b"{\"t\":\"ping\"}"[..]),
    ] {
        let (mut client, _) = Client::dial(&relay).await;
        client.message(message.clone()).await;
        assert_eq!(
            client.refused().await,
            (Code::InvalidRequest, code_of(CloseCode::Protocol)),
            "{message:?}"
        );
    }
}

#[tokio::test]
async fn before_hello_other_frames_are_forbidden_and_unknown_ones_ignored() {
    let relay = TestRelay::start().await;
    let (mut client, _) = Client::dial(&relay).await;
    client.send_text(r#"{"t":"roster.sync","req":"s"}"#).await;
    match client.next().await {
        RelayFrame::Nack(nack) => assert_eq!((nack.id.as_str(), nack.code), ("s", Code::Forbidden)),
        other => panic!("{other:?}"),
    }
    client.send_text(r#"{"t":"dir.sth","req":"d"}"#).await;
    client.send_text(r#"{"t":"later"}"#).await;
    client.settle().await;
}

/// A ping frame of exactly `bytes`.
fn ping_of(bytes: usize) -> String {
    let frame = |pad: usize| format!(r#"{{"t":"ping","pad":"{}"}}"#, "x".repeat(pad));
    frame(bytes - frame(0).len())
}

#[tokio::test]
async fn frames_before_hello_hold_32_kib_and_not_a_byte_more() {
    let relay = TestRelay::start().await;
    let (mut client, _) = Client::dial(&relay).await;
    client.send_text(ping_of(PRE_AUTH_FRAME_BYTES)).await;
    assert!(matches!(client.next().await, RelayFrame::Pong(None)));
    client.send_text(ping_of(PRE_AUTH_FRAME_BYTES + 1)).await;
    assert_eq!(client.close_code().await, code_of(CloseCode::TooLarge));
}

#[tokio::test]
async fn the_close_of_a_huge_frame_arrives_while_it_is_still_being_sent() {
    let relay = TestRelay::start().await;
    let (mut client, _) = Client::dial(&relay).await;
    // Larger than what the socket's buffers hold: the relay must take it for the close not to be lost in a reset.
    client.try_message(Message::text("x".repeat(3 << 20))).await;
    assert_eq!(client.close_code().await, code_of(CloseCode::TooLarge));
}

#[tokio::test]
async fn frames_after_hello_hold_a_mebibyte_and_not_a_byte_more() {
    let relay = TestRelay::start().await;
    let team = Team::found(&relay).await;
    let mut client = Client::login(&relay, &team.id, &team.admin.identity).await;
    client.send_text(ping_of(FRAME_BYTES)).await;
    assert!(matches!(client.next().await, RelayFrame::Pong(None)));
    client.send_text(ping_of(FRAME_BYTES + 1)).await;
    assert_eq!(client.close_code().await, code_of(CloseCode::TooLarge));
}

#[tokio::test]
async fn a_large_frame_may_follow_the_hello_at_once() {
    let relay = TestRelay::start().await;
    let team = Team::found(&relay).await;
    let (mut client, challenge) = Client::dial(&relay).await;
    client.hello(&challenge, &team.id, &team.admin.identity).await;
    client.send_text(ping_of(200_000)).await;
    assert!(matches!(client.next().await, RelayFrame::Welcome(_)));
    assert!(matches!(client.next().await, RelayFrame::Pong(None)));
}

#[tokio::test]
async fn a_newer_connection_replaces_the_older_and_nobody_notices() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, mut old) = two_members(&relay).await;
    let mut new = Client::login(&relay, &team.id, &bob.identity).await;
    assert_eq!(old.close_code().await, code_of(CloseCode::Replaced));
    new.settle().await;
    admin.send_text(r#"{"t":"ping"}"#).await;
    assert!(matches!(admin.next().await, RelayFrame::Pong(None)), "no peer notice");
    drop(new);
    assert!(
        matches!(admin.next().await, RelayFrame::Peer(peer) if !peer.online && peer.machine == bob.id())
    );
}

#[tokio::test]
async fn a_full_relay_closes_with_1013_but_lets_a_machine_replace_itself() {
    let relay = TestRelay::with(|config| config.limits.connections = 1).await;
    let mut team = Team::found(&relay).await;
    let mut admin = Client::login(&relay, &team.id, &team.admin.identity).await;
    let bob = Machine::new("bob", "desk");
    team.add(&mut admin, &bob).await;
    let (mut client, challenge) = Client::dial(&relay).await;
    client.hello(&challenge, &team.id, &bob.identity).await;
    assert_eq!(client.refused().await, (Code::RateLimited, code_of(CloseCode::Full)));
    let _again = Client::login(&relay, &team.id, &team.admin.identity).await;
    assert_eq!(admin.close_code().await, code_of(CloseCode::Replaced));
}
