//! `messaging daemon restart`.
//! Spec: D6.5

use std::time::Duration;

use crate::context::Context;
use crate::control;
use crate::fault::Fault;
use crate::render::Report;

/// Stop the daemon if it runs, and start this release's
///
/// Examples:
///   messaging daemon restart
///   messaging daemon restart --wait 30
///
/// See also: messaging daemon stop, messaging daemon start
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Restart {
    /// How long to wait until it answers, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait: u64,
}

impl Restart {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        control::stop(context).await?;
        let starting = control::start(context, Duration::from_secs(self.wait));
        let started = context.step("starting the daemon", starting).await?;
        Ok(super::start::report(started))
    }
}
