//! The relay's brain: one state machine over one store, and the order in which a turn is settled.
//! Spec: §7, W5
//!
//! ```text
//! In ─▶ handle (admit, route, deliver, presence, teams) ─▶ rows, staged memory, effects
//!                         commit
//! settle ─▶ staged memory is applied ─▶ late hellos ─▶ the pump ─▶ slow sockets
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::{Hash, MachineId, Req};
use messaging_core::time::{Mono, Now};
use messaging_store::{Batch, Effects, Machine, Outcome, Settled, StoreError, Turn, View};
use messaging_wire::{CloseCode, text};

use crate::config::Config;
use crate::conns::{Conns, State};
use crate::events::{Event, Place};
use crate::halt::{Halt, Refusal, refuse};
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
    staging: bool,
    /// Links with something to send.
    pub(crate) dirty: BTreeSet<ConnId>,
    /// When to pump again after a failed read.
    pub(crate) pump_again: Option<Mono>,
    pub(crate) purge_at: Mono,
    /// The whole queue was full when an envelope last asked for room.
    pub(crate) queue_full: bool,
    health: Health,
    stopping: bool,
    /// What `/readyz` was last told.
    unready: Vec<Unready>,
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

    /// Queues a text for a connection.
    pub(crate) fn send(
        &mut self,
        conn: ConnId,
        t: &'static str,
        text: impl Into<Arc<str>>,
        out: &mut Effects<Out>,
    ) {
        let text = text.into();
        if !self.conns.queue(conn, text.len()) {
            return;
        }
        if self.staging {
            self.staged.push(Staged::Sent { conn, bytes: text.len() });
        }
        metrics::count(&mut self.metrics.frames_out, t);
        out.push(Out::Send { conn, text });
    }

    /// Answers a frame that is not carried out.
    pub(crate) fn refuse(
        &mut self,
        conn: ConnId,
        id: Option<&Req>,
        refusal: Refusal,
        out: &mut Effects<Out>,
    ) {
        let Refusal { failure: Failure { code, at }, retry_after_ms } = refusal;
        match id {
            Some(id) => {
                metrics::count(&mut self.metrics.nacks, code);
                self.send(conn, "nack", text::nack(id.as_str(), code, at, retry_after_ms), out);
            }
            None => self.send(conn, "error", text::error(code, at, retry_after_ms), out),
        }
    }

    /// Says why, and closes.
    pub(crate) fn close_with(
        &mut self,
        conn: ConnId,
        failure: Failure,
        code: CloseCode,
        out: &mut Effects<Out>,
    ) {
        self.refuse(conn, None, failure.into(), out);
        self.close(conn, code, out);
    }

    /// Closes a connection.
    pub(crate) fn close(&mut self, conn: ConnId, code: CloseCode, out: &mut Effects<Out>) {
        if self.conns.get(conn).is_some() {
            out.push(Out::Close { conn, code });
            out.push(Out::Log(Event::ConnClosed { code }));
            self.gone(conn, out);
        }
    }

    /// Forgets a connection, and tells the others that its machine went offline.
    pub(crate) fn gone(&mut self, conn: ConnId, out: &mut Effects<Out>) {
        self.dirty.remove(&conn);
        if let Some(party) = self.conns.close(conn)
            && !self.stopping
        {
            self.tell_peers(&party, false, out);
        }
    }

    /// Tells the other members of a realm that a machine came or went.
    pub(crate) fn tell_peers(&mut self, party: &Party, online: bool, out: &mut Effects<Out>) {
        let frame: Arc<str> = text::peer(&party.machine, online).into();
        self.tell_realm(&party.realm, Some(&party.machine), "peer", &frame, out);
    }

    /// Sends one text to every online member of a realm but one.
    pub(crate) fn tell_realm(
        &mut self,
        realm: &Hash,
        except: Option<&MachineId>,
        t: &'static str,
        frame: &Arc<str>,
        out: &mut Effects<Out>,
    ) {
        let others: Vec<ConnId> = self
            .conns
            .of_realm(realm)
            .filter(|(machine, _)| Some(machine) != except)
            .map(|(_, conn)| conn)
            .collect();
        for conn in others {
            self.send(conn, t, Arc::clone(frame), out);
        }
    }

    fn frame(
        &mut self,
        turn: &mut Turn<'_>,
        conn: ConnId,
        bytes: usize,
        frame: Prepared,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        // A connection that was closed may have frames under way.
        let Some(known) = self.conns.get(conn) else { return Ok(()) };
        metrics::count(&mut self.metrics.frames_in, frame.t());
        let Prepared { id, kind } = frame;
        let done = match &known.state {
            State::Greeting { .. } => self.greet(turn, conn, kind, out),
            State::Linked(link) => {
                let party = link.party;
                self.take(turn, conn, &party, bytes, kind, out)
            }
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
            Kind::Append { req, entry } => self.append(turn, conn, party, &req, &entry),
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

    /// Takes back what an undone input changed in memory.
    fn undo(&mut self, change: &Staged) {
        match change {
            Staged::Queued { recipient, row, .. } => {
                self.quotas.take(recipient, &row.sender, row.bytes);
            }
            Staged::Left { recipient, sender, bytes } => {
                // When it expires is not known any more: asked again when it matters.
                self.quotas.add(recipient, sender, *bytes, messaging_core::time::Ms(0));
            }
            Staged::Remembered { sender } => self.quotas.unremember(sender),
            Staged::Forgotten { sender } => self.quotas.remember(sender),
            Staged::Paid { conn } => {
                if let Some(link) = self.conns.link_mut(*conn) {
                    link.deliveries.unpay();
                }
            }
            Staged::Sent { conn, bytes } => {
                self.conns.drained(*conn, *bytes);
            }
            Staged::Chain { team } => self.realms.forget(team),
            Staged::Ended { .. }
            | Staged::Presence { .. }
            | Staged::Appended(_)
            | Staged::Emptied { .. }
            | Staged::Purged(_) => {}
        }
    }

    /// A failed commit may have been applied: nothing that it touched is believed any more.
    fn forget(&mut self, change: &Staged) {
        match change {
            Staged::Queued { recipient, .. } | Staged::Left { recipient, .. } => {
                self.quotas.forget_inbox(recipient);
                self.quotas.doubt();
                if let Some(conn) = self.conns.online(recipient) {
                    self.expect_again(conn, change);
                }
            }
            Staged::Remembered { sender } | Staged::Forgotten { sender } => {
                self.quotas.forget_seen(sender);
                self.quotas.doubt();
            }
            Staged::Emptied { party, .. } => {
                self.quotas.forget_realm(&party.realm);
                self.quotas.doubt();
            }
            _ => {}
        }
    }

    /// An envelope whose commit failed may stand in the queue all the same: the recipient's link looks.
    fn expect_again(&mut self, conn: ConnId, change: &Staged) {
        if let Staged::Queued { row, .. } = change
            && let Some(link) = self.conns.link_mut(conn)
        {
            link.deliveries.expect_after(row.sender, row.pos.saturating_sub(1));
            self.dirty.insert(conn);
        }
    }

    /// Makes a committed change visible.
    fn apply(&mut self, change: Staged, now: Now, out: &mut Effects<Out>) {
        match change {
            Staged::Queued { recipient, row, deliver, .. } => {
                let pace = self.pace();
                let Some(conn) = self.conns.online(&recipient) else { return };
                let full = self.conns.buffered_on(conn) >= self.high_water();
                let Some(link) = self.conns.link_mut(conn) else { return };
                let waits = link.paused || full || !link.presences.is_empty();
                if link.deliveries.offer(row.sender, row.pos, pace, waits) {
                    link.deliveries.sent(row, pace, now.mono);
                    self.send(conn, "deliver", deliver, out);
                }
                self.dirty.insert(conn);
            }
            Staged::Ended { conn, pos } => {
                if let Some(link) = self.conns.link_mut(conn) {
                    link.deliveries.ended(pos);
                    self.dirty.insert(conn);
                }
            }
            Staged::Presence { party, deliver } => {
                self.tell_realm(&party.realm, Some(&party.machine), "deliver", &deliver, out);
            }
            Staged::Emptied { party, rows, bytes } => self.emptied(&party, rows, bytes),
            Staged::Appended(appended) => self.appended(*appended, out),
            Staged::Purged(purged) => self.purged(&purged, now),
            Staged::Left { .. }
            | Staged::Remembered { .. }
            | Staged::Forgotten { .. }
            | Staged::Paid { .. }
            | Staged::Sent { .. }
            | Staged::Chain { .. } => {}
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

    /// Whether writes work, and what `/readyz` is to be told.
    fn settle_health(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        let now = settled.now.mono;
        let changed = match settled.outcome {
            Outcome::Committed(commit) => {
                self.metrics.committed(&commit);
                commit.changed > 0
            }
            Outcome::Failed(error) => {
                self.failed(error);
                false
            }
        };
        let event = self.health.settle(changed, now, settled.rng);
        if event == Some(Event::StoreRecovered) {
            self.purge_at = now;
        }
        if changed && let Err(error) = self.quotas.recount(&settled.rows) {
            out.push(Out::Log(Event::Internal { place: Place::Frame, error }));
        }
        out.extend(event.map(Out::Log));
        let unready = self.unready();
        if unready != self.unready {
            self.unready.clone_from(&unready);
            out.push(Out::Ready(unready));
        }
    }

    fn failed(&mut self, error: StoreError) {
        self.metrics.store_errors += 1;
        self.health.failed(error);
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
        let now = settled.now;
        let staged = std::mem::take(&mut self.staged);
        match settled.outcome {
            Outcome::Committed(_) => {
                for change in staged {
                    self.apply(change, now, out);
                }
            }
            Outcome::Failed(_) => {
                for change in staged.iter().rev() {
                    self.undo(change);
                }
                for change in &staged {
                    self.forget(change);
                }
            }
        }
        self.settle_health(settled, out);
        self.close_late(now, out);
        self.pump_all(now, settled.rows, out);
        self.drop_slow(out);
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
