//! One connection, for its whole life: a task that owns the socket, and translates.
//! Spec: W5.3
//!
//! It reads messages, parses and verifies them, and hands them to the owner in order; it writes what the owner put into its
//! mailbox. It decides nothing, but for what only a socket knows: a message over the limit, a silence, a peer that left.

use std::io;
use std::sync::Arc;

use messaging_relay_engine::{Prepared, Preparer};
use messaging_wire::CloseCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::Timings;
use crate::gate::Place;
use crate::inbox::Line;
use crate::mailbox::Verdict;
use crate::websocket::{Incoming, WebSocket};

/// A connection's task: what it is made of, and how far it is.
pub(crate) struct Connection {
    line: Line,
    socket: WebSocket,
    preparer: Preparer,
    timings: Timings,
    /// Its place at the gate, until its `hello` is accepted.
    place: Option<Place>,
    /// Whether messages are read: not while a `hello` is judged, nor after one that nothing can be read behind.
    reading: bool,
    /// Whether there may be something to read. Messages may have been read from the socket and not been looked at.
    unread: bool,
    /// When the peer last gave a sign of life.
    heard: Instant,
    /// Its part of the connections and of the raw sockets.
    _permits: Permits,
}

/// What a connection takes up, given back when it ends: one of the connections, and one of the raw sockets.
pub(crate) type Permits = (OwnedSemaphorePermit, Arc<OwnedSemaphorePermit>);

/// How a connection ends.
enum End {
    /// The peer left, or is dead, or is dropped: there is nobody to say goodbye to.
    Drop,
    /// With this close code.
    Close(CloseCode),
}

/// Texts that are taken out of the mailbox for one write. Those still inside can be dropped at once.
const TEXTS_AT_ONCE: usize = 16;
/// Messages read before the mailbox is looked at again.
const READS_IN_A_ROW: usize = 16;

impl Connection {
    pub(crate) fn new(
        line: Line,
        socket: WebSocket,
        preparer: Preparer,
        timings: Timings,
        place: Place,
        permits: Permits,
    ) -> Self {
        Self {
            line,
            socket,
            preparer,
            timings,
            place: Some(place),
            reading: true,
            unread: true,
            heard: Instant::now(),
            _permits: permits,
        }
    }

    /// Serves the connection until it ends.
    ///
    /// Boxed, as is the goodbye: a future holds its arguments twice, and its largest state for its whole life.
    pub(crate) async fn run(mut self: Box<Self>) {
        let end = self.talk().await.unwrap_or(End::Drop);
        if let End::Close(code) = end {
            let limit = self.timings.close;
            // A peer that does not take its goodbye in time is dropped like any other.
            let _ = timeout(limit, Box::pin(self.say_goodbye(code))).await;
        }
    }

    async fn talk(&mut self) -> io::Result<End> {
        let Timings { ping, silence, .. } = self.timings;
        let mut alarm = std::pin::pin!(sleep_until(self.heard + ping));
        loop {
            // The verdict is read before the texts: those put in before a close are then written before it.
            match self.line.verdict() {
                Some(Verdict::Terminate) => return Ok(End::Drop),
                Some(Verdict::Close(code)) => return Ok(End::Close(code)),
                Some(Verdict::Welcome) if self.place.take().is_some() => {
                    self.socket.allow_full_frames();
                    self.reading = true;
                }
                Some(Verdict::Welcome) | None => {}
            }
            self.write()?;
            if self.reading && self.unread {
                if let Some(end) = self.read().await {
                    return Ok(end);
                }
                if self.unread {
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = self.line.changed() => {}
                ready = self.socket.ready(self.reading) => {
                    if ready?.is_readable() {
                        self.unread = true;
                        // A message that takes long to arrive is no silence.
                        self.heard = Instant::now();
                    }
                }
                () = &mut alarm => {
                    if self.heard.elapsed() >= silence {
                        return Ok(End::Drop);
                    }
                    self.socket.ping();
                    let next = Instant::now() + ping;
                    alarm.as_mut().reset(next.min(self.heard + silence));
                }
            }
        }
    }

    /// Writes from the mailbox until it is empty or the socket takes no more.
    fn write(&mut self) -> io::Result<()> {
        loop {
            while self.socket.to_write() < TEXTS_AT_ONCE
                && let Some(text) = self.line.take()
            {
                self.socket.write(text);
            }
            let bytes = self.socket.flush()?;
            if bytes > 0 {
                self.line.wrote(bytes);
            }
            // Either nothing is left, or the socket is full.
            if self.socket.to_write() > 0 || bytes == 0 {
                return Ok(());
            }
        }
    }

    /// Reads a few messages and hands them to the owner.
    async fn read(&mut self) -> Option<End> {
        for _ in 0..READS_IN_A_ROW {
            match self.socket.read() {
                Incoming::Text(text) => {
                    self.heard = Instant::now();
                    let frame = self.preparer.prepare(text.as_bytes());
                    // What follows a `hello` is judged by the rules that its verdict sets.
                    let is_hello = self.place.is_some() && frame.t() == "hello";
                    self.reading = !is_hello;
                    self.line.hand_in(text.len(), frame).await;
                    if is_hello {
                        return None;
                    }
                }
                Incoming::Alive => {
                    self.heard = Instant::now();
                    tokio::task::coop::consume_budget().await;
                }
                Incoming::Nothing => {
                    self.unread = false;
                    return None;
                }
                Incoming::More => {
                    self.heard = Instant::now();
                    tokio::task::yield_now().await;
                    return None;
                }
                Incoming::Gone => return Some(End::Drop),
                // Nothing can be read any more, so nothing is left to ask the owner. An ack that is still on its way to this
                // connection is lost; the client resends, and the answer is the same.
                Incoming::TooLarge => return Some(End::Close(CloseCode::TooLarge)),
                Incoming::Garbage => {
                    self.reading = false;
                    self.unread = false;
                    self.line.hand_in(0, Prepared::binary()).await;
                    return None;
                }
            }
        }
        None
    }

    /// Writes what is left, then closes.
    async fn say_goodbye(mut self: Box<Self>, code: CloseCode) {
        loop {
            if self.write().is_err() {
                return;
            }
            if self.socket.to_write() == 0 {
                break;
            }
            tokio::select! {
                ready = self.socket.ready(false) => {
                    if ready.is_err() {
                        return;
                    }
                }
                // Its room is needed: what it holds is dropped with it.
                () = self.line.changed() => {
                    if self.line.verdict() == Some(Verdict::Terminate) {
                        return;
                    }
                }
            }
        }
        let Self { socket, line, place, _permits: permits, .. } = *self;
        // Neither the owner nor those at the gate wait for the peer.
        drop((line, place));
        socket.close(code.number()).await;
        drop(permits);
    }
}
