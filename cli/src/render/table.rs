//! Tables: aligned and cut to the terminal, or tab-separated and whole on a pipe.
//! Spec: D6.1 "Tables", "Width"

use messaging_core::peer_text::PeerText;
use unicode_width::UnicodeWidthStr as _;

use super::text::{cut, line};
use crate::screen::{Screen, Style};

/// One value of a table: one line of safe text.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    /// Whether it is shown whole even when the row does not fit.
    whole: bool,
}

impl Cell {
    /// Text of ours. Made safe all the same.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: line(text.as_ref()), style: Style::Plain, whole: false }
    }

    /// An id, which is never cut.
    pub(crate) fn id(text: impl ToString) -> Self {
        Self { whole: true, ..Self::new(text.to_string()) }
    }

    /// Text of a peer.
    pub(crate) fn peer(text: &PeerText) -> Self {
        Self::new(text.as_untrusted())
    }

    /// Nothing known.
    pub(crate) fn empty() -> Self {
        Self::new("")
    }

    /// The same value in a style.
    pub(crate) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// Rows under named columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    names: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    when_empty: &'static str,
}

/// Columns between two columns.
const GAP: usize = 2;
/// A column is not cut below this.
const LEAST: usize = 8;

impl Table {
    /// A table with these columns, upper case, and what to say when it has no rows.
    pub(crate) fn new(names: &[&'static str], when_empty: &'static str) -> Self {
        Self { names: names.to_vec(), rows: Vec::new(), when_empty }
    }

    /// Adds a row. It has as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as lines.
    pub(crate) fn render(&self, screen: &Screen) -> String {
        match (screen.tty, self.rows.is_empty()) {
            (true, true) => screen.paint(Style::Dim, self.when_empty) + "\n",
            (true, false) => self.aligned(screen),
            (false, _) => self.separated(screen),
        }
    }

    fn separated(&self, screen: &Screen) -> String {
        let mut out = String::new();
        if screen.header {
            out += &(self.names.join("\t") + "\n");
        }
        for row in &self.rows {
            let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            out += &(texts.join("\t") + "\n");
        }
        out
    }

    fn aligned(&self, screen: &Screen) -> String {
        let widths = self.widths(screen.width);
        let header = self.names.iter().map(|name| Cell::new(*name).styled(Style::Dim));
        let mut out = String::new();
        for row in std::iter::once(header.collect::<Vec<_>>()).chain(self.rows.iter().cloned()) {
            let mut text = String::new();
            let last = row.len().saturating_sub(1);
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let shown = if cell.whole { cell.text.clone() } else { cut(&cell.text, *width) };
                let pad = width.saturating_sub(shown.width()) + GAP;
                text += &screen.paint(cell.style, &shown);
                if at < last {
                    text += &" ".repeat(pad);
                }
            }
            out += text.trim_end();
            out.push('\n');
        }
        out
    }

    /// The width of each column: its own, or less for those that may be cut, widest first.
    fn widths(&self, screen: usize) -> Vec<usize> {
        let column = |at: usize| self.rows.iter().filter_map(move |row| row.get(at));
        let mut widths: Vec<usize> = self
            .names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                column(at).map(|cell| cell.text.width()).max().unwrap_or(0).max(name.len())
            })
            .collect();
        // A column is cut down to its widest cell that is shown whole.
        let least = |at| {
            let whole = column(at).filter(|cell| cell.whole).map(|cell| cell.text.width());
            whole.max().unwrap_or(0).max(LEAST)
        };
        let least: Vec<usize> = (0..self.names.len()).map(least).collect();
        let room = screen.saturating_sub(GAP * self.names.len().saturating_sub(1));
        loop {
            let total: usize = widths.iter().sum();
            let widest = widths
                .iter_mut()
                .zip(&least)
                .filter(|(width, least)| **width > **least)
                .map(|(width, _)| width)
                .max();
            match widest {
                Some(width) if total > room => *width -= 1,
                _ => return widths,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "FROM", "PREVIEW"], "No mail.");
        table.row([
            Cell::id("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            Cell::new("bob/api"),
            Cell::new("short"),
        ]);
        table.row([
            Cell::id("01ARZ3NDEKTSV4RRFFQ69G5FAW"),
            Cell::new("eve"),
            Cell::peer(&PeerText::new(format!("two\nlines \u{1b}[2J {}", "long ".repeat(30)))),
        ]);
        table
    }

    #[test]
    fn a_terminal_gets_columns_within_its_width() {
        let text = table().render(&Screen::terminal());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ID                          FROM     PREVIEW");
        assert_eq!(lines[1], "01ARZ3NDEKTSV4RRFFQ69G5FAV  bob/api  short");
        assert!(
            lines[2].starts_with("01ARZ3NDEKTSV4RRFFQ69G5FAW  eve      two⏎lines [U+001B][2J long")
        );
        assert!(lines[2].ends_with('…'));
        assert!(lines.iter().all(|line| line.width() <= 80));
    }

    #[test]
    fn a_narrow_terminal_keeps_ids_whole() {
        let screen = Screen { width: 20, ..Screen::terminal() };
        let text = table().render(&screen);
        assert!(
            text.contains("01ARZ3NDEKTSV4RRFFQ69G5FAV")
                && text.contains("01ARZ3NDEKTSV4RRFFQ69G5FAW")
        );
    }

    #[test]
    fn a_cell_beside_whole_ones_is_cut_to_them() {
        let mut table = Table::new(&["FROM", "TEXT"], "");
        table.row([Cell::id("bob/api@laptop"), Cell::new("x")]);
        table.row([Cell::new("name ".repeat(40)), Cell::new("y")]);
        let text = table.render(&Screen::terminal());
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(text.contains("bob/api@laptop"), "{text}");
    }

    #[test]
    fn a_pipe_gets_whole_values_between_tabs() {
        let text = table().render(&Screen::pipe());
        assert_eq!(text.lines().next(), Some("01ARZ3NDEKTSV4RRFFQ69G5FAV\tbob/api\tshort"));
        assert!(!text.contains('…') && !text.contains('\u{1b}'));
        let screen = Screen { header: true, ..Screen::pipe() };
        assert_eq!(table().render(&screen).lines().next(), Some("ID\tFROM\tPREVIEW"));
    }

    #[test]
    fn an_empty_table_says_so_to_people_only() {
        let table = Table::new(&["ID"], "No mail.");
        assert_eq!(table.render(&Screen::terminal()), "No mail.\n");
        assert_eq!(table.render(&Screen::pipe()), "");
    }
}
