//! HTTP on the relay's address.
//! Spec: §7 "HTTP", checklist 7.1–7.3

use crate::harness::{Client, TestRelay, get, http};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn health_and_readiness() {
    let relay = TestRelay::start().await;
    let (status, head, body) = get(relay.address, "/healthz").await;
    assert_eq!((status, body.as_str()), (200, r#"{"ok":true}"#));
    assert!(head.contains("content-type: application/json"), "{head}");
    let (status, head, body) = get(relay.address, "/readyz").await;
    assert_eq!((status, body.as_str()), (200, r#"{"ok":true}"#));
    assert!(head.contains("cache-control: no-store"), "{head}");
}

#[tokio::test]
async fn everything_else_is_404() {
    let relay = TestRelay::start().await;
    for path in
        ["/", "/metrics", "/healthz/x", "/v1", "/v1/connect/", "/.well-known/messaging.json"]
    {
        assert_eq!(get(relay.address, path).await.0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        for path in ["/healthz", "/readyz", "/v1/connect"] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(http(relay.address, &request).await.0, 404, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_plain_get_of_the_endpoint_is_told_to_upgrade() {
    let relay = TestRelay::start().await;
    let (status, head, _) = get(relay.address, "/v1/connect").await;
    assert_eq!(status, 426);
    assert!(
        head.contains("upgrade: websocket") && head.contains("sec-websocket-version: 13"),
        "{head}"
    );
    let bad_key = "GET /v1/connect HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: short\r\n\r\n";
    assert_eq!(
        http(relay.address, &bad_key.replace("upgrade\r\nup", "upgrade, close\r\nup")).await.0,
        400
    );
}

#[tokio::test]
async fn the_sub_protocol_is_chosen_when_offered() {
    let relay = TestRelay::start().await;
    let upgrade = |extra: &str| {
        format!(
            "GET /v1/connect HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{extra}\r\n"
        )
    };
    let (status, head, _) = http(relay.address, &upgrade("")).await;
    assert_eq!(status, 101);
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    assert!(
        !head.contains("sec-websocket-protocol") && !head.contains("sec-websocket-extensions"),
        "{head}"
    );
    let offer = "sec-websocket-protocol: messaging.relay.v1\r\nsec-websocket-extensions: permessage-deflate\r\n";
    let (status, head, _) = http(relay.address, &upgrade(offer)).await;
    assert_eq!(status, 101);
    assert!(head.contains("sec-websocket-protocol: messaging.relay.v1"), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "no compression: {head}");
    let (_, head, _) = http(relay.address, &upgrade("sec-websocket-protocol: other.v1\r\n")).await;
    assert!(!head.contains("sec-websocket-protocol"), "{head}");
}

#[tokio::test]
async fn a_slow_request_is_dropped_before_and_after_another() {
    let relay =
        TestRelay::with(|config| config.timings.request = std::time::Duration::from_millis(50))
            .await;
    for start in ["", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"] {
        let mut socket = TcpStream::connect(relay.address).await.unwrap();
        socket.write_all(format!("{start}GET /healthz HTTP/1.1\r\nho").as_bytes()).await.unwrap();
        let mut answer = String::new();
        // The end of the socket is the event that is waited for.
        let _ = crate::harness::soon(socket.read_to_string(&mut answer)).await;
        assert_eq!(answer.contains("200 OK"), !start.is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn a_peer_that_asks_and_never_reads_loses_its_socket() {
    let relay =
        TestRelay::with(|config| config.timings.request = std::time::Duration::from_millis(50))
            .await;
    let socket = TcpStream::connect(relay.address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    // Until the answers fill every buffer there is, and then until the relay has had enough.
    crate::harness::soon(async {
        while socket.writable().await.is_ok() {
            match socket.try_write(request) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_full_gate_answers_503() {
    let relay = TestRelay::with(|config| {
        config.preauth_connections = 3;
        config.preauth_per_address = 2;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let (first, _) = Client::dial(&relay).await;
    let (_second, _) = Client::dial(&relay).await;
    assert_eq!(Client::try_dial(relay.address).await.err(), Some(503));
    assert_eq!(relay.event("conn.preauth_full")["scope"], "address");

    // Behind a trusted proxy the client counts, not the proxy.
    let forwarded = |address: &str| {
        format!(
            "GET /v1/connect HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             x-forwarded-for: 9.9.9.9, {address}\r\n\r\n"
        )
    };
    let mut third = TcpStream::connect(relay.address).await.unwrap();
    third.write_all(forwarded("192.0.2.7").as_bytes()).await.unwrap();
    let mut head = [0; 12];
    third.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    let (status, ..) = http(
        relay.address,
        &forwarded("192.0.2.8").replace("upgrade\r\nup", "upgrade, close\r\nup"),
    )
    .await;
    assert_eq!(status, 503);
    assert_eq!(relay.event("conn.preauth_full")["scope"], "total");

    // A place comes back when its connection is gone.
    drop(first);
    crate::harness::soon(async {
        while Client::try_dial(relay.address).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
