//! A relay process from bind to stop: takes the address, serves HTTP and upgrades, and ends in order.
//! Spec: §7 "HTTP", "Limits" (raw sockets), W5.1, W5.3

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use messaging_runtime::files;
use messaging_runtime::log::{Level, Logger};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::config::{Config, Listen, RelayId};
use crate::door::Door;
use crate::health::Health;
use crate::owner;
use crate::start::StartError;

/// A relay that listens: its store is open, its address taken.
pub struct Relay {
    listener: TcpListener,
    address: SocketAddr,
    relay_id: RelayId,
    door: Arc<Door>,
    sockets: Arc<Semaphore>,
    /// Told when the owner has ended.
    owner: oneshot::Receiver<()>,
}

/// A relay that ended by itself: a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the thread that owns the relay's state ended")
    }
}

impl std::error::Error for Broken {}

/// Sockets beside the connections: health checks, and requests on their way to an upgrade.
const OTHER_SOCKETS: usize = 256;
/// Files beside the sockets.
const OTHER_FILES: u64 = 64;
/// How long a stop waits for the owner's last commit and checkpoint, and then for the connections' goodbyes. Together they
/// stay below the 10 s of a stop.
const LAST_COMMIT: Duration = Duration::from_secs(5);
const GOODBYES: Duration = Duration::from_secs(4);
/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 1024;
/// After an accept failed (no file is left), the next one waits.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Relay {
    /// Takes the address, opens the store, starts the owner, and listens. Nothing can connect before the store is loaded.
    ///
    /// Call it inside a tokio runtime with time and IO. Errors: see [`StartError`]; nothing keeps running.
    pub async fn start(config: Config, log: Logger) -> Result<Self, StartError> {
        let (socket, address) = bind(&config.listen).await?;
        let relay_id = match &config.relay_id {
            Some(id) => id.clone(),
            None => RelayId::of_loopback(&config.listen.with_port(address.port()))
                .map_err(|_| StartError::NoRelayId)?,
        };
        let health = Arc::new(Health::default());
        let (inbox, owner) = owner::start(&config, &relay_id, &health, &log)?;
        let listener = socket.listen(BACKLOG).map_err(|error| StartError::Listen(error.kind()))?;
        let sockets = config.preauth_connections + config.limits.connections + OTHER_SOCKETS;
        // A socket each, and some for the store and the log.
        let files =
            files::allow(u64::try_from(sockets).unwrap_or(u64::MAX).saturating_add(OTHER_FILES));
        let door = Arc::new(Door::new(&config, &relay_id, inbox, health, log, sockets));
        let fields = [
            ("address", address.to_string().into()),
            ("relay", relay_id.as_str().into()),
            ("files", files.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ];
        door.log().write(Level::Info, "relay.listening", &fields);
        let sockets = Arc::new(Semaphore::new(sockets));
        Ok(Self { listener, address, relay_id, door, sockets, owner })
    }

    /// Where it listens; the port is a real one.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its public origin.
    #[must_use]
    pub fn relay_id(&self) -> &str {
        self.relay_id.as_str()
    }

    /// Serves until `stop` is there, then ends in order within 10 s: no new connections, what is taken is committed, every
    /// connection is closed with 1001, and the store is closed.
    ///
    /// Errors: [`Broken`] when the relay ended before it was asked to.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), Broken> {
        let Self { listener, door, sockets, mut owner, .. } = self;
        let accept = accept(&listener, &door, &sockets, door.request_time());
        let end = async {
            tokio::select! {
                biased;
                () = stop => {}
                _ = &mut owner => return Err(Broken),
            }
            door.stop();
            // An owner that hangs in a commit is left behind: the process ends, the store is as its last commit left it.
            let committed = timeout(LAST_COMMIT, &mut owner).await;
            let _ = timeout(GOODBYES, door.empty()).await;
            door.log().write(Level::Info, "relay.stopped", &[]);
            match committed {
                Ok(Err(_)) => Err(Broken),
                Ok(Ok(())) | Err(_) => Ok(()),
            }
        };
        // Health checks are answered to the end.
        tokio::select! {
            never = accept => match never {},
            end = end => end,
        }
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Takes the address without listening yet.
async fn bind(listen: &Listen) -> Result<(TcpSocket, SocketAddr), StartError> {
    let failed = |error: std::io::Error| StartError::Listen(error.kind());
    let addresses = lookup_host((listen.host.as_str(), listen.port)).await.map_err(failed)?;
    let mut last = StartError::Listen(std::io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let bound = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }
            .and_then(|socket| {
                // A restart must not wait for the sockets of the last run to be forgotten.
                #[cfg(unix)]
                socket.set_reuseaddr(true)?;
                socket.bind(address)?;
                let address = socket.local_addr()?;
                Ok((socket, address))
            });
        match bound {
            Ok(bound) => return Ok(bound),
            Err(error) => last = failed(error),
        }
    }
    Err(last)
}

/// Accepts for ever. A socket over the cap is dropped before anything is read from it.
async fn accept(
    listener: &TcpListener,
    door: &Arc<Door>,
    sockets: &Arc<Semaphore>,
    request_time: Duration,
) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Ok(permit) = Arc::clone(sockets).try_acquire_owned() {
                    tokio::spawn(serve_http(stream, peer, Arc::clone(door), permit, request_time));
                }
            }
            Err(error) => {
                let name = error.kind().to_string();
                door.log().write(
                    Level::Error,
                    "relay.internal",
                    &[("where", "http".into()), ("error", name.into())],
                );
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one socket's requests. After an upgrade the socket belongs to its connection's task.
async fn serve_http(
    stream: TcpStream,
    peer: SocketAddr,
    door: Arc<Door>,
    permit: OwnedSemaphorePermit,
    request_time: Duration,
) {
    // Frames are small and waited for: they must not be held back to be gathered.
    let _ = stream.set_nodelay(true);
    let permit = Arc::new(permit);
    let service = service_fn(move |mut request| {
        let reply = door.answer(&mut request, peer.ip(), &permit);
        async move { Ok::<_, Infallible>(reply) }
    });
    let mut requests = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(request_time)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    // Whatever ends it, there is nobody to tell. A peer that asks and never takes the answers would keep its socket for ever.
    if timeout(request_time * REQUESTS, requests.as_mut()).await.is_err() {
        requests.as_mut().graceful_shutdown();
        let _ = timeout(request_time, requests).await;
    }
}

/// A socket may be used for requests for this many times the time of one. A client that asks for more dials again.
const REQUESTS: u32 = 6;
/// The largest head of a request, bytes; the least that the HTTP library takes.
const MAX_HEAD: usize = 8 * 1024;
