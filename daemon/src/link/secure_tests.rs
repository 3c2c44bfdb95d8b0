//! The way out: certificates, and proxies that do what a test likes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::server::{Request as Upgrade, Response};

use super::dial::SUB_PROTOCOL;
use super::tests::{MAX_FRAME, Rig};
use super::*;

/// Somebody who signs certificates, and the file that says so.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A relay with a certificate for these names, on a port of its own.
    async fn relay(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> u16 {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                #[allow(clippy::result_large_err, reason = "the signature is the library's")]
                let choose = |_: &Upgrade, mut response: Response| {
                    let chosen = SUB_PROTOCOL.parse().unwrap();
                    response.headers_mut().insert("Sec-WebSocket-Protocol", chosen);
                    Ok(response)
                };
                let mut socket = tokio_tungstenite::accept_hdr_async(stream, choose).await.unwrap();
                socket.send(Message::text("challenge")).await.unwrap();
                tokio::spawn(async move { while socket.next().await.is_some() {} });
            }
        });
        port
    }
}

/// What a proxy does once it has been asked.
#[derive(Clone, Copy)]
enum Manner {
    /// Leads to this port, whatever it was asked for.
    Leads(u16),
    /// The same, for whoever brings a password.
    LeadsThe(u16, &'static str),
    /// Says this and hangs up.
    Says(&'static str),
    /// Says nothing.
    IsSilent,
}

/// A proxy, and the heads of what it was asked.
struct Double {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Double {
    async fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                seen.lock().unwrap().push(head.clone());
                let to = match manner {
                    Manner::Leads(port) => port,
                    Manner::LeadsThe(port, password) if head.contains(password) => port,
                    Manner::LeadsThe(..) => {
                        let no = b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n";
                        client.write_all(no).await.unwrap();
                        continue;
                    }
                    Manner::Says(words) => {
                        client.write_all(words.as_bytes()).await.unwrap();
                        continue;
                    }
                    Manner::IsSilent => {
                        tokio::spawn(async move {
                            std::future::pending::<()>().await;
                            drop(client);
                        });
                        continue;
                    }
                };
                client.write_all(b"HTTP/1.1 200 Go on\r\n\r\n").await.unwrap();
                let mut relay = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut relay).await });
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The ways out of an environment that names a proxy.
fn ways(proxy: Option<&str>, certificates: &Path) -> Ways {
    let proxies =
        Proxies::read(|name| proxy.filter(|_| name == "HTTPS_PROXY").map(ToOwned::to_owned));
    Ways { proxies, trust: Trust::of(Some(certificates.to_owned()), None) }
}

/// What a dial comes to: a link, or what was wrong.
async fn outcome(ways: Ways, host: &str, port: u16) -> Result<Rig, LinkFault> {
    let mut rig = Rig::with(ways).await;
    let url = format!("wss://{host}:{port}/v1/connect");
    rig.commands.send(LinkCommand::Dial { link: LinkId(1), url, max_frame: MAX_FRAME }).unwrap();
    match rig.report().await {
        In::LinkUp { link: LinkId(1) } => Ok(rig),
        In::LinkDown { why, .. } => Err(why),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_relay_by_name_and_leads_to_it() {
    let authority = Authority::new();
    let relay = authority.relay(&["relay.test"], |_| {}).await;
    let proxy = Double::new(Manner::Leads(relay)).await;
    let out = ways(Some(&format!("http://127.0.0.1:{}", proxy.port)), &authority.file());
    let mut rig = outcome(out, "relay.test", 4_443).await.expect("a link");
    assert!(matches!(rig.report().await, In::LinkFrame { text, .. } if text == "challenge"));
    let asked = proxy.asked();
    assert_eq!(asked.len(), 1);
    let head = asked[0].to_ascii_lowercase();
    assert!(head.starts_with("connect relay.test:4443 http/1.1\r\n"), "{head}");
    assert!(head.contains("host: relay.test:4443\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn a_proxys_password_is_told_to_it_and_asked_for_by_name() {
    let authority = Authority::new();
    let relay = authority.relay(&["relay.test"], |_| {}).await;
    // base64("alice:s3cret")
    let proxy = Double::new(Manner::LeadsThe(relay, "Basic YWxpY2U6czNjcmV0")).await;
    let at = |user: &str| format!("http://{user}127.0.0.1:{}", proxy.port);
    let out = ways(Some(&at("alice:s3cret@")), &authority.file());
    outcome(out, "relay.test", 443).await.expect("a link");
    for user in ["", "alice@", "alice:guess@"] {
        let out = ways(Some(&at(user)), &authority.file());
        assert_eq!(outcome(out, "relay.test", 443).await.err(), Some(LinkFault::ProxyPassword));
    }
}

#[tokio::test]
async fn a_proxy_that_leads_nowhere_is_told_apart() {
    let authority = Authority::new();
    for (words, why) in [
        ("HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n", LinkFault::ProxyRefused),
        ("HTTP/1.1 302 There\r\nlocation: http://elsewhere\r\n\r\n", LinkFault::ProxyRefused),
        ("HTTP/1.1 200 Yes\r\n\r\nand words of its own", LinkFault::ProxyRefused),
        ("SSH-2.0-not-a-proxy\r\n", LinkFault::ProxyRefused),
        ("", LinkFault::ProxyRefused),
    ] {
        let proxy = Double::new(Manner::Says(words)).await;
        let out = ways(Some(&format!("http://127.0.0.1:{}", proxy.port)), &authority.file());
        let end = outcome(out, "relay.test", 443).await.err().expect("no link");
        // Words that come later than the answer are met as a handshake that fails.
        assert!(
            end == why || words.contains("its own") && end == LinkFault::Tls,
            "{words}: {end:?}"
        );
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let out = ways(Some(&format!("http://{nobody}")), &authority.file());
    assert_eq!(outcome(out, "relay.test", 443).await.err(), Some(LinkFault::ProxySilent));
    let out = ways(Some("socks5://127.0.0.1:1"), &authority.file());
    assert_eq!(outcome(out, "relay.test", 443).await.err(), Some(LinkFault::ProxyUnknown));
    let proxy = Double::new(Manner::IsSilent).await;
    let out = ways(Some(&format!("http://127.0.0.1:{}", proxy.port)), &authority.file());
    tokio::time::pause();
    assert_eq!(outcome(out, "relay.test", 443).await.err(), Some(LinkFault::TimedOut));
}

#[tokio::test]
async fn this_machine_is_reached_without_the_proxy() {
    let authority = Authority::new();
    let relay = authority.relay(&["localhost"], |_| {}).await;
    let proxy = Double::new(Manner::Says("")).await;
    let out = ways(Some(&format!("http://127.0.0.1:{}", proxy.port)), &authority.file());
    outcome(out, "localhost", relay).await.expect("a link");
    assert!(proxy.asked().is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_told_apart() {
    let authority = Authority::new();
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
    };
    let later = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(4000, 1, 1);
        params.not_after = date_time_ymd(4001, 1, 1);
    };
    let trusts = |file: &Path| ways(None, file);
    let good = authority.relay(&["localhost"], |_| {}).await;
    let other = Authority::new();
    let end = outcome(trusts(&other.file()), "localhost", good).await.err();
    assert_eq!(end, Some(LinkFault::UnknownIssuer));
    for (relay, why) in [
        (authority.relay(&["other.test"], |_| {}).await, LinkFault::OtherName),
        (authority.relay(&["localhost"], expired).await, LinkFault::NotAtThisTime),
        (authority.relay(&["localhost"], later).await, LinkFault::NotAtThisTime),
    ] {
        let end = outcome(trusts(&authority.file()), "localhost", relay).await.err();
        assert_eq!(end, Some(why));
    }
    // A relay that speaks no TLS at all.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let end = outcome(trusts(&authority.file()), "localhost", port).await.err();
    assert_eq!(end, Some(LinkFault::Tls));
}

#[tokio::test]
async fn certificates_that_come_to_be_are_read_without_a_restart() {
    let authority = Authority::new();
    let relay = authority.relay(&["localhost"], |_| {}).await;
    let file = authority.folder.path().join("later.pem");
    let out = ways(None, &file);
    let end = outcome(out.clone(), "localhost", relay).await.err();
    assert_eq!(end, Some(LinkFault::NoRoots));
    std::fs::copy(authority.file(), &file).unwrap();
    outcome(out, "localhost", relay).await.expect("a link");
}
