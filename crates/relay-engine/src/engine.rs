//! The relay's brain: one state machine over one store, and the order in which a turn is settled.
//! Spec: §7, W5
//!
//! ```text
//! In ─▶ handle (admit, route, deliver, presence, teams) ─▶ rows, staged memory, effects
//!                         commit
//! settle ─▶ staged memory is applied ─▶ late hellos ─▶ the pump ─▶ slow sockets
//! ```

use std::collections::BTreeSet;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::Req;
use messaging_core::time::{Mono, Now};
use messaging_store::{Batch, Effects, Machine, Settled, StoreError, Turn, View};
use messaging_wire::{CloseCode, text};

use crate::config::Config;
use crate::conns::{Conns, State};
use crate::events::{Event, Place};
use crate::halt::{Halt, refuse};
use crate::health::{Health, Unready};
use crate::input::{ConnId, In, Out};
use crate::limits::Budgets;
use crate::metrics::{self, Gauges, Metrics};
use crate::prepare::{Kind, Prepared};
use crate::quota::Quotas;
use crate::realms::Realms;
use crate::staged::Staged;
use crate::store::{self, Party};

/// The brain. Drive it with a [`Loop`](messaging_store::Loop).
#[derive(Debug)]
pub struct RelayEngine {
    pub(crate) config: Config,
    pub(crate) conns: Conns,
    pub(crate) realms: Realms,
    pub(crate) budgets: Budgets,
    pub(crate) quotas: Quotas,
    pub(crate) staged: Vec<Staged>,
    /// Where the staged changes of the present input begin.
    mark: usize,
    /// Whether the effects of the present input are undone with its writes.
    pub(crate) staging: bool,
    /// Links with something to send.
    pub(crate) dirty: BTreeSet<ConnId>,
    /// When to pump again after a failed read.
    pub(crate) pump_again: Option<Mono>,
    pub(crate) purge_at: Mono,
    /// The whole queue was full when an envelope last asked for room.
    pub(crate) queue_full: bool,
    pub(crate) health: Health,
    pub(crate) stopping: bool,
    /// What `/readyz` was last told.
    pub(crate) unready: Vec<Unready>,
    pub(crate) metrics: Metrics,
}

/// What is kept of an input, to answer it when its writes fail.
#[derive(Debug)]
pub struct Ticket(Asked);

#[derive(Debug)]
enum Asked {
    Frame { conn: ConnId, id: Option<Req> },
    Tick,
    Nothing,
}

impl RelayEngine {
    /// A brain over an open store.
    ///
    /// Cost: the queue and the remembered ids are counted once; teams are read when they are first met.
    pub fn load(config: Config, rows: View<'_>, now: Now) -> Result<Self, StoreError> {
        Ok(Self {
            conns: Conns::new(config.limits.socket_bytes),
            realms: Realms::default(),
            budgets: Budgets::default(),
            quotas: Quotas::load(&rows)?,
            staged: Vec::new(),
            mark: 0,
            staging: false,
            dirty: BTreeSet::new(),
            pump_again: None,
            purge_at: now.mono,
            queue_full: false,
            health: Health::default(),
            stopping: false,
            unready: Vec::new(),
            metrics: Metrics::default(),
            config,
        })
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What stands now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            connections_preauth: self.conns.greeting() as u64,
            connections_auth: self.conns.linked() as u64,
            queue_rows: self.quotas.total.rows,
            queue_bytes: self.quotas.total.bytes,
            seen_rows: self.quotas.seen_total,
            buffered_bytes: self.conns.buffered() as u64,
            store_failing: self.health.is_failing(),
        }
    }

    /// How long the oldest envelope has waited, ms; 0 when none does. Cost: one read.
    pub fn oldest_queued_ms(rows: &View<'_>, now: Now) -> Result<u64, StoreError> {
        Ok(store::queue::oldest(rows)?.map_or(0, |at| now.wall.since(at)))
    }

    /// Which conditions of `/readyz` fail; whether the store answers a read is the caller's to ask.
    #[must_use]
    pub fn unready(&self) -> Vec<Unready> {
        let mut why = Vec::new();
        if self.health.is_failing() {
            why.push(Unready::StoreFailing);
        }
        if self.stopping {
            why.push(Unready::Stopping);
        }
        why
    }

    fn frame(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        bytes: usize,
        frame: Prepared,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        // A connection that was closed, or is about to be dropped, may have frames under way.
        let Some(known) = self.conns.get(conn).filter(|_| !self.conns.is_over(conn)) else {
            return Ok(());
        };
        metrics::count(&mut self.metrics.frames_in, frame.t());
        let Prepared { id, kind } = frame;
        let done = match &known.state {
            State::Greeting { .. } => self.greet(turn, conn, kind, out),
            State::Linked(link) => {
                let party = link.party;
                self.take(turn, conn, &party, bytes, kind, out)
            }
            State::Leaving => return Ok(()),
        };
        match done {
            Ok(()) => Ok(()),
            Err(Halt::Refused(refusal)) => {
                self.refuse(conn, id.as_ref(), refusal, out);
                Ok(())
            }
            Err(Halt::Store(error)) => Err(error),
        }
    }

    /// Takes a frame of an authenticated machine. Every frame is charged, but for the acks that deliveries have paid for.
    fn take(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        party: &Party,
        bytes: usize,
        kind: Kind,
        out: &mut Effects<Out>,
    ) -> Result<(), Halt> {
        match kind {
            Kind::RecvAck(ack) => return self.recv_ack(turn, conn, party, bytes, &ack),
            Kind::NoFrame => {
                self.close_with(conn, Failure::invalid("frame"), CloseCode::Protocol, out);
                return Ok(());
            }
            _ => self.charge(party, bytes, turn.now)?,
        }
        match kind {
            Kind::Send(env) => self.route(turn, conn, party, &*env?, out),
            Kind::Presence(env) => self.presence(turn, party, &*env?),
            Kind::Append { req, entry } => self.append(turn, conn, party, &req, &*entry?),
            Kind::Sync { req, after } => self.sync(turn, conn, party, &req, after, out),
            Kind::Ping(id) => {
                self.send(conn, "pong", text::pong(id.as_deref()), out);
                Ok(())
            }
            Kind::Join(_) => refuse(Code::Forbidden, "join after hello"),
            Kind::Hello { .. } => refuse(Code::InvalidRequest, "second hello"),
            Kind::Misshapen(t) => refuse(Code::InvalidRequest, t),
            Kind::Unknown | Kind::RecvAck(_) | Kind::NoFrame => Ok(()),
        }
    }

    fn tick(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError> {
        if self.health.probe_is_due(turn.now.mono) {
            store::probe(&mut turn.tx)?;
        }
        if self.purge_at <= turn.now.mono && !self.health.is_failing() {
            self.purge(turn)?;
        }
        Ok(())
    }

    fn stop(&mut self, out: &mut Effects<Out>) {
        self.stopping = true;
        for conn in self.conns.ids() {
            self.close(conn, CloseCode::Stopping, out);
        }
    }
}

