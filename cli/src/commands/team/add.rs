//! `messaging team add`.
//! Spec: D6.4, §8.2 "Admitting a machine without a ticket"

use messaging_core::ticket::{AdmitCard, TextForm as _};
use messaging_ipc::call;
use messaging_ipc::params::team::Add as Params;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Add the machine that a card names to the team, as a plain member
///
/// The card comes from that machine (`messaging team pair`). Compare the machine's id with what its owner reads out:
/// whoever could change the card on its way could have put other keys in it.
///
/// Examples:
///   messaging team add --yes < card
///   messaging team add --yes --json < card
///
/// See also: messaging team pair, messaging team card, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Add {
    /// The machine's card [default: from standard input]
    #[arg(value_name = "ADMIT-CARD", value_parser = card)]
    card: Option<AdmitCard>,
}

fn card(text: &str) -> Result<AdmitCard, &'static str> {
    AdmitCard::decode(text).map_err(|_| "no card of a machine")
}

impl Add {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let card = super::card(self.card, card).await?;
        let link = context.connect().await?;
        let AdmitCard { machine, enc, person, label, .. } = card;
        let sentence = format!(
            "Add {person}@{label} to the team: machine {machine}. It can write to every member as {person}."
        );
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let added = link.call::<call::TeamAdd>(&Params { machine, enc, person, label }).await?;
        let text = format!("added {}@{}\n", added.member.person, added.member.label);
        let report = Report::of(&added, text);
        Ok(report.noting("Next: on that machine, run `messaging team claim`."))
    }
}
