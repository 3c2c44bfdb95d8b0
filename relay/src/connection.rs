//! One connection, for its whole life: a task that owns the socket, and translates.
//! Spec: W5.3
//!
//! It reads messages, parses and verifies them, and hands them to the owner in order; it writes what the owner put into its
//! mailbox. It decides nothing, but for what only a socket knows: a message over the limit, a silence, a peer that left.

use std::io;
use std::sync::Arc;

use messaging_relay_engine::{ConnId, Prepared, Preparer};
use messaging_wire::CloseCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::Timings;
use crate::gate::Place;
use crate::mailbox::{Mailbox, Verdict};
use crate::owner::Inbox;
use crate::websocket::{Incoming, WRITE_BUFFER, WebSocket};

/// What a connection is made of.
pub(crate) struct Connection {
    pub(crate) conn: ConnId,
    pub(crate) socket: WebSocket,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) inbox: Inbox,
    pub(crate) preparer: Preparer,
    pub(crate) timings: Timings,
    /// Its place at the gate, until its `hello` is accepted.
    pub(crate) place: Option<Place>,
    /// Its part of the connections and of the raw sockets.
    pub(crate) permits: (OwnedSemaphorePermit, Arc<OwnedSemaphorePermit>),
}

/// How a connection ends.
enum End {
    /// The peer left, or is dead, or is dropped: there is nobody to say goodbye to.
    Drop,
    /// With this close code.
    Close(CloseCode),
}

/// Messages read before the mailbox is looked at again.
const READS_IN_A_ROW: usize = 16;

impl Connection {
    /// Serves the connection until it ends.
    pub(crate) async fn run(self) {
        let Self { conn, socket, mailbox, inbox, preparer, timings, place, permits } = self;
        let mut talk = Talk {
            conn,
            socket,
            mailbox,
            inbox,
            preparer,
            place,
            gathered: 0,
            reading: true,
            unread: true,
            heard: Instant::now(),
        };
        let end = talk.run(timings).await.unwrap_or(End::Drop);
        talk.inbox.closed(conn);
        if let End::Close(code) = end {
            // A peer that does not take its goodbye in time is dropped like any other.
            let _ = timeout(timings.close, talk.say_goodbye(code)).await;
        }
        drop(permits);
    }
}

struct Talk {
    conn: ConnId,
    socket: WebSocket,
    mailbox: Arc<Mailbox>,
    inbox: Inbox,
    preparer: Preparer,
    place: Option<Place>,
    /// Bytes of texts given to the socket and not yet written.
    gathered: usize,
    /// Whether messages are read: not while a `hello` is judged, nor after one that the library cannot read past.
    reading: bool,
    /// Whether there may be something to read. Messages can be inside the library while the socket has nothing.
    unread: bool,
    heard: Instant,
}

impl Talk {
    async fn run(&mut self, timings: Timings) -> io::Result<End> {
        let mut alarm = std::pin::pin!(sleep_until(self.heard + timings.ping));
        loop {
            // The verdict is read before the texts: those put in before a close are then written before it.
            match self.mailbox.verdict() {
                Some(Verdict::Terminate) => return Ok(End::Drop),
                Some(Verdict::Close(code)) => return Ok(End::Close(code)),
                Some(Verdict::Welcome) if self.place.take().is_some() => {
                    self.socket.allow_full_frames();
                    self.reading = true;
                }
                Some(Verdict::Welcome) | None => {}
            }
            let written = self.write()?;
            if self.reading && self.unread {
                if let Some(end) = self.read().await? {
                    return Ok(end);
                }
                if self.unread {
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = self.mailbox.changed() => {}
                ready = self.socket.ready(self.reading, !written) => {
                    self.unread |= ready?.is_readable();
                }
                () = &mut alarm => {
                    if self.heard.elapsed() >= timings.silence {
                        return Ok(End::Drop);
                    }
                    self.socket.ping()?;
                    let next = Instant::now() + timings.ping;
                    alarm.as_mut().reset(next.min(self.heard + timings.silence));
                }
            }
        }
    }

    /// Writes from the mailbox until it is empty or the socket takes no more; says whether everything is out.
    fn write(&mut self) -> io::Result<bool> {
        loop {
            while self.gathered < WRITE_BUFFER
                && let Some(text) = self.mailbox.take()
            {
                self.socket.write(&text)?;
                self.gathered += text.len();
            }
            if !self.socket.flush()? {
                return Ok(false);
            }
            let bytes = std::mem::take(&mut self.gathered);
            if bytes == 0 {
                return Ok(true);
            }
            let soon = self.mailbox.wrote(bytes);
            self.inbox.written(self.conn, bytes, soon);
        }
    }

    /// Reads a few messages and hands them to the owner.
    async fn read(&mut self) -> io::Result<Option<End>> {
        for _ in 0..READS_IN_A_ROW {
            match self.socket.read() {
                Incoming::Text(text) => {
                    self.heard = Instant::now();
                    let frame = self.preparer.prepare(text.as_str().as_bytes());
                    // What follows a `hello` is judged by the rules that its verdict sets.
                    let is_hello = self.place.is_some() && frame.t() == "hello";
                    self.reading = !is_hello;
                    self.hand_over(text.len(), frame).await?;
                    if is_hello {
                        return Ok(None);
                    }
                }
                Incoming::Alive => {
                    self.heard = Instant::now();
                    tokio::task::coop::consume_budget().await;
                }
                Incoming::Nothing => {
                    self.unread = false;
                    return Ok(None);
                }
                Incoming::Gone => return Ok(Some(End::Drop)),
                // Nothing can be read any more, so nothing is left to ask the owner. An ack that is still on its way to this
                // connection is lost; the client resends, and the answer is the same.
                Incoming::TooLarge => return Ok(Some(End::Close(CloseCode::TooLarge))),
                Incoming::Garbage => {
                    self.reading = false;
                    self.unread = false;
                    self.hand_over(0, Prepared::binary()).await?;
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    async fn hand_over(&self, bytes: usize, frame: Prepared) -> io::Result<()> {
        // An owner that is gone has said what becomes of its connections: the mailbox knows.
        let _ = self.inbox.frame(self.conn, bytes, frame).await;
        Ok(())
    }

    /// Writes what is left, then closes.
    async fn say_goodbye(mut self, code: CloseCode) {
        while let Ok(false) = self.write() {
            if self.socket.ready(false, true).await.is_err() {
                return;
            }
        }
        self.socket.close(code.number()).await;
    }
}
