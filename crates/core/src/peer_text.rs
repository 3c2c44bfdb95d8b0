//! Text that another person chose: it can only be read through a view that makes it safe to show.
//! Spec: §12, D7.2

mod brackets;
#[cfg(test)]
mod corpus;
mod fence;
mod hidden;
mod reading;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::utf16_cut;
use crate::random::Random;

pub use brackets::HOST_TAGS;
pub use fence::{FenceKind, fence, neutral};
pub use hidden::is_hidden;

/// A string from another person or their agent, exactly as it came.
///
/// It has no `Display`: showing it is a choice between [`terminal_safe`](Self::terminal_safe) and
/// [`one_line`](Self::one_line) for a person, and [`fenced`](Self::fenced) for a model. `Debug` shows its length only, so it cannot reach a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct PeerText(String);

impl PeerText {
    /// Marks a text as untrusted.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The exact text, for comparing, storing and passing on; never for showing.
    #[must_use]
    pub fn as_untrusted(&self) -> &str {
        &self.0
    }

    /// The exact text itself, for storing and passing on; never for showing.
    #[must_use]
    pub fn into_untrusted(self) -> String {
        self.0
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text for a terminal: see [`terminal_safe`].
    #[must_use]
    pub fn terminal_safe(&self) -> String {
        terminal_safe(&self.0)
    }

    /// The text as one line of at most `units` UTF-16 units: see [`one_line`].
    #[must_use]
    pub fn one_line(&self, units: usize) -> String {
        one_line(&self.0, units)
    }

    /// The text for a model: see [`fence`].
    #[must_use]
    pub fn fenced(&self, from: &str, kind: FenceKind, rng: &mut (impl Random + ?Sized)) -> String {
        fence(&self.0, from, kind, rng)
    }
}

impl From<String> for PeerText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for PeerText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for PeerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerText({} bytes)", self.0.len())
    }
}

/// Text that cannot steer a terminal or hide from its reader: CR LF becomes a line feed, a tab a space, and every
/// hidden code point, ESC included, is written as `[U+XXXX]`. Line feeds stay; nothing is deleted.
#[must_use]
pub fn terminal_safe(text: &str) -> String {
    shown(text, '\n')
}

/// As [`terminal_safe`], line feeds as spaces, and at most `units` UTF-16 units; a cut text ends with `…`.
#[must_use]
pub fn one_line(text: &str, units: usize) -> String {
    let line = shown(text, ' ');
    let line = line.trim();
    if crate::json::utf16_len(line) <= units {
        return line.to_owned();
    }
    match units.checked_sub(1) {
        Some(room) => format!("{}…", utf16_cut(line, room).trim_end()),
        None => String::new(),
    }
}

/// `text` with hidden code points written out and line feeds as `line_feed`.
fn shown(text: &str, line_feed: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => out.push(line_feed),
            '\t' => out.push(' '),
            c if is_hidden(c) => write_hidden(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

fn write_hidden(out: &mut String, c: char) {
    // Writing into a String cannot fail.
    let _ = write!(out, "[U+{:04X}]", u32::from(c));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, terminal: &str, line: &str) {
        assert_eq!(terminal_safe(text), terminal);
        assert_eq!(one_line(text, 1_000), line);
    }

    #[test]
    fn plain_text_passes() {
        check(
            "Grüße, 世界 👍 <b> & \"q\"",
            "Grüße, 世界 👍 <b> & \"q\"",
            "Grüße, 世界 👍 <b> & \"q\"",
        );
        check("a\r\nb\nc\td", "a\nb\nc d", "a b c d");
    }

    #[test]
    fn what_steers_or_hides_is_written_out() {
        check("\u{1b}[2J", "[U+001B][2J", "[U+001B][2J");
        check("a\rb", "a[U+000D]b", "a[U+000D]b");
        check("\0\u{7f}\u{9b}", "[U+0000][U+007F][U+009B]", "[U+0000][U+007F][U+009B]");
        check("\u{202e}txt.exe", "[U+202E]txt.exe", "[U+202E]txt.exe");
        check("a\u{200b}b\u{feff}", "a[U+200B]b[U+FEFF]", "a[U+200B]b[U+FEFF]");
        check(
            "\u{e0041}\u{fe0f}\u{3164}",
            "[U+E0041][U+FE0F][U+3164]",
            "[U+E0041][U+FE0F][U+3164]",
        );
        check("x\u{2028}y\u{2029}", "x[U+2028]y[U+2029]", "x[U+2028]y[U+2029]");
        check("\u{e000}\u{378}", "[U+E000][U+0378]", "[U+E000][U+0378]");
    }

    #[test]
    fn a_line_is_cut_at_a_character() {
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("👍👍👍", 4), "👍…");
        assert_eq!(one_line("abc", 0), "");
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(format!("{:?}", PeerText::new("secret")), "PeerText(6 bytes)");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_nothing_is_lost(text in any::<String>()) {
            let safe = terminal_safe(&text);
            prop_assert!(safe.chars().all(|c| c == '\n' || !is_hidden(c)));
            let kept = |t: &str| -> String { t.chars().filter(|c| !is_hidden(*c) && !c.is_whitespace()).collect() };
            let visible = kept(&text);
            let mut shown = safe.chars();
            prop_assert!(visible.chars().all(|c| shown.any(|s| s == c)));
        }

        #[test]
        fn one_line_is_one_line_within_its_bound(text in any::<String>(), units in 0usize..40) {
            let line = one_line(&text, units);
            prop_assert!(crate::json::utf16_len(&line) <= units);
            prop_assert!(!line.contains('\n'));
        }
    }
}
