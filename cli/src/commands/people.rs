//! `messaging people`.
//! Spec: D6.4

mod search;
mod show;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Who there is, and what you know of them
///
/// Examples:
///   messaging people search bo
///   messaging people show bob
///
/// See also: messaging contact list, messaging grant list
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum People {
    Search(search::Search),
    Show(show::Show),
}

impl People {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Search(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
        }
    }
}
