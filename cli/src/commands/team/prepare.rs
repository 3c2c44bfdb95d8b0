//! `messaging team prepare`.
//! Spec: D6.4, §8.2 "Founding keys"

use messaging_ipc::call;
use messaging_ipc::params::Nothing;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report};

/// Make the keys of a team's founder before the team, so that a relay can be told whom to expect
///
/// The keys wait on this machine until `messaging team create` uses them; asked again, the same ones are shown.
///
/// Examples:
///   messaging team prepare
///   messaging team prepare --json
///
/// See also: messaging team create, messaging team cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Prepare {}

impl Prepare {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let prepared = link.call::<call::TeamPrepare>(&Nothing {}).await?;
        let mut facts = Facts::default();
        facts.add("Machine", prepared.machine);
        facts.add("Encryption key", prepared.enc);
        let report = Report::of(&prepared, facts.render(&context.screen));
        let next = format!(
            "Next: have the relay allow it (--genesis-allow {}), then run `messaging team create`.",
            prepared.machine
        );
        Ok(report.noting(next))
    }
}
