//! Envelopes from hand to hand.
//! Spec: §7 "send", "Delivery", "Dedupe"; W5.4, W5.5; checklist 7.25–7.49

use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_wire::{ClientFrame, RecvAck, RelayFrame};
use serde_json::{Value, json};

use crate::harness::{Client, Machine, TestRelay, two_members};

async fn acked(client: &mut Client, id: Ulid) {
    match client.next().await {
        RelayFrame::Ack(acked) => assert_eq!(acked, id),
        other => panic!("{other:?}"),
    }
}

async fn delivered(client: &mut Client) -> Value {
    match client.next().await {
        RelayFrame::Deliver(deliver) => deliver.env,
        other => panic!("{other:?}"),
    }
}

async fn take(client: &mut Client, from: &Machine, id: Ulid) {
    client.send(&ClientFrame::RecvAck(RecvAck { id, from: Some(from.id()) })).await;
}

#[tokio::test]
async fn mail_is_acked_delivered_whole_and_deleted_once_taken() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, mut link) = two_members(&relay).await;
    let (id, mut envelope) = team.mail(&team.admin, &bob, "ciao");
    admin.send(&ClientFrame::Send(envelope.clone())).await;
    acked(&mut admin, id).await;
    assert_eq!(delivered(&mut link).await, envelope, "unchanged, to the last member");
    take(&mut link, &team.admin, id).await;
    link.settle().await;

    // Taken: a new link has nothing waiting.
    let mut again = Client::login(&relay, &team.id, &bob.identity).await;
    again.settle().await;

    // An identical resend is acked again and not delivered again; another content under the id is refused.
    admin.send(&ClientFrame::Send(envelope.clone())).await;
    acked(&mut admin, id).await;
    again.settle().await;
    envelope = team.mail_as(id, &team.admin, &bob, "other").1;
    admin.send(&ClientFrame::Send(envelope)).await;
    assert!(
        matches!(admin.next().await, RelayFrame::Nack(nack) if nack.code == Code::InvalidRequest)
    );
}

#[tokio::test]
async fn unknown_members_travel_and_are_covered_by_the_signature() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, mut link) = two_members(&relay).await;
    let (id, mut envelope) = team.mail(&team.admin, &bob, "ciao");
    envelope["later"] = json!(true);
    admin.send(&ClientFrame::Send(envelope.clone())).await;
    assert!(
        matches!(admin.next().await, RelayFrame::Nack(nack) if nack.code == Code::BadSignature)
    );
    let members = envelope.as_object_mut().unwrap();
    members.remove("sig");
    let sig = team
        .admin
        .identity
        .signing
        .sign_value(messaging_core::domain::Domain::Envelope, &envelope)
        .unwrap();
    envelope["sig"] = json!(sig);
    admin.send(&ClientFrame::Send(envelope.clone())).await;
    acked(&mut admin, id).await;
    assert_eq!(delivered(&mut link).await, envelope);
}

#[tokio::test]
async fn refusals_name_the_envelope() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, _link) = two_members(&relay).await;
    let stranger = Machine::new("mallory", "box");
    for (envelope, code) in [
        (team.mail(&bob, &team.admin, "from another").1, Code::Forbidden),
        (team.mail(&team.admin, &stranger, "to a stranger").1, Code::NotMember),
    ] {
        admin.send(&ClientFrame::Send(envelope.clone())).await;
        match admin.next().await {
            RelayFrame::Nack(nack) => {
                assert_eq!((json!(nack.id), nack.code), (envelope["id"].clone(), code))
            }
            other => panic!("{other:?}"),
        }
    }
    admin.send_text(r#"{"t":"send"}"#).await;
    assert!(
        matches!(admin.next().await, RelayFrame::Error(error) if error.code == Code::InvalidRequest)
    );
}

#[tokio::test]
async fn a_queue_outlives_the_relay_and_comes_in_order() {
    let relay = TestRelay::with(|config| config.limits.frames_per_minute = 100_000).await;
    let (team, mut admin, bob, link) = two_members(&relay).await;
    drop(link);
    assert!(matches!(admin.next().await, RelayFrame::Peer(peer) if !peer.online));
    let mail: Vec<_> = (0..1000).map(|n| team.mail(&team.admin, &bob, &n.to_string())).collect();
    for (_, envelope) in &mail {
        admin.send(&ClientFrame::Send(envelope.clone())).await;
    }
    for (id, _) in &mail {
        acked(&mut admin, *id).await;
    }
    let one_more = team.mail(&team.admin, &bob, "one more").1;
    admin.send(&ClientFrame::Send(one_more)).await;
    assert!(
        matches!(admin.next().await, RelayFrame::Nack(nack) if nack.code == Code::RateLimited),
        "1,000 wait"
    );

    drop(admin);
    let relay = relay.restart().await;
    let mut link = Client::login(&relay, &team.id, &bob.identity).await;
    for (id, envelope) in &mail {
        assert_eq!(&delivered(&mut link).await, envelope);
        take(&mut link, &team.admin, *id).await;
    }
    link.settle().await;
}

#[tokio::test]
async fn at_most_64_of_one_sender_wait_for_their_acks() {
    let relay = TestRelay::start().await;
    let (team, mut admin, bob, mut link) = two_members(&relay).await;
    let mail: Vec<_> = (0..66).map(|n| team.mail(&team.admin, &bob, &n.to_string())).collect();
    for (id, envelope) in &mail {
        admin.send(&ClientFrame::Send(envelope.clone())).await;
        acked(&mut admin, *id).await;
    }
    for (_, envelope) in &mail[..64] {
        assert_eq!(&delivered(&mut link).await, envelope);
    }
    link.send_text(r#"{"t":"ping"}"#).await;
    assert!(matches!(link.next().await, RelayFrame::Pong(None)), "the window is full");
    take(&mut link, &team.admin, mail[7].0).await;
    assert_eq!(delivered(&mut link).await, mail[64].1);
}

#[tokio::test]
async fn over_the_budget_of_frames_a_send_is_refused_and_the_link_stays() {
    let relay = TestRelay::with(|config| config.limits.frames_per_minute = 4).await;
    let (team, mut admin, bob, mut link) = two_members(&relay).await;
    let mut refused = 0;
    for n in 0..10 {
        let (_, envelope) = team.mail(&team.admin, &bob, &n.to_string());
        admin.send(&ClientFrame::Send(envelope)).await;
        match admin.next().await {
            RelayFrame::Ack(_) => {}
            RelayFrame::Nack(nack) if nack.code == Code::RateLimited => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refused >= 6, "{refused}");
    assert!(delivered(&mut link).await.is_object());
}
