//! How much of an answer is left: what does not fit waits for the next call.
//! Spec: D7.3 `read`

use messaging_core::json;
use messaging_core::peer_text::is_hidden;
use serde_json::Value;

/// What an answer holds besides its list: names of members, counts, cursors.
const FRAME: usize = 1_024;
/// More than the two tags of a fence and the names around them.
const TAGS: usize = 512;

/// The bytes that an answer may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    left: usize,
}

impl Room {
    /// The room of an answer of at most `bytes`.
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { left: bytes.saturating_sub(FRAME) }
    }

    /// Takes the room of a value; false, and takes nothing, when it does not fit.
    pub(crate) fn take(&mut self, value: &Value) -> bool {
        match self.left.checked_sub(json::print(value).len().saturating_add(1)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Takes the room of as much of a text, from its byte `start` on, as fits and is at most `most` bytes long. Returns
    /// where it ends; `None` when not even a little fits.
    pub(crate) fn take_text(&mut self, text: &str, start: usize, most: usize) -> Option<usize> {
        let mut left = self.left.checked_sub(TAGS)?;
        let rest = text.get(start..).unwrap_or_default();
        let mut end = start;
        for (at, c) in rest.char_indices() {
            let after = at.saturating_add(c.len_utf8());
            match left.checked_sub(cost(c)) {
                Some(room) if after <= most => left = room,
                _ => break,
            }
            end = start.saturating_add(after);
        }
        if end == start && !rest.is_empty() {
            return None;
        }
        self.left = left;
        Some(end)
    }
}

/// The most bytes that a character takes in a fence in JSON.
fn cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\t' => 2,
        // [U+10FFFF]
        c if is_hidden(c) => 10,
        // Perhaps a bracket, which becomes &lt;
        c => c.len_utf8().max(4).min(if c.is_ascii_alphanumeric() || c == ' ' { 1 } else { 4 }),
    }
}

/// The start of a text that is not worth more than `bytes` of room, and whether that is all of it.
pub(crate) fn head(text: &str, bytes: usize) -> (&str, bool) {
    let mut room = Room { left: bytes.saturating_add(TAGS) };
    let end = room.take_text(text, 0, usize::MAX).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), end == text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::peer_text::{FenceKind, fence};
    use messaging_core::testing::SeededRandom;

    #[test]
    fn a_text_that_was_given_room_keeps_to_it() {
        for text in [
            "abc ".repeat(500),
            "\u{200b}".repeat(500),
            "<\"\\\n".repeat(500),
            "語👍é\u{e0041}".repeat(300),
        ] {
            let mut room = Room { left: 2_000 };
            let end = room.take_text(&text, 0, usize::MAX).unwrap();
            let made = fence(
                &text[..end],
                "bob/api@laptop",
                FenceKind::Message,
                &mut SeededRandom::new(1),
            );
            assert!(json::print(&Value::String(made)).len() <= 2_000);
            assert!(end > 0);
        }
    }

    #[test]
    fn what_does_not_fit_takes_nothing() {
        let mut room = Room { left: 10 };
        assert!(!room.take(&Value::String("x".repeat(20))));
        assert!(room.take(&Value::String("x".into())));
        assert_eq!(room.take_text("x", 0, 10), None);
        assert_eq!(head("abc", 2), ("ab", false));
        assert_eq!(head("abc", 3), ("abc", true));
    }
}
