//! `messaging task cancel`.
//! Spec: D6.4, §6.2

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{SessionName, Ulid};
use messaging_ipc::call;
use messaging_ipc::params::task;
use messaging_ipc::scalars::Str;

use super::list::word;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::Report;

/// Ask the agent to give a task up
///
/// The task ends when its agent's machine says so; `messaging task show --follow` waits for that. A task that has
/// ended stays as it is.
///
/// Examples:
///   messaging task cancel 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging task cancel 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --reason "Found it myself."
///
/// See also: messaging task show, messaging task reply
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Cancel {
    /// The task
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::tasks))]
    id: Ulid,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Cancel {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let reason =
            self.reason.map(Str::new).transpose().map_err(|_| {
                Fault::usage("the reason is too long", "say it in 2000 characters.")
            })?;
        let link = context.connect().await?;
        let key = Mailbox::of(context, Some(&self.mailbox))?.open(&link).await?;
        let cancel = task::Cancel { key, task_id: self.id, reason };
        let answer = link.call::<call::TaskCancel>(&cancel).await?;
        let state = word(answer.task.status.state);
        let text = if answer.sent {
            format!("asked to cancel; it is {state}\n")
        } else {
            format!("nothing to cancel; it is {state}\n")
        };
        Ok(Report::of(&answer, text))
    }
}
