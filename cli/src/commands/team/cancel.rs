//! `messaging team cancel`.
//! Spec: D6.4, §8.2 "Founding keys"

use messaging_ipc::call;
use messaging_ipc::params::Nothing;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Drop the keys that wait for a place in a team
///
/// A card that was printed of them is worth nothing afterwards: tell the admin who has it.
///
/// Examples:
///   messaging team cancel
///   messaging team cancel --json
///
/// See also: messaging team pair, messaging team prepare
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Cancel {}

impl Cancel {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let done = link.call::<call::TeamPairCancel>(&Nothing {}).await?;
        let text = if done.cancelled { "dropped the keys\n" } else { "no keys wait here\n" };
        Ok(Report::of(&done, text))
    }
}
