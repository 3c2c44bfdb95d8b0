//! The door: answers requests, and turns an upgrade into a connection.
//! Spec: §7 "HTTP", W5.3 steps 1-3

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use messaging_core::ids::Nonce32;
use messaging_core::random;
use messaging_relay_engine::{ConnId, Preparer};
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::log::{Level, Logger};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::address::{ClientAddress, Network};
use crate::config::{Config, RelayId, Timings};
use crate::connection::Connection;
use crate::gate::{Full, Gate, Place};
use crate::health::Health;
use crate::http::{self, Reply, Route};
use crate::inbox::Inbox;
use crate::throttle::Throttle;
use crate::websocket::WebSocket;

/// What every request and every connection needs.
pub(crate) struct Door {
    inbox: Inbox,
    gate: Gate,
    trusted: Vec<Network>,
    relay: Arc<str>,
    health: Arc<Health>,
    log: Logger,
    timings: Timings,
    next_conn: AtomicU64,
    /// One permit is out for each connection, so that a stop can wait for them.
    connections: Arc<Semaphore>,
    most_connections: usize,
    full_in_total: Throttle,
    full_for_address: Throttle,
}

impl Door {
    /// A door to `inbox` for at most `most_connections` sockets.
    pub(crate) fn new(
        config: &Config,
        relay_id: &RelayId,
        inbox: Inbox,
        health: Arc<Health>,
        log: Logger,
        most_connections: usize,
    ) -> Self {
        Self {
            inbox,
            gate: Gate::new(config.preauth_connections, config.preauth_per_address),
            trusted: config.trusted_proxies.clone(),
            relay: relay_id.as_str().into(),
            health,
            log,
            timings: config.timings,
            next_conn: AtomicU64::new(1),
            connections: Arc::new(Semaphore::new(most_connections)),
            most_connections,
            full_in_total: Throttle::default(),
            full_for_address: Throttle::default(),
        }
    }

    pub(crate) fn log(&self) -> &Logger {
        &self.log
    }

    pub(crate) fn request_time(&self) -> Duration {
        self.timings.request
    }

    /// Answers one request. An upgrade goes on in a task of its own, which holds the socket's `permit`.
    pub(crate) fn answer(
        self: &Arc<Self>,
        request: &mut Request<Incoming>,
        peer: IpAddr,
        permit: &Arc<OwnedSemaphorePermit>,
    ) -> Reply {
        match http::route(request) {
            Route::Health => http::healthy(),
            Route::Ready => http::readiness(&self.health.why()),
            Route::NoWebSocket(status) => http::no_web_socket(status),
            Route::Unknown => http::empty(StatusCode::NOT_FOUND),
            Route::Connect(_) if self.health.is_stopping() => {
                http::empty(StatusCode::SERVICE_UNAVAILABLE)
            }
            Route::Connect(handshake) => {
                let address = ClientAddress::behind(peer, request.headers(), &self.trusted);
                match self.gate.enter(address) {
                    Ok(place) => {
                        let upgrade = hyper::upgrade::on(request);
                        let door = Arc::clone(self);
                        tokio::spawn(door.connect(upgrade, address, place, Arc::clone(permit)));
                        http::switching(&handshake)
                    }
                    Err(full) => {
                        self.tell_full(full);
                        http::empty(StatusCode::SERVICE_UNAVAILABLE)
                    }
                }
            }
        }
    }

    /// The relay stops: upgrades are refused, and the owner closes every connection.
    pub(crate) fn stop(&self) {
        self.health.set_stopping();
        self.inbox.stop();
    }

    /// Waits until no connection is left.
    pub(crate) async fn empty(&self) {
        let all = u32::try_from(self.most_connections).unwrap_or(u32::MAX);
        let _ = self.connections.acquire_many(all).await;
    }

    /// Takes the socket over once the answer is written, and serves its connection.
    async fn connect(
        self: Arc<Self>,
        upgrade: OnUpgrade,
        address: ClientAddress,
        place: Place,
        socket_permit: Arc<OwnedSemaphorePermit>,
    ) {
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else { return };
        let Ok(upgraded) = upgrade.await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
        let conn = ConnId(self.next_conn.fetch_add(1, Ordering::Relaxed));
        let nonce = Nonce32::from_bytes(&random::bytes(&mut SystemRandom));
        let Ok(line) = self.inbox.open(conn, address.ip(), nonce) else { return };
        let connection = Connection::new(
            line,
            WebSocket::accept(parts.io.into_inner(), parts.read_buf.to_vec()),
            Preparer::new(&*self.relay, nonce),
            self.timings,
            place,
            (permit, socket_permit),
        );
        // A task of its own: this one still holds the room that the upgrade needed.
        tokio::spawn(Box::new(connection).run());
    }

    fn tell_full(&self, full: Full) {
        let throttle = match full {
            Full::Total => &self.full_in_total,
            Full::Address => &self.full_for_address,
        };
        if throttle.passes(Instant::now()) {
            self.log.write(Level::Warn, "conn.preauth_full", &[("scope", full.scope().into())]);
        }
    }
}
