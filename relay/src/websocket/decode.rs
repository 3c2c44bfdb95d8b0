//! From bytes to messages: the receiving half of RFC 6455, server side. No IO.
//! Spec: §7 "Pre-auth frames", W5.3 step 5
//!
//! A message lives in its own allocation, which is handed on whole: an idle connection holds nothing, whatever it has
//! received before. A length is believed only as its bytes arrive.

use std::num::NonZeroU16;

/// What a peer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A text, whole.
    Text(String),
    /// A ping, to be answered with the same bytes.
    Ping(Vec<u8>),
    /// A pong.
    Pong,
    /// A goodbye, with its code when it has one.
    Close(Option<NonZeroU16>),
}

/// Why nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A message over the limit.
    TooLarge,
    /// A binary message, text that is not UTF-8, or bytes that are no frame of a client.
    Garbage,
}

/// Reads one connection's bytes, in whatever pieces they come.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The largest message, bytes.
    limit: usize,
    /// The frame that is coming: its head, then its payload.
    coming: Coming,
    /// The text so far, when a message has begun.
    text: Option<Vec<u8>>,
    /// The payload so far of a control frame, which may stand between the fragments of a message.
    control: Vec<u8>,
}

#[derive(Debug)]
enum Coming {
    Head { bytes: [u8; HEAD], have: usize },
    Payload { frame: Frame, left: usize, mask: [u8; 4] },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// A part of a text message, the last one when `last`.
    Text {
        last: bool,
    },
    Close,
    Ping,
    Pong,
}

/// The longest head: two bytes, a length of eight, a mask of four.
const HEAD: usize = 14;
/// The longest payload of a control frame.
const CONTROL: usize = 125;
/// Room taken for a message before its bytes have come, at most.
const TRUST: usize = 16 * 1024;

impl Decoder {
    /// A reader of messages of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, coming: NOTHING, text: None, control: Vec::new() }
    }

    /// Takes messages of another size from the next frame on.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes bytes from the front of `input` until a message is whole (`Some`) or there are no more (`None`).
    ///
    /// Errors: [`Fault`]; what follows cannot be read.
    pub(crate) fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Message>, Fault> {
        loop {
            match &mut self.coming {
                Coming::Head { bytes, have } => {
                    let need = head_len(bytes, *have);
                    if *have < need {
                        let Some((first, rest)) = input.split_first() else { return Ok(None) };
                        if let Some(slot) = bytes.get_mut(*have) {
                            *slot = *first;
                        }
                        *have += 1;
                        *input = rest;
                    } else {
                        let head = *bytes;
                        self.begin(head)?;
                    }
                }
                Coming::Payload { frame, left, mask } => {
                    let frame = *frame;
                    let (now, rest) = input.split_at((*left).min(input.len()));
                    *input = rest;
                    let target = match frame {
                        Frame::Text { .. } => self.text.get_or_insert_default(),
                        _ => &mut self.control,
                    };
                    append_unmasked(target, now, mask);
                    *left -= now.len();
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.coming = NOTHING;
                    if let Some(message) = self.end(frame)? {
                        return Ok(Some(message));
                    }
                }
            }
        }
    }

    /// A head is whole.
    fn begin(&mut self, head: [u8; HEAD]) -> Result<(), Fault> {
        let [first, second, ..] = head;
        let (last, reserved, opcode) = (first & 0x80 != 0, first & 0x70, first & 0x0f);
        let frame = match (opcode, self.text.is_some()) {
            (0, true) | (1, false) => Frame::Text { last },
            (8, _) => Frame::Close,
            (9, _) => Frame::Ping,
            (10, _) => Frame::Pong,
            _ => return Err(Fault::Garbage),
        };
        // No extension was agreed on, and a client masks.
        if reserved != 0 || second & MASKED == 0 {
            return Err(Fault::Garbage);
        }
        let (length, mask) = match (second & LENGTH, head) {
            (126, [_, _, a, b, m @ .., _, _, _, _, _, _]) => {
                (u64::from(u16::from_be_bytes([a, b])), m)
            }
            (127, [_, _, a, b, c, d, e, f, g, h, m @ ..]) => {
                (u64::from_be_bytes([a, b, c, d, e, f, g, h]), m)
            }
            (short, [_, _, m @ .., _, _, _, _, _, _, _, _]) => (u64::from(short), m),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if let Frame::Text { .. } = frame {
            let text = self.text.get_or_insert_default();
            if length > self.limit.saturating_sub(text.len()) {
                return Err(Fault::TooLarge);
            }
            text.reserve(length.min(TRUST));
        } else if !last || length > CONTROL {
            return Err(Fault::Garbage);
        }
        self.coming = Coming::Payload { frame, left: length, mask };
        Ok(())
    }

    /// A payload is whole. `None` for a part of a message that goes on.
    fn end(&mut self, frame: Frame) -> Result<Option<Message>, Fault> {
        Ok(match frame {
            Frame::Text { last: false } => None,
            Frame::Text { last: true } => {
                let text = String::from_utf8(self.text.take().unwrap_or_default());
                Some(Message::Text(text.map_err(|_| Fault::Garbage)?))
            }
            Frame::Ping => Some(Message::Ping(std::mem::take(&mut self.control))),
            Frame::Pong => {
                self.control = Vec::new();
                Some(Message::Pong)
            }
            Frame::Close => {
                let code = match *std::mem::take(&mut self.control) {
                    [a, b, ..] => NonZeroU16::new(u16::from_be_bytes([a, b])),
                    _ => None,
                };
                Some(Message::Close(code))
            }
        })
    }
}

