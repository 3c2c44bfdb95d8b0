//! `messaging search`.
//! Spec: D6.4, §8.2 "Chats"

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::conv::Search as Params;
use messaging_ipc::scalars::{Count, Str};
use messaging_ipc::shapes::ChatLine;

use crate::address::{Recipient, room_name};
use crate::commands::chat::transcript::author;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};

/// Find lines in your conversations, the newest first
///
/// A line is found when it holds every word, in any place and any case. Nothing in a query has a meaning beyond its
/// letters. SEQ is where to look on: `messaging chat bob --before SEQ`.
///
/// Examples:
///   messaging search "green build"
///   messaging search parser --in '#ops' -n 50
///
/// See also: messaging chat, messaging agents read
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Search {
    /// What to find
    #[arg(value_name = "QUERY", value_parser = query, allow_hyphen_values = true)]
    query: Str<1, 256>,
    /// Only with this person or in this channel
    #[arg(long = "in", value_name = "WITH", add = ArgValueCompleter::new(complete::rooms))]
    within: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
}

fn query(text: &str) -> Result<Str<1, 256>, &'static str> {
    Str::new(text.to_owned()).map_err(|_| "1 to 256 characters")
}

impl Search {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let within = self.within.as_deref().map(Recipient::parse).transpose()?;
        let link = context.connect().await?;
        let conversation = match within {
            Some(within) => Some(within.room(&link).await?),
            None => None,
        };
        let limit = Count::clamped(self.limit);
        let search = Params { query: self.query, conversation, limit };
        let found = link.call::<call::Search>(&search).await?;
        let mut table = Table::new(&["WITH", "SEQ", "WHEN", "WHO", "TEXT"], "No line found.");
        for hit in &found.hits {
            table.row(row(context, hit));
        }
        let report = Report::of(&found, table.render(&context.screen));
        Ok(if found.more {
            report.noting("There is more: name more words, or list more with -n.")
        } else {
            report
        })
    }
}

fn row(context: &Context, hit: &ChatLine) -> [Cell; 5] {
    [
        Cell::new(room_name(&hit.conversation)),
        Cell::new(hit.seq.to_string()),
        Cell::new(when(&context.screen, hit.at)),
        Cell::new(author(hit)),
        Cell::peer(&hit.text),
    ]
}
