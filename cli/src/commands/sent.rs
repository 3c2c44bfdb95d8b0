//! `messaging sent`.
//! Spec: D6.4, §8.4

use clap_complete::ArgValueCompleter;
use messaging_core::ids::SessionName;
use messaging_ipc::call;
use messaging_ipc::params::inbox::ListSent;
use messaging_ipc::results::inbox::SentItem;
use messaging_ipc::scalars::Count;
use messaging_ipc::shapes::EntryCursor;

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List what this terminal's mailbox sent to agents, newest first
///
/// With --unanswered: only what the other side was shown and did not answer. A message about a task is answered
/// when its agent next says how the task stands.
///
/// Examples:
///   messaging sent
///   messaging sent --unanswered
///   messaging sent -n 200 --json
///
/// See also: messaging read, messaging inbox, messaging send
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Sent {
    /// Only what was shown and not answered
    #[arg(long)]
    unanswered: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=200))]
    limit: u64,
    /// Where the list before ended
    #[arg(long, value_name = "AT:ID", value_parser = place)]
    before: Option<EntryCursor>,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Sent {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let key = Mailbox::of(context, Some(&self.mailbox))?.open(&link).await?;
        let list = ListSent {
            key,
            unanswered: self.unanswered,
            limit: Count::clamped(self.limit),
            before: self.before,
        };
        let page = link.call::<call::SentList>(&list).await?;
        let empty = if self.unanswered { "Nothing waits for an answer." } else { "Nothing sent." };
        let mut table = Table::new(&["ID", "TO", "STAGE", "AGE", "TEXT"], empty);
        for item in &page.items {
            table.row(row(context, item));
        }
        let report = Report::of(&page, table.render(&context.screen));
        Ok(match page.items.last() {
            Some(last) if page.more => {
                report.noting(format!("There is more: --before {}:{}", last.at, last.id))
            }
            _ => report,
        })
    }
}

fn row(context: &Context, item: &SentItem) -> [Cell; 5] {
    let style = if item.stage.is_final() { Style::Dim } else { Style::Plain };
    let stage = match item.code {
        Some(code) => format!("{}: {code}", item.stage.as_str()),
        None => item.stage.as_str().to_owned(),
    };
    let text = item.preview.as_ref().map_or_else(Cell::empty, Cell::peer);
    [
        Cell::id(item.id).styled(style),
        Cell::new(&item.to).styled(style),
        Cell::new(stage).styled(style),
        Cell::new(when(&context.screen, item.at)).styled(style),
        text.styled(style),
    ]
}

/// A place in a list, as `AT:ID`.
pub(in crate::commands) fn place(text: &str) -> Result<EntryCursor, String> {
    let wrong = || "write it as the list shows it: <at>:<id>".to_owned();
    let (at, id) = text.split_once(':').ok_or_else(wrong)?;
    let at = at.parse().map_err(|_| wrong())?;
    let id = id.parse().map_err(|_| wrong())?;
    Ok(EntryCursor { at: messaging_core::time::Ms(at), id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_time_and_an_id() {
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let read = place(&format!("1800000000000:{id}")).unwrap();
        assert_eq!((read.at.0, read.id.as_str()), (1_800_000_000_000, id));
        for text in
            ["", "1", ":", "x:01ARZ3NDEKTSV4RRFFQ69G5FAV", "1:x", "-1:01ARZ3NDEKTSV4RRFFQ69G5FAV"]
        {
            assert!(place(text).is_err());
        }
    }
}
