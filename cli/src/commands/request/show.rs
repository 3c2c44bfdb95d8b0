//! `messaging request show`.
//! Spec: D6.4, §6.9

use clap_complete::ArgValueCompleter;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::jcs;
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::shapes::{HeldAsk, RequestView};

use crate::commands::task;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report, behind, until, when};
use crate::screen::Screen;

/// Show one thing that waits for your answer
///
/// The text may be cut: the whole of it is delivered when you allow it.
///
/// Examples:
///   messaging request show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --json
///
/// See also: messaging request list, messaging request once
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {
    /// The request
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::requests))]
    id: Ulid,
}

impl Show {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let waiting = link.call::<call::RequestList>(&Nothing {}).await?;
        let found = waiting.requests.iter().find(|request| id(request) == self.id);
        let found = found.ok_or_else(|| {
            Fault::new(Code::NotFound, "no request of that id waits")
                .next("check `messaging request list`.")
        })?;
        Ok(Report::new(jcs::to_value(found).unwrap_or_default(), text(&context.screen, found)))
    }
}

fn id(request: &RequestView) -> Ulid {
    match request {
        RequestView::Message(held) | RequestView::Task(held) => held.id,
        RequestView::Contact { id, .. } | RequestView::Suggestion { id, .. } => *id,
    }
}

fn text(screen: &Screen, request: &RequestView) -> String {
    let mut facts = Facts::default();
    facts.add("Id", id(request));
    let said = match request {
        RequestView::Message(held) => ask(&mut facts, screen, "message", held),
        RequestView::Task(held) => ask(&mut facts, screen, "task", held),
        RequestView::Contact { person, device, label, name, email, org, text, at, exp, .. } => {
            facts.add("Kind", "message request").add("Person", person);
            facts.add("Name", name.as_untrusted());
            facts.maybe("Email", email.as_ref().map(|email| email.as_untrusted()));
            facts.maybe("Organisation", org.as_ref().map(|org| org.as_untrusted()));
            facts.add("Device", format!("{label} ({device})"));
            facts.add("Came", when(screen, *at)).add("Ends", until(screen, *exp));
            text.as_untrusted()
        }
        RequestView::Suggestion { agent, email, at, .. } => {
            facts.add("Kind", "suggestion").add("Agent", agent);
            facts.add("Contact", email.as_untrusted()).add("Came", when(screen, *at));
            ""
        }
    };
    let mut out = facts.render(screen);
    if !said.is_empty() {
        out += &format!("\n{}\n", behind(screen.columns(), "  ", "  ", said).join("\n"));
    }
    out
}

fn ask<'a>(facts: &mut Facts, screen: &Screen, kind: &str, held: &'a HeldAsk) -> &'a str {
    facts.add("Kind", kind).add("From", &held.address).add("Device", held.device);
    facts.add("For", &held.to);
    facts.add("Came", when(screen, held.held_at)).add("Ends", until(screen, held.exp));
    if let Some(chain) = &held.chain {
        task::show::chain(facts, chain);
    }
    held.preview.as_untrusted()
}
