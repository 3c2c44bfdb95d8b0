//! Framing: one JSON value a line, with a bound on the line.
//! Spec: D1.1 "Framing", "Line cap"

use serde::Serialize;

/// The longest line in either direction, bytes, without its line feed.
pub const LINE_BYTES: usize = 4_194_304;
/// Requests that one connection may have under way; reading pauses there.
pub const IN_FLIGHT: usize = 64;
/// Connections that one socket serves at a time.
pub const CONNECTIONS: usize = 256;
/// Bytes that may wait for one connection before it is closed.
pub const BACKLOG_BYTES: usize = 8_388_608;

/// Room for lines that an idle reader may keep, bytes.
const SPARE: usize = 65_536;

/// A value as its line, with the line feed. A value that JSON cannot hold is an empty object, which no reader takes.
pub fn print(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_else(|_| b"{}".to_vec());
    line.push(b'\n');
    line
}

/// A line is longer than its reader takes. The rest of the stream has no meaning any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTooLong;

impl core::fmt::Display for LineTooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a line is too long")
    }
}

impl std::error::Error for LineTooLong {}

/// Cuts a byte stream into lines. It holds at most one line and what was read with it.
///
/// ```
/// # use messaging_ipc::line::Lines;
/// let mut lines = Lines::new(16);
/// lines.push(b"{}\n\n{\"a\"");
/// assert_eq!(lines.next_line(), Ok(Some(b"{}".to_vec())));
/// assert_eq!(lines.next_line(), Ok(None));
/// lines.push(b":1}\n");
/// assert_eq!(lines.next_line(), Ok(Some(b"{\"a\":1}".to_vec())));
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// Up to where the buffer holds no line feed.
    scanned: usize,
    max: usize,
    broken: bool,
}

impl Lines {
    /// A reader of lines of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, max, broken: false }
    }

    /// The same reader, what it holds included, with another bound: the first line of a connection has a lower one.
    #[must_use]
    pub fn widened(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// Takes what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.broken {
            return;
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
            // One long line in a connection's life is no reason to keep its room for good.
            if self.buffer.capacity() > SPARE && self.buffer.len() < SPARE {
                self.buffer.shrink_to(SPARE);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line that is not blank, without its line feed; `None` when more must be read first.
    ///
    /// Errors: [`LineTooLong`], from then on for good.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, LineTooLong> {
        loop {
            if self.broken {
                return Err(LineTooLong);
            }
            let rest = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(found) = rest.iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.buffer.len();
                return if self.scanned - self.start > self.max {
                    Err(self.fail())
                } else {
                    Ok(None)
                };
            };
            let end = self.scanned + found;
            let line = self.buffer.get(self.start..end).unwrap_or_default().to_vec();
            if line.len() > self.max {
                return Err(self.fail());
            }
            self.start = end + 1;
            self.scanned = self.start;
            if !line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                return Ok(Some(line));
            }
        }
    }

    /// Whether a part of a line waits for its end.
    pub fn is_partial(&self) -> bool {
        self.start < self.buffer.len()
    }

    fn fail(&mut self) -> LineTooLong {
        self.broken = true;
        self.buffer = Vec::new();
        LineTooLong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bound_is_exact() {
        for (len, fits) in [(7, true), (8, true), (9, false)] {
            let mut lines = Lines::new(8);
            lines.push(&vec![b'x'; len]);
            lines.push(b"\n");
            assert_eq!(lines.next_line().is_ok(), fits, "{len}");
        }
    }

    #[test]
    fn an_endless_line_is_refused_before_its_end() {
        let mut lines = Lines::new(8);
        lines.push(b"123456789");
        assert_eq!(lines.next_line(), Err(LineTooLong));
        lines.push(b"\n{}\n");
        assert_eq!(lines.next_line(), Err(LineTooLong));
    }

    #[test]
    fn lines_before_a_long_one_are_served() {
        let mut lines = Lines::new(8);
        lines.push(b"{}\n123456789\n");
        assert_eq!(lines.next_line(), Ok(Some(b"{}".to_vec())));
        assert_eq!(lines.next_line(), Err(LineTooLong));
    }

    #[test]
    fn the_room_of_a_long_line_is_given_back() {
        let mut lines = Lines::new(LINE_BYTES);
        lines.push(&vec![b'x'; LINE_BYTES]);
        lines.push(b"\n");
        assert_eq!(lines.next_line().map(|line| line.map(|line| line.len())), Ok(Some(LINE_BYTES)));
        lines.push(b"{}\n");
        assert!(lines.buffer.capacity() <= SPARE);
        assert_eq!(lines.next_line(), Ok(Some(b"{}".to_vec())));
    }

    #[test]
    fn blank_lines_are_skipped() {
        let mut lines = Lines::new(8);
        lines.push(b"\n \t\r\n1\r\n");
        assert_eq!(lines.next_line(), Ok(Some(b"1\r".to_vec())));
        assert_eq!(lines.next_line(), Ok(None));
        assert!(!lines.is_partial());
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(text in "[ab\n]{0,60}", cuts in prop::collection::vec(0usize..60, 0..8)) {
            let bytes = text.as_bytes();
            let expected: Vec<Vec<u8>> = text
                .rsplit_once('\n').map(|(whole, _)| whole).unwrap_or("")
                .split('\n').filter(|line| !line.is_empty()).map(|line| line.as_bytes().to_vec()).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut lines, mut got, mut from) = (Lines::new(100), Vec::new(), 0);
            for cut in cuts {
                lines.push(&bytes[from..cut]);
                from = cut;
                while let Some(line) = lines.next_line().unwrap() {
                    got.push(line);
                }
            }
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn no_bytes_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
            let mut lines = Lines::new(16);
            for chunk in chunks {
                lines.push(&chunk);
                while let Ok(Some(line)) = lines.next_line() {
                    prop_assert!(line.len() <= 16);
                }
            }
        }
    }
}
