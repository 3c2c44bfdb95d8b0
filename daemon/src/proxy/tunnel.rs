//! A tunnel through an HTTP proxy: CONNECT, its answer, and then the bare socket.
//!
//! Spec: §7 "Connecting"; decision 0024

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use messaging_daemon_engine::LinkFault;
use tokio::net::TcpStream;

use super::Proxy;

/// Connects to the proxy and asks it for `host` (a name, or an address without brackets) at `port`. The proxy finds the
/// host's address. The caller bounds the time.
///
/// Errors: what the proxy said, in our own words.
pub(crate) async fn through(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, LinkFault> {
    let stream = TcpStream::connect((proxy.host.as_str(), proxy.port))
        .await
        .map_err(|_| LinkFault::ProxySilent)?;
    let place =
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut request = Request::connect(&place).header(HOST, &place);
    if let Some(words) = &proxy.authorization {
        let mut value = HeaderValue::from_str(words).map_err(|_| LinkFault::ProxyUnknown)?;
        value.set_sensitive(true);
        request = request.header(PROXY_AUTHORIZATION, value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| LinkFault::ProxyUnknown)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| LinkFault::ProxySilent)?;
    let asking = async {
        let answer = sender.send_request(request).await.map_err(|_| LinkFault::ProxyRefused)?;
        match answer.status() {
            status if status.is_success() => {
                hyper::upgrade::on(answer).await.map_err(|_| LinkFault::ProxyRefused)
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(LinkFault::ProxyPassword),
            _ => Err(LinkFault::ProxyRefused),
        }
    };
    // The connection only moves while it is asked to.
    let (tunnel, _) = tokio::join!(asking, connection.with_upgrades());
    let parts = tunnel?.downcast::<TokioIo<TcpStream>>().map_err(|_| LinkFault::ProxyRefused)?;
    if !parts.read_buf.is_empty() {
        // The relay speaks second: these bytes are the proxy's own.
        return Err(LinkFault::ProxyRefused);
    }
    Ok(parts.io.into_inner())
}

/// The largest head of an answer, bytes.
const HEAD_BYTES: usize = 16_384;
