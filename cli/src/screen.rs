//! What stdout is: a terminal of some width with or without colour, or a pipe.
//! Spec: D6.1 "Tables", "Width", "Colour"

use std::io::IsTerminal;
use std::os::fd::AsFd;

use messaging_core::time::Ms;

use crate::args::{Color, Globals};
use crate::environment::Environment;

/// The width of a terminal that does not say.
const WIDTH: usize = 80;

/// The most columns that help takes: longer lines are hard to read.
const HELP_WIDTH: usize = 100;

/// The columns for help.
pub(crate) fn help_width() -> usize {
    size().map_or(HELP_WIDTH, |(width, _)| width.clamp(40, HELP_WIDTH))
}

/// The columns and rows of the terminal that stdout is; `None` for a pipe, and for a terminal that does not say.
pub(crate) fn size() -> Option<(usize, usize)> {
    size_of(&std::io::stdout())
}

/// The columns of the terminal on which questions are asked.
pub(crate) fn width_for_questions() -> usize {
    size_of(&std::io::stderr()).map_or(WIDTH, |(width, _)| width)
}

fn size_of(stream: &(impl AsFd + IsTerminal)) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let said = stream.is_terminal() && size.ws_col > 0;
    said.then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// How results are shown.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    /// Whether a person looks at it.
    pub(crate) tty: bool,
    /// Columns of a terminal.
    pub(crate) width: usize,
    /// Whether to colour.
    pub(crate) color: bool,
    /// Whether a table on a pipe has a header.
    pub(crate) header: bool,
    /// The moment that relative times are counted from.
    pub(crate) now: Ms,
}

/// The few ways in which a piece of text can stand out. Never the only carrier of a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Strong,
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Wrong.
    Bad,
}

impl Screen {
    /// What stdout is now.
    pub(crate) fn detect(globals: &Globals, environment: &Environment) -> Self {
        let tty = std::io::stdout().is_terminal();
        let width = size().map_or(WIDTH, |(width, _)| width);
        let color = match globals.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                environment.force_color || (tty && !environment.no_color && !environment.dumb)
            }
        };
        Self { tty, width, color, header: globals.header, now: messaging_runtime::clock::wall() }
    }

    /// The columns that a row may take: those of a terminal; on a pipe nothing is broken.
    pub(crate) fn columns(&self) -> usize {
        if self.tty { self.width } else { usize::MAX }
    }

    /// `text` in a style.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Dim => "2",
            Style::Strong => "1",
            Style::Good => "32",
            Style::Warn => "33",
            Style::Bad => "31",
        };
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
impl Screen {
    /// A terminal of 80 columns without colour, at a fixed time.
    pub(crate) fn terminal() -> Self {
        Self { tty: true, width: 80, color: false, header: false, now: Ms(1_800_000_000_000) }
    }

    /// A pipe.
    pub(crate) fn pipe() -> Self {
        Self { tty: false, ..Self::terminal() }
    }
}
