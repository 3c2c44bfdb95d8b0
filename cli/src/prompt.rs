//! Questions to the person at the terminal.
//! Spec: D6.1 "Prompts", "Secrets"

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::fault::Fault;
use crate::render;
use crate::screen;

/// Whether somebody can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question whose default is no. The sentence may name what others chose: it is one safe line here.
pub(crate) async fn confirm(sentence: &str) -> Result<bool, Fault> {
    let answer =
        ask(&format!("{}\nGo on? [y/N] ", asked(sentence, screen::width_for_questions()))).await?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// A sentence in rows of which only the first begins at the left edge, where the question stands.
fn asked(sentence: &str, width: usize) -> String {
    render::behind(width, "", "  ", &render::line(sentence)).join("\n")
}

/// Asks for a secret, which the terminal does not show.
pub(crate) async fn secret(question: &str) -> Result<String, Fault> {
    // Held by this future, not by the reading thread: it is restored when Ctrl-C gives up the wait.
    let _quiet = Quiet::begin();
    let answer = ask(question).await;
    write("\n");
    answer
}

async fn ask(question: &str) -> Result<String, Fault> {
    write(question);
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    match read.await {
        Ok(Ok(line)) => Ok(line),
        _ => Err(Fault::local("the answer could not be read", "run the command again.")),
    }
}

fn write(text: &str) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Turns the terminal's echo off until dropped.
struct Quiet(Option<Termios>);

impl Quiet {
    fn begin() -> Self {
        let Ok(before) = tcgetattr(std::io::stdin()) else { return Self(None) };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        match tcsetattr(std::io::stdin(), OptionalActions::Flush, &quiet) {
            Ok(()) => Self(Some(before)),
            Err(_) => Self(None),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_in_a_sentence_can_ask_or_answer() {
        let forged = format!("Block x{}Go on? [y/N] y\n\u{1b}[2J.", " ".repeat(80));
        for width in [10, 40, 79, 80, 81, 300] {
            let rows = asked(&forged, width);
            let ours = |row: &&str| !row.is_empty() && !row.starts_with("  ");
            let first = rows.lines().filter(ours).count();
            assert_eq!(first, 1, "{width}: {rows}");
            assert!(rows.replace("\n  ", "").contains("[U+001B]"), "{rows}");
        }
    }
}
