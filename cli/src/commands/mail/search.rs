//! `messaging mail search`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::archive::SearchMail;
use messaging_ipc::results::archive::{HeldMail, MailHits};
use messaging_ipc::scalars::{Count, Str};
use messaging_ipc::shapes::Direction;

use crate::address::Recipient;
use crate::commands::inbox::from;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, instant, when};

/// Find mail that your agents got or sent, newest first
///
/// Every word must stand in it, in any order and whatever its case; nothing in the words is a query language.
/// Looking marks nothing as read and tells nobody.
///
/// Examples:
///   messaging mail search "build green"
///   messaging mail search migration --with bob/api --since 7d
///   messaging mail search "index.ts" --json
///
/// See also: messaging export, messaging read
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Search {
    /// The words
    #[arg(value_name = "WORDS")]
    query: String,
    /// Only with this person or this agent
    #[arg(long, value_name = "WHO", add = ArgValueCompleter::new(complete::recipients))]
    with: Option<String>,
    /// Only from then on: 7d, 12h, 30m, a date, or a time as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
}

impl Search {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let wrong = || {
            Fault::usage("the words are too long, or there are none", "write up to 256 characters.")
        };
        let query = Str::new(self.query).map_err(|_| wrong())?;
        let since =
            self.since.as_deref().map(|text| instant(context.screen.now, text)).transpose()?;
        let with = self.with.as_deref().map(Recipient::parse).transpose()?;
        let link = context.connect().await?;
        let with = match with {
            Some(with) => Some(with.resolve(&link).await?),
            None => None,
        };
        let mut ask = SearchMail { query, with, since, cursor: None, limit: Count::default() };
        let mut found = MailHits { hits: Vec::new(), cursor: None };
        loop {
            let left = self.limit.saturating_sub(found.hits.len() as u64);
            ask.limit = Count::clamped(left.min(100));
            let page = link.call::<call::MailSearch>(&ask).await?;
            found.hits.extend(page.hits);
            found.cursor = page.cursor;
            match &found.cursor {
                // One call looks at so much and no more.
                Some(cursor) if (found.hits.len() as u64) < self.limit => {
                    ask.cursor = Some(Str::new(cursor.clone())?);
                }
                _ => break,
            }
        }
        let mut table = Table::new(&["ID", "WITH", "WAY", "AGE", "TEXT"], "Nothing found.");
        for mail in &found.hits {
            table.row(row(context, mail));
        }
        let report = Report::of(&found, table.render(&context.screen));
        Ok(match found.cursor {
            Some(_) => report.noting("There may be more: list it with -n."),
            None => report,
        })
    }
}

fn row(context: &Context, mail: &HeldMail) -> [Cell; 5] {
    let way = match mail.direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    [
        Cell::id(mail.id),
        Cell::new(from(&mail.peer)),
        Cell::new(way),
        Cell::new(when(&context.screen, mail.at)),
        mail.excerpt.as_ref().map_or_else(Cell::empty, Cell::peer),
    ]
}
