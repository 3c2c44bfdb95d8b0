//! `messaging device`.
//! Spec: D6.4

pub(in crate::commands) mod list;
mod status;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// This device, and the person's others
///
/// Examples:
///   messaging device list
///   messaging device status
///
/// See also: messaging identity show, messaging team list
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Device {
    #[command(alias = "ls")]
    List(list::List),
    Status(status::Status),
}

impl Device {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Status(command) => command.run(context).await,
        }
    }
}
