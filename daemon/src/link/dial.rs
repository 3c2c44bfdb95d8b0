//! From an address to an open WebSocket: the way out, TLS, the upgrade.
//!
//! Spec: §7 "Connecting", "TLS", W2.9

use std::net::SocketAddr;

use messaging_daemon_engine::LinkFault;
use tokio::net::TcpStream;
use tokio_tungstenite::client_async_tls_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::{Socket, Ways, fault_of};
use crate::{proxy, tls};

/// Opens a WebSocket. The caller bounds the time.
pub(super) async fn dial(url: &str, max_frame: usize, ways: &Ways) -> Result<Socket, LinkFault> {
    let request = request(url)?;
    let secure = request.uri().scheme_str() == Some("wss");
    let host = request.uri().host().ok_or(LinkFault::Protocol)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = request.uri().port_u16().unwrap_or(if secure { 443 } else { 80 });
    // Plain text never leaves this machine, and so never meets a proxy.
    let way = if secure { ways.proxies.towards(&host)? } else { None };
    let stream = match way {
        Some(proxy) => proxy::through(proxy, &host, port).await?,
        None => direct(&host, port, secure).await?,
    };
    // Frames are small and awaited; Nagle would hold each back for the last one's answer.
    let _ = stream.set_nodelay(true);
    let connector = if secure { ways.trust.connector().await? } else { tls::plain() };
    match client_async_tls_with_config(request, stream, Some(limits(max_frame)), Some(connector))
        .await
    {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) if response.status().as_u16() == 503 => Err(LinkFault::Full),
        Err(Error::Http(_)) => Err(LinkFault::Upgrade),
        // rustls reports a certificate it does not accept as an I/O error of this kind.
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(tls::fault_of(&error))
        }
        Err(error) => Err(fault_of(&error)),
    }
}

async fn direct(host: &str, port: u16, secure: bool) -> Result<TcpStream, LinkFault> {
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((host, port)).await.map_err(|_| LinkFault::Unresolved)?.collect();
    // `localhost` is only a name: plain text must not leave this machine whatever it resolves to.
    if !secure && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(LinkFault::NotLoopback);
    }
    TcpStream::connect(addresses.as_slice()).await.map_err(|_| LinkFault::Refused)
}

fn request(url: &str) -> Result<Request, LinkFault> {
    let mut request = url.into_client_request().map_err(|_| LinkFault::Protocol)?;
    request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static(SUB_PROTOCOL));
    Ok(request)
}

/// Both limits, or a message in pieces would pass.
fn limits(max_frame: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .max_frame_size(Some(max_frame))
        .max_message_size(Some(max_frame))
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
}

/// The relay's sub-protocol. Spec: W2.9
pub(super) const SUB_PROTOCOL: &str = "messaging.relay.v1";
const READ_BUFFER: usize = 16 * 1024;
