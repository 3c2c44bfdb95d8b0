//! `messaging agents`: what the person's own agents exchange.
//! Spec: D6.4, §8.2 "Your agents"

mod list;
mod read;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Your agents on this machine, and what they exchange with others
///
/// Looking changes nothing: nothing is marked read, and nobody is told.
///
/// Examples:
///   messaging agents
///   messaging agents read api
///   messaging agents read api bob/web
///
/// See also: messaging contact list, messaging request list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct Agents {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    #[command(alias = "ls")]
    List(list::List),
    Read(read::Read),
}

impl Agents {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self.verb {
            None => list::List {}.run(context).await,
            Some(Verb::List(command)) => command.run(context).await,
            Some(Verb::Read(command)) => command.run(context).await,
        }
    }
}
