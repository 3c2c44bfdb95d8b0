//! `messaging channel list`.
//! Spec: D6.4

use messaging_ipc::results::conv::Conversations;

use crate::address::room_name;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};

/// List the channels that you are in
///
/// Examples:
///   messaging channel list
///   messaging channel list --json
///
/// See also: messaging channel show, messaging chat
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let conversations = super::channels(&link).await?;
        let mut table =
            Table::new(&["CHANNEL", "MEMBERS", "CREATOR", "UNREAD", "LAST"], "No channels.");
        for view in &conversations {
            table.row([
                Cell::id(room_name(&view.conversation)),
                Cell::new(view.persons.as_ref().map_or(0, Vec::len).to_string()),
                view.creator.as_ref().map_or_else(Cell::empty, |person| Cell::new(person.as_str())),
                Cell::new(view.unread.to_string()),
                view.last_at.map_or_else(Cell::empty, |at| Cell::new(when(&context.screen, at))),
            ]);
        }
        Ok(Report::of(&Conversations { conversations }, table.render(&context.screen)))
    }
}
