//! `messaging agents read`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::params::people::ReadAgent;
use messaging_ipc::results::people::AgentRead;
use messaging_ipc::scalars::{Conversation, Count};
use messaging_ipc::shapes::{ConvEntry, Direction, EntryCursor};

use crate::address::{Recipient, room_name};
use crate::commands::inbox::from;
use crate::commands::task;
use crate::complete;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};
use messaging_ipc::scalars::Target;

/// Show with whom an agent of yours exchanges something, or what
///
/// Without WITH the conversations; with it what was said in one, the oldest first. A title or preview is the start of a
/// text.
///
/// Examples:
///   messaging agents read api
///   messaging agents read api bob/web -n 100
///   messaging agents read api bob/web --before 1767225600000:01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///
/// See also: messaging agents list, messaging inbox
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Read {
    /// Your agent
    #[arg(value_name = "AGENT", add = ArgValueCompleter::new(complete::own_agents))]
    agent: SessionName,
    /// The other agent, <person>/<agent> or me/<agent>
    #[arg(value_name = "WITH", add = ArgValueCompleter::new(complete::recipients))]
    with: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
    /// What came before this entry, as the note under a page names it
    #[arg(long, value_name = "AT:ID", requires = "with", value_parser = cursor)]
    before: Option<EntryCursor>,
}

fn cursor(text: &str) -> Result<EntryCursor, &'static str> {
    let (at, id) = text.split_once(':').ok_or("no <at>:<id>")?;
    Ok(EntryCursor {
        at: at.parse().map(Ms).map_err(|_| "no time")?,
        id: Ulid::parse(id).map_err(|_| "no id")?,
    })
}

impl Read {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let with = self.with.as_deref().map(Recipient::parse).transpose()?;
        let link = context.connect().await?;
        let conversation = match with {
            Some(with) => Some(other(with, &link).await?),
            None => None,
        };
        let limit = Count::clamped(self.limit);
        let params = ReadAgent { agent: self.agent, conversation, before: self.before, limit };
        let read = link.call::<call::AgentsRead>(&params).await?;
        let report = |table: &Table| Report::of(&read, table.render(&context.screen));
        match &read {
            AgentRead::Conversations { conversations } => {
                let mut table = Table::new(&["WITH", "UNREAD", "LAST"], "Nothing exchanged.");
                for one in conversations {
                    table.row([
                        Cell::id(name(&one.conversation)),
                        Cell::new(one.unread.to_string()),
                        Cell::new(when(&context.screen, one.last_at)),
                    ]);
                }
                Ok(report(&table))
            }
            AgentRead::Entries { entries, more, .. } => {
                let mut table = Table::new(
                    &["WHEN", "WAY", "WITH", "WHAT", "STATE", "TEXT"],
                    "Nothing exchanged.",
                );
                for entry in entries {
                    table.row(row(context, entry));
                }
                let report = report(&table);
                Ok(match entries.first().filter(|_| *more) {
                    Some(first) => {
                        report.noting(format!("There is more: --before {}", place(first)))
                    }
                    None => report,
                })
            }
        }
    }
}

async fn other(with: Recipient, link: &Link<'_>) -> Result<Conversation, Fault> {
    match with.resolve(link).await? {
        Target::Agent(address) => {
            Ok(Conversation::Agent { person: address.person, agent: address.session })
        }
        Target::Person(_) | Target::Channel(_) => Err(Fault::usage(
            "this is no agent",
            "write <person>/<agent>; `messaging chat` shows persons and channels.",
        )),
    }
}

fn name(conversation: &Conversation) -> String {
    match conversation {
        Conversation::Room(room) => room_name(room),
        Conversation::Agent { person, agent } => format!("{person}/{agent}"),
    }
}

fn row(context: &Context, entry: &ConvEntry) -> [Cell; 6] {
    let way = |direction: &Direction| match direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    match entry {
        ConvEntry::Mail { at, direction, peer, preview, stage, code, .. } => [
            Cell::new(when(&context.screen, *at)),
            Cell::new(way(direction)),
            Cell::new(from(peer)),
            Cell::new("message"),
            Cell::new(match code {
                Some(code) => format!("{}: {code}", stage.as_str()),
                None => stage.as_str().to_owned(),
            }),
            preview.as_ref().map_or_else(Cell::empty, Cell::peer),
        ],
        ConvEntry::Task { at, direction, peer, title, state, .. } => [
            Cell::new(when(&context.screen, *at)),
            Cell::new(way(direction)),
            Cell::new(from(peer)),
            Cell::new("task"),
            Cell::new(task::list::word(*state)),
            Cell::peer(title),
        ],
    }
}

fn place(entry: &ConvEntry) -> String {
    match entry {
        ConvEntry::Mail { id, at, .. } | ConvEntry::Task { id, at, .. } => format!("{at}:{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_time_and_an_id() {
        let read = cursor("5:01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        assert_eq!((read.at, read.id.to_string().as_str()), (Ms(5), "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
        for bad in ["", "5", "5:", ":01ARZ3NDEKTSV4RRFFQ69G5FAV", "x:01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            assert!(cursor(bad).is_err(), "{bad}");
        }
    }
}
