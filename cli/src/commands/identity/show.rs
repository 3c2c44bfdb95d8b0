//! `messaging identity show`, or `messaging whoami`.
//! Spec: D6.4

use messaging_core::code::Code;
use messaging_core::jcs;
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report};

/// Show the public half of this device's identity
///
/// The private half never leaves the daemon.
///
/// Examples:
///   messaging identity show
///   messaging identity show --json
///
/// See also: messaging device status, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let status = link.call::<call::DaemonStatus>(&Nothing {}).await?;
        let device = link.call::<call::DeviceStatus>(&Nothing {}).await?;
        let Some(identity) = status.identity else {
            return Err(Fault::new(Code::NoIdentity, "this device is in no team yet"));
        };
        let mut facts = Facts::default();
        facts.add("Person", &identity.person);
        facts.add("Label", &identity.label);
        facts.add("Device", identity.device);
        facts.maybe("Fingerprint", device.fingerprint.as_ref());
        facts.add("Encryption key", identity.enc);
        facts.maybe("Team", status.team.as_ref().map(|team| team.name.as_str()));
        let value = json!({
            "identity": jcs::to_value(&identity)?, "device": jcs::to_value(&device)?,
        });
        Ok(Report::new(value, facts.render(&context.screen)))
    }
}
