//! `messaging channel show`.
//! Spec: D6.4

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{ChannelName, PersonId};
use messaging_ipc::shapes::ConversationView;

use crate::address::{channel, room_name};
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report, when};
use crate::screen::Screen;

/// Show who is in a channel
///
/// Examples:
///   messaging channel show ops
///   messaging channel show '#ops' --json
///
/// See also: messaging channel list, messaging channel invite
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {
    /// The channel
    #[arg(value_name = "NAME", value_parser = channel, add = ArgValueCompleter::new(complete::channels))]
    name: ChannelName,
}

impl Show {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let view = super::find(&link, &self.name).await?;
        let text = facts(&context.screen, &view).render(&context.screen);
        Ok(Report::of(&view, text))
    }
}

fn facts(screen: &Screen, view: &ConversationView) -> Facts {
    let mut facts = Facts::default();
    facts.add("Channel", room_name(&view.conversation));
    facts.maybe("Its own name", view.name.as_ref().map(|name| format!("#{name}")));
    facts.maybe("Id", view.id);
    facts.maybe("Creator", view.creator.as_ref());
    let members: Vec<&str> = view.persons.iter().flatten().map(PersonId::as_str).collect();
    facts.add("Members", members.join(", "));
    facts.add("Unread", view.unread);
    facts.maybe("Last line", view.last_at.map(|at| when(screen, at)));
    facts
}
