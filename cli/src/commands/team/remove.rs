//! `messaging team remove`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::team::OneMachine;

use super::Named;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Remove a machine from the team
///
/// It can never come back with the same keys. What is on it stays on it.
///
/// Examples:
///   messaging team remove bob@laptop
///   messaging team remove 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo --yes
///
/// See also: messaging team list, messaging team leave
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Remove {
    /// A machine id, or <person>@<label>
    #[arg(value_name = "MACHINE", add = ArgValueCompleter::new(complete::machines))]
    machine: Named,
}

impl Remove {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let member = self.machine.find(&link).await?;
        let sentence = format!(
            "Remove {}@{} from the team; mail still queued for it at the relay is lost.",
            member.person, member.label
        );
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let removed =
            link.call::<call::TeamRemove>(&OneMachine { machine: member.machine }).await?;
        Ok(Report::of(&removed, format!("removed {}@{}\n", member.person, member.label)))
    }
}
