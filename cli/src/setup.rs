//! The files of coding harnesses: what this program writes into them, and how it takes it out again.
//!
//! Spec: D6.4
//!
//! `jsonc`, `edit` and `toml` change a text and keep what they do not change; `harness` knows each harness's files;
//! `plan` what changes where; `files` reads, writes and undoes; `diff` shows it.

mod diff;
mod edit;
mod files;
mod harness;
mod jsonc;
mod plan;
mod toml;

pub(crate) use edit::Refused;
pub(crate) use harness::{Harness, Places, Scope, Want};
pub(crate) use plan::{Action, Plan, Trouble};

/// What went wrong with a file, behind its name, and the next step.
pub(crate) const fn words_of(problem: files::Problem) -> (&'static str, &'static str) {
    match problem {
        files::Problem::Unreadable => ("cannot be read", "check who owns it and its mode."),
        files::Problem::NotText => ("holds no text", "check what it is."),
        files::Problem::Unwritable => {
            ("or what is kept of it cannot be written", "check its folder and the home.")
        }
        files::Problem::Changed => ("was changed meanwhile", "run this again."),
    }
}
