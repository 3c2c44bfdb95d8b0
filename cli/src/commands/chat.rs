//! `messaging chat`.
//! Spec: D6.4, §8.2 "Chats"

mod editor;
mod follow;
mod keyboard;
mod live;
pub(in crate::commands) mod transcript;

use std::io::IsTerminal as _;

use clap_complete::ArgValueCompleter;
use messaging_core::ids::Ulid;
use messaging_ipc::call;
use messaging_ipc::params::conv::{ListConversations, MarkRead, PageCursor, Read};
use messaging_ipc::results::conv::ConvPage;
use messaging_ipc::scalars::{Conversation, Count, Room};
use messaging_ipc::shapes::{ChatLine, ConversationView};

use crate::address::{Recipient, room_name};
use crate::complete;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;
use transcript::Transcript;

/// List your conversations, or read one, or live in it
///
/// Before a line of yours stands how far it came: `·` on its way, `?` waits for the other person, `✓` on a machine
/// of everybody, `✗` refused. At a terminal the lines shown count as read. With --follow new lines come as they are
/// written; what you type there is sent by Enter, and Ctrl-D ends.
///
/// Examples:
///   messaging chat
///   messaging chat bob
///   messaging chat '#ops' --follow
///   messaging chat bob -n 100 --before 412
///
/// See also: messaging dm, messaging send, messaging search, messaging channel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Chat {
    /// <person>, '#<channel>' or me; all conversations when left out
    #[arg(value_name = "WITH", add = ArgValueCompleter::new(complete::rooms))]
    with: Option<String>,
    #[command(flatten)]
    view: View,
}

/// Which lines are shown, and how.
#[derive(Debug, clap::Args)]
#[group(id = "view", multiple = true)]
pub(in crate::commands) struct View {
    /// At most this many lines [default: 50]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: Option<u64>,
    /// The latest lines before this number
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["after", "follow"])]
    before: Option<u64>,
    /// The earliest lines after this number
    #[arg(long, value_name = "SEQ", conflicts_with = "follow")]
    after: Option<u64>,
    /// One thread only, named by any line of it
    #[arg(long, value_name = "ID")]
    thread: Option<Ulid>,
    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
    /// Do not count the lines as read
    #[arg(long)]
    keep_unread: bool,
    /// Show the id of each line, which `send --reply` takes
    #[arg(long)]
    ids: bool,
}

impl Chat {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self.with {
            Some(with) => self.view.show(context, Recipient::parse(&with)?).await,
            None if self.view.is_default() => list(context).await,
            None => Err(Fault::usage(
                "these options are for one conversation",
                "name a person or '#<channel>'.",
            )),
        }
    }
}

impl View {
    fn is_default(&self) -> bool {
        let Self { limit, before, after, thread, follow, keep_unread, ids } = self;
        limit.is_none()
            && before.is_none()
            && after.is_none()
            && thread.is_none()
            && !follow
            && !keep_unread
            && !ids
    }

    /// Shows the conversation with somebody.
    pub(in crate::commands) async fn show(
        self,
        context: &Context,
        with: Recipient,
    ) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let room = with.room(&link).await?;
        // A cursor that moves past lines which a thread leaves out would hide them.
        let reads = context.screen.tty && !self.keep_unread && self.thread.is_none();
        let unread = if context.screen.tty { read_up_to(&link, &room).await? } else { None };
        let transcript = Transcript::new(&context.screen, self.ids, unread);
        if self.follow {
            let follow = follow::Follow::new(context, room, self.thread, reads);
            return follow.run(transcript, self.limit).await;
        }
        let page = page(&link, &room, self.thread, self.before, self.after, self.limit).await?;
        if let (true, Some(last)) = (reads, page.lines.last()) {
            mark_read(&link, &room, last.seq).await?;
        }
        let text = transcript.page(&context.screen, &page.lines);
        let note = match (page.lines.first(), page.lines.last()) {
            (_, Some(last)) if page.more && self.after.is_some() => {
                Some(format!("There is more: --after {}", last.seq))
            }
            (Some(first), _) if page.more => Some(format!("There is more: --before {}", first.seq)),
            _ => None,
        };
        let report = Report::of(&page.into_result(room), text);
        Ok(match note {
            Some(note) => report.noting(note),
            None => report,
        })
    }
}

/// Whether a person can type lines here.
fn can_type(context: &Context) -> bool {
    context.screen.tty && !context.globals.json && std::io::stdin().is_terminal()
}

/// Lines of one room, oldest first.
struct Page {
    lines: Vec<ChatLine>,
    more: bool,
}

impl Page {
    fn into_result(self, conversation: Room) -> ConvPage {
        ConvPage::Lines { conversation, lines: self.lines, more: self.more }
    }
}

async fn page(
    link: &Link<'_>,
    room: &Room,
    thread: Option<Ulid>,
    before: Option<u64>,
    after: Option<u64>,
    limit: Option<u64>,
) -> Result<Page, Fault> {
    let read = Read {
        key: None,
        conversation: Conversation::Room(room.clone()),
        thread,
        before: before.map(PageCursor::Line),
        after: after.map(PageCursor::Line),
        limit: limit.map(Count::clamped),
    };
    match link.call::<call::ConvRead>(&read).await? {
        ConvPage::Lines { lines, more, .. } => Ok(Page { lines, more }),
        ConvPage::Agent { .. } => Err(Fault::local(
            "the daemon answered with another kind of page",
            "run `messaging doctor`.",
        )),
    }
}

async fn mark_read(link: &Link<'_>, room: &Room, up_to: u64) -> Result<(), Fault> {
    let mark = MarkRead { conversation: room.clone(), up_to };
    link.call::<call::ConvMarkRead>(&mark).await.map(|_| ())
}

async fn conversations(link: &Link<'_>) -> Result<Vec<ConversationView>, Fault> {
    let list = ListConversations { limit: Count::clamped(u64::MAX) };
    Ok(link.call::<call::ConvList>(&list).await?.conversations)
}

/// The number of the newest line that was read; none in a conversation that has no line yet.
async fn read_up_to(link: &Link<'_>, room: &Room) -> Result<Option<u64>, Fault> {
    let views = conversations(link).await?;
    Ok(views.iter().find(|view| view.conversation == *room).map(|view| view.read_up_to))
}

async fn list(context: &Context) -> Result<Report, Fault> {
    let link = context.connect().await?;
    let list = ListConversations { limit: Count::clamped(u64::MAX) };
    let found = link.call::<call::ConvList>(&list).await?;
    let mut table = Table::new(&["WITH", "UNREAD", "LAST", "MEMBERS"], "No conversations yet.");
    for view in &found.conversations {
        let style = if view.unread > 0 { Style::Strong } else { Style::Plain };
        let members = view.persons.as_ref().map(|persons| {
            persons.iter().map(|person| person.as_str()).collect::<Vec<_>>().join(", ")
        });
        table.row([
            Cell::id(room_name(&view.conversation)).styled(style),
            Cell::new(view.unread.to_string()).styled(style),
            view.last_at.map_or_else(Cell::empty, |at| Cell::new(when(&context.screen, at))),
            members.map_or_else(Cell::empty, Cell::new),
        ]);
    }
    Ok(Report::of(&found, table.render(&context.screen)))
}
