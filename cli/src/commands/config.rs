//! `messaging config`.
//! Spec: D6.4, D3.31

mod check;
mod path;

pub(in crate::commands) use check::{Found, examine};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// The daemon's settings
///
/// They stand in config.json of the home and are read when the daemon starts.
///
/// Examples:
///   messaging config path
///   messaging config check
///
/// See also: messaging doctor, messaging daemon restart
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Config {
    Path(path::Path),
    Check(check::Check),
}

impl Config {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Path(command) => command.run(context),
            Self::Check(command) => command.run(context),
        }
    }
}
