//! The engine as a machine: each input goes to the module that owns its noun, and what is due is done after it.
//! Spec: §8.1, D3.2

use messaging_core::code::Failure;
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::loop_guard::LoopGuard;
use messaging_core::random::Random;
use messaging_core::time::{Mono, Ms, Now};
use messaging_ipc::request::RequestId;
use messaging_store::{
    Batch, Effects, Loop, Machine, Outcome, Released, Settled, Store, StoreError, Turn, View,
};

use crate::appends::{self, Appends};
use crate::budgets::Budgets;
use crate::calls::Calls;
use crate::chats::Pace;
use crate::config::Config;
use crate::consent::{self, Consent};
use crate::events::{ConfigKey, LogEvent};
use crate::flows::{self, Flows};
use crate::home::{Home, Ready};
use crate::identity::IdentityFile;
use crate::inbound::{self, Inbound};
use crate::input::{ConnId, In, Out};
use crate::ipc::{self, Ipc};
use crate::lifecycle::{self, Lifecycle};
use crate::link::{self, Link};
use crate::outbox::{self, Outbox};
use crate::pairing::PairingFile;
use crate::presence::{self, Presence};
use crate::realm::Realm;
use crate::rotation::{self, Rotation};
use crate::snapshot::{self, Snapshot};
use crate::status::{self, Busy};
use crate::store::kv;
use crate::timers::{self, Timers};
use crate::trouble::Trouble;
use crate::wake::{self, Wakes};
use crate::work::Work;

/// What the shell knows when it starts the engine.
pub struct Boot {
    /// The configuration.
    pub config: Config,
    /// Keys of the configuration that this release does not know.
    pub unknown_keys: Vec<ConfigKey>,
    /// The private keys, when `identity.json` is there.
    pub identity: Option<IdentityFile>,
    /// Keys that wait for a place, when `pairing.json` is there.
    pub pairing: Option<PairingFile>,
    /// This process.
    pub pid: u32,
    /// This release.
    pub version: &'static str,
}

/// Why the engine does not start. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The store cannot be read, or holds a roster that does not verify.
    Store(StoreError),
    /// `identity.json` holds the keys of another machine than the store's.
    OtherMachine,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::OtherMachine => {
                f.write_str("identity.json holds the keys of another machine than the store's")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The daemon's brain. It owns what it remembers of the store, and nothing of the world.
pub struct DaemonEngine {
    pub(crate) facts: Facts,
    pub(crate) config: Config,
    pub(crate) home: Home,
    pub(crate) realm: Realm,
    pub(crate) link: Link,
    pub(crate) outbox: Outbox,
    pub(crate) inbound: Inbound,
    pub(crate) budgets: Budgets,
    pub(crate) loop_guard: LoopGuard,
    pub(crate) pace: Pace,
    pub(crate) presence: Presence,
    pub(crate) consent: Consent,
    pub(crate) appends: Appends,
    pub(crate) ipc: Ipc,
    pub(crate) calls: Calls,
    pub(crate) flows: Flows,
    pub(crate) rotation: Rotation,
    pub(crate) snapshot: Snapshot,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) timers: Timers,
    pub(crate) busy: Busy,
    pub(crate) wakes: Wakes,
    trouble: Trouble,
}

/// What stays the same for the life of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) pid: u32,
    pub(crate) version: &'static str,
    pub(crate) started: Now,
}

impl DaemonEngine {
    /// Loads the engine from an open store and starts it.
    ///
    /// The loop is driven with [`Loop::turn`]; what it returns here is carried out first. Errors: [`StartError`].
    pub fn start(
        store: Store,
        boot: Boot,
        now: Now,
        rng: impl Random + Send + 'static,
    ) -> Result<(Loop<Self>, Released<Out>), StartError> {
        // Deleted private text is overwritten in the file. Spec: D3.21
        store.view().row("PRAGMA secure_delete = ON", (), |_| Ok(()))?;
        let engine = Self::load(store.view(), boot, now)?;
        let mut running = Loop::new(store, engine, rng);
        let first = running.turn(now, [In::Start]);
        Ok((running, first))
    }

    /// The engine as its store has it.
    pub(crate) fn load(view: View<'_>, boot: Boot, now: Now) -> Result<Self, StartError> {
        let machine = kv::machine(&view)?;
        if let (Some(machine), Some(keys)) = (&machine, &boot.identity)
            && machine != keys.machine()
        {
            return Err(StartError::OtherMachine);
        }
        // A roster whose machine was never written is an unfinished create or join: `Start` drops it.
        let realm = if machine.is_some() { Realm::load(&view)? } else { Realm::default() };
        let rotation = Rotation::new(boot.identity.as_ref());
        Ok(Self {
            facts: Facts { pid: boot.pid, version: boot.version, started: now },
            config: boot.config,
            home: Home { keys: boot.identity, machine, pairing: boot.pairing },
            realm,
            link: Link::default(),
            outbox: Outbox::new(now.mono),
            inbound: Inbound::default(),
            budgets: Budgets::default(),
            loop_guard: LoopGuard::new(),
            pace: Pace::default(),
            presence: Presence::default(),
            consent: Consent::default(),
            appends: Appends::default(),
            ipc: Ipc::default(),
            calls: Calls::default(),
            flows: Flows::default(),
            rotation,
            snapshot: Snapshot::default(),
            lifecycle: Lifecycle::new(boot.unknown_keys),
            timers: Timers::new(now.mono),
            busy: Busy::default(),
            wakes: Wakes::default(),
            trouble: Trouble::default(),
        })
    }

