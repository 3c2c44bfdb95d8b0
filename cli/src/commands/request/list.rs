//! `messaging request list`.
//! Spec: D6.4, §6.9

use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::shapes::{HeldAsk, RequestView};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};

/// List what waits for your answer
///
/// Messages and tasks for your agents come first, the oldest on top; then message requests; then whom your agents
/// suggest to contact.
///
/// Examples:
///   messaging request list
///   messaging request list --json
///
/// See also: messaging request show, messaging request once, messaging request decline
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let waiting = link.call::<call::RequestList>(&Nothing {}).await?;
        let mut table = Table::new(
            &["ID", "KIND", "FROM", "FOR", "AGE", "TEXT"],
            "Nothing waits for your answer.",
        );
        for request in &waiting.requests {
            table.row(row(context, request));
        }
        let report = Report::of(&waiting, table.render(&context.screen));
        if waiting.requests.is_empty() || !context.screen.tty {
            return Ok(report);
        }
        Ok(report.noting("Answer with `messaging request once|always|decline|block <id>`."))
    }
}

fn row(context: &Context, request: &RequestView) -> [Cell; 6] {
    let ask = |kind, ask: &HeldAsk| {
        [
            Cell::id(ask.id),
            Cell::new(kind),
            Cell::id(&ask.address),
            Cell::new(ask.to.as_str()),
            Cell::new(when(&context.screen, ask.held_at)),
            Cell::peer(&ask.preview),
        ]
    };
    match request {
        RequestView::Message(held) => ask("message", held),
        RequestView::Task(held) => ask("task", held),
        RequestView::Contact { id, name, text, at, .. } => [
            Cell::id(id),
            Cell::new("contact"),
            Cell::peer(name),
            Cell::new("you"),
            Cell::new(when(&context.screen, *at)),
            Cell::peer(text),
        ],
        RequestView::Suggestion { id, agent, email, at } => [
            Cell::id(id),
            Cell::new("suggestion"),
            Cell::new(agent.as_str()),
            Cell::new("you"),
            Cell::new(when(&context.screen, *at)),
            Cell::peer(email),
        ],
    }
}
