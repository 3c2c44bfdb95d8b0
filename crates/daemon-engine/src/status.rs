//! What the daemon says of itself, in full and in one glance.
//! Spec: §8.2 `daemon.status`, `daemon.health`; §8.9; D1.6, D3.24
//!
//! Words about the relay are our own, never text that came from it.

use messaging_core::ids::PersonId;
use messaging_core::keys::fingerprint;
use messaging_core::roster::{Member, Roster};
use messaging_ipc::hello;
use messaging_ipc::scalars::{OrNull, True};
use messaging_ipc::shapes::{
    AlarmKind, Binding, DaemonAlarm, DaemonHealth, DaemonState, DaemonStatus, DeviceAlarm,
    DeviceStatus, DirectoryHealth, Divergence, HealthAlarm, IdentityView, RealmKind, RealmSummary,
    RelayState, RelayView, TeamSummary, Vouch,
};
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::home::Standing;
use crate::link::LinkState;
use crate::realm;
use crate::rotation;
use crate::store::{LAYOUT, inbox, outbox};
use crate::work::Work;

/// What `daemon.health` needs to know of the store, so that it never waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    outbox: bool,
    inbox: bool,
}

/// Looks whether anything waits, once an input is through.
pub(crate) fn refresh(engine: &mut DaemonEngine, work: &Work<'_, '_>) -> Result<(), StoreError> {
    engine.busy = Busy { outbox: outbox::any(work.tx)?, inbox: inbox::any_waiting(work.tx)? };
    Ok(())
}

/// The daemon in full.
pub(crate) fn daemon(engine: &DaemonEngine) -> DaemonStatus {
    let roster = engine.realm.roster();
    let me = engine.home.machine.as_ref().and_then(|machine| roster.member(machine));
    let standing = engine.home.standing(roster);
    let kind = if standing == Standing::NoTeam { RealmKind::None } else { RealmKind::Roster };
    let alarms: Vec<Divergence> = engine.realm.divergence().iter().map(divergence).collect();
    DaemonStatus {
        version: engine.facts.version.to_owned(),
        protocol: hello::PROTOCOL,
        store_schema: u64::from(LAYOUT.schema),
        pid: engine.facts.pid,
        started_at: engine.facts.started.wall,
        state: state(engine),
        deployment: None,
        realm: RealmSummary { kind, id: engine.realm.id().copied() },
        identity: match standing {
            Standing::Member => me.map(identity),
            Standing::NoTeam | Standing::KeysMissing | Standing::Removed => None,
        },
        team: me.and_then(|me| team(roster, me)),
        relay: relay(engine),
        directory: None,
        alarm: alarm(engine),
        twin_since: None,
        damaged: engine.is_damaged().then_some(True),
        divergence: (!alarms.is_empty()).then_some(alarms),
        rotation: rotation::view(engine),
    }
}

/// The daemon in one glance, from memory alone.
pub(crate) fn health(engine: &DaemonEngine) -> DaemonHealth {
    let relay = relay_state(engine);
    let connected = relay == RelayState::Connected;
    let alarm = alarm(engine).map(|alarm| match alarm {
        DaemonAlarm::Restored => HealthAlarm::Restored,
        DaemonAlarm::KeysMissing => HealthAlarm::KeysMissing,
    });
    DaemonHealth {
        state: state(engine),
        relay,
        directory: DirectoryHealth::Ok,
        alarm: OrNull(alarm),
        busy: (engine.busy.outbox && connected) || engine.busy.inbox,
        version: engine.facts.version.to_owned(),
        store_schema: u64::from(LAYOUT.schema),
    }
}

/// This device in its realm; in a roster realm its binding is its membership.
pub(crate) fn device(engine: &DaemonEngine) -> DeviceStatus {
    let roster = engine.realm.roster();
    let keys = engine.home.keys.as_ref().map(|keys| keys.machine());
    let device = engine.home.machine.as_ref().or(keys);
    let me = device.and_then(|device| roster.member(device));
    DeviceStatus {
        // A home without a directory realm in its configuration is for a roster realm.
        kind: RealmKind::Roster,
        realm: engine.realm.id().copied(),
        device: device.copied(),
        fingerprint: device.map(fingerprint),
        binding: match engine.home.standing(roster) {
            Standing::NoTeam => Binding::None,
            Standing::Member | Standing::KeysMissing => Binding::Bound,
            Standing::Removed => Binding::Removed,
        },
        person: me.map(|me| PersonId::from(&me.person)),
        label: me.map(|me| me.label.clone()),
        device_kind: None,
        vouch: me.map(|_| Vouch::Roster),
        via: None,
        head: None,
        predecessor: None,
        alarm: restored(engine),
    }
}

/// The alarm of a home that runs from an older copy, dated by the entry that proves it.
fn restored(engine: &DaemonEngine) -> Option<DeviceAlarm> {
    let roster = engine.realm.roster();
    if !engine.home.is_restored(roster) {
        return None;
    }
    let rekey = engine.home.machine.as_ref().and_then(|machine| roster.latest_rekey(machine))?;
    let entry = usize::try_from(rekey.seq).ok().and_then(|at| roster.entries().get(at))?;
    let reason = RESTORED.to_owned();
    Some(DeviceAlarm { kind: AlarmKind::Restored, at: entry.ts(), reason })
}

/// Spec: D1.8
const RESTORED: &str = "This device runs from an older copy. Replace it before you use it.";

/// The alarm about this home's keys, the graver one first. Spec: §8.9
pub(crate) fn alarm(engine: &DaemonEngine) -> Option<DaemonAlarm> {
    let roster = engine.realm.roster();
    if engine.home.standing(roster) == Standing::KeysMissing {
        Some(DaemonAlarm::KeysMissing)
    } else if engine.home.is_restored(roster) {
        Some(DaemonAlarm::Restored)
    } else {
        None
    }
}

fn state(engine: &DaemonEngine) -> DaemonState {
    if engine.is_stopping() {
        DaemonState::Stopping
    } else if engine.lifecycle.is_running() {
        DaemonState::Running
    } else {
        DaemonState::Starting
    }
}

fn identity(me: &Member) -> IdentityView {
    IdentityView {
        device: me.machine,
        person: PersonId::from(&me.person),
        label: me.label.clone(),
        enc: me.enc,
    }
}

fn team(roster: &Roster, me: &Member) -> Option<TeamSummary> {
    let head = roster.head()?;
    Some(TeamSummary {
        id: *roster.team_id()?,
        name: roster.name()?.clone(),
        seq: head.seq,
        hash: head.hash,
        members: roster.members().len() as u64,
        role: me.role,
    })
}

fn relay(engine: &DaemonEngine) -> RelayView {
    let error = engine.link.last_error();
    let since = engine.link.state().1;
    RelayView {
        url: engine.config.relay.clone(),
        state: relay_state(engine),
        since: (since.0 > 0).then_some(since),
        last_error: error.map(|error| error.words.to_owned()),
        last_error_at: error.map(|error| error.at),
    }
}

fn relay_state(engine: &DaemonEngine) -> RelayState {
    match engine.link.state().0 {
        LinkState::Connected => RelayState::Connected,
        LinkState::Connecting => RelayState::Connecting,
        LinkState::Offline => RelayState::Offline,
    }
}

fn divergence(alarm: &realm::Divergence) -> Divergence {
    Divergence {
        device: alarm.device,
        person: alarm.person.clone(),
        seq: alarm.seq,
        ours: alarm.ours,
        theirs: alarm.theirs,
        at: alarm.at,
        envelope_id: alarm.envelope_id,
    }
}
