//! `device.*`, as a roster realm has it.
//! Spec: §8.2 "Devices", D1.7

use messaging_ipc::params::Nothing;
use messaging_ipc::results::device::Devices;
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{DeviceStatus, DeviceView, Removal, RemovalReason, Vouch};

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::history::{self, Stay};
use crate::status;
use crate::work::Work;

pub(super) use super::later::device::{
    approve, approve_preview, bind, link, login, login_cancel, login_status, remove, remove_preview,
};

/// This device in its realm.
pub(super) fn status(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<DeviceStatus> {
    Ok(Answer::Now(status::device(engine)))
}

/// This person's devices: current ones first, then removed ones, newest first.
pub(super) fn list(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Devices> {
    let ready = engine.ready()?;
    let mut stays: Vec<Stay> = history::stays(ready.roster)
        .into_values()
        .filter(|stay| stay.person == ready.me.person)
        .collect();
    stays.sort_by_key(|stay| match stay.removed {
        None => (0, stay.since.0),
        Some((at, _)) => (1, u64::MAX - at.0),
    });
    let devices = stays.iter().map(|stay| view(engine, stay)).collect();
    Ok(Answer::Now(Devices { devices }))
}

/// A device as its person sees it.
pub(super) fn view(engine: &DaemonEngine, stay: &Stay) -> DeviceView {
    let own = engine.is_me(&stay.machine);
    let current = stay.removed.is_none();
    DeviceView {
        device: stay.machine,
        label: stay.label.clone(),
        kind: None,
        vouch: Vouch::Roster,
        via: None,
        current,
        own: own.then_some(True),
        since: stay.since,
        approver: None,
        online: current.then(|| engine.is_online(&stay.machine)),
        away: None,
        removed: stay.removed.map(|(at, by)| Removal {
            at,
            reason: if by == stay.machine { RemovalReason::Own } else { RemovalReason::Removed },
            by: Some(by),
        }),
    }
}
