//! `messaging contact`.
//! Spec: D6.4

mod list;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// The agents and persons that this machine knows
///
/// Examples:
///   messaging contact list
///   messaging contact list --json
///
/// See also: messaging send, messaging team list
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Contact {
    #[command(alias = "ls")]
    List(list::List),
}

impl Contact {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
        }
    }
}
