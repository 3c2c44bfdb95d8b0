//! `messaging notices`.
//! Spec: D6.4, D3.27

mod ack;
mod list;
mod watch;

use messaging_ipc::scalars::Conversation;
use messaging_ipc::shapes::{Notice, NoticeCategory};

use crate::address::room_name;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// What happened that you may want to know
///
/// New lines, requests, changes of your own machines, alarms. A notice copies no text: --lines asks for the start of
/// each line.
///
/// Examples:
///   messaging notices
///   messaging notices watch --lines
///   messaging notices ack --all
///
/// See also: messaging chat, messaging request list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct Notices {
    #[command(flatten)]
    list: list::List,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    #[command(alias = "ls")]
    List(list::List),
    Watch(watch::Watch),
    Ack(ack::Ack),
}

impl Notices {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self.verb {
            None => self.list.run(context).await,
            Some(Verb::List(command)) => command.run(context).await,
            Some(Verb::Watch(command)) => command.run(context).await,
            Some(Verb::Ack(command)) => command.run(context).await,
        }
    }
}

const fn category(notice: &Notice) -> &'static str {
    match notice.category {
        NoticeCategory::Message => "message",
        NoticeCategory::Request => "request",
        NoticeCategory::Alert => "alert",
    }
}

/// Where it happened: `bob`, `#ops`, `bob/api`.
fn place(notice: &Notice) -> String {
    match &notice.conversation {
        None => String::new(),
        Some(Conversation::Room(room)) => room_name(room),
        Some(Conversation::Agent { person, agent }) => format!("{person}/{agent}"),
    }
}