    /// This machine as a member that can act.
    ///
    /// Errors: `no_identity` before a team and without keys, `not_member` after a removal.
    pub(crate) fn ready(&self) -> Result<Ready<'_>, Failure> {
        self.home.ready(self.realm.roster())
    }

    /// This machine and its person, while it is a current member.
    pub(crate) fn own(&self) -> Option<(MachineId, PersonId)> {
        let machine = self.home.machine.as_ref()?;
        let member = self.realm.member(machine)?;
        Some((*machine, PersonId::from(&member.person)))
    }

    /// Whether something in the store cannot be read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.trouble.is_damaged()
    }

    /// Whether this process was up at a time that an envelope of this machine names.
    pub(crate) fn was_up(&self, at: Ms) -> bool {
        at > self.facts.started.wall
    }

    /// Whether the engine has been asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.lifecycle.is_stopping()
    }

    /// Reads again what memory holds of the store.
    fn reload(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        self.home.machine = kv::machine(view)?;
        self.consent.look();
        if self.home.machine.is_some() {
            self.realm.reload(view)?;
        } else {
            self.realm = Realm::default();
        }
        Ok(())
    }

    fn take(&mut self, work: &mut Work<'_, '_>, input: In) -> Result<(), StoreError> {
        match input {
            In::Start | In::Tick => Ok(()),
            In::IpcOpened { conn, tier } => {
                ipc::opened(self, work, conn, tier);
                Ok(())
            }
            In::IpcRequest { conn, request } => ipc::request(self, work, conn, request),
            In::IpcClosed { conn } => ipc::closed(self, work, conn),
            In::LinkUp { link } => {
                link::up(self, work, link);
                Ok(())
            }
            In::LinkFrame { link, text } => link::frame(self, work, link, &text),
            In::LinkDown { link, close, why } => link::down(self, work, link, close, why),
            In::Saved { token, ok } => {
                rotation::saved(self, work, token, ok);
                snapshot::saved(self, work, token, ok);
                flows::saved(self, work, token, ok)
            }
            In::Woken { call, end } => {
                wake::ended(self, work, call, end);
                Ok(())
            }
            In::Woke => {
                work.log(LogEvent::DaemonWoke {});
                lifecycle::woke(self, work);
                Ok(())
            }
            In::Snapshotted { token, copied } => {
                snapshot::taken(self, work, token, copied);
                Ok(())
            }
            In::Stop => lifecycle::stop(self, work),
        }
    }

    /// Does everything that is due.
    fn tend(&mut self, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
        if self.lifecycle.tend(work, self.outbox.in_flight()) {
            lifecycle::finish(self, work);
            return Ok(());
        }
        if self.is_stopping() {
            return Ok(());
        }
        timers::tend(self, work)?;
        snapshot::tend(self, work);
        flows::tend(self, work)?;
        link::tend(self, work)?;
        inbound::tend(self, work)?;
        rotation::tend(self, work);
        appends::tend(self, work)?;
        consent::signers::tend(self, work)?;
        outbox::flush(self, work)?;
        presence::tend(self, work)
    }
}

/// Whether an input asks only how the process is, or that it ends: neither needs the store.
fn is_about_the_process(input: &In) -> bool {
    match input {
        In::Stop => true,
        In::IpcRequest { request, .. } => {
            matches!(&*request.method, "daemon.status" | "daemon.health" | "daemon.stop")
        }
        _ => false,
    }
}

/// How an input is answered when its writes failed.
#[derive(Debug)]
pub enum Ticket {
    /// A request: `internal`.
    Call(ConnId, RequestId),
    /// A new connection: it is closed.
    Opened(ConnId),
    /// Anything else has nobody to tell.
    Other,
}

impl Machine for DaemonEngine {
    type In = In;
    type Out = Out;
    type Ticket = Ticket;

    fn batch(input: &In) -> Batch {
        match input {
            In::Start => Batch::Alone,
            In::IpcOpened { .. } => Batch::Free,
            In::IpcRequest { .. }
            | In::IpcClosed { .. }
            | In::LinkUp { .. }
            | In::LinkFrame { .. }
            | In::LinkDown { .. }
            | In::Saved { .. }
            | In::Woken { .. }
            | In::Woke
            | In::Snapshotted { .. }
            | In::Tick
            | In::Stop => Batch::Shared,
        }
    }

