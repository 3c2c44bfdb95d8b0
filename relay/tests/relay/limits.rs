//! What a connection may cost.
//! Spec: §7 "Limits", W1.3 keep-alive, W5.9

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use messaging_wire::{ClientFrame, RelayFrame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Client, Team, TestRelay, soon, two_members};

const UPGRADE: &[u8] =
    b"GET /v1/connect HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
      sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[tokio::test]
async fn a_silent_connection_is_pinged_and_then_dropped() {
    let relay = TestRelay::with(|config| {
        config.timings.ping = Duration::from_millis(20);
        config.timings.silence = Duration::from_millis(200);
    })
    .await;
    // A client that answers pings lives: it sees many of them.
    let (mut alive, _) = Client::dial(&relay).await;
    for _ in 0..15 {
        assert!(matches!(alive.next_message().await, Some(Message::Ping(_))));
    }
    // One that never answers is dropped without a close.
    let mut socket = TcpStream::connect(relay.address).await.unwrap();
    socket.write_all(UPGRADE).await.unwrap();
    let mut taken = Vec::new();
    let _ = soon(socket.read_to_end(&mut taken)).await;
    let pings = taken.windows(2).filter(|bytes| bytes == &[0x89, 0x00]).count();
    assert!((1..=12).contains(&pings), "{pings} pings before the end");
}

#[tokio::test]
async fn a_reader_that_stops_is_dropped_and_the_others_are_served() {
    let relay = TestRelay::with(|config| {
        config.limits.socket_bytes = 1 << 20;
        config.limits.frames_per_minute = 10_000_000;
        config.limits.bytes_per_minute = 1 << 40;
    })
    .await;
    let (_team, mut admin, _bob, mut link) = two_members(&relay).await;
    // Pages asked for and never read, until the relay has had enough.
    let flood =
        async { while link.try_send_text(r#"{"t":"roster.sync","req":"r"}"#).await.is_ok() {} };
    soon(flood).await;
    assert_eq!(relay.event("conn.slow")["reason"], "socket");
    assert!(matches!(admin.next().await, RelayFrame::Peer(peer) if !peer.online));
    admin.settle().await;
}

#[tokio::test]
async fn a_client_that_asks_for_much_and_dies_leaves_nothing_behind() {
    let relay = TestRelay::with(|config| config.limits.frames_per_minute = 1_000_000).await;
    let team = Team::found(&relay).await;
    for _ in 0..200 {
        let mut client = Client::login(&relay, &team.id, &team.admin.identity).await;
        for _ in 0..20 {
            client.send_text(r#"{"t":"roster.sync","req":"r"}"#).await;
        }
        drop(client);
    }
    let mut client = Client::login(&relay, &team.id, &team.admin.identity).await;
    client.send(&ClientFrame::Ping(Default::default())).await;
    assert!(matches!(client.next().await, RelayFrame::Pong(None)));
}

#[tokio::test]
async fn a_flood_of_what_is_no_message_keeps_nobody_waiting() {
    let relay = TestRelay::start().await;
    let (_team, mut admin, _bob, _link) = two_members(&relay).await;
    let piece: [u8; 6] = [0x00, 0x80, 0, 0, 0, 0];
    for (name, begin, flood) in [
        ("pieces of a message that never ends", &[0x01, 0x80, 0, 0, 0, 0][..], piece),
        ("pings", &[], [0x89, 0x80, 0, 0, 0, 0]),
        ("pongs", &[], [0x8a, 0x80, 0, 0, 0, 0]),
    ] {
        let served = Arc::new(AtomicBool::new(false));
        // Threads of their own, as the peers of a real relay are: this one is the relay's.
        let floods = [(); 2].map(|()| {
            let (address, served) = (relay.address, Arc::clone(&served));
            let begin = begin.to_vec();
            tokio::task::spawn_blocking(move || {
                pour(address, &begin, &flood.repeat(10_000), &served)
            })
        });
        admin.settle().await;
        admin.settle().await;
        served.store(true, Ordering::Relaxed);
        for flood in floods {
            assert!(flood.await.unwrap(), "{name}: served only when the flood was over");
        }
    }
}

/// Floods a connection until somebody else was served (`true`), or for as long as nobody should wait (`false`).
fn pour(address: SocketAddr, begin: &[u8], flood: &[u8], served: &AtomicBool) -> bool {
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    socket.write_all(UPGRADE).unwrap();
    socket.read_exact(&mut [0; 12]).unwrap();
    socket.write_all(begin).unwrap();
    let patience = Instant::now() + Duration::from_secs(8);
    while Instant::now() < patience {
        // The relay may drop it at any time, which is one way to go on.
        if served.load(Ordering::Relaxed) || socket.write_all(flood).is_err() {
            return true;
        }
    }
    false
}
