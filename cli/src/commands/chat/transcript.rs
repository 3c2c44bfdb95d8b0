//! Lines of a conversation as a person reads them: the day above, then time, delivery mark, author and text.
//! Spec: D6.4 `chat`, D6.1 "Peer text"
//!
//! A row of a terminal begins with the time, or with the margin of a text that goes on; both are ours, so that no text can
//! look like a line of somebody else's.

use messaging_core::ids::PersonId;
use messaging_ipc::shapes::{ChatLine, Direction, LineState};

use crate::render::{Clock, behind, cut, line, stamp};
use crate::screen::{Screen, Style};

/// The column that a delivery mark stands in.
pub(super) const MARK: usize = 6;
/// What stands before a text that goes on.
const MARGIN: &str = "        | ";

/// The names of the columns on a pipe.
const COLUMNS: &str = "SEQ\tTIME\tFROM\tSTATE\tID\tTEXT\n";

/// Lines shown one after the other.
#[derive(Clone, Debug)]
pub(super) struct Transcript {
    clock: Clock,
    ids: bool,
    header: bool,
    day: String,
    /// The number of the newest line that was read before, until a line after it is shown.
    read_up_to: Option<u64>,
}

impl Transcript {
    /// A transcript that shows where the unread lines begin, after the line of number `read_up_to`.
    pub(super) fn new(screen: &Screen, ids: bool, read_up_to: Option<u64>) -> Self {
        Self { clock: Clock::local(), ids, header: screen.header, day: String::new(), read_up_to }
    }

    /// A page of lines.
    pub(super) fn page(mut self, screen: &Screen, lines: &[ChatLine]) -> String {
        if screen.tty && lines.is_empty() {
            return screen.paint(Style::Dim, "No lines.") + "\n";
        }
        let mut out = String::new();
        for line in lines {
            if screen.tty {
                for row in self.above(screen, line).into_iter().chain(self.rows(screen, line)) {
                    out += &row;
                    out.push('\n');
                }
            } else {
                out += &self.tabbed(line);
            }
        }
        out
    }

    /// What stands above a line: its day, when the line before it was of another, and that what follows is new.
    pub(super) fn above(&mut self, screen: &Screen, line: &ChatLine) -> Vec<String> {
        let mut rows = Vec::new();
        let day = self.clock.day(line.at);
        if day != self.day {
            rows.push(screen.paint(Style::Dim, &format!("-- {day} --")));
            self.day = day;
        }
        if line.direction == Direction::In && self.read_up_to.is_some_and(|seq| seq < line.seq) {
            self.read_up_to = None;
            rows.push(screen.paint(Style::Warn, "-- new --"));
        }
        rows
    }

    /// Nothing that comes from now on stands below a sign that it is new: it is seen as it comes.
    pub(super) fn caught_up(&mut self) {
        self.read_up_to = None;
    }

    /// A line in rows of a terminal.
    pub(super) fn rows(&self, screen: &Screen, of: &ChatLine) -> Vec<String> {
        let time = self.clock.minute(of.at);
        if of.notice.is_some() {
            let rows =
                behind(screen.columns(), &format!("{time}   * "), MARGIN, of.text.as_untrusted());
            return rows.iter().map(|row| screen.paint(Style::Dim, row)).collect();
        }
        let own = of.direction == Direction::Out;
        let who = cut(&shown_author(of), (screen.width / 2).max(LEAST));
        let thread = if of.thread.is_some_and(|first| first != of.id) { " ↳" } else { "" };
        let id = if self.ids { format!(" [{}]", of.id) } else { String::new() };
        let plain = format!("{time} {} {who}{thread}{id}: ", mark(of));
        let style = if own { Style::Good } else { Style::Strong };
        let painted = format!(
            "{} {} {}{thread}{}: ",
            screen.paint(Style::Dim, &time),
            mark(of),
            screen.paint(style, &who),
            screen.paint(Style::Dim, &id),
        );
        let mut rows = behind(screen.columns(), &plain, MARGIN, of.text.as_untrusted());
        if let Some(first) = rows.first_mut() {
            *first = match first.strip_prefix(plain.as_str()) {
                Some(text) => painted + text,
                None => painted.trim_end().to_owned(),
            };
        }
        if of.truncated.is_some() {
            rows.push(screen.paint(Style::Dim, &format!("{}(cut)", " ".repeat(MARGIN.len() - 2))));
        }
        if let Some(refusal) = refusal(of) {
            let row = format!("{}{refusal}", " ".repeat(MARGIN.len() - 2));
            rows.push(screen.paint(Style::Bad, &cut(&row, screen.width)));
        }
        rows
    }

    /// A line for a pipe, under its header when that is wished.
    pub(super) fn tabbed(&mut self, of: &ChatLine) -> String {
        let header = std::mem::take(&mut self.header);
        let state = of.state.map_or("", state_word);
        let cells = [
            of.seq.to_string(),
            stamp(of.at),
            if of.notice.is_some() { "*".to_owned() } else { author(of) },
            state.to_owned(),
            of.id.to_string(),
            line(of.text.as_untrusted()),
        ];
        let row = cells.join("\t") + "\n";
        if header { COLUMNS.to_owned() + &row } else { row }
    }
}

/// An author is cut to half of a terminal, but not below this.
const LEAST: usize = 16;

