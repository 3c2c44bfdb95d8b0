//! The way to the owner: a bounded queue of what happened, and each connection's line through it.
//! Spec: §7 "Limits", W5.4

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use messaging_core::ids::Nonce32;
use messaging_relay_engine::{ConnId, Prepared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::mailbox::{Mailbox, Verdict};
use crate::progress::Progress;

/// The way in. Clones lead to the same owner.
#[derive(Clone)]
pub(crate) struct Inbox {
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
    progress: Arc<Progress<ConnId>>,
}

/// The owner's end.
pub(crate) struct Jobs {
    pub(crate) waiting: Receiver<Job>,
    pub(crate) progress: Arc<Progress<ConnId>>,
}

/// What waits for the owner.
pub(crate) enum Job {
    /// A WebSocket stands.
    Open { conn: ConnId, address: IpAddr, nonce: Nonce32, mailbox: Arc<Mailbox> },
    /// A message came. It gives its room back when it is dropped.
    Frame { conn: ConnId, bytes: usize, frame: Prepared, room: OwnedSemaphorePermit },
    /// A connection is gone.
    Closed { conn: ConnId },
    /// A socket made the progress that was waited for.
    Look,
    /// The relay stops.
    Stop,
}

/// The owner is gone: the relay has stopped.
#[derive(Debug)]
pub(crate) struct Gone;

/// Bytes of frames that may wait for the owner, over all connections. While it is full, connections do not read.
const ROOM: usize = 32 * 1024 * 1024;
/// What a frame costs beside its text.
const FRAME_COST: usize = 512;

impl Inbox {
    /// A way in, and the owner's end of it.
    pub(crate) fn new() -> (Self, Jobs) {
        let (jobs, waiting) = mpsc::channel();
        let progress = Arc::new(Progress::new());
        let room = Arc::new(Semaphore::new(ROOM));
        (Self { jobs, room, progress: Arc::clone(&progress) }, Jobs { waiting, progress })
    }

    /// A WebSocket stands: opens its line.
    pub(crate) fn open(&self, conn: ConnId, address: IpAddr, nonce: Nonce32) -> Result<Line, Gone> {
        let mailbox = Arc::new(Mailbox::default());
        self.put(Job::Open { conn, address, nonce, mailbox: Arc::clone(&mailbox) })?;
        Ok(Line { conn, mailbox, inbox: self.clone() })
    }

    /// The relay stops.
    pub(crate) fn stop(&self) {
        // An owner that is gone has stopped.
        let _ = self.put(Job::Stop);
    }

    fn put(&self, job: Job) -> Result<(), Gone> {
        self.jobs.send(job).map_err(|_| Gone)
    }
}

/// A connection's line to the owner. When it is dropped, the owner learns that the connection is gone.
pub(crate) struct Line {
    conn: ConnId,
    mailbox: Arc<Mailbox>,
    inbox: Inbox,
}

impl Line {
    /// Hands in a message of `bytes`. Waits while too much is waiting already.
    ///
    /// An owner that is gone takes nothing more; it has said in the mailbox what becomes of the connection.
    pub(crate) async fn hand_in(&self, bytes: usize, frame: Prepared) {
        let cost = u32::try_from(bytes.saturating_add(FRAME_COST).min(ROOM)).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.inbox.room).acquire_many_owned(cost).await {
            let _ = self.inbox.put(Job::Frame { conn: self.conn, bytes, frame, room });
        }
    }

    /// The next text to send.
    pub(crate) fn take(&self) -> Option<Arc<str>> {
        self.mailbox.take()
    }

    /// What the owner decided, when it has.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.mailbox.verdict()
    }

    /// Waits until there is a text or a verdict. May return too often, never too seldom.
    pub(crate) async fn changed(&self) {
        self.mailbox.changed().await;
    }

    /// Bytes of texts left the socket. The owner learns it with its next turn, at once when deliveries may wait for it.
    pub(crate) fn wrote(&self, bytes: usize) {
        let waited_for = self.mailbox.wrote(bytes);
        self.inbox.progress.note(self.conn, bytes);
        if waited_for {
            let _ = self.inbox.put(Job::Look);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.inbox.put(Job::Closed { conn: self.conn });
    }
}
