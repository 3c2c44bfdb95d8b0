//! From messages to bytes: the sending half of RFC 6455, server side. No IO.
//! Spec: W5.5, W5.9
//!
//! A text is written from where it stands, shared by everybody it goes to: nothing is copied, and nothing of it stays when it
//! is out.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

/// The frames of one connection on their way out.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    frames: VecDeque<Frame>,
    /// Bytes of the first frame that are out.
    out: usize,
}

#[derive(Debug)]
enum Frame {
    Text(Arc<str>),
    Control { opcode: u8, payload: Vec<u8> },
}

/// Frames given to one write.
const BATCH: usize = 16;
/// Room for frames that an empty queue may keep.
const KEPT: usize = 4;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Encoder {
    /// Adds a text.
    pub(crate) fn text(&mut self, text: Arc<str>) {
        self.frames.push_back(Frame::Text(text));
    }

    /// Adds a ping.
    pub(crate) fn ping(&mut self) {
        self.frames.push_back(Frame::Control { opcode: PING, payload: Vec::new() });
    }

    /// Answers a ping, before the texts that wait. Only the latest ping needs an answer.
    pub(crate) fn pong(&mut self, payload: Vec<u8>) {
        // What has begun cannot be changed any more, nor interrupted.
        let begun = usize::from(self.out > 0);
        let unsent = self.frames.iter_mut().skip(begun).find_map(|frame| match frame {
            Frame::Control { opcode: PONG, payload } => Some(payload),
            _ => None,
        });
        match unsent {
            Some(old) => *old = payload,
            None => self.frames.insert(begun, Frame::Control { opcode: PONG, payload }),
        }
    }

    /// Adds a goodbye, with a code or without.
    pub(crate) fn close(&mut self, code: Option<u16>) {
        let payload = code.map_or_else(Vec::new, |code| code.to_be_bytes().to_vec());
        self.frames.push_back(Frame::Control { opcode: CLOSE, payload });
    }

    /// Whether everything is out.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many frames wait.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Writes until everything is out or `write` would block. Returns the bytes of the texts that went out whole.
    ///
    /// Errors: those of `write`, and `WriteZero` when it takes nothing.
    pub(crate) fn write(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut done = 0;
        while !self.frames.is_empty() {
            match self.write_some(&mut write) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => done += self.advance(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.frames.is_empty() && self.frames.capacity() > KEPT {
            self.frames = VecDeque::new();
        }
        Ok(done)
    }

    fn write_some(
        &self,
        write: &mut impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut heads = [Head::default(); BATCH];
        for (head, frame) in heads.iter_mut().zip(&self.frames) {
            *head = frame.head();
        }
        let mut slices = [IoSlice::new(&[]); 2 * BATCH];
        let mut skip = self.out;
        for ((pair, head), frame) in slices.chunks_exact_mut(2).zip(&heads).zip(&self.frames) {
            for (slice, bytes) in pair.iter_mut().zip([head.bytes(), frame.payload()]) {
                let skipped = skip.min(bytes.len());
                skip -= skipped;
                *slice = IoSlice::new(bytes.get(skipped..).unwrap_or_default());
            }
        }
        let used = 2 * self.frames.len().min(BATCH);
        write(slices.get(..used).unwrap_or_default())
    }

    /// Bytes went out; returns those of the texts that are whole now.
    fn advance(&mut self, bytes: usize) -> usize {
        let mut done = 0;
        self.out += bytes;
        while let Some(first) = self.frames.front() {
            let length = first.head().len + first.payload().len();
            if self.out < length {
                break;
            }
            if let Frame::Text(text) = first {
                done += text.len();
            }
            self.out -= length;
            self.frames.pop_front();
        }
        done
    }
}

impl Frame {
    fn payload(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Control { payload, .. } => payload,
        }
    }

    fn head(&self) -> Head {
        let opcode = match self {
            Self::Text(_) => TEXT,
            Self::Control { opcode, .. } => *opcode,
        };
        Head::new(opcode, self.payload().len())
    }
}

/// A frame's head: two, four or ten bytes. A server does not mask.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    bytes: [u8; 10],
    len: usize,
}