/// Who wrote a line: a person, or their agent.
pub(in crate::commands) fn author(line: &ChatLine) -> String {
    match &line.agent {
        Some(agent) => format!("{}/{agent}", line.person),
        None => line.person.to_string(),
    }
}

fn shown_author(line: &ChatLine) -> String {
    match (line.direction, &line.agent) {
        (Direction::Out, None) => "you".to_owned(),
        (Direction::Out, Some(agent)) => format!("you/{agent}"),
        (Direction::In, _) => author(line),
    }
}

/// How far a line of one's own came, as one sign.
pub(super) fn mark(line: &ChatLine) -> char {
    match line.state {
        None => ' ',
        Some(LineState::Sent) => '·',
        Some(LineState::Held) => '?',
        Some(LineState::Delivered) => '✓',
        Some(LineState::Refused) => '✗',
    }
}

const fn state_word(state: LineState) -> &'static str {
    match state {
        LineState::Sent => "sent",
        LineState::Held => "held",
        LineState::Delivered => "delivered",
        LineState::Refused => "refused",
    }
}

/// Who refused a line.
pub(super) fn refusal(line: &ChatLine) -> Option<String> {
    if line.state != Some(LineState::Refused) {
        return None;
    }
    let names: Vec<&str> = line.refused.iter().flatten().map(PersonId::as_str).collect();
    Some(if names.is_empty() {
        "refused".to_owned()
    } else {
        format!("refused by {}", names.join(", "))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    pub(in crate::commands::chat) const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    pub(in crate::commands::chat) fn line(seq: u64, text: &str, more: Value) -> ChatLine {
        let mut line = json!({
            "id": ID, "conversation": "dm:bob", "seq": seq, "at": 1_767_225_600_000_u64 + seq * 60_000,
            "person": "bob", "device": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "direction": "in", "text": text,
        });
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        serde_json::from_value(line).unwrap()
    }

    fn utc(read_up_to: Option<u64>) -> Transcript {
        Transcript {
            clock: Clock::utc(),
            ..Transcript::new(&Screen::terminal(), false, read_up_to)
        }
    }

    #[test]
    fn a_transcript_tells_days_authors_marks_and_what_is_new() {
        let own = |state: &str| json!({"direction": "out", "person": "alice", "state": state});
        let mut late = line(9, "tomorrow", json!({}));
        late.at = late.at.plus(86_400_000);
        let lines = [
            line(1, "Is the build green?", json!({})),
            line(2, "Looking.", own("delivered")),
            line(3, "It is\nnot", own("sent")),
            line(4, "oh", json!({"agent": "api", "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAW"})),
            line(
                5,
                "no",
                json!({"direction": "out", "state": "refused", "refused": ["bob", "carol"]}),
            ),
            line(6, "bob added carol", json!({"notice": true})),
            line(7, "long", json!({"truncated": true})),
            line(8, "", own("held")),
            late,
        ];
        assert_eq!(
            utc(Some(3)).page(&Screen::terminal(), &lines),
            "-- Thursday, 1 January 2026 --\n\
             00:01   bob: Is the build green?\n\
             00:02 ✓ you: Looking.\n\
             00:03 · you: It is\n        | not\n\
             -- new --\n\
             00:04   bob/api ↳: oh\n\
             00:05 ✗ you: no\n        refused by bob, carol\n\
             00:06   * bob added carol\n\
             00:07   bob: long\n        (cut)\n\
             00:08 ? you:\n\
             -- Friday, 2 January 2026 --\n\
             00:09   bob: tomorrow\n"
        );
    }

    #[test]
    fn no_text_can_look_like_another_line() {
        let screen = Screen { width: 40, ..Screen::terminal() };
        let forged = format!(
            "ok\n00:02 ✓ you: I agree{}00:03   carol: me too\n-- new --\r\u{1b}[1A\u{202e}x\u{200b}\u{e0041}",
            " ".repeat(40)
        );
        for text in [utc(None).page(&screen, &[line(1, &forged, json!({}))])] {
            for row in text.lines().skip(2) {
                assert!(row.starts_with(MARGIN.trim_end()), "{row}");
                assert!(crate::render::width(row) <= 40, "{row}");
            }
            assert!(
                text.contains("[U+001B]")
                    && text.contains("[U+202E]")
                    && text.contains("[U+E0041]")
            );
        }
        let row = utc(None).tabbed(&line(1, "a\tb\nc", json!({})));
        assert_eq!(row, format!("1\t2026-01-01T00:01:00Z\tbob\t\t{ID}\ta b⏎c\n"));
    }

    #[test]
    fn the_mark_stands_in_its_column() {
        for state in ["sent", "held", "delivered", "refused"] {
            let own = line(1, "x", json!({"direction": "out", "state": state}));
            let rows = utc(None).rows(&Screen::terminal(), &own);
            assert_eq!(rows[0].chars().nth(MARK), Some(mark(&own)));
        }
    }

    #[test]
    fn a_pipe_has_a_header_once_when_it_is_wished() {
        let screen = Screen { header: true, ..Screen::pipe() };
        let transcript = Transcript::new(&screen, false, None);
        let lines = [line(1, "a", json!({})), line(2, "b", json!({}))];
        let text = transcript.page(&screen, &lines);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with(COLUMNS));
    }
}
