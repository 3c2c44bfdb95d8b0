//! One local socket: bound while the lock is held, 256 connections at a time.
//!
//! Spec: §8.2 "Two sockets", D1.1, D3.2 step 11

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use messaging_daemon_engine::events::LogEvent;
use messaging_daemon_engine::{ConnId, Tier};
use messaging_ipc::line::CONNECTIONS;
use messaging_runtime::log::Logger;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};

use super::connection;
use crate::daemon::raised;
use crate::log;
use crate::os::{self, ModeBits};
use crate::owner::Inbox;

/// A bound socket that is not served yet.
pub(crate) struct Door {
    listener: UnixListener,
    path: PathBuf,
    tier: Tier,
}

/// Removes a stale socket and binds a new one. The caller holds the home's lock, so whatever
/// lies there belongs to no living daemon.
///
/// Errors: something other than a socket lies there, or the system refuses.
pub(crate) fn bind(
    path: &Path,
    tier: Tier,
    mode: ModeBits,
    group: Option<u32>,
) -> io::Result<Door> {
    match os::stat(path)? {
        None => {}
        Some(owner) if owner.is_socket() => std::fs::remove_file(path)?,
        Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
    }
    let listener = UnixListener::from_std(os::listen(path, mode, group)?)?;
    Ok(Door { listener, path: path.to_path_buf(), tier })
}

/// What every connection of the daemon shares.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) inbox: Inbox,
    /// The hello line, its end included.
    pub(crate) hello: Arc<[u8]>,
    /// Connection ids rise across both sockets.
    pub(crate) ids: Arc<AtomicU64>,
    pub(crate) log: Logger,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Door {
    /// Accepts until the daemon stops, then removes the socket.
    pub(crate) async fn serve(self, mut shared: Shared) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut stopping = shared.stopping.clone();
        loop {
            let accepted = tokio::select! {
                biased;
                () = raised(&mut stopping) => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream, &room, &mut shared),
                Err(_) => {
                    // Out of descriptors, most likely: the next attempt must not spin.
                    log::write(&shared.log, &LogEvent::IpcRefused { reason: "accept" });
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // A name that stays is removed by the next start.
        let _ = std::fs::remove_file(&self.path);
    }

    fn admit(&self, stream: UnixStream, room: &Arc<Semaphore>, shared: &mut Shared) {
        let Ok(place) = Arc::clone(room).try_acquire_owned() else {
            // Closed without a hello: the client reads it as `daemon_unavailable`.
            log::write(&shared.log, &LogEvent::IpcRefused { reason: "full" });
            return;
        };
        let conn = ConnId(shared.ids.fetch_add(1, Ordering::Relaxed));
        let (inbox, hello, tier) = (shared.inbox.clone(), Arc::clone(&shared.hello), self.tier);
        tokio::spawn(async move {
            connection::serve(stream, conn, tier, &hello, &inbox).await;
            drop(place);
        });
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
