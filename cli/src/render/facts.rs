//! Named values under each other.
//! Spec: D6.1 "Tables"

use unicode_width::UnicodeWidthStr as _;

use super::text::{behind, line};
use crate::screen::{Screen, Style};

/// What is known about one thing, a line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    lines: Vec<(&'static str, String, Style)>,
}

/// Columns between a name and its value.
const GAP: usize = 2;

impl Facts {
    /// Adds a value.
    pub(crate) fn add(&mut self, name: &'static str, value: impl ToString) -> &mut Self {
        self.styled(name, value, Style::Plain)
    }

    /// Adds a value in a style.
    pub(crate) fn styled(
        &mut self,
        name: &'static str,
        value: impl ToString,
        style: Style,
    ) -> &mut Self {
        let value = line(&value.to_string());
        self.lines.push((name, value, style));
        self
    }

    /// Adds a value that is known.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<impl ToString>) -> &mut Self {
        if let Some(value) = value {
            self.add(name, value);
        }
        self
    }

    /// The values as lines.
    pub(crate) fn render(&self, screen: &Screen) -> String {
        let width = self.lines.iter().map(|(name, ..)| name.width()).max().unwrap_or(0);
        let mut out = String::new();
        for (name, value, style) in &self.lines {
            if screen.tty {
                // A terminal that breaks a value goes on at its left edge, where a name of ours stands.
                let margin = " ".repeat(width + GAP);
                for (at, row) in
                    behind(screen.columns(), &margin, &margin, value).iter().enumerate()
                {
                    let row = screen.paint(*style, row.get(width + GAP..).unwrap_or_default());
                    if at == 0 {
                        out += &screen.paint(Style::Dim, name);
                        out += &" ".repeat(width.saturating_sub(name.width()) + GAP);
                    } else {
                        out += &format!("\n{margin}");
                    }
                    out += &row;
                }
            } else {
                out += &format!("{name}\t{value}");
            }
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        let mut facts = Facts::default();
        facts.add("Id", "x").maybe("Missing", None::<String>).add("Longer", "a\nb");
        assert_eq!(facts.render(&Screen::terminal()), "Id      x\nLonger  a⏎b\n");
        assert_eq!(facts.render(&Screen::pipe()), "Id\tx\nLonger\ta⏎b\n");
    }

    #[test]
    fn a_long_value_stays_in_its_column() {
        let mut facts = Facts::default();
        let forged = format!("bob{}Team  ours", " ".repeat(12));
        facts.add("Name", forged).add("Team", "theirs");
        let screen = Screen { width: 20, ..Screen::terminal() };
        assert_eq!(facts.render(&screen), "Name  bob\n      Team  ours\nTeam  theirs\n");
    }
}
