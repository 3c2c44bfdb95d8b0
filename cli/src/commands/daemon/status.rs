//! `messaging daemon status`.
//! Spec: D6.4

use crate::commands::status::Overview;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Show how the daemon is, without what waits for the person
///
/// Examples:
///   messaging daemon status
///   messaging daemon status --json
///
/// See also: messaging status, messaging doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Status {}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        Ok(Overview::ask(&link, false).await?.report(&context.screen))
    }
}
