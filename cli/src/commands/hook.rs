//! `messaging hook`.
//! Spec: §11 "After-tool delivery"

use clap::ValueEnum;
use messaging_harness::hook::{self, Options, Sender};
use messaging_harness::input::Harness;
use messaging_harness::note::{Budget, LEAST_BYTES, MOST_BYTES};

use crate::context::Context;

/// Tell a coding agent what is new, at a moment of its work
///
/// A harness calls this; a person does not. It reads one event on standard input and answers on standard output, in the
/// harness's own shapes, and always succeeds: with nothing to say, with no daemon, with an event it does not know, it says
/// nothing. When a conversation begins it names the tools and counts what waits; with a prompt and after a tool it shows new
/// items, a few at a time. An item counts as shown when the next event comes.
///
/// With --hold-stop: a turn's end is held when an answer came that a task of this agent waits for, or anything from whom
/// --hold-from names, at most three times until the person writes again.
///
/// Examples:
///   messaging hook claude-code
///   messaging hook codex --items 3 --bytes 2048
///   messaging hook claude-code --hold-stop --hold-from alice
///
/// See also: messaging inbox, messaging doctor
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Hook {
    /// Who calls
    #[arg(value_name = "HARNESS")]
    harness: Name,
    /// Do not let a turn end while an awaited answer is unseen
    #[arg(long)]
    hold_stop: bool,
    /// Nor while something from this person or agent is; may be given several times
    #[arg(long, value_name = "WHO", value_parser = sender, requires = "hold_stop")]
    hold_from: Vec<Sender>,
    /// The most items at a time
    #[arg(long, value_name = "N", default_value_t = Budget::default().items, value_parser = items)]
    items: usize,
    /// The most bytes of text at a time
    #[arg(long, value_name = "BYTES", default_value_t = Budget::default().bytes, value_parser = bytes)]
    bytes: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    ClaudeCode,
    Codex,
    Gemini,
}

impl Hook {
    /// Runs the hook, without a runtime and without a word of its own.
    pub(crate) fn run(self, context: &Context) {
        let harness = match self.harness {
            Name::ClaudeCode => Harness::ClaudeCode,
            Name::Codex => Harness::Codex,
            Name::Gemini => Harness::Gemini,
        };
        let options = Options {
            budget: Budget { items: self.items, bytes: self.bytes },
            hold_stop: self.hold_stop,
            hold_from: self.hold_from,
        };
        hook::run(harness, context.place().ok().as_ref(), &options);
    }
}

fn sender(text: &str) -> Result<Sender, &'static str> {
    Sender::parse(text).ok_or("a person, or person/agent[@label]")
}

fn items(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|n| (1..=20).contains(n)).ok_or("a number from 1 to 20")
}

fn bytes(text: &str) -> Result<usize, String> {
    let fits = |n: &usize| (LEAST_BYTES..=MOST_BYTES).contains(n);
    let say = || format!("a number from {LEAST_BYTES} to {MOST_BYTES}");
    text.parse().ok().filter(fits).ok_or_else(say)
}
