//! `messaging mailbox list`.
//! Spec: D6.3

use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Cell, Report, Table};

/// List the mailboxes that this terminal has keys of
///
/// Examples:
///   messaging mailbox list
///   messaging mailbox list --json
///
/// See also: messaging mailbox remove, messaging inbox
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(crate) fn run(self, context: &Context) -> Result<Report, Fault> {
        let mailboxes = Mailbox::all(context)?;
        let mut table = Table::new(&["NAME"], "No mailboxes.");
        for mailbox in &mailboxes {
            table.row([Cell::id(&mailbox.name)]);
        }
        let names: Vec<&str> = mailboxes.iter().map(|mailbox| mailbox.name.as_str()).collect();
        Ok(Report::new(json!({"mailboxes": names}), table.render(&context.screen)))
    }
}