    fn ticket(&self, input: &In) -> Ticket {
        match input {
            In::IpcRequest { conn, request } => Ticket::Call(*conn, request.id.clone()),
            In::IpcOpened { conn, .. } => Ticket::Opened(*conn),
            _ => Ticket::Other,
        }
    }

    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        input: In,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        let may_write = Self::batch(&input) != Batch::Free;
        let is_tick = matches!(input, In::Tick);
        if let In::IpcRequest { conn, request } = &input {
            self.calls.taken((*conn, request.id.clone()));
        }
        // Of a damaged store a person still hears, and its process still stops.
        let is_calm = self.trouble.is_damaged()
            && (is_about_the_process(&input) || (self.is_stopping() && is_tick));
        let mut work = Work::new(turn, out);
        if is_calm {
            self.take(&mut work, input)?;
            if self.lifecycle.tend(&work, self.outbox.in_flight()) {
                lifecycle::finish(self, &mut work);
            }
            self.calls.answered(work.into_answered());
            return Ok(());
        }
        if self.trouble.is_stale() {
            self.reload(work.tx)?;
            self.trouble.reloaded();
        }
        // Also later, when the first input's writes failed.
        if may_write {
            lifecycle::start_once(self, &mut work)?;
        }
        self.take(&mut work, input)?;
        // While the store fails, timers rest: what is due would only fail again at once.
        if may_write && (!is_tick || self.trouble.may_try(work.mono())) {
            self.tend(&mut work)?;
            status::refresh(self, &work)?;
        }
        self.calls.answered(work.into_answered());
        Ok(())
    }

    fn refused(&mut self, ticket: Ticket, error: StoreError, now: Now, out: &mut Effects<Out>) {
        if self.trouble.failed(error, now.mono) {
            out.push(Out::Log(LogEvent::StoreFailing { error: error.name() }));
        }
        match ticket {
            Ticket::Call(conn, id) => {
                if self.calls.failed(&(conn, id.clone())) {
                    out.push(ipc::internal(conn, &id));
                }
                self.rotation.forget(&(conn, id.clone()));
                self.snapshot.forget(&(conn, id.clone()));
                flows::call_failed(self, &(conn, id));
            }
            Ticket::Opened(conn) => out.push(Out::IpcClose { conn }),
            Ticket::Other => {}
        }
        // What this input said on the link was never sent: the conversation starts again from the store.
        if let Some(link) = self.link.drop_for_store(self.trouble.next_try(now.mono), now.wall) {
            out.push(Out::LinkClose { link });
        }
        link::forget_link(self);
        flows::store_failed(self);
        self.rotation.store_failed();
        let works_on = |call: &_| {
            flows::works_on(&self.flows, call)
                || self.rotation.works_on(call)
                || self.snapshot.works_on(call)
        };
        for (conn, id) in self.calls.orphans(works_on) {
            out.push(ipc::internal(conn, &id));
        }
    }

    fn settle(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        match settled.outcome {
            Outcome::Committed(commit) => {
                self.calls.committed();
                if commit.changed > 0 && self.trouble.recovered() {
                    out.push(Out::Log(LogEvent::StoreRecovered {}));
                }
                if self.timers.take_swept() {
                    timers::checkpoint(&mut self.timers, &settled.rows);
                }
            }
            Outcome::Failed(_) => {
                self.trouble.doubt();
                for (conn, id) in self.calls.lost() {
                    out.push(ipc::internal(conn, &id));
                }
            }
        }
        let committed = matches!(settled.outcome, Outcome::Committed(_));
        wake::settle(self, &settled.rows, settled.now, committed, out);
        // Should it fail, the next input tries again.
        if self.trouble.is_stale() && self.reload(&settled.rows).is_ok() {
            self.trouble.reloaded();
        }
    }

    fn deadline(&self) -> Option<Mono> {
        let rest = self.trouble.rest_until();
        if self.is_stopping() {
            // Nothing else is done any more, however long it is due.
            return self.lifecycle.deadline().map(|at| at.max(rest));
        }
        // What may not be sent now is not due either.
        let sends = self.link.is_ready() && !self.realm.sends_paused();
        let due = [
            self.lifecycle.deadline(),
            self.timers.deadline(),
            self.flows.deadline(),
            self.rotation.deadline(),
            self.snapshot.deadline(),
            self.link.deadline(),
            self.inbound.deadline(),
            self.appends.deadline(),
            self.wakes.deadline(),
            self.outbox.deadline().filter(|_| sends),
            self.presence.deadline().filter(|_| sends),
        ];
        due.into_iter().flatten().min().map(|at| at.max(rest))
    }
}
