//! `messaging team role`.
//! Spec: D6.4

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::roster::Role;
use messaging_ipc::call;
use messaging_ipc::params::team::SetRole as Params;

use super::Named;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Make a machine an admin of the team, or a plain member again
///
/// Admins invite, remove and change roles. When an admin becomes a member, the open invites of that machine are revoked.
///
/// Examples:
///   messaging team role bob@laptop admin
///   messaging team role bob@laptop member
///
/// See also: messaging team list, messaging team remove
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SetRole {
    /// A machine id, or <person>@<label>
    #[arg(value_name = "MACHINE", add = ArgValueCompleter::new(complete::machines))]
    machine: Named,
    /// The new role
    #[arg(value_name = "ROLE")]
    role: Wanted,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wanted {
    Admin,
    Member,
}

impl SetRole {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let machine = self.machine.find(&link).await?.machine;
        let role = match self.role {
            Wanted::Admin => Role::Admin,
            Wanted::Member => Role::Member,
        };
        let changed = link.call::<call::TeamRole>(&Params { machine, role }).await?;
        let member = &changed.member;
        let role = crate::commands::status::role(member.role);
        let text = format!("{}@{} is {role} now\n", member.person, member.label);
        Ok(Report::of(&changed, text))
    }
}
