//! `messaging device status`.
//! Spec: D6.4

use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::shapes::{Binding, DeviceStatus, RealmKind};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Facts, Report};
use crate::screen::Style;

/// Show this device's place in its team or directory
///
/// Examples:
///   messaging device status
///   messaging device status --json
///
/// See also: messaging identity show, messaging status
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Status {}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let device = link.call::<call::DeviceStatus>(&Nothing {}).await?;
        Ok(Report::of(&device, facts(&device).render(&context.screen)))
    }
}

/// What is public about this device.
pub(in crate::commands) fn facts(device: &DeviceStatus) -> Facts {
    let mut facts = Facts::default();
    if let Some(alarm) = &device.alarm {
        facts.styled("Alarm", &alarm.reason, Style::Bad);
    }
    facts.add(
        "Realm",
        match device.kind {
            RealmKind::Roster => "a team",
            RealmKind::Directory => "a directory",
            RealmKind::None => "none yet",
        },
    );
    facts.maybe("Realm id", device.realm.as_ref());
    let (binding, style) = match device.binding {
        Binding::None => ("not set up", Style::Warn),
        Binding::Bound => ("current", Style::Good),
        Binding::AttestDue => ("current, to be attested again soon", Style::Warn),
        Binding::Removed => ("removed", Style::Bad),
        Binding::Replace => ("being replaced", Style::Warn),
    };
    facts.styled("Membership", binding, style);
    facts.maybe("Person", device.person.as_ref());
    facts.maybe("Label", device.label.as_ref());
    facts.maybe("Device", device.device.as_ref());
    facts.maybe("Fingerprint", device.fingerprint.as_ref());
    facts
}
