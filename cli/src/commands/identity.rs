//! `messaging identity`.
//! Spec: D6.4

mod rotate_enc;
pub(in crate::commands) mod show;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Who this device is
///
/// Examples:
///   messaging identity show
///   messaging whoami
///
/// See also: messaging device status, messaging status
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Identity {
    Show(show::Show),
    RotateEnc(rotate_enc::RotateEnc),
}

impl Identity {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::Show(command) => command.run(context).await,
            Self::RotateEnc(command) => command.run(context).await,
        }
    }
}