impl Machine for RelayEngine {
    type In = In;
    type Out = Out;
    type Ticket = Ticket;

    fn batch(input: &In) -> Batch {
        match input {
            In::Frame { frame, .. } => match &frame.kind {
                Kind::Send(_) | Kind::Presence(_) | Kind::RecvAck(_) => Batch::Shared,
                // A link starts from what is committed, and a chain changes between batches only.
                Kind::Hello { .. } | Kind::Append { .. } => Batch::Alone,
                Kind::Join(_)
                | Kind::Sync { .. }
                | Kind::Ping(_)
                | Kind::Misshapen(_)
                | Kind::Unknown
                | Kind::NoFrame => Batch::Free,
            },
            In::Tick => Batch::Shared,
            In::Opened { .. } | In::Drained { .. } | In::Closed { .. } | In::Stop => Batch::Free,
        }
    }

    fn guarded(input: &In) -> bool {
        // A frame writes once, takes back what it wrote, or is alone in its batch.
        matches!(input, In::Tick)
    }

    fn ticket(&self, input: &In) -> Ticket {
        Ticket(match input {
            In::Frame { conn, frame, .. } => Asked::Frame { conn: *conn, id: frame.id.clone() },
            In::Tick => Asked::Tick,
            _ => Asked::Nothing,
        })
    }

    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        input: In,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        self.staging = Self::batch(&input) != Batch::Free;
        if self.stopping && !matches!(input, In::Closed { .. } | In::Drained { .. }) {
            if let In::Opened { conn, .. } = input {
                out.push(Out::Close { conn, code: CloseCode::Stopping });
            }
            return Ok(());
        }
        self.mark = self.staged.len();
        match input {
            In::Opened { conn, address, nonce } => {
                self.opened(conn, address, nonce, turn.now, out);
            }
            In::Frame { conn, bytes, frame } => self.frame(turn, conn, bytes, frame, out)?,
            In::Drained { conn, bytes } => self.drained(conn, bytes),
            In::Closed { conn } => self.gone(conn, out),
            In::Tick => self.tick(turn)?,
            In::Stop => self.stop(out),
        }
        // What it staged stands until the batch ends.
        self.mark = self.staged.len();
        if !self.staging {
            // Pages are the largest answers, and a batch may ask for many: the budget does not wait for its end.
            self.keep_to_budget(out);
        }
        Ok(())
    }

    fn refused(
        &mut self,
        Ticket(asked): Ticket,
        error: StoreError,
        now: Now,
        out: &mut Effects<Out>,
    ) {
        self.staging = false;
        while self.staged.len() > self.mark {
            if let Some(change) = self.staged.pop() {
                self.undo(&change);
            }
        }
        self.failed(error);
        let place = match asked {
            Asked::Frame { conn, id } => {
                let failure = Failure::new(Code::Internal, "store");
                self.refuse(conn, id.as_ref(), failure.into(), out);
                Place::Frame
            }
            Asked::Tick if self.health.probe_is_due(now.mono) => Place::Probe,
            Asked::Tick => {
                self.purge_at = now.mono.plus(crate::purge::PERIOD_MS);
                Place::Purge
            }
            Asked::Nothing => Place::Frame,
        };
        self.metrics.internal(place);
        // A failing store is told once, not for each frame.
        if !self.health.is_failing() {
            out.push(Out::Log(Event::Internal { place, error }));
        }
    }

    fn settle(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        self.staging = false;
        self.mark = 0;
        self.settle_batch(settled, out);
    }

    fn deadline(&self) -> Option<Mono> {
        if self.stopping {
            return None;
        }
        let purge = if self.health.is_failing() { None } else { Some(self.purge_at) };
        [self.conns.deadline(), self.health.deadline(), self.pump_again, purge]
            .into_iter()
            .flatten()
            .min()
    }
}
