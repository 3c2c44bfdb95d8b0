//! Text of others as safe lines: folded into one, or each behind a margin that it cannot leave.
//! Spec: D6.1 "Peer text", "Width"

use messaging_core::peer_text::terminal_safe;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A safe single line: line feeds are folded to a visible sign.
pub(crate) fn line(text: &str) -> String {
    terminal_safe(text).replace('\n', "⏎")
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `width` columns; a cut text ends with `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut room = width.saturating_sub(1);
    for c in text.chars() {
        match room.checked_sub(c.width().unwrap_or(0)) {
            Some(left) => room = left,
            None => break,
        }
        out.push(c);
    }
    out.trim_end().to_owned() + "…"
}

/// `text` as safe rows of at most `width` columns that each begin with ours: `first`, then `next`. They are broken here,
/// because a terminal that breaks them goes on at its left edge, where only our own words may stand.
pub(crate) fn behind(width: usize, first: &str, next: &str, text: &str) -> Vec<String> {
    let safe = terminal_safe(text);
    let mut rows = Vec::new();
    let mut head = first;
    for text in safe.split('\n') {
        let mut rest = text;
        loop {
            let room = width.saturating_sub(head.width());
            let (row, left) = broken(rest, room.max(LEAST));
            rows.push(format!("{head}{row}").trim_end().to_owned());
            head = next;
            match left {
                Some(left) => rest = left,
                None => break,
            }
        }
    }
    rows
}

/// A row is not made narrower than this.
const LEAST: usize = 8;

/// The start of `text` that fits into `room` columns, and what is left. Words stay whole where they can; of the spaces
/// at a break only one is left out.
fn broken(text: &str, room: usize) -> (&str, Option<&str>) {
    let mut used = 0;
    let mut space = None;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room && at > 0 {
            let (row, left) = match space {
                _ if c == ' ' => (at, at + 1),
                Some(space) => (space, space + 1),
                None => (at, at),
            };
            return (text.get(..row).unwrap_or(text), text.get(left..).filter(|l| !l.is_empty()));
        }
        if c == ' ' && at > 0 {
            space = Some(at);
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_as_two() {
        assert_eq!(cut("世界世界", 5), "世界…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }

    #[test]
    fn every_row_stands_behind_its_margin() {
        let rows = behind(20, "bob: ", "   | ", "one two three four five\nsix\u{1b}[2J\n\nseven");
        assert_eq!(
            rows,
            ["bob: one two three", "   | four five", "   | six[U+001B][2J", "   |", "   | seven"]
        );
        let rows = behind(usize::MAX, "", "  ", &"long ".repeat(40));
        assert_eq!(rows.len(), 1);
    }

    #[test]
    fn text_that_is_padded_to_the_edge_does_not_reach_the_next_row() {
        let padded = format!("hello{}14:05   carol: I agree", " ".repeat(25));
        for text in [padded, "x".repeat(200), "世".repeat(100), " ".repeat(200)] {
            for row in behind(30, "14:02   bob: ", "        | ", &text) {
                assert!(row.width() <= 30, "{row}");
                assert!(row.starts_with("14:02   bob:") || row.starts_with("        |"), "{row}");
            }
        }
    }

    #[test]
    fn nothing_but_the_space_at_a_break_is_left_out() {
        let text = "  indented code;  and more of it, unbrokenunbrokenunbroken";
        let kept: String = behind(24, "", "", text).concat();
        let plain = |text: &str| text.replace(' ', "");
        assert_eq!(plain(&kept), plain(text));
        assert!(kept.starts_with("  indented"));
    }
}
