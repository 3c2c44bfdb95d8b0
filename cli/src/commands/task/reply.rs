//! `messaging task reply`.
//! Spec: D6.4, §6.1

use std::path::PathBuf;

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_ipc::call;
use messaging_ipc::params::msg;
use messaging_ipc::params::task::Get;
use messaging_ipc::scalars::{List, Target};
use messaging_ipc::shapes::TaskRole;

use crate::body;
use crate::commands::send;
use crate::complete;
use crate::context::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::Report;

/// Say more about a task that you asked for: an answer, a correction
///
/// Examples:
///   messaging task reply 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D "The blue one."
///   messaging task reply 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D - < notes.md
///
/// See also: messaging task show, messaging task cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Reply {
    /// The task
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::tasks))]
    id: Ulid,
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file to send along, up to eight times
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Reply {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        send::check_files(&self.file)?;
        let parts = List::new(body::parts(context, self.text, &self.file).await?)?;
        let link = context.connect().await?;
        let key = Mailbox::of(context, Some(&self.mailbox))?.open(&link).await?;
        let get = Get { key: key.clone(), task_id: self.id, role: Some(TaskRole::Requester) };
        let peer = link.call::<call::TaskGet>(&get).await?.task.peer;
        let nobody = || Fault::new(Code::Internal, "the daemon did not say who does the task");
        let address = peer.address.ok_or_else(nobody)?;
        let to = Target::parse(address.as_str()).map_err(|_| nobody())?;
        let send = msg::Send { task_id: Some(self.id), ..msg::Send::new(key, to, parts) };
        let sent = link.call::<call::MsgSend>(&send).await?;
        let one =
            || Fault::new(Code::Internal, "the daemon did not say what became of the message");
        let result = sent.results.into_iter().next().ok_or_else(one)?;
        Ok(send::report(&result, Exit::Done))
    }
}
