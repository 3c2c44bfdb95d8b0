//! `messaging agents list`.
//! Spec: D6.4

use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::results::people::AgentState;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};

/// List your agents on this machine, the most recent first
///
/// Examples:
///   messaging agents list
///   messaging agents --json
///
/// See also: messaging agents read, messaging contact list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let agents = link.call::<call::AgentsList>(&Nothing {}).await?;
        let mut table =
            Table::new(&["AGENT", "STATE", "CONVERSATIONS", "UNREAD", "LAST"], "No agents.");
        for agent in &agents.agents {
            table.row([
                Cell::id(&agent.agent),
                Cell::new(match agent.state {
                    AgentState::Idle => "idle",
                    AgentState::Busy => "busy",
                    AgentState::Kept => "kept",
                }),
                Cell::new(agent.conversations.to_string()),
                Cell::new(agent.unread.to_string()),
                agent.last_at.map_or_else(Cell::empty, |at| Cell::new(when(&context.screen, at))),
            ]);
        }
        Ok(Report::of(&agents, table.render(&context.screen)))
    }
}
