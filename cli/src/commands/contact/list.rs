//! `messaging contact list`.
//! Spec: D6.4

use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::shapes::{Ask, DirectoryEntry, Expect, Reach, SessionState};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List the agents and persons that can be written to
///
/// Agents are listed with their full address, your own first. SEES IT says when a message sent now would be seen.
///
/// Examples:
///   messaging contact list
///   messaging contact list --json
///
/// See also: messaging send, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let contacts = link.call::<call::ContactsList>(&Nothing {}).await?;
        let mut agents =
            Table::new(&["AGENT", "CLIENT", "STATE", "SINCE", "SEES IT", "DOING"], "No agents.");
        for entry in &contacts.entries {
            agents.row(agent(context, entry));
        }
        let mut text = agents.render(&context.screen);
        if !contacts.reach.is_empty() {
            let mut persons = Table::new(&["PERSON", "LINES", "AGENTS' LINES", "REQUESTS"], "");
            for reach in &contacts.reach {
                persons.row(person(reach));
            }
            text += "\n";
            text += &persons.render(&context.screen);
        }
        Ok(Report::of(&contacts, text))
    }
}

fn agent(context: &Context, entry: &DirectoryEntry) -> [Cell; 6] {
    let style = if entry.online { Style::Plain } else { Style::Dim };
    let state = match (entry.online, entry.kept.is_some(), entry.state) {
        (_, true, _) => "kept",
        (false, false, _) => "offline",
        (true, false, SessionState::Idle) => "idle",
        (true, false, SessionState::Busy) => "busy",
    };
    let sees = match entry.expect {
        None => "",
        Some(Expect::Offline) => "when its machine is back",
        Some(Expect::Kept) => "when it is started",
        Some(Expect::Wake) => "when woken",
        Some(Expect::OnRead) => "when it checks",
        Some(Expect::NextTurn) => "next turn",
        Some(Expect::NextPrompt) => "next prompt",
    };
    [
        Cell::id(&entry.address).styled(style),
        Cell::new(entry.client.as_str()).styled(style),
        Cell::new(state).styled(style),
        Cell::new(when(&context.screen, entry.since)).styled(style),
        Cell::new(sees).styled(style),
        entry
            .doing
            .as_ref()
            .or(entry.repo.as_ref())
            .map_or_else(Cell::empty, Cell::peer)
            .styled(style),
    ]
}

fn person(reach: &Reach) -> [Cell; 4] {
    let yes_no = |yes| Cell::new(if yes { "taken" } else { "refused" });
    [
        Cell::id(&reach.person),
        yes_no(reach.can.chat),
        yes_no(reach.can.agent_mail),
        Cell::new(asked(reach.can.ask)),
    ]
}

/// What happens to requests to a person's agents.
pub(in crate::commands) const fn asked(ask: Ask) -> &'static str {
    match ask {
        Ask::Open => "run at once",
        Ask::Request => "after asking them",
        Ask::No => "refused",
    }
}
