//! `messaging task send`.
//! Spec: D6.4, §6.1

use messaging_core::ids::Ulid;

use crate::commands::send::{Letter, Purpose};
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Ask an agent to do something
///
/// The same as `messaging send --task`. The answer names the task; its agent's questions and results come to
/// `messaging task show`.
///
/// Examples:
///   messaging task send bob/api "Find out why the build is red."
///   messaging task send bob/api - --file trace.log < task.md
///
/// See also: messaging task show, messaging task reply, messaging task cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Send {
    #[command(flatten)]
    letter: Letter,
    /// The task, executed by this mailbox, that the new one is part of
    #[arg(long, value_name = "TASK")]
    on_behalf: Option<Ulid>,
}

impl Send {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        self.letter.send(context, Purpose::Task { on_behalf: self.on_behalf }).await
    }
}
