//! `messaging version`.
//! Spec: D6.4

use messaging_core::version::Version as Protocol;
use messaging_ipc::hello::{PROTOCOL, release};
use serde_json::json;

use crate::render::Report;

/// Print the release and the protocols it speaks
///
/// A command line and a daemon work together only when they are of the same release.
///
/// Examples:
///   messaging version
///   messaging version --json
///
/// See also: messaging status, messaging daemon restart
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Version {}

impl Version {
    pub(crate) fn run(self) -> Report {
        let value = json!({"version": release(), "protocol": Protocol::TEXT, "ipc": PROTOCOL});
        Report::new(
            value,
            format!("messaging {} (protocol {}, ipc {PROTOCOL})\n", release(), Protocol::TEXT),
        )
    }
}
