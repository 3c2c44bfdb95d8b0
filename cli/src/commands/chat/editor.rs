//! One line being typed: bytes from the keyboard in, whole lines out.
//! Spec: D6.4 `chat --follow`

use unicode_width::UnicodeWidthChar as _;

use crate::render::{line, width};

/// What came of typed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// Enter, after this line.
    Line(String),
    /// Ctrl-D on an empty line.
    End,
}

/// The line that is being typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Editor {
    text: Vec<char>,
    /// Before which character the cursor stands.
    at: usize,
    /// The start of a character or of an escape sequence, whose end has not come.
    rest: Vec<u8>,
    /// Between the marks that a terminal puts around what is pasted.
    pasting: bool,
}

/// The longest line that is kept, characters. More than the daemon takes, so that it can say so.
const LONGEST: usize = 20_000;
/// The longest start of a sequence that is waited for, bytes.
const REST: usize = 32;

impl Editor {
    /// Takes bytes as the terminal gives them.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(bytes);
        let mut typed = Vec::new();
        let mut left = rest.as_slice();
        while let Some(first) = left.first() {
            let taken = match first {
                0x1b => self.escape(left),
                byte if byte.is_ascii() => {
                    typed.extend(self.key(*byte));
                    Some(1)
                }
                _ => self.character(left),
            };
            match taken {
                Some(taken) => left = left.get(taken..).unwrap_or_default(),
                None if left.len() > REST => left = left.get(1..).unwrap_or_default(),
                None => break,
            }
        }
        self.rest = left.to_vec();
        typed
    }

    /// Gives a line back that could not be sent.
    pub(super) fn put_back(&mut self, text: &str) {
        if self.text.is_empty() {
            self.text = text.chars().collect();
            self.at = self.text.len();
        }
    }

    /// The line in at most `room` columns around the cursor, and the column of the cursor in it.
    pub(super) fn shown(&self, room: usize) -> (String, usize) {
        let safe = |c: &char| line(c.encode_utf8(&mut [0; 4]));
        let mut start = self.at;
        let mut before = 0;
        for (at, c) in self.text.iter().enumerate().take(self.at).rev() {
            let more = width(&safe(c));
            if before + more > room.saturating_sub(1) {
                break;
            }
            before += more;
            start = at;
        }
        let mut out = String::new();
        let mut used = 0;
        for c in self.text.iter().skip(start) {
            let piece = safe(c);
            used += width(&piece);
            if used > room {
                break;
            }
            out += &piece;
        }
        (out, before)
    }

    fn key(&mut self, byte: u8) -> Option<Typed> {
        match byte {
            b'\r' | b'\n' if self.pasting => self.insert('\n'),
            b'\r' | b'\n' => {
                self.at = 0;
                return Some(Typed::Line(std::mem::take(&mut self.text).into_iter().collect()));
            }
            // Ctrl-A, E, B, F; Ctrl-D, H; Ctrl-K, U, W.
            0x01 => self.at = 0,
            0x05 => self.at = self.text.len(),
            0x02 => self.at = self.at.saturating_sub(1),
            0x06 => self.right(),
            0x04 if self.text.is_empty() => return Some(Typed::End),
            0x04 => self.delete(),
            0x08 | 0x7f => self.backspace(),
            0x0b => self.text.truncate(self.at),
            0x15 => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            0x17 => self.erase_word(),
            b'\t' => self.insert(' '),
            byte if byte >= 0x20 => self.insert(char::from(byte)),
            _ => {}
        }
        None
    }

    fn insert(&mut self, c: char) {
        if self.text.len() < LONGEST {
            self.text.insert(self.at, c);
            self.at += 1;
        }
    }

    fn right(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    fn delete(&mut self) {
        if self.at < self.text.len() {
            self.text.remove(self.at);
            // What had no width of its own belonged to it.
            while self.text.get(self.at).is_some_and(|c| c.width() == Some(0)) {
                self.text.remove(self.at);
            }
        }
    }

    fn backspace(&mut self) {
        while self.at > 0 {
            self.at -= 1;
            if self.text.remove(self.at).width() != Some(0) {
                break;
            }
        }
    }

    fn erase_word(&mut self) {
        let before = self.text.iter().take(self.at).rev();
        let spaces = before.clone().take_while(|c| c.is_whitespace()).count();
        let word = before.skip(spaces).take_while(|c| !c.is_whitespace()).count();
        let start = self.at - spaces - word;
        self.text.drain(start..self.at);
        self.at = start;
    }

    /// Takes an escape sequence, and gives its length; `None` while it is not whole.
    fn escape(&mut self, bytes: &[u8]) -> Option<usize> {
        let second = *bytes.get(1)?;
        if second == b'O' {
            self.named(&[], *bytes.get(2)?);
            return Some(3);
        }
        if second != b'[' {
            return Some(1);
        }
        let parameters = bytes.get(2..)?;
        let end = parameters.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
        let (numbers, last) = parameters.split_at_checked(end)?;
        self.named(numbers, *last.first()?);
        Some(2 + end + 1)
    }

    /// The key of a control sequence.
    fn named(&mut self, numbers: &[u8], last: u8) {
        match (numbers, last) {
            (_, b'D') => self.at = self.at.saturating_sub(1),
            (_, b'C') => self.right(),
            (_, b'H') | (b"1" | b"7", b'~') => self.at = 0,
            (_, b'F') | (b"4" | b"8", b'~') => self.at = self.text.len(),
            (b"3", b'~') => self.delete(),
            (b"200", b'~') => self.pasting = true,
            (b"201", b'~') => self.pasting = false,
            _ => {}
        }
    }

    /// Takes a character that is more than a byte; `None` while it is not whole.
    fn character(&mut self, bytes: &[u8]) -> Option<usize> {
        let most = bytes.get(..bytes.len().min(4))?;
        let valid = match std::str::from_utf8(most) {
            Ok(text) => text,
            Err(error) if error.valid_up_to() > 0 => {
                std::str::from_utf8(most.get(..error.valid_up_to())?).ok()?
            }
            // Bytes that are no text are left out.
            Err(error) => return error.error_len(),
        };
        let c = valid.chars().next()?;
        self.insert(c);
        Some(c.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(editor: &Editor) -> String {
        editor.text.iter().collect()
    }

    #[track_caller]
    fn check(keys: &str, lines: &[&str], left: &str) {
        // Whether the bytes come at once or one by one makes no difference.
        for size in [1, 2, 3, keys.len().max(1)] {
            let mut editor = Editor::default();
            let mut typed = Vec::new();
            for piece in keys.as_bytes().chunks(size) {
                typed.extend(editor.feed(piece));
            }
            let expected: Vec<Typed> =
                lines.iter().map(|line| Typed::Line((*line).to_owned())).collect();
            assert_eq!((typed, text(&editor).as_str()), (expected, left), "{keys:?} by {size}");
        }
    }

    #[test]
    fn enter_gives_the_line() {
        check("hello\rand\nmore", &["hello", "and"], "more");
        check("Grüße, 世界 👍\r", &["Grüße, 世界 👍"], "");
        check("\r", &[""], "");
    }

    #[test]
    fn the_usual_keys_edit() {
        check("helo\u{1b}[D\u{1b}[Dl\r", &["hello"], "");
        check("abc\u{7f}\u{8}x", &[], "ax");
        check("one two  \u{17}three", &[], "one three");
        check("one two\u{1b}[Hzero \u{5} end", &[], "zero one two end");
        check("one\u{1}\u{4}", &[], "ne");
        check("abc\u{2}\u{15}\u{6}d", &[], "cd");
        check("abc\u{1}\u{6}\u{b}", &[], "a");
        check("abc\u{1b}OH\u{1b}[3~\u{1b}OF!", &[], "bc!");
        check("a\tb\u{0}\u{7}\u{1b}[5~\u{1b}[1;5C", &[], "a b");
        check("e\u{301}x\u{7f}\u{7f}", &[], "");
    }

    #[test]
    fn what_is_pasted_is_one_line() {
        check("\u{1b}[200~two\r\nlines\u{1b}[201~ here\r", &["two\n\nlines here"], "");
    }

    #[test]
    fn ctrl_d_ends_on_an_empty_line_only() {
        assert_eq!(Editor::default().feed(b"\x04"), [Typed::End]);
        assert_eq!(Editor::default().feed(b"a\x04"), []);
    }

    #[test]
    fn bytes_that_are_no_text_are_left_out() {
        let mut editor = Editor::default();
        editor.feed(b"a\xff\xc3(\xe4\xb8");
        editor.feed(b"\x96b\x1b\x1b[31");
        editor.feed(&[b'1'; 100]);
        editor.feed(b"\r");
        assert!(text(&editor).len() < 200);
        let mut editor = Editor::default();
        editor.feed(b"a\xff\xc3(\xe4\xb8");
        editor.feed(b"\x96b");
        assert_eq!(text(&editor), "a(世b");
    }

    #[test]
    fn a_long_line_is_shown_around_the_cursor() {
        let mut editor = Editor::default();
        editor.feed("0123456789".as_bytes());
        assert_eq!(editor.shown(20), ("0123456789".to_owned(), 10));
        assert_eq!(editor.shown(5), ("6789".to_owned(), 4));
        editor.feed(b"\x01");
        assert_eq!(editor.shown(5), ("01234".to_owned(), 0));
        let mut editor = Editor::default();
        editor.feed("世界\u{202e}".as_bytes());
        assert_eq!(editor.shown(40), ("世界[U+202E]".to_owned(), 12));
        editor.put_back("not over what is there");
        assert!(text(&editor).starts_with('世'));
    }
}
