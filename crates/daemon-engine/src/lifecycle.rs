//! Start and stop: what is put in order before the first call, and what is waited for before the last word.
//! Spec: §8.1, D3.2, D3.3

use messaging_core::time::Mono;
use messaging_store::StoreError;

use crate::engine::DaemonEngine;
use crate::events::{ConfigKey, LogEvent};
use crate::home::Standing;
use crate::input::{Out, SaveToken};
use crate::store::{LAYOUT, kv, roster};
use crate::work::Work;
use crate::{flows, link, notices, realm, sessions, snapshot};

/// Where the process is between its start and its end.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    stage: Stage,
    unknown_keys: Vec<ConfigKey>,
    last_save: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
    /// Waits, until then at most, for what the relay owes.
    Stopping {
        until: Mono,
    },
    Stopped,
}

impl Lifecycle {
    pub(crate) fn new(unknown_keys: Vec<ConfigKey>) -> Self {
        Self { stage: Stage::Starting, unknown_keys, last_save: 0 }
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.stage, Stage::Stopping { .. } | Stage::Stopped)
    }

    /// Whether the first input is through.
    pub(crate) fn is_running(&self) -> bool {
        self.stage == Stage::Running
    }

    /// A name for a file write.
    pub(crate) fn save_token(&mut self) -> SaveToken {
        self.last_save += 1;
        SaveToken(self.last_save)
    }

    /// Whether a stop has waited long enough.
    pub(crate) fn tend(&self, work: &Work<'_, '_>, in_flight: usize) -> bool {
        match self.stage {
            Stage::Stopping { until } => in_flight == 0 || until <= work.mono(),
            Stage::Starting | Stage::Running | Stage::Stopped => false,
        }
    }

    /// When a stop has waited long enough.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        match self.stage {
            Stage::Stopping { until } => Some(until),
            Stage::Starting | Stage::Running | Stage::Stopped => None,
        }
    }
}

/// Before anything else: leftovers of the last process are put in order, and the link begins.
pub(crate) fn start_once(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
) -> Result<(), StoreError> {
    if engine.lifecycle.stage != Stage::Starting {
        return Ok(());
    }
    let facts = engine.facts;
    work.log(LogEvent::DaemonStart { version: facts.version, pid: facts.pid });
    for key in engine.lifecycle.unknown_keys.clone() {
        work.log(LogEvent::ConfigUnknownKey { key });
    }
    work.log(LogEvent::StoreOpened { schema: u64::from(LAYOUT.schema) });
    if engine.home.machine.is_none() {
        // A roster whose machine was never written: a create or join that did not end. Spec: D3.3
        roster::clear(work.tx)?;
        kv::delete(work.tx, kv::REALM_ID)?;
    }
    sessions::keep_all(work)?;
    restore_config(engine, work)?;
    notices::tell(engine, work)?;
    flows::outgrown(engine, work);
    if engine.home.is_rekeyed_by_admin(engine.realm.roster()) {
        engine.link.report(work, realm::CUT_OFF);
    }
    engine.lifecycle.stage = Stage::Running;
    link::settle(engine, work);
    let ms = work.mono().since(facts.started.mono);
    work.log(LogEvent::DaemonRunning { ms });
    Ok(())
}

/// Writes what joining should have written to the configuration, when the last process did not get there.
fn restore_config(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if engine.config.relay.is_some()
        || engine.home.standing(engine.realm.roster()) != Standing::Member
    {
        return Ok(());
    }
    if let Some(kv::IdentityConfig { relay, person, label }) = kv::identity_config(work.tx)? {
        engine.config.relay = Some(relay.clone());
        let token = engine.lifecycle.save_token();
        work.wish(Out::SaveConfig { token, relay, person, label });
    }
    Ok(())
}

/// The machine woke: what waited for time is done now.
pub(crate) fn woke(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    link::redial_now(engine, work);
    engine.timers.woke(work.mono());
    engine.presence.changed();
}

/// A stop was asked for: nothing new is begun, and what the relay owes is waited for.
pub(crate) fn stop(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if !engine.is_stopping() {
        work.log(LogEvent::DaemonStopping {});
        snapshot::release(engine, work);
        engine.lifecycle.stage = Stage::Stopping { until: work.mono().plus(RELAY_GRACE_MS) };
    }
    Ok(())
}

/// The last word.
pub(crate) fn finish(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    link::hang_up(engine, work);
    engine.lifecycle.stage = Stage::Stopped;
    let ms = work.mono().since(engine.facts.started.mono);
    work.log(LogEvent::DaemonStopped { ms });
    work.wish(Out::Exit);
}

/// For acks in flight at a stop.
const RELAY_GRACE_MS: u64 = 2_000;
