//! One WebSocket on one bare socket, server side.
//! Spec: §7 "Pre-auth frames", W5.3
//!
//! The protocol is two halves without IO, [`decode`] and [`encode`]; this module moves their bytes. One task owns the socket:
//! it waits for reading and writing together, changes the limit after login, and shuts the socket down as it likes. A
//! connection that is idle holds no buffer at all.

mod decode;
mod encode;

use std::io;
use std::num::NonZeroU16;
use std::sync::Arc;

use messaging_core::limits::{FRAME_BYTES, PRE_AUTH_FRAME_BYTES};
use tokio::io::{AsyncWriteExt as _, Interest, Ready};
use tokio::net::TcpStream;

use decode::{Decoder, Fault, Message};
use encode::Encoder;

/// What is read from the socket at once.
const READ: usize = 8 * 1024;
/// How often the socket is read in search of one message.
const READS: usize = 8;
/// What is still taken from a peer that was told to go.
const DRAIN: usize = 4 * 1024 * 1024;

/// A WebSocket.
pub(crate) struct WebSocket {
    stream: TcpStream,
    decoder: Decoder,
    /// Bytes read and not yet decoded, from `at` on.
    read: Vec<u8>,
    at: usize,
    encoder: Encoder,
}

/// What a read found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A text message.
    Text(String),
    /// A ping or a pong: the peer lives.
    Alive,
    /// Nothing yet.
    Nothing,
    /// Nothing yet, though much was read: there may be more, when others had their turn.
    More,
    /// The peer left. The socket is of no more use.
    Gone,
    /// A message over the limit. Nothing can be read any more.
    TooLarge,
    /// A binary message, or bytes that are no WebSocket frames. Nothing can be read any more.
    Garbage,
}

impl WebSocket {
    /// Takes over a socket after its upgrade, and what was read behind the request.
    pub(crate) fn accept(stream: TcpStream, behind: Vec<u8>) -> Self {
        let decoder = Decoder::new(PRE_AUTH_FRAME_BYTES);
        Self { stream, decoder, read: behind, at: 0, encoder: Encoder::default() }
    }

    /// Takes messages of the size allowed after `hello`.
    pub(crate) fn allow_full_frames(&mut self) {
        self.decoder.set_limit(FRAME_BYTES);
    }

