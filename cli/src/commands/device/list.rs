//! `messaging device list`.
//! Spec: D6.4

use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::shapes::{DeviceView, RemovalReason, Vouch};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List the person's devices, current ones first
///
/// Examples:
///   messaging device list
///   messaging device list --json
///
/// See also: messaging device status, messaging team list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let devices = link.call::<call::DeviceList>(&Nothing {}).await?;
        let text = table(context, &devices.devices).render(&context.screen);
        Ok(Report::of(&devices, text))
    }
}

/// Devices of one person, a row each.
pub(in crate::commands) fn table(context: &Context, devices: &[DeviceView]) -> Table {
    let mut table = Table::new(&["LABEL", "STATE", "SINCE", "VOUCHED BY", "DEVICE"], "No devices.");
    for device in devices {
        table.row(row(context, device));
    }
    table
}

fn row(context: &Context, device: &DeviceView) -> [Cell; 5] {
    let style = if device.current { Style::Plain } else { Style::Dim };
    let state = match (&device.removed, device.own.is_some(), device.online) {
        (Some(removed), ..) => match removed.reason {
            RemovalReason::Own => "left",
            RemovalReason::Removed => "removed",
            RemovalReason::Lost => "lost",
            RemovalReason::Replaced => "replaced",
            RemovalReason::AccountDeleted => "account deleted",
        },
        (None, true, _) => "this device",
        (None, false, Some(true)) => "online",
        (None, false, Some(false)) => "offline",
        (None, false, None) => "current",
    };
    let at = device.removed.as_ref().map_or(device.since, |removed| removed.at);
    let vouch = match device.vouch {
        Vouch::Jelly => "account service",
        Vouch::Device => "another device",
        Vouch::Roster => "the team",
    };
    [
        Cell::new(device.label.as_str()).styled(style),
        Cell::new(state).styled(style),
        Cell::new(when(&context.screen, at)).styled(style),
        Cell::new(vouch).styled(style),
        Cell::id(device.device).styled(style),
    ]
}
