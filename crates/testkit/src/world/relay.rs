//! The relay as a process: its loop, its connections, its disk.

use super::{Crash, Event, Happened, Party, RELAY_ORIGIN, World};
use crate::agenda::At;
use crate::clock::Clock;
use crate::network::{Arrival, Carried, End, LinkId};
use messaging_core::ids::Nonce32;
use messaging_core::random;
use messaging_relay_engine::{
    Config, ConnId, GenesisPolicy, In, Out, Preparer, RelayEngine, TEAM_RELAY, first_records,
};
use messaging_store::{FaultPlan, Loop, MAX_BATCH, Store, View};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The relay's process, up or down.
pub struct RelayHost {
    engine: Option<Loop<RelayEngine>>,
    disk: Option<Store>,
    pub(super) clock: Clock,
    life: u32,
    inbox: Vec<In>,
    turn_due: bool,
    tick_at: Option<At>,
    doomed: Option<Crash>,
    faults: FaultPlan,
    connections: BTreeMap<LinkId, Connection>,
}

struct Connection {
    preparer: Preparer,
    /// Bytes that reached the other end since they were last reported.
    drained: usize,
}

impl RelayHost {
    pub(super) fn new() -> Self {
        Self {
            engine: None,
            disk: Store::memory(&TEAM_RELAY, &first_records(RELAY_ORIGIN)).ok(),
            clock: Clock::default(),
            life: 0,
            inbox: Vec::new(),
            turn_due: false,
            tick_at: None,
            doomed: None,
            faults: FaultPlan::none(),
            connections: BTreeMap::new(),
        }
    }

    /// Whether the process is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.engine.is_some()
    }

    /// The committed rows, up or down.
    #[must_use]
    pub fn rows(&self) -> Option<View<'_>> {
        self.engine.as_ref().map(Loop::view).or_else(|| self.disk.as_ref().map(Store::view))
    }

    pub(super) fn set_faults(&mut self, faults: FaultPlan) {
        self.faults = faults.clone();
        if let Some(engine) = &mut self.engine {
            engine.set_faults(faults);
        }
    }

    /// `false` when there is nothing to die in the middle of.
    pub(super) fn doom(&mut self, crash: Crash) -> bool {
        if self.engine.is_some() && !self.inbox.is_empty() {
            self.doomed = Some(crash);
            return true;
        }
        false
    }

    pub(super) fn expects_tick(&mut self, life: u32, at: At) -> bool {
        let expected = self.life == life && self.tick_at == Some(at) && self.engine.is_some();
        if expected {
            self.tick_at = None;
        }
        expected
    }
}

impl World {
    pub(super) fn relay_starts(&mut self) {
        let Some(disk) = self.relay.disk.take() else { return };
        self.relay.life += 1;
        self.relay.clock.restart(self.agenda.now());
        let now = self.relay.clock.read(self.agenda.now());
        let mut config = Config::new(RELAY_ORIGIN);
        config.genesis = GenesisPolicy::Any;
        // A run founds and founds again in minutes what people do in months.
        config.limits.team_creates_per_hour = 1_000;
        match RelayEngine::load(config, disk.view(), now) {
            Ok(engine) => {
                let rng = self.rng(Party::Relay, self.relay.life);
                let mut engine = Loop::new(disk, engine, rng);
                engine.set_faults(self.relay.faults.clone());
                self.relay.engine = Some(engine);
                self.relay_input(In::Tick);
            }
            Err(error) => {
                self.watch.violation(format!("the relay does not start: {}", error.name()));
                self.relay.disk = Some(disk);
            }
        }
    }

    pub(super) fn relay_dies(&mut self, silent: bool) {
        let Some(engine) = self.relay.engine.take() else { return };
        self.relay.disk = Some(engine.into_store());
        self.relay.inbox.clear();
        self.relay.turn_due = false;
        self.relay.tick_at = None;
        self.relay.doomed = None;
        self.relay.connections.clear();
        self.network.died(&mut self.agenda, End::Relay, None, silent);
    }

    pub(super) fn relay_input(&mut self, input: In) {
        if self.relay.engine.is_none() {
            return;
        }
        self.relay.inbox.push(input);
        if !self.relay.turn_due {
            self.relay.turn_due = true;
            // What arrives while the owner is busy shares its next commit.
            let busy = self.dice.below(4);
            self.agenda.after(busy, Event::Turn(Party::Relay, self.relay.life));
        }
    }

