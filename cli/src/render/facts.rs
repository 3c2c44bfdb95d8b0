//! Named values under each other.
//! Spec: D6.1 "Tables"

use messaging_core::peer_text::terminal_safe;
use unicode_width::UnicodeWidthStr as _;

use crate::screen::{Screen, Style};

/// What is known about one thing, a line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    lines: Vec<(&'static str, String, Style)>,
}

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
        let value = terminal_safe(&value.to_string()).replace('\n', "⏎");
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
                let pad = " ".repeat(width.saturating_sub(name.width()) + 2);
                out += &screen.paint(Style::Dim, name);
                out += &pad;
                out += &screen.paint(*style, value);
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
}
