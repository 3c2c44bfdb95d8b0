//! `messaging mailbox`.
//! Spec: D6.3, D6.4

mod list;
mod remove;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// The mailboxes of this terminal
///
/// `send`, `inbox` and `read` use the mailbox `cli`, or the one that --as names. It is made on first use, lives between
/// commands, and is kept until it is removed.
///
/// Examples:
///   messaging mailbox list
///   messaging mailbox remove test
///
/// See also: messaging inbox, messaging send
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Mailbox {
    #[command(alias = "ls")]
    List(list::List),
    #[command(alias = "rm")]
    Remove(remove::Remove),
}

impl Mailbox {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context),
            Self::Remove(command) => command.run(context).await,
        }
    }
}
