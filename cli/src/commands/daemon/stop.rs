//! `messaging daemon stop`.
//! Spec: D6.5

use serde_json::json;

use crate::context::Context;
use crate::control::{self, Stopped};
use crate::fault::Fault;
use crate::render::Report;

/// Stop the daemon and wait until it is gone
///
/// Nothing is lost: what waits is on disk and goes out after the next start. Another program is never signalled, whatever
/// the lock file says.
///
/// Examples:
///   messaging daemon stop
///   messaging daemon stop --timeout 60
///
/// See also: messaging daemon start, messaging daemon restart
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Stop {}

impl Stop {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        Ok(match control::stop(context).await? {
            Stopped::NotRunning => Report::new(json!({"stopped": false}), "not running\n"),
            Stopped::Ended(pid) => Report::new(
                json!({"stopped": true, "pid": pid}),
                format!("stopped, process {pid}\n"),
            ),
        })
    }
}
