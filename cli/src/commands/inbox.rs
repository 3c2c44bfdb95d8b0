//! `messaging inbox`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_core::ids::SessionName;
use messaging_ipc::call;
use messaging_ipc::params::inbox::ListItems;
use messaging_ipc::scalars::Count;
use messaging_ipc::shapes::{InboxItem, InboxStage, PeerRef, TaskOrMessage};

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List what came to this terminal's mailbox, newest first
///
/// Unread items only, unless --all is given. Listing marks nothing as read and tells nobody.
///
/// Examples:
///   messaging inbox
///   messaging inbox --all -n 200
///   messaging inbox --json
///
/// See also: messaging read, messaging send
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Inbox {
    /// What is read too
    #[arg(long)]
    all: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=200))]
    limit: u64,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Inbox {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let key = Mailbox::of(context, Some(&self.mailbox))?.open(&link).await?;
        let list = ListItems {
            key,
            unread_only: !self.all,
            limit: Count::clamped(self.limit),
            before: None,
        };
        let page = link.call::<call::InboxList>(&list).await?;
        let mut table = Table::new(&["ID", "FROM", "KIND", "AGE", "PREVIEW"], "No mail.");
        for item in &page.items {
            table.row(row(context, item));
        }
        let report = Report::of(&page, table.render(&context.screen));
        Ok(if page.more { report.noting("There is more: list it with -n.") } else { report })
    }
}

fn row(context: &Context, item: &InboxItem) -> [Cell; 5] {
    let style = if item.stage == InboxStage::Read { Style::Dim } else { Style::Plain };
    let kind = match item.kind {
        TaskOrMessage::Message => "message",
        TaskOrMessage::Task => "task",
    };
    [
        Cell::id(item.id).styled(style),
        Cell::new(from(&item.from)).styled(style),
        Cell::new(kind).styled(style),
        Cell::new(when(&context.screen, item.at)).styled(style),
        Cell::peer(&item.preview).styled(style),
    ]
}

/// The other end as its address, or as the person.
pub(in crate::commands) fn from(peer: &PeerRef) -> String {
    match &peer.address {
        Some(address) => address.to_string(),
        None => peer.person.to_string(),
    }
}
