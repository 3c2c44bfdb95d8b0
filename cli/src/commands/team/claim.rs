//! `messaging team claim`.
//! Spec: D6.4, §8.2 "Admitting a machine without a ticket"

use std::time::{Duration, Instant};

use messaging_ipc::call;
use messaging_ipc::params::device::Wait;
use messaging_ipc::results::team::Claimed;
use messaging_ipc::scalars::Count;

use crate::context::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::{Facts, Report};

/// Take the place that an admin gave to this machine's keys
///
/// Without --wait the relay is asked once; exit 8 says that nobody has added the machine yet.
///
/// Examples:
///   messaging team claim
///   messaging team claim --wait 600
///
/// See also: messaging team pair, messaging team cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Claim {
    /// How long to wait for the admin
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    wait: u64,
}

impl Claim {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let start = Instant::now();
        let whole = Duration::from_secs(self.wait);
        let link = context.connect_for(LONGEST).await?;
        loop {
            let left = whole.saturating_sub(start.elapsed()).min(LONGEST);
            let wait_ms = u64::try_from(left.as_millis()).unwrap_or(0);
            let params = Wait { wait_ms: Count::parse(wait_ms).unwrap_or_default() };
            let claimed = link.call::<call::TeamClaim>(&params).await?;
            match &claimed {
                Claimed::Waiting if start.elapsed() < whole => {}
                Claimed::Waiting => {
                    let text = "waiting: no admin has added this machine yet\n";
                    let report = Report { exit: Exit::WaitEnded, ..Report::of(&claimed, text) };
                    return Ok(report.noting(
                        "Next: give an admin the card of `messaging team pair`, then claim again.",
                    ));
                }
                Claimed::Joined { team, person, label, .. } => {
                    let mut facts = Facts::default();
                    facts.add("Team", team);
                    facts.add("You", format!("{person}@{label}"));
                    return Ok(Report::of(&claimed, facts.render(&context.screen)));
                }
            }
        }
    }
}

/// The longest that one call waits.
const LONGEST: Duration = Duration::from_secs(120);