    /// Reads one message if there is one.
    ///
    /// Bounded: a message can be cut into any number of pieces, empty ones too, and whoever sends them without end must not keep
    /// the thread for ever.
    pub(crate) fn read(&mut self) -> Incoming {
        for _ in 0..READS {
            let mut input = self.read.get(self.at..).unwrap_or_default();
            let decoded = self.decoder.decode(&mut input);
            self.at = self.read.len() - input.len();
            match decoded {
                Ok(Some(Message::Text(text))) => return Incoming::Text(text),
                Ok(Some(Message::Pong)) => return Incoming::Alive,
                Ok(Some(Message::Ping(payload))) => {
                    self.encoder.pong(payload);
                    return Incoming::Alive;
                }
                Ok(Some(Message::Close(code))) => {
                    // The answer ends the close handshake. A socket that is full loses it; its peer has left anyway.
                    self.encoder.close(code.map(NonZeroU16::get));
                    let _ = self.flush();
                    return Incoming::Gone;
                }
                Err(Fault::TooLarge) => return Incoming::TooLarge,
                Err(Fault::Garbage) => return Incoming::Garbage,
                Ok(None) => {}
            }
            self.read.resize(READ, 0);
            self.at = 0;
            let got = self.stream.try_read(&mut self.read);
            self.read.truncate(got.as_ref().copied().unwrap_or(0));
            match got {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.read = Vec::new();
                    return Incoming::Nothing;
                }
                Ok(0) | Err(_) => return Incoming::Gone,
            }
        }
        Incoming::More
    }

    /// Adds a text to what is to be written.
    pub(crate) fn write(&mut self, text: Arc<str>) {
        self.encoder.text(text);
    }

    /// Adds a ping.
    pub(crate) fn ping(&mut self) {
        self.encoder.ping();
    }

    /// How many frames are to be written.
    pub(crate) fn to_write(&self) -> usize {
        self.encoder.len()
    }

    /// Writes what the socket takes. Returns the bytes of the texts that went out.
    ///
    /// Errors: the socket is of no more use.
    pub(crate) fn flush(&mut self) -> io::Result<usize> {
        self.encoder.write(|slices| self.stream.try_write_vectored(slices))
    }

    /// Waits until the socket can be read, or written when there is something to write.
    pub(crate) async fn ready(&self, read: bool) -> io::Result<Ready> {
        let interest = match (read, !self.encoder.is_empty()) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (true, false) => Interest::READABLE,
            (false, true) => Interest::WRITABLE,
            (false, false) => return std::future::pending().await,
        };
        self.stream.ready(interest).await
    }

    /// Says goodbye behind what is to be written, ends the write side, and takes what the peer still sends until it closes
    /// too. The caller bounds the time.
    ///
    /// What comes is not read as messages. It is taken at all because closing a socket with unread bytes resets it, and a reset
    /// can swallow the goodbye.
    pub(crate) async fn close(mut self, code: u16) {
        self.encoder.close(Some(code));
        loop {
            if self.flush().is_err() {
                return;
            }
            // With nothing left to write there is nothing to wait for, and waiting would not end.
            if self.encoder.is_empty() {
                break;
            }
            if self.ready(false).await.is_err() {
                return;
            }
        }
        if self.stream.shutdown().await.is_err() {
            return;
        }
        // On the heap: the future of every connection would carry an array.
        let mut buffer = vec![0; READ];
        let mut taken = 0;
        while taken < DRAIN && self.stream.readable().await.is_ok() {
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return,
                Ok(n) => taken += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    /// A WebSocket, and the socket at its other end.
    async fn pair() -> (WebSocket, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        (WebSocket::accept(stream, Vec::new()), peer)
    }

    /// Long enough for any machine; whoever needs it waits for something that does not come.
    async fn soon<T>(what: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(30), what).await.expect("what was waited for came")
    }

    #[tokio::test]
    async fn a_goodbye_ends_the_stream_behind_what_was_to_be_written() {
        // Nothing, a little, and more than the buffers of a socket hold.
        for texts in [0, 1, 40] {
            let (mut socket, mut peer) = pair().await;
            let text: Arc<str> = "x".repeat(1 << 20).into();
            for _ in 0..texts {
                socket.write(Arc::clone(&text));
            }
            let mut taken = Vec::new();
            let ((), read) =
                soon(async { tokio::join!(socket.close(4004), peer_reads(&mut peer, &mut taken)) })
                    .await;
            read.unwrap();
            assert!(taken.ends_with(&[0x88, 0x02, 0x0f, 0xa4]), "{texts}");
            assert!(taken.len() > texts << 20, "{texts}");
        }
    }

    /// Reads to the end, which only comes when the write side was ended, and then leaves.
    async fn peer_reads(peer: &mut TcpStream, taken: &mut Vec<u8>) -> io::Result<()> {
        peer.read_to_end(taken).await?;
        peer.shutdown().await
    }

    #[tokio::test]
    async fn a_peer_that_is_still_sending_gets_its_goodbye() {
        let (socket, mut peer) = pair().await;
        let talk = async {
            // It reads only when everything is sent: somebody must take it.
            peer.write_all(&vec![b'x'; DRAIN - READ]).await.unwrap();
            let mut taken = Vec::new();
            peer_reads(&mut peer, &mut taken).await.unwrap();
            taken
        };
        let ((), taken) = soon(async { tokio::join!(socket.close(1009), talk) }).await;
        assert_eq!(taken, [0x88, 0x02, 0x03, 0xf1]);
    }
}
