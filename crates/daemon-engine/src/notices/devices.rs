//! Alerts of changes of the person's other devices, told from this machine's verified roster alone.
//! Spec: §8.2 "Device alerts", D3.27
//!
//! A cursor in the store says up to which entry the changes were told: what happened while this machine was away is told
//! when it learns of it, and nothing is told twice.

use std::sync::Arc;

use messaging_core::ids::{Label, MachineId};
use messaging_core::roster::{Entry, Op};
use messaging_core::time::Ms;
use messaging_ipc::shapes::{NoticeChange, NoticeDevice, Vouch};
use messaging_store::StoreError;

use super::Alert;
use crate::engine::DaemonEngine;
use crate::history::{self, Stay};
use crate::store::kv;
use crate::work::Work;

/// Begins a new home: what is told starts after the entry that admitted it.
pub(crate) fn begin(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let Some(own) = engine.home.machine else { return Ok(()) };
    let admitted =
        |entry: &&Arc<Entry>| entry.op().admits().is_some_and(|member| member.machine == own);
    let entry = engine.realm.roster().entries().iter().rev().find(admitted);
    kv::set(work.tx, kv::DEVICE_CURSOR, &entry.map_or(0, |entry| entry.seq()).to_string())?;
    tell(engine, work)
}

/// Tells of every change since the last time. A home that never told begins with its roster as it is.
pub(crate) fn tell(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let Some(head) = engine.realm.head().filter(|_| engine.home.machine.is_some()) else {
        return Ok(());
    };
    if kv::get(work.tx, kv::DEVICE_CURSOR)?.is_none() {
        return kv::set(work.tx, kv::DEVICE_CURSOR, &head.seq.to_string());
    }
    let told = kv::number(work.tx, kv::DEVICE_CURSOR)?;
    if told >= head.seq {
        return Ok(());
    }
    for alert in alerts(engine, told, work.wall()) {
        super::alert(engine, work, alert)?;
    }
    kv::set(work.tx, kv::DEVICE_CURSOR, &head.seq.to_string())
}

/// What the entries after `told` say of other devices of this person, but for what this machine signed itself.
fn alerts(engine: &DaemonEngine, told: u64, now: Ms) -> Vec<Alert> {
    let Some(own) = engine.home.machine else { return Vec::new() };
    let roster = engine.realm.roster();
    let changes: Vec<_> = roster
        .entries_after(Some(told))
        .iter()
        .filter(|entry| *entry.by() != own)
        .filter_map(|entry| change(entry.op()).map(|(change, machine)| (entry, change, machine)))
        .filter(|(_, _, machine)| *machine != own)
        .collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let stays = history::stays(roster);
    let Some(Stay { person, .. }) = stays.get(&own) else { return Vec::new() };
    let alert = |(entry, change, machine): (&Arc<Entry>, NoticeChange, MachineId)| {
        let stay = stays.get(&machine).filter(|stay| stay.person == *person)?;
        Some(Alert {
            source: format!("dev{}", entry.seq()),
            person: None,
            text: text(change, &stay.label),
            device: Some(device(change, machine, stay.label.clone(), entry)),
            // When it is told, so that nothing is too old to be seen; the device says when it happened.
            at: now,
        })
    };
    changes.into_iter().filter_map(alert).collect()
}

/// The machine that came or went. Who founds a team is not added to it.
fn change(op: &Op) -> Option<(NoticeChange, MachineId)> {
    match op {
        Op::MemberAdd { member } | Op::InviteRedeem { member, .. } => {
            Some((NoticeChange::Added, member.machine))
        }
        Op::MemberRemove { machine } => Some((NoticeChange::Removed, *machine)),
        Op::Genesis { .. }
        | Op::MemberRole { .. }
        | Op::MemberRekey { .. }
        | Op::InviteCreate { .. }
        | Op::InviteRevoke { .. } => None,
    }
}

fn device(change: NoticeChange, device: MachineId, label: Label, entry: &Entry) -> NoticeDevice {
    NoticeDevice {
        change,
        device,
        label,
        kind: None,
        vouch: Vouch::Roster,
        via: None,
        approver: None,
        replaces: None,
        // These two are read off the roster when the notice is shown.
        current: false,
        remove: None,
        at: entry.ts(),
    }
}

/// A team's devices have no kind, and no successor.
fn text(change: NoticeChange, label: &Label) -> String {
    match change {
        NoticeChange::Removed => format!("'{label}' was removed from your account."),
        NoticeChange::Added | NoticeChange::Vouched | NoticeChange::Replaced => {
            format!("New device on your account: '{label}', admitted by the team's admin.")
        }
    }
}
