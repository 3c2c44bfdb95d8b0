//! `messaging notices list`.
//! Spec: D6.4

use messaging_ipc::call;
use messaging_ipc::params::notice::ListNotices;
use messaging_ipc::scalars::Count;
use messaging_ipc::shapes::{Notice, NoticeCategory};

use crate::commands::status::waiting;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List the notices that you have not acknowledged, newest first
///
/// Examples:
///   messaging notices list
///   messaging notices --lines -n 200
///
/// See also: messaging notices watch, messaging notices ack
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {
    /// The start of each line too
    #[arg(long)]
    lines: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=500))]
    limit: u64,
}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let list = ListNotices { lines: self.lines, limit: Count::clamped(self.limit) };
        let found = link.call::<call::NoticeList>(&list).await?;
        let mut table = Table::new(&["ID", "KIND", "FROM", "WHERE", "AGE", "LINE"], "No notices.");
        for notice in &found.notices {
            table.row(row(context, notice));
        }
        let counts = &found.counts;
        Ok(Report::of(&found, table.render(&context.screen)).noting(waiting(counts)))
    }
}

fn row(context: &Context, notice: &Notice) -> [Cell; 6] {
    let style = match notice.category {
        NoticeCategory::Alert => Style::Warn,
        NoticeCategory::Message | NoticeCategory::Request => Style::Plain,
    };
    [
        Cell::id(&notice.id),
        Cell::new(super::category(notice)).styled(style),
        notice.from.as_ref().map_or_else(Cell::empty, |from| Cell::peer(&from.name)),
        Cell::new(super::place(notice)),
        Cell::new(when(&context.screen, notice.at)),
        notice.line.as_ref().map_or_else(Cell::empty, Cell::new).styled(style),
    ]
}
