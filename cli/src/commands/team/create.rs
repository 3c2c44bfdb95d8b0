//! `messaging team create`.
//! Spec: D6.4, §4

use messaging_core::ids::{Label, RelayUrl, RosterPerson, TeamName};
use messaging_ipc::call;
use messaging_ipc::params::team::Create as Params;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report};

/// Found a team at a relay, with this machine as its first admin
///
/// The relay must allow this machine to found teams (its --genesis-allow).
///
/// Examples:
///   messaging team create --relay wss://relay.example/v1/connect --name garden --person alice
///   messaging team create --relay ws://127.0.0.1:8080/v1/connect --name test --person alice --label desk
///
/// See also: messaging team invite, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Create {
    /// The relay's address, wss://…; ws:// on this machine only
    #[arg(long, value_name = "URL")]
    relay: RelayUrl,
    /// The team's name
    #[arg(long, value_name = "TEAM")]
    name: TeamName,
    /// Your name in the team: a letter, then letters, digits and dashes
    #[arg(long, value_name = "PERSON")]
    person: RosterPerson,
    /// This machine's name among yours [default: the host name]
    #[arg(long, value_name = "LABEL")]
    label: Option<Label>,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let label = super::label(self.label)?;
        let link = context.connect().await?;
        let params = Params { relay: self.relay, team: self.name, person: self.person, label };
        let created = link.call::<call::TeamCreate>(&params).await?;
        let mut facts = Facts::default();
        facts.add("Team", created.team);
        facts.add("You", format!("{}@{}", created.person, created.label));
        // The team stands, whether its card can be shown or not.
        facts.maybe("Card", super::list(&link).await.ok().map(|team| team.card));
        let report = Report::of(&created, facts.render(&context.screen));
        Ok(report.noting("Next: invite somebody with `messaging team invite <person>`."))
    }
}
