//! Reads the texts out of a WebSocket connection's bytes, in either direction, as somebody on the wire would.
//! Spec: D6.7 (frames are those of RFC 6455)

/// The longest text that is put together; the protocol's longest frame is shorter.
const TEXT_BYTES: usize = 8 * 1_048_576;

/// The bytes of one direction, up to where they were read.
#[derive(Debug, Default)]
pub(super) struct Wire {
    buffer: Vec<u8>,
    /// Whether the HTTP head that begins a connection is past.
    open: bool,
    /// The pieces so far of a text that comes in several frames.
    text: Vec<u8>,
    /// Bytes that make no sense were met: nothing more is read.
    lost: bool,
}

impl Wire {
    /// Takes bytes and returns the texts that are whole now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut texts = Vec::new();
        if self.lost {
            return texts;
        }
        self.buffer.extend_from_slice(bytes);
        if !self.open {
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else {
                self.lost = self.buffer.len() > TEXT_BYTES;
                return texts;
            };
            self.buffer.drain(..end + 4);
            self.open = true;
        }
        while let Some((frame, used)) = Frame::read(&self.buffer) {
            self.buffer.drain(..used);
            // Text begins a message, 0 goes on with it; pings, pongs and closes stand between.
            if matches!(frame.opcode, 0 | 1) {
                self.text.extend(frame.payload);
                if frame.last {
                    let text = std::mem::take(&mut self.text);
                    texts.extend(String::from_utf8(text).ok());
                }
            }
        }
        self.lost = self.buffer.len().max(self.text.len()) > TEXT_BYTES;
        texts
    }
}

struct Frame {
    last: bool,
    opcode: u8,
    payload: Vec<u8>,
}

impl Frame {
    /// The first frame and its length in bytes; none while it is not whole.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        let (len, mut at) = match second & 0x7F {
            126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
            127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
            short => (u64::from(short), 2),
        };
        let mask: [u8; 4] = if second & 0x80 == 0 {
            [0; 4]
        } else {
            at += 4;
            bytes.get(at - 4..at)?.try_into().ok()?
        };
        let end = at.checked_add(usize::try_from(len).ok()?)?;
        let payload =
            bytes.get(at..end)?.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        let frame =
            Self { last: first & 0x80 != 0, opcode: first & 0x0F, payload: payload.collect() };
        Some((frame, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

    fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
        let masked = if mask.is_some() { 0x80 } else { 0 };
        let mut bytes = vec![first];
        match payload.len() {
            len @ 0..126 => bytes.push(masked | u8::try_from(len).unwrap()),
            len => {
                bytes.push(masked | 126);
                bytes.extend(u16::try_from(len).unwrap().to_be_bytes());
            }
        }
        bytes.extend(mask.iter().flatten());
        let mask = mask.unwrap_or([0; 4]);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    }

    #[test]
    fn texts_are_read_however_the_bytes_arrive() {
        let long = "x".repeat(300);
        let mut bytes = HEAD.to_vec();
        bytes.extend(frame(0x81, Some([1, 2, 3, 4]), "hé".as_bytes()));
        bytes.extend(frame(0x89, None, b"ping"));
        bytes.extend(frame(0x01, None, b"two "));
        bytes.extend(frame(0x8A, None, b""));
        bytes.extend(frame(0x80, None, b"pieces"));
        bytes.extend(frame(0x82, None, b"\xff"));
        bytes.extend(frame(0x81, Some([9; 4]), long.as_bytes()));
        for size in [1, 2, 7, bytes.len()] {
            let mut wire = Wire::default();
            let texts: Vec<String> =
                bytes.chunks(size).flat_map(|chunk| wire.push(chunk)).collect();
            assert_eq!(texts, ["hé", "two pieces", &long], "{size}");
        }
    }

    #[test]
    fn nonsense_is_dropped_without_a_panic() {
        let mut wire = Wire::default();
        assert!(wire.push(&[0xFF; 4_096]).is_empty());
        let mut wire = Wire::default();
        wire.push(HEAD);
        assert!(
            wire.push(&[0x81, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).is_empty()
        );
    }
}
