//! `messaging team revoke`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_core::ids::Ulid;
use messaging_ipc::call;
use messaging_ipc::params::team::Revoke as Params;

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Take an invite back, so that nobody can join with its ticket
///
/// Examples:
///   messaging team revoke 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging team revoke 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --json
///
/// See also: messaging team list, messaging team invite
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Revoke {
    /// The invite, as `messaging team list` shows it
    #[arg(value_name = "INVITE", add = ArgValueCompleter::new(complete::invites))]
    invite: Ulid,
}

impl Revoke {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let done = link.call::<call::TeamRevoke>(&Params { invite_id: self.invite }).await?;
        Ok(Report::of(&done, "revoked\n"))
    }
}
