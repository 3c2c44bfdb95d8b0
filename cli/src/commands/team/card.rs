//! `messaging team card`.
//! Spec: D6.4, §8.2 "Founding keys"

use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Print the team's card, which says where the team is and is no secret
///
/// Examples:
///   messaging team card
///   messaging team card --json
///
/// See also: messaging team list, messaging team invite
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Card {}

impl Card {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let team = super::list(&link).await?;
        let text = format!("{}\n", messaging_core::peer_text::terminal_safe(&team.card));
        Ok(Report::new(json!({"card": team.card, "team": team.team, "relay": team.relay}), text))
    }
}