    pub(super) fn arrives_at_relay(&mut self, carried: Carried) {
        let conn = ConnId(carried.link);
        match carried.what {
            Arrival::Open => {
                let nonce = Nonce32::from_bytes(&random::bytes(&mut self.dice));
                let host = u8::try_from(carried.machine).unwrap_or(u8::MAX);
                let address = IpAddr::V4(Ipv4Addr::new(127, 0, 1, host));
                let preparer = Preparer::new(RELAY_ORIGIN, nonce);
                self.relay.connections.insert(carried.link, Connection { preparer, drained: 0 });
                self.relay_input(In::Opened { conn, address, nonce });
            }
            Arrival::Frame(text) => {
                let Some(connection) = self.relay.connections.get_mut(&carried.link) else {
                    return;
                };
                let frame = connection.preparer.prepare(text.as_bytes());
                self.note(|| format!("relay hears on {}: {}", carried.link, brief(&text)));
                self.watch.relay_hears(carried.link, &text);
                self.relay_input(In::Frame { conn, bytes: text.len(), frame });
            }
            Arrival::Closed(_) | Arrival::Refused => {
                self.relay.connections.remove(&carried.link);
                self.relay_input(In::Closed { conn });
            }
        }
    }

    /// A frame of the relay reached the other end: its bytes have left the relay's queue.
    pub(super) fn relay_drains(&mut self, link: LinkId, bytes: usize) {
        let Some(connection) = self.relay.connections.get_mut(&link) else { return };
        connection.drained += bytes;
        if connection.drained >= REPORT_BYTES {
            let bytes = std::mem::take(&mut connection.drained);
            self.relay_input(In::Drained { conn: ConnId(link), bytes });
        }
    }

    pub(super) fn relay_turn(&mut self, life: u32) -> Happened {
        let host = &mut self.relay;
        if host.life != life {
            return Happened::Nothing;
        }
        let Some(engine) = &mut host.engine else { return Happened::Nothing };
        host.turn_due = false;
        let doomed = host.doomed.take();
        let take = doomed.map_or(MAX_BATCH, |crash| crash.inputs).min(host.inbox.len());
        let inputs: Vec<In> = host.inbox.drain(..take).collect();
        let stops = inputs.iter().any(|input| matches!(input, In::Stop));
        let now = host.clock.read(self.agenda.now());
        let mut released: Vec<Out> = engine.turn(now, inputs).into_iter().collect();
        if let Some(crash) = doomed {
            released.truncate(crash.effects);
        }
        for out in released {
            self.relay_does(out);
        }
        if let Some(crash) = doomed {
            self.die(Party::Relay, crash.silent);
            return Happened::Down(Party::Relay);
        }
        if stops {
            self.die(Party::Relay, false);
            return Happened::Down(Party::Relay);
        }
        self.relay_goes_on();
        Happened::Nothing
    }

    fn relay_goes_on(&mut self) {
        let now = self.agenda.now();
        let host = &mut self.relay;
        let Some(engine) = &host.engine else { return };
        if !host.inbox.is_empty() && !host.turn_due {
            host.turn_due = true;
            self.agenda.after(0, Event::Turn(Party::Relay, host.life));
        }
        // A tick that is due at once still takes a moment.
        let tick_at = engine.deadline().map(|mono| host.clock.when(mono, now + 1));
        if tick_at != host.tick_at {
            host.tick_at = tick_at;
            if let Some(at) = tick_at {
                self.agenda.at(at, Event::Tick(Party::Relay, host.life, at));
            }
        }
    }

    fn relay_does(&mut self, out: Out) {
        match out {
            Out::Send { conn, text } => {
                self.note(|| format!("relay says on {}: {}", conn.0, brief(&text)));
                if let Some(rows) = self.relay.rows() {
                    self.watch.relay_says(conn.0, &text, &rows);
                }
                self.record(&text);
                self.network.send(&mut self.agenda, conn.0, End::Relay, text);
            }
            Out::Close { conn, code } => {
                self.note(|| format!("relay closes {}: {code}", conn.0));
                self.relay.connections.remove(&conn.0);
                let code = Some(code.number());
                self.network.close(&mut self.agenda, conn.0, End::Relay, code);
                // What was queued is on its way: the socket is done with.
                self.relay_input(In::Closed { conn });
            }
            Out::Terminate { conn } => {
                self.relay.connections.remove(&conn.0);
                self.network.close(&mut self.agenda, conn.0, End::Relay, None);
            }
            Out::Log(event) => {
                self.note(|| format!("relay logs {event:?}"));
                self.watch.relay_logs(&event);
            }
            Out::Admitted { .. } | Out::Ready(_) => {}
        }
    }
}

/// Bytes after which the shell reports what has left.
const REPORT_BYTES: usize = 16_384;

/// The beginning of a line, for a trace.
pub(super) fn brief(text: &str) -> &str {
    let mut end = text.len().min(240);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}
