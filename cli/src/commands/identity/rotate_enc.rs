//! `messaging identity rotate-enc`.
//! Spec: D6.4, §4 "Encryption-key rotation"

use messaging_ipc::call;
use messaging_ipc::params::Nothing;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report, until};

/// Replace this device's encryption key now
///
/// The daemon does so by itself on a schedule. The replaced key opens what was already sealed to it until the time that is
/// shown, and is erased then.
///
/// Examples:
///   messaging identity rotate-enc
///   messaging identity rotate-enc --json
///
/// See also: messaging identity show, messaging doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RotateEnc {}

impl RotateEnc {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let rotated = link.call::<call::IdentityRotateEnc>(&Nothing {}).await?;
        let mut facts = Facts::default();
        facts.add("Encryption key", rotated.enc);
        facts.add("Old key erased", until(&context.screen, rotated.until));
        Ok(Report::of(&rotated, facts.render(&context.screen)))
    }
}
