//! `messaging people show`.
//! Spec: D6.4, §8.2 "A person's devices changed"

use clap_complete::ArgValueCompleter;
use messaging_ipc::call;
use messaging_ipc::params::people::OnePerson;
use messaging_ipc::results::people::PersonDetail;
use messaging_ipc::shapes::{ChangeKind, DeviceChangeView, ReachSource};

use super::search::relation;
use crate::address::Recipient;
use crate::commands::contact::list::asked;
use crate::commands::device;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report, date, when};
use crate::screen::{Screen, Style};

/// Show a person: what they take from you, what you allow them, and their machines
///
/// A machine that changed lately is named: ask them another way whether it is theirs before you trust it.
///
/// Examples:
///   messaging people show bob
///   messaging people show me --json
///
/// See also: messaging people search, messaging grant list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    person: String,
}

impl Show {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let whom = Recipient::parse(&self.person)?;
        let link = context.connect().await?;
        let person = whom.person(&link).await?;
        let found = link.call::<call::PeopleGet>(&OnePerson { person }).await?;
        let screen = &context.screen;
        let mut text = facts(screen, &found).render(screen);
        text += "\n";
        text += &device::list::table(context, &found.devices).render(screen);
        Ok(Report::of(&found, text))
    }
}

fn facts(screen: &Screen, found: &PersonDetail) -> Facts {
    let person = &found.person;
    let mut facts = Facts::default();
    for change in found.device_changes.iter().flatten() {
        facts.styled("Changed", changed(screen, change), Style::Warn);
    }
    facts.add("Person", &person.person);
    facts.maybe("Name", person.name.as_ref().map(|text| text.as_untrusted()));
    facts.maybe("Handle", person.handle.as_ref().map(|text| text.as_untrusted()));
    facts.maybe("Email", person.email.as_ref().map(|text| text.as_untrusted()));
    facts.maybe("Organisation", person.org.as_ref().map(|text| text.as_untrusted()));
    facts.add("Relation", relation(person.relation));
    facts.maybe("Online", person.online.map(|yes| if yes { "yes" } else { "no" }));
    if let Some(reach) = &found.reach {
        let taken = |yes| if yes { "taken" } else { "refused" };
        let trust = reach.can.trusted_until.map(|at| format!("; trusted until {}", date(at)));
        let source = match (reach.source, reach.at) {
            (ReachSource::Card, Some(at)) => format!(" (as they said {})", when(screen, at)),
            (ReachSource::Card, None) => String::new(),
            (ReachSource::Default, _) => " (by default; they have not said)".to_owned(),
        };
        facts.add(
            "From you",
            format!(
                "lines {}; agents' lines {}; requests {}{}{source}",
                taken(reach.can.chat),
                taken(reach.can.agent_mail),
                asked(reach.can.ask),
                trust.unwrap_or_default(),
            ),
        );
    }
    if found.grant.is_some() {
        let how = format!("you have said: `messaging grant list {}`", person.person);
        facts.add("From them", how);
    }
    facts
}

fn changed(screen: &Screen, change: &DeviceChangeView) -> String {
    let what = match change.change {
        ChangeKind::Added => "new",
        ChangeKind::Removed => "removed",
        ChangeKind::Replaced => "replaced",
    };
    format!("machine {} ({}) {what} {}", change.label, change.device, when(screen, change.at))
}
