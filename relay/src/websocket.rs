//! One WebSocket on one bare socket: the protocol of tungstenite, without its streams.
//! Spec: §7 "Pre-auth frames", W5.3
//!
//! The library's context does framing, masking, pongs and the close handshake. Reading and writing the socket stays here, so
//! that one task can wait for both, change the frame limit after login, and shut the socket down as it likes.

use std::io::{self, Read, Write};

use messaging_core::limits::{FRAME_BYTES, PRE_AUTH_FRAME_BYTES};
use tokio::io::{AsyncWriteExt as _, Interest, Ready};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{
    CloseFrame, Role, WebSocketConfig, WebSocketContext,
};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

/// What is read from the socket at once, and what an idle connection keeps.
const READ_BUFFER: usize = 4 * 1024;
/// Texts are gathered up to this size for one write.
pub(crate) const WRITE_BUFFER: usize = 32 * 1024;
/// What is still taken from a peer that was told to go.
const DRAIN_BYTES: usize = 4 * 1024 * 1024;

/// A WebSocket, server side.
pub(crate) struct WebSocket {
    stream: TcpStream,
    context: WebSocketContext,
}

/// What a read found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A text message.
    Text(Utf8Bytes),
    /// A ping or a pong: the peer lives.
    Alive,
    /// Nothing yet.
    Nothing,
    /// The peer left. The socket is of no more use.
    Gone,
    /// A message over the limit. Nothing may be read any more.
    TooLarge,
    /// A binary message, or bytes that are no WebSocket frames. Nothing may be read any more.
    Garbage,
}

impl WebSocket {
    /// Takes over a socket after its upgrade, and what was read behind the request.
    pub(crate) fn accept(stream: TcpStream, behind: Vec<u8>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_frame_size(Some(PRE_AUTH_FRAME_BYTES))
            .max_message_size(Some(PRE_AUTH_FRAME_BYTES));
        let context = WebSocketContext::from_partially_read(behind, Role::Server, Some(config));
        Self { stream, context }
    }

    /// Takes frames of the size allowed after `hello`.
    pub(crate) fn allow_full_frames(&mut self) {
        self.context.set_config(|config| {
            config.max_frame_size = Some(FRAME_BYTES);
            config.max_message_size = Some(FRAME_BYTES);
        });
    }

    /// Reads one message if there is one.
    pub(crate) fn read(&mut self) -> Incoming {
        match self.context.read(&mut Bare(&self.stream)) {
            Ok(Message::Text(text)) => Incoming::Text(text),
            Ok(Message::Ping(_) | Message::Pong(_)) => Incoming::Alive,
            Ok(Message::Binary(_) | Message::Frame(_)) => Incoming::Garbage,
            Ok(Message::Close(_)) => {
                // The answer is queued by the library; a full socket may lose it, and the peer has left anyway.
                let _ = self.context.flush(&mut Bare(&self.stream));
                Incoming::Gone
            }
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Incoming::Nothing,
            Err(Error::Capacity(_)) => Incoming::TooLarge,
            Err(Error::Utf8(_) | Error::Protocol(_)) if self.is_open() => Incoming::Garbage,
            Err(_) => Incoming::Gone,
        }
    }

    /// Gathers a text for the next write.
    ///
    /// Errors: the socket is of no more use.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.push(Message::text(text))
    }

    /// Gathers a ping.
    pub(crate) fn ping(&mut self) -> io::Result<()> {
        self.push(Message::Ping(Bytes::new()))
    }

    /// Writes what is gathered; `false` when the socket takes no more now.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match self.context.flush(&mut Bare(&self.stream)) {
            Ok(()) => Ok(true),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until the socket can be read, or written when `write` is asked.
    pub(crate) async fn ready(&self, read: bool, write: bool) -> io::Result<Ready> {
        match (read, write) {
            (true, true) => self.stream.ready(Interest::READABLE | Interest::WRITABLE).await,
            (true, false) => self.stream.ready(Interest::READABLE).await,
            (false, true) => self.stream.ready(Interest::WRITABLE).await,
            (false, false) => std::future::pending().await,
        }
    }

    /// Says goodbye: sends what is gathered and the close frame, ends the write side, and takes what the peer still sends
    /// until it closes too. The caller bounds the time.
    ///
    /// The frames that come are not read as frames: after a message over the limit the library cannot. They are taken at all
    /// because closing a socket with unread bytes resets it, and a reset can swallow the close frame.
    pub(crate) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: Utf8Bytes::from_static("") };
        let mut closing = self.context.close(&mut Bare(&self.stream), Some(frame));
        while let Err(Error::Io(error)) = &closing {
            if error.kind() != io::ErrorKind::WouldBlock || self.stream.writable().await.is_err() {
                return;
            }
            closing = self.context.flush(&mut Bare(&self.stream));
        }
        if closing.is_err() || self.stream.shutdown().await.is_err() {
            return;
        }
        // On the heap: the future of every connection would carry an array.
        let mut buffer = vec![0; READ_BUFFER];
        let mut taken = 0;
        while taken < DRAIN_BYTES && self.stream.readable().await.is_ok() {
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return,
                Ok(n) => taken += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    fn push(&mut self, message: Message) -> io::Result<()> {
        match self.context.write(&mut Bare(&self.stream), message) {
            Ok(()) => Ok(()),
            // The message stays gathered.
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Whether a close frame could still be sent.
    fn is_open(&self) -> bool {
        self.context.can_write()
    }
}

/// The socket as the library wants it: reads and writes that never wait.
struct Bare<'a>(&'a TcpStream);

impl Read for Bare<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Bare<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
