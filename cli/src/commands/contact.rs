//! `messaging contact`.
//! Spec: D6.4

mod card;
pub(in crate::commands) mod list;
mod request;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// The agents and persons that this machine knows
///
/// Examples:
///   messaging contact list
///   messaging contact list --json
///
/// See also: messaging send, messaging people, messaging team list
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Contact {
    #[command(alias = "ls")]
    List(list::List),
    Request(request::Request),
    Card(card::Card),
}

impl Contact {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Request(command) => command.run(context).await,
            Self::Card(command) => command.run(context).await,
        }
    }
}
