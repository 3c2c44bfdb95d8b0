//! `messaging mailbox remove`.
//! Spec: D6.3

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::SessionName;
use messaging_ipc::call;
use messaging_ipc::params::KeyOnly;

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::Report;

/// Remove a mailbox: its session ends, its key is deleted
///
/// What came to it can no longer be read from here.
///
/// Examples:
///   messaging mailbox remove
///   messaging mailbox remove test --yes
///
/// See also: messaging mailbox list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Remove {
    /// Which
    #[arg(value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    name: SessionName,
}

impl Remove {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let mailbox = Mailbox::of(context, Some(&self.name))?;
        if !mailbox.exists() {
            return Err(Fault::new(Code::NotFound, "there is no mailbox of that name")
                .next("check `messaging mailbox list`."));
        }
        let sentence = format!("Remove the mailbox {}; its mail can no longer be read.", self.name);
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let link = context.connect().await?;
        let key = mailbox.open(&link).await?;
        let done = link.call::<call::SessionUnregister>(&KeyOnly { key }).await?;
        // The key goes last: without it nobody could end the session.
        mailbox.delete()?;
        Ok(Report::of(&done, format!("removed {}\n", self.name)))
    }
}