impl Head {
    fn new(opcode: u8, length: usize) -> Self {
        const LAST: u8 = 0x80;
        let mut bytes = [0; 10];
        let len = match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short @ ..=125), _) => {
                bytes = [LAST | opcode, short, 0, 0, 0, 0, 0, 0, 0, 0];
                2
            }
            (_, Ok(medium)) => {
                let [a, b] = medium.to_be_bytes();
                bytes = [LAST | opcode, 126, a, b, 0, 0, 0, 0, 0, 0];
                4
            }
            _ => {
                let length = u64::try_from(length).unwrap_or(u64::MAX);
                bytes[..2].copy_from_slice(&[LAST | opcode, 127]);
                bytes[2..].copy_from_slice(&length.to_be_bytes());
                10
            }
        };
        Self { bytes, len }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Read, Write};
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket};

    /// What a socket takes that accepts at most so many bytes at a time, and blocks in between.
    fn written(encoder: &mut Encoder, sizes: &[usize]) -> (Vec<u8>, usize) {
        let (mut bytes, mut done) = (Vec::new(), 0);
        let mut sizes = sizes.iter().copied().cycle();
        while !encoder.is_empty() {
            let mut room = sizes.next().unwrap();
            done += encoder
                .write(|slices| {
                    if room == 0 {
                        return Err(ErrorKind::WouldBlock.into());
                    }
                    let all: Vec<u8> =
                        slices.iter().flat_map(|slice| slice.iter().copied()).collect();
                    let taken = all.len().min(room);
                    bytes.extend_from_slice(&all[..taken]);
                    room -= taken;
                    Ok(taken)
                })
                .unwrap();
        }
        (bytes, done)
    }

    struct Held(Cursor<Vec<u8>>);

    impl Read for Held {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The bytes, read by another implementation's client.
    fn oracle(bytes: Vec<u8>) -> Vec<Message> {
        let mut socket = WebSocket::from_raw_socket(Held(Cursor::new(bytes)), Role::Client, None);
        std::iter::from_fn(|| socket.read().ok()).collect()
    }

    #[test]
    fn heads_have_the_shortest_length() {
        for (length, expected) in [
            (0, &[0x81, 0][..]),
            (125, &[0x81, 125]),
            (126, &[0x81, 126, 0, 126]),
            (65_535, &[0x81, 126, 0xff, 0xff]),
            (65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            assert_eq!(Head::new(TEXT, length).bytes(), expected);
        }
    }

    #[test]
    fn a_pong_goes_before_what_waits_but_never_into_what_has_begun() {
        let mut encoder = Encoder::default();
        encoder.text("first".into());
        encoder.text("second".into());
        let mut once = true;
        let taken = encoder.write(|_| {
            if std::mem::take(&mut once) { Ok(3) } else { Err(ErrorKind::WouldBlock.into()) }
        });
        assert_eq!(taken.unwrap(), 0, "nothing is out whole");
        encoder.pong(b"old".to_vec());
        encoder.pong(b"new".to_vec());
        encoder.close(Some(4004));
        let (rest, done) = written(&mut encoder, &[1_000]);
        assert_eq!(done, "firstsecond".len());
        let bytes = [&b"\x81\x05f"[..], &rest].concat();
        let messages = oracle(bytes);
        assert_eq!(
            messages[..3],
            [Message::text("first"), Message::Pong(b"new"[..].into()), Message::text("second")]
        );
        assert!(
            matches!(&messages[3], Message::Close(Some(frame)) if u16::from(frame.code) == 4004)
        );
    }

    #[test]
    fn a_socket_that_takes_nothing_is_an_error() {
        let mut encoder = Encoder::default();
        encoder.ping();
        assert_eq!(encoder.write(|_| Ok(0)).unwrap_err().kind(), ErrorKind::WriteZero);
    }

    proptest! {
        #[test]
        fn texts_arrive_whole_however_the_socket_takes_them(
            texts in prop::collection::vec(
                prop_oneof![
                    20 => ".{0,40}",
                    10 => (120_usize..130).prop_map(|n| "m".repeat(n)),
                    1 => (65_530_usize..65_540).prop_map(|n| "l".repeat(n)),
                ],
                0..40,
            ),
            mut sizes in prop::collection::vec(prop_oneof![Just(0_usize), 1_usize..300, 1_usize..100_000], 0..10),
        ) {
            sizes.push(7_000);
            let mut encoder = Encoder::default();
            for text in &texts {
                encoder.text(text.as_str().into());
            }
            let (bytes, done) = written(&mut encoder, &sizes);
            prop_assert_eq!(done, texts.iter().map(String::len).sum::<usize>());
            let expected: Vec<Message> = texts.into_iter().map(Message::text).collect();
            prop_assert_eq!(oracle(bytes), expected);
            prop_assert!(encoder.frames.capacity() <= KEPT, "nothing stays");
        }
    }
}
