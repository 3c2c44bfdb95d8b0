//! `messaging mail`.
//! Spec: D6.4

mod search;

use clap::Subcommand;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Your agents' mail on this machine
///
/// Examples:
///   messaging mail search "build green"
///   messaging mail search migration --with bob --since 7d
///
/// See also: messaging export, messaging inbox
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Mail {
    Search(search::Search),
}

impl Mail {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Search(command) => command.run(context).await,
        }
    }
}
