//! Alerts of changes of the person's other devices, told from this machine's verified roster alone.
//! Spec: §8.2 "Device alerts", D3.27
//!
//! A cursor in the store says up to which entry the changes were told: what happened while this machine was away is told
//! when it learns of it, and nothing is told twice.

use messaging_core::ids::{Label, MachineId};
use messaging_core::roster::{Entry, Op};
use messaging_ipc::shapes::{NoticeChange, NoticeDevice, Vouch};
use messaging_store::StoreError;

use super::Alert;
use crate::engine::DaemonEngine;
use crate::history;
use crate::store::kv;
use crate::work::Work;

/// Begins a new home: what is told starts after the entry that admitted it.
pub(crate) fn begin(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let Some(own) = engine.home.machine else { return Ok(()) };
    let admitted = |entry: &&std::sync::Arc<Entry>| {
        entry.op().admits().is_some_and(|member| member.machine == own)
    };
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
    for entry in engine.realm.roster().entries_after(Some(told)) {
        if let Some(alert) = alert(engine, entry) {
            super::alert(engine, work, alert)?;
        }
    }
    kv::set(work.tx, kv::DEVICE_CURSOR, &head.seq.to_string())
}

/// What an entry says of another device of this person; none when this machine signed it.
fn alert(engine: &DaemonEngine, entry: &Entry) -> Option<Alert> {
    let own = engine.home.machine?;
    if *entry.by() == own {
        return None;
    }
    let stays = history::stays(engine.realm.roster());
    let person = &stays.get(&own)?.person;
    let (machine, change) = match entry.op() {
        Op::MemberAdd { member } | Op::InviteRedeem { member, .. } => {
            (member.machine, NoticeChange::Added)
        }
        Op::MemberRemove { machine } => (*machine, NoticeChange::Removed),
        Op::Genesis { .. }
        | Op::MemberRole { .. }
        | Op::MemberRekey { .. }
        | Op::InviteCreate { .. }
        | Op::InviteRevoke { .. } => return None,
    };
    let stay = stays.get(&machine).filter(|stay| stay.person == *person && machine != own)?;
    Some(Alert {
        source: format!("dev{}", entry.seq()),
        person: None,
        text: text(change, &stay.label),
        device: Some(device(change, machine, stay.label.clone(), entry)),
        at: entry.ts(),
    })
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
