//! `messaging team rekey`.
//! Spec: D6.4, §4 "Encryption-key rotation"

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::team::OneMachine;

use super::Named;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Cut off another machine's encryption key, when you think that somebody else has it
///
/// The key is replaced by one that nobody holds. What is sent to that machine from now on can be opened by nobody, until
/// the machine publishes a key of its own (`messaging identity rotate-enc` there). Removing it is the stronger tool.
///
/// Examples:
///   messaging team rekey bob@laptop
///   messaging team rekey bob@laptop --yes
///
/// See also: messaging identity rotate-enc, messaging team remove
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Rekey {
    /// A machine id, or <person>@<label>
    #[arg(value_name = "MACHINE", add = ArgValueCompleter::new(complete::machines))]
    machine: Named,
}

impl Rekey {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let member = self.machine.find(&link).await?;
        let who = format!("{}@{}", member.person, member.label);
        let sentence = format!(
            "Cut off the encryption key of {who}: what is sent to it cannot be opened until it publishes a new one."
        );
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let machine = OneMachine { machine: member.machine };
        let cut = link.call::<call::TeamRekey>(&machine).await?;
        let report = Report::of(&cut, format!("cut off the key of {who}\n"));
        Ok(report.noting("Next: on that machine, run `messaging identity rotate-enc`."))
    }
}
