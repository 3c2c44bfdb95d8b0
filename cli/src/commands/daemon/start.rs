//! `messaging daemon start`.
//! Spec: D6.4

use std::time::Duration;

use serde_json::json;

use crate::context::Context;
use crate::control::{self, Started};
use crate::fault::Fault;
use crate::render::Report;

/// Start the daemon in the background, unless one answers
///
/// A daemon of another release is reported and never replaced.
///
/// Examples:
///   messaging daemon start
///   messaging daemon start --home /srv/messaging --wait 30
///
/// See also: messaging daemon stop, messaging daemon logs
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Start {
    /// How long to wait until it answers, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait: u64,
}

impl Start {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let starting = control::start(context, Duration::from_secs(self.wait));
        let started = context.step("starting the daemon", starting).await?;
        Ok(report(started))
    }
}

pub(super) fn report(Started { pid, started }: Started) -> Report {
    let word = if started { "started" } else { "running already" };
    Report::new(json!({"pid": pid, "started": started}), format!("{word}, process {pid}\n"))
}
