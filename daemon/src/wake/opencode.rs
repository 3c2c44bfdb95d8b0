//! The call to an OpenCode service on this machine: the file it registered in, then one request.
//!
//! Spec: §8.6, D3.26, C8.6-02 to C8.6-05

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use messaging_core::ids::Ulid;
use messaging_daemon_engine::wake::{
    REGISTRATION_BYTES, Registration, WakeEnd, wake_body, wake_path,
};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::LIMIT;
use crate::os;

/// Asks the service that is registered in `file`, if it is process `pid`, to load what the session lives in.
pub(super) async fn call(
    file: Option<&Path>,
    pid: u32,
    location: &str,
    session_id: &str,
    ids: &[Ulid],
) -> WakeEnd {
    let file = file.map(Path::to_path_buf);
    let attempt = async {
        // A file on a server that is gone must not hold a thread of the runtime.
        let found = tokio::task::spawn_blocking(move || registered(file, pid)).await;
        let registration = found.unwrap_or(Err(WakeEnd::NoRegistration))?;
        let stream = connect(&registration).await?;
        ask(stream, &registration, &wake_path(location), wake_body(session_id, ids)).await
    };
    match timeout(LIMIT, attempt).await {
        Ok(Ok(end) | Err(end)) => end,
        Err(_) => WakeEnd::TimedOut,
    }
}

/// The registration of the live process `pid`, as nobody else can have written it.
fn registered(file: Option<PathBuf>, pid: u32) -> Result<Registration, WakeEnd> {
    let file = file.ok_or(WakeEnd::NoRegistration)?;
    let (bytes, owner) = match os::read_private(&file, REGISTRATION_BYTES) {
        Ok(Some(found)) => found,
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(WakeEnd::NotPrivate);
        }
        Ok(None) | Err(_) => return Err(WakeEnd::NoRegistration),
    };
    if owner.uid != os::effective_uid() || owner.writable_by_others() {
        return Err(WakeEnd::NotPrivate);
    }
    let registration = Registration::read(&bytes)?;
    if !registration.is_of(pid) || !os::is_alive(pid) {
        return Err(WakeEnd::OtherProcess);
    }
    Ok(registration)
}

async fn connect(registration: &Registration) -> Result<TcpStream, WakeEnd> {
    let port = registration.port();
    let addresses: Vec<SocketAddr> = match registration.host() {
        "127.0.0.1" => vec![(IpAddr::from(Ipv4Addr::LOCALHOST), port).into()],
        "[::1]" => vec![(IpAddr::from(Ipv6Addr::LOCALHOST), port).into()],
        name => {
            tokio::net::lookup_host((name, port)).await.map_err(|_| WakeEnd::Unreachable)?.collect()
        }
    };
    // `localhost` is only a name: the password must not leave this machine whatever it resolves to.
    if !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(WakeEnd::NotLoopback);
    }
    TcpStream::connect(addresses.as_slice()).await.map_err(|_| WakeEnd::Unreachable)
}

/// One request. Of the answer only its status counts: its body is never read, and no redirect is followed.
async fn ask(
    stream: TcpStream,
    registration: &Registration,
    path: &str,
    body: String,
) -> Result<WakeEnd, WakeEnd> {
    let host = format!("{}:{}", registration.host(), registration.port());
    let mut request = Request::post(path)
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .header(CONNECTION, "close");
    if let Some(words) = registration.authorization() {
        let mut value = HeaderValue::from_str(&words).map_err(|_| WakeEnd::Malformed)?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let request = request.body(Full::new(Bytes::from(body))).map_err(|_| WakeEnd::Malformed)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| WakeEnd::Unreachable)?;
    let mut answer = pin!(sender.send_request(request));
    let mut connection = pin!(connection);
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        // It has said all it will say: the answer is there, or never comes.
        _ = &mut connection => answer.await,
    };
    Ok(match answer {
        Ok(answer) if answer.status().is_success() => WakeEnd::Done,
        Ok(answer) if answer.status().is_server_error() => WakeEnd::ServerError,
        Ok(_) => WakeEnd::Refused,
        // It answered, and not in HTTP.
        Err(error) if error.is_parse() => WakeEnd::Refused,
        Err(_) => WakeEnd::Unreachable,
    })
}

/// The largest head of an answer, bytes.
const HEAD_BYTES: usize = 16_384;
