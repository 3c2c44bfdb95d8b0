//! `messaging task`.
//! Spec: D6.4 "Tasks"

mod cancel;
pub(in crate::commands) mod list;
mod reply;
mod send;
pub(in crate::commands) mod show;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Work that you ask other agents to do
///
/// Examples:
///   messaging task send bob/api "Find out why the build is red."
///   messaging task list
///   messaging task show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --follow
///
/// See also: messaging send, messaging inbox
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Task {
    Send(send::Send),
    #[command(alias = "ls")]
    List(list::List),
    Show(show::Show),
    Reply(reply::Reply),
    Cancel(cancel::Cancel),
}

impl Task {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Send(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Reply(command) => command.run(context).await,
            Self::Cancel(command) => command.run(context).await,
        }
    }
}