const NOTHING: Coming = Coming::Head { bytes: [0; HEAD], have: 0 };
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;

/// How long a head is, as far as the bytes that have come tell.
fn head_len(bytes: &[u8; HEAD], have: usize) -> usize {
    let [_, second, ..] = bytes;
    let length = match second & LENGTH {
        _ if have < 2 => return 2,
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mask = if second & MASKED == 0 { 0 } else { 4 };
    2 + length + mask
}

/// Appends a payload's next bytes, unmasked, and turns the mask to where the one after them begins.
fn append_unmasked(target: &mut Vec<u8>, masked: &[u8], mask: &mut [u8; 4]) {
    let start = target.len();
    target.extend_from_slice(masked);
    let [a, b, c, d] = *mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (_, new) = target.split_at_mut(start);
    let (words, tail) = new.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in tail.iter_mut().zip([a, b, c, d, a, b, c]) {
        *byte ^= mask;
    }
    mask.rotate_left(masked.len() % 4);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{self, Cursor, Read, Write};
    use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket, WebSocketConfig};
    use tokio_tungstenite::tungstenite::{self, Error};

    /// A frame as a client may send it, rightly or not.
    fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
        let flag = if mask.is_some() { MASKED } else { 0 };
        let mut bytes = vec![first];
        match u16::try_from(payload.len()) {
            Ok(length @ ..126) => bytes.push(flag | u8::try_from(length).unwrap()),
            Ok(length) => {
                bytes.push(flag | 126);
                bytes.extend(length.to_be_bytes());
            }
            Err(_) => {
                bytes.push(flag | 127);
                bytes.extend(u64::try_from(payload.len()).unwrap().to_be_bytes());
            }
        }
        bytes.extend(mask.unwrap_or_default().iter().take(if mask.is_some() { 4 } else { 0 }));
        let mask = mask.unwrap_or_default();
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    }

    const MASK: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

    fn client(first: u8, payload: &[u8]) -> Vec<u8> {
        frame(first, Some(MASK), payload)
    }

    /// Everything that is read until the bytes or the patience end.
    fn read(limit: usize, pieces: &[&[u8]]) -> (Vec<Message>, Option<Fault>) {
        let (mut decoder, mut messages) = (Decoder::new(limit), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            loop {
                match decoder.decode(&mut input) {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(fault) => return (messages, Some(fault)),
                }
            }
            assert!(input.is_empty(), "everything was taken");
        }
        (messages, None)
    }

    #[track_caller]
    fn fault(bytes: &[u8], expected: Fault) {
        assert_eq!(read(100, &[bytes]), (vec![], Some(expected)));
    }

    #[test]
    fn the_limit_is_the_size_of_the_message_however_it_is_cut() {
        let text = |length: usize| client(0x81, &vec![b'x'; length]);
        assert_eq!(read(100, &[&text(100)]).0, [Message::Text("x".repeat(100))]);
        fault(&text(101), Fault::TooLarge);
        let parts =
            [client(0x01, &[b'x'; 60]), client(0x00, &[b'x'; 40]), client(0x80, b"")].concat();
        assert_eq!(read(100, &[&parts]).0, [Message::Text("x".repeat(100))]);
        let parts = [client(0x01, &[b'x'; 60]), client(0x80, &[b'x'; 41])].concat();
        fault(&parts, Fault::TooLarge);
        // A head alone is enough, and reserves nothing that is not there.
        fault(
            &[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4],
            Fault::TooLarge,
        );
        let mut decoder = Decoder::new(1 << 20);
        let mut head: &[u8] = &[0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4];
        assert_eq!(decoder.decode(&mut head), Ok(None));
        assert!(decoder.text.unwrap().capacity() <= TRUST);
    }

    #[test]
    fn control_frames_may_stand_inside_a_message() {
        let bytes =
            [client(0x01, b"ci"), client(0x89, b"?"), client(0x8a, b""), client(0x80, b"ao")]
                .concat();
        let (messages, none) = read(100, &[&bytes]);
        assert_eq!(
            messages,
            [Message::Ping(b"?".to_vec()), Message::Pong, Message::Text("ciao".into())]
        );
        assert_eq!(none, None);
    }

    #[test]
    fn a_close_has_a_code_or_none() {
        let close = |payload: &[u8]| read(100, &[&client(0x88, payload)]).0;
        assert_eq!(close(b""), [Message::Close(None)]);
        assert_eq!(close(&[0x03, 0xe8]), [Message::Close(NonZeroU16::new(1000))]);
        assert_eq!(close(b"\x0f\xa1later"), [Message::Close(NonZeroU16::new(4001))]);
    }

    #[test]
    fn what_a_client_must_not_send_is_garbage() {
        fault(&frame(0x81, None, b"unmasked"), Fault::Garbage);
        fault(&client(0x82, b"binary"), Fault::Garbage);
        fault(&client(0x80, b"goes on with nothing"), Fault::Garbage);
        fault(&[client(0x01, b"begun"), client(0x81, b"and begun again")].concat(), Fault::Garbage);
        fault(&client(0xc1, b"compressed"), Fault::Garbage);
        fault(&client(0x83, b"reserved"), Fault::Garbage);
        fault(&client(0x8b, b"reserved"), Fault::Garbage);
        fault(&client(0x09, b"a ping in parts"), Fault::Garbage);
        fault(&client(0x89, &[0; 126]), Fault::Garbage);
        fault(&client(0x81, b"\xff\xfe"), Fault::Garbage);
        fault(&client(0x81, b"\xed\xa0\x80"), Fault::Garbage);
    }

    /// A socket that holds bytes and swallows answers.
    struct Held(Cursor<Vec<u8>>);

    impl Read for Held {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer) {
                Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
                other => other,
            }
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

    /// The same bytes, read by another implementation up to the first goodbye or fault.
    fn oracle(limit: usize, bytes: Vec<u8>) -> (Vec<Message>, Option<Fault>) {
        let config =
            WebSocketConfig::default().max_frame_size(Some(limit)).max_message_size(Some(limit));
        let mut socket =
            WebSocket::from_raw_socket(Held(Cursor::new(bytes)), Role::Server, Some(config));
        let mut messages = Vec::new();
        loop {
            match socket.read() {
                Ok(tungstenite::Message::Text(text)) => {
                    messages.push(Message::Text(text.as_str().into()))
                }
                Ok(tungstenite::Message::Ping(data)) => messages.push(Message::Ping(data.to_vec())),
                Ok(tungstenite::Message::Pong(_)) => messages.push(Message::Pong),
                Ok(tungstenite::Message::Close(frame)) => {
                    messages.push(Message::Close(
                        frame.and_then(|frame| NonZeroU16::new(frame.code.into())),
                    ));
                    return (messages, None);
                }
                Ok(_) => return (messages, Some(Fault::Garbage)),
                Err(Error::Capacity(_)) => return (messages, Some(Fault::TooLarge)),
                Err(Error::Io(_)) => return (messages, None),
                Err(_) => return (messages, Some(Fault::Garbage)),
            }
        }
    }

    fn any_frame() -> impl Strategy<Value = Vec<u8>> {
        let first = prop_oneof![
            8 => Just(0x81_u8), 4 => Just(0x01), 4 => Just(0x00), 4 => Just(0x80), 2 => Just(0x89), 2 => Just(0x8a),
            1 => Just(0x88), 1 => any::<u8>().prop_filter("no binary: it is read whole first", |b| b & 0x0f != 2),
        ];
        let payload = prop_oneof![
            4 => ".{0,40}".prop_map(String::into_bytes),
            2 => prop::collection::vec(any::<u8>(), 0..130),
            1 => prop::collection::vec(b'a'..=b'z', 200..400),
        ];
        (first, prop::option::weighted(0.97, any::<[u8; 4]>()), payload).prop_map(
            |(first, mask, payload)| {
                let payload = match first {
                    // A close of another shape is told apart there; here every close is a goodbye.
                    _ if first & 0x0f == 8 => Vec::new(),
                    // Text that is not UTF-8 is refused there at once, here when it is whole.
                    0x81 => payload,
                    _ => String::from_utf8_lossy(&payload).into_owned().into_bytes(),
                };
                frame(first, mask, &payload)
            },
        )
    }

    proptest! {
        #[test]
        fn frames_are_read_as_another_implementation_reads_them(
            frames in prop::collection::vec(any_frame(), 1..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = frames.concat();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (mut messages, mut fault) = read(300, &pieces);
            if let Some(end) = messages.iter().position(|message| matches!(message, Message::Close(_))) {
                messages.truncate(end + 1);
                fault = None;
            }
            let (expected, expected_fault) = oracle(300, bytes);
            prop_assert_eq!(messages, expected);
            // Where a frame breaks two rules, each names the one it asks first.
            prop_assert_eq!(fault.is_some(), expected_fault.is_some());
        }

        #[test]
        fn no_bytes_are_too_strange_to_judge(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(100, &[&bytes]);
        }
    }
}
