//! `messaging daemon`.
//! Spec: D6.4, D6.5

mod install;
mod logs;
mod repair;
mod restart;
mod service;
mod start;
mod status;
mod stop;
mod uninstall;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Start, stop and watch the daemon of this machine
///
/// Examples:
///   messaging daemon start
///   messaging daemon logs -f
///
/// See also: messaging status, messaging doctor
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Daemon {
    Start(start::Start),
    Stop(stop::Stop),
    Restart(restart::Restart),
    Repair(repair::Repair),
    Status(status::Status),
    Logs(logs::Logs),
    Install(install::Install),
    Uninstall(uninstall::Uninstall),
}

impl Daemon {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Start(command) => command.run(context).await,
            Self::Stop(command) => command.run(context).await,
            Self::Restart(command) => command.run(context).await,
            Self::Repair(command) => command.run(context).await,
            Self::Status(command) => command.run(context).await,
            Self::Logs(command) => command.run(context).await,
            Self::Install(command) => command.run(context),
            Self::Uninstall(command) => command.run(context),
        }
    }
}
