//! `messaging grant review`.
//! Spec: D6.4, §6.9

use messaging_ipc::call;
use messaging_ipc::params::consent::ListGrants;

use super::list::{Levels, subject};
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};

/// List what you had allowed on a machine that is no longer yours
///
/// When a machine of yours is removed, what it allowed lapses until you allow it again; what it refused stays
/// refused. A new grant for the same person or channel settles the entry.
///
/// Examples:
///   messaging grant review
///   messaging grant review --json
///
/// See also: messaging grant set, messaging grant list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Review {}

impl Review {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let grants = link.call::<call::GrantList>(&ListGrants { subject: None }).await?;
        let mut table = Table::new(
            &["SUBJECT", "LINES", "AGENTS' LINES", "REQUESTS", "TRUST", "LAPSED"],
            "Nothing to review.",
        );
        for item in &grants.review {
            let levels = Levels {
                chat: item.chat,
                agent_mail: item.agent_mail,
                ask: item.ask,
                trusted_until: item.trusted_until,
                discoverable: item.discoverable,
            };
            let [lines, agents, requests, trust] = levels.cells(context.screen.now);
            let lapsed = Cell::new(when(&context.screen, item.lapsed_at));
            table.row([Cell::new(subject(&item.subject)), lines, agents, requests, trust, lapsed]);
        }
        Ok(Report::of(&grants, table.render(&context.screen)))
    }
}
