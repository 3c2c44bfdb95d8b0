//! A conversation on a terminal while it goes on: lines above, the line being typed below, marks set where they stand.
//! Spec: D6.4 `chat --follow`
//!
//! Everything here makes text for the terminal and changes nothing outside.

use std::collections::BTreeMap;

use messaging_core::ids::Ulid;
use messaging_ipc::shapes::{ChatLine, LineState};

use super::editor::Editor;
use super::transcript::{MARK, Transcript, mark, refusal};
use crate::render::{cut, line, width};
use crate::screen::{Screen, Style};

/// The start of a row, emptied.
const CLEAR: &str = "\r\u{1b}[K";

/// What the terminal shows.
#[derive(Debug)]
pub(super) struct Live {
    screen: Screen,
    transcript: Transcript,
    /// The conversation's name before the line being typed; `None` where nothing may be drawn over.
    prompt: Option<String>,
    /// Rows printed so far.
    rows: u64,
    /// In which row each own line begins whose fate is open.
    open: BTreeMap<Ulid, u64>,
}

impl Live {
    /// An empty transcript. Without a prompt, rows only follow each other.
    pub(super) fn new(screen: Screen, transcript: Transcript, prompt: Option<String>) -> Self {
        Self { screen, transcript, prompt, rows: 0, open: BTreeMap::new() }
    }

    /// The terminal has another width: what stands where is no longer known.
    pub(super) fn resized(&mut self, width: usize) {
        if width != self.screen.width {
            self.screen.width = width;
            self.open.clear();
        }
    }

    /// What is shown from now on is seen as it comes.
    pub(super) fn caught_up(&mut self) {
        self.transcript.caught_up();
    }

    /// Shows a line.
    pub(super) fn line(&mut self, line: &ChatLine, editor: &Editor) -> String {
        let above = self.transcript.above(&self.screen, line);
        let rows = self.transcript.rows(&self.screen, line);
        if line.state.is_some_and(is_open) {
            let first = self.rows + u64::try_from(above.len()).unwrap_or(0);
            self.open.insert(line.id, first);
        }
        self.show(above.into_iter().chain(rows), editor)
    }

    /// Shows how far a line of one's own has come: where it stands, or, when it was refused, below.
    pub(super) fn state(&mut self, of: &ChatLine, height: u64, editor: &Editor) -> String {
        let row = match of.state.is_some_and(is_open) {
            true => self.open.get(&of.id).copied(),
            false => self.open.remove(&of.id),
        };
        let up = row.map(|row| self.rows - row).filter(|up| *up < height && self.prompt.is_some());
        let mut out = String::new();
        if let Some(up) = up {
            let typing = self.typing(editor);
            out += &format!("{CLEAR}\u{1b}[{up}A\u{1b}[{MARK}C{}\r\u{1b}[{up}B{typing}", mark(of));
        }
        if let Some(refusal) = refusal(of) {
            let start = line(of.text.as_untrusted());
            let text = format!("{} {refusal}: {start}", mark(of));
            out += &self.say(&text, Style::Bad, editor);
        }
        out
    }

    /// Says something of our own, in one row.
    pub(super) fn say(&mut self, text: &str, style: Style, editor: &Editor) -> String {
        let row = cut(&line(&format!("-- {text} --")), self.screen.width);
        let row = self.screen.paint(style, &row);
        self.show([row], editor)
    }

    /// The line being typed, drawn anew.
    pub(super) fn typing(&self, editor: &Editor) -> String {
        let Some(prompt) = &self.prompt else { return String::new() };
        let head = format!("{prompt}> ");
        let room = self.screen.width.saturating_sub(width(&head)).max(1);
        let (text, column) = editor.shown(room);
        let column = width(&head) + column;
        let head = self.screen.paint(Style::Dim, &head);
        format!("{CLEAR}{head}{text}\r\u{1b}[{column}C")
    }

    fn show(&mut self, rows: impl IntoIterator<Item = String>, editor: &Editor) -> String {
        let mut out = String::new();
        if self.prompt.is_some() {
            out += CLEAR;
        }
        for row in rows {
            out += &row;
            out.push('\n');
            self.rows += 1;
        }
        out + &self.typing(editor)
    }
}

const fn is_open(state: LineState) -> bool {
    matches!(state, LineState::Sent | LineState::Held)
}

#[cfg(test)]
mod tests {
    use super::super::transcript::tests::line;
    use super::*;
    use serde_json::json;

    fn live(prompt: Option<&str>) -> Live {
        let screen = Screen::terminal();
        let transcript = Transcript::new(&screen, false, None);
        Live::new(screen, transcript, prompt.map(str::to_owned))
    }

    #[test]
    fn lines_go_above_what_is_being_typed() {
        let mut live = live(Some("bob"));
        let mut editor = Editor::default();
        editor.feed(b"half a li");
        let shown = live.line(&line(1, "hello", json!({})), &editor);
        let rows: Vec<&str> = shown.split('\n').collect();
        assert!(
            rows[0].starts_with("\r\u{1b}[K-- ") && rows[1].ends_with("bob: hello"),
            "{shown:?}"
        );
        assert_eq!(rows[2], "\r\u{1b}[Kbob> half a li\r\u{1b}[14C");
    }

    #[test]
    fn a_mark_is_set_where_its_line_stands() {
        let mut live = live(Some("bob"));
        let editor = Editor::default();
        let own = |state: &str| line(2, "two\nrows", json!({"direction": "out", "state": state}));
        live.line(&line(1, "hello", json!({})), &editor);
        live.line(&own("sent"), &editor);
        live.line(&line(3, "and\nmore", json!({})), &editor);
        // Two rows of its own and two that came later.
        let set = live.state(&own("delivered"), 24, &editor);
        assert!(
            set.starts_with("\r\u{1b}[K\u{1b}[4A\u{1b}[6C✓\r\u{1b}[4B\r\u{1b}[Kbob> "),
            "{set:?}"
        );
        assert_eq!(live.state(&own("delivered"), 24, &editor), "", "it is settled once");
    }

    #[test]
    fn a_mark_that_is_out_of_sight_is_not_set_and_a_refusal_is_told_all_the_same() {
        let editor = Editor::default();
        let own =
            |state: &str| line(2, "a\u{1b}[2Jb\nc", json!({"direction": "out", "state": state}));
        let mut small = live(Some("bob"));
        small.line(&own("sent"), &editor);
        assert_eq!(small.state(&own("held"), 2, &editor), "");
        let told = small.state(&own("refused"), 2, &editor);
        assert!(told.contains("-- ✗ refused: a[U+001B][2Jb⏎c --\n"), "{told:?}");
        let mut resized = live(Some("bob"));
        resized.line(&own("sent"), &editor);
        resized.resized(40);
        assert_eq!(resized.state(&own("delivered"), 24, &editor), "");
    }

    #[test]
    fn without_a_prompt_rows_only_follow_each_other() {
        let mut live = live(None);
        let editor = Editor::default();
        let own = |state: &str| line(2, "a", json!({"direction": "out", "state": state}));
        let shown = live.line(&own("sent"), &editor) + &live.state(&own("delivered"), 24, &editor);
        assert!(!shown.contains('\r') && !shown.contains('\u{1b}'), "{shown:?}");
        assert!(live.state(&own("delivered"), 24, &editor).is_empty());
    }
}
