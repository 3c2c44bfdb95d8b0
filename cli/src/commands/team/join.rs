//! `messaging team join`.
//! Spec: D6.4, §4 "Invites"

use std::io::{BufRead as _, Read as _};

use messaging_core::ids::Label;
use messaging_core::limits::TICKET_CHARS;
use messaging_ipc::call;
use messaging_ipc::params::team::Join as Params;
use messaging_ipc::scalars::Secret;

use crate::context::Context;
use crate::fault::Fault;
use crate::prompt;
use crate::render::{Facts, Report};

/// Join a team with the ticket of an invite
///
/// The ticket is a secret: it is read from standard input, or asked for without being shown, and never from the
/// command line, which other programs of this machine can see.
///
/// Examples:
///   messaging team join < ticket
///   messaging team join --label laptop
///
/// See also: messaging team list, messaging status
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Join {
    /// This machine's name among yours [default: the host name]
    #[arg(long, value_name = "LABEL")]
    label: Option<Label>,
}

impl Join {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let label = super::label(self.label)?;
        let ticket = ticket().await?;
        let link = context.connect().await?;
        let joined = link.call::<call::TeamJoin>(&Params { ticket, label }).await?;
        let mut facts = Facts::default();
        facts.add("Team", joined.team);
        facts.add("You", format!("{}@{}", joined.person, joined.label));
        Ok(Report::of(&joined, facts.render(&context.screen)))
    }
}

async fn ticket() -> Result<Secret<TICKET_CHARS>, Fault> {
    let text = if prompt::can_ask() {
        prompt::secret("Ticket: ").await?
    } else {
        let read = tokio::task::spawn_blocking(first_line).await;
        read.ok().flatten().unwrap_or_default()
    };
    Secret::parse(text.trim()).map_err(|_| {
        Fault::usage("there is no ticket on standard input", "run `messaging team join < ticket`.")
    })
}

/// The first line that is not blank. A ticket or card is one line, and nothing behind it is waited for.
pub(super) fn first_line() -> Option<String> {
    let most = u64::try_from(2 * TICKET_CHARS).ok()?;
    let mut lines = std::io::stdin().lock().take(most).lines();
    lines
        .find_map(|line| line.map(|line| (!line.trim().is_empty()).then_some(line)).transpose())?
        .ok()
}
