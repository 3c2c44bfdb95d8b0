//! `messaging team pair`.
//! Spec: D6.4, §8.2 "Admitting a machine without a ticket"

use messaging_core::ids::{Label, RosterPerson};
use messaging_core::ticket::{TeamCard, TextForm as _};
use messaging_ipc::call;
use messaging_ipc::params::team::Pair as Params;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Ask for a place in a team without a ticket: make keys, and a card that an admin adds
///
/// The team's card comes from an admin (`messaging team card`). Neither card is a secret. The keys wait on this machine
/// until they are claimed or cancelled; asked again for the same place, the same card is printed.
///
/// Examples:
///   messaging team pair --person bob < team-card
///   messaging team pair --person bob --label server < team-card
///
/// See also: messaging team add, messaging team claim, messaging team cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Pair {
    /// The team's card [default: from standard input]
    #[arg(value_name = "TEAM-CARD", value_parser = card)]
    team: Option<TeamCard>,
    /// Your name in the team
    #[arg(long, value_name = "PERSON")]
    person: RosterPerson,
    /// This machine's name among yours [default: the host name]
    #[arg(long, value_name = "LABEL")]
    label: Option<Label>,
}

fn card(text: &str) -> Result<TeamCard, &'static str> {
    TeamCard::decode(text).map_err(|_| "no card of a team")
}

impl Pair {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let label = super::label(self.label)?;
        let TeamCard { relay, team, .. } = super::card(self.team, card).await?;
        let link = context.connect().await?;
        let params = Params { relay, team, person: self.person, label };
        let paired = link.call::<call::TeamPair>(&params).await?;
        let note = format!(
            "Give this card to an admin, who sees the machine {} when adding it.\n\
             Next: once it is added, run `messaging team claim`.",
            paired.machine
        );
        Ok(Report::of(&paired, format!("{}\n", paired.card)).noting(note))
    }
}
