//! Daemons and a relay in one process: real engines over real stores, and everything around them played.
//!
//! The world owns the machines, their clocks and disks, the network between them and the local sockets of the daemons. It
//! decides nothing about a run: a [`Scenario`](crate::scenario::Scenario) tells it what clients ask and what goes wrong.
//! While it carries things out it watches over what must hold at every step ([`Watch`]).

mod daemon;
mod files;
mod homes;
mod persons;
mod records;
mod relay;
mod removals;
mod watch;

use crate::agenda::{Agenda, At};
use crate::clock::Clock;
use crate::dice::Dice;
use crate::network::{Carried, Network};
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use messaging_store::FaultPlan;
use std::sync::Arc;

pub use daemon::DaemonHost;
pub use files::{FileFault, Files};
pub use homes::HomeCopy;
pub(crate) use persons::{Grant, Said, restricting};
pub(crate) use records::pieces;
pub use relay::RelayHost;
pub use watch::Watch;

/// One process of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// The relay.
    Relay,
    /// The daemon of the machine with this number.
    Daemon(usize),
}

/// A client's connection to a daemon's socket.
pub type ClientId = u64;

/// How a process dies in the middle of its work.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// How many of the inputs that wait are still handled.
    pub inputs: usize,
    /// How many of the effects that were released still leave.
    pub effects: usize,
    /// Whether its connections end without a word, as when the machine loses power.
    pub silent: bool,
}

/// What the scenario hears.
#[derive(Debug)]
pub enum Happened {
    /// A process is up.
    Up(Party),
    /// A process ended.
    Down(Party),
    /// A line came for a client.
    Line(ClientId, Arc<str>),
    /// A client's connection is gone.
    Hung(ClientId),
    /// A reminder that the scenario had set.
    Reminder(u64),
    /// Something that concerns nobody outside.
    Nothing,
}

#[derive(Debug)]
enum Event {
    Carried(Carried),
    Turn(Party, u32),
    Tick(Party, u32, At),
    Start(Party),
    Written(usize, u32),
    Asked(ClientId, Vec<u8>),
    Left(ClientId),
    Line(ClientId, Arc<str>),
    Hung(ClientId),
    Reminder(u64),
}

impl From<Carried> for Event {
    fn from(carried: Carried) -> Self {
        Self::Carried(carried)
    }
}

/// Daemons, a relay, and what is between them.
pub struct World {
    seed: u64,
    agenda: Agenda<Event>,
    dice: Dice,
    network: Network,
    relay: RelayHost,
    daemons: Vec<DaemonHost>,
    clients: u64,
    /// What must hold at every step, and what did not.
    pub watch: Watch,
    trace: Option<fn(&str)>,
    steps: u64,
    fingerprint: u64,
}

/// The relay's address, as every daemon dials it.
pub const RELAY_URL: &str = "ws://127.0.0.1:8080/v1/connect";
/// The relay's name for itself.
pub const RELAY_ORIGIN: &str = "ws://127.0.0.1:8080";

/// More events than any run needs: beyond it something answers itself for ever.
const MOST_STEPS: u64 = 3_000_000;

impl World {
    /// An empty world: a relay that is not up yet, and no daemon.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            agenda: Agenda::new(),
            dice: Dice::stream(seed, 1),
            network: Network::new(Dice::stream(seed, 2)),
            relay: RelayHost::new(),
            daemons: Vec::new(),
            clients: 0,
            watch: Watch::default(),
            trace: None,
            steps: 0,
            fingerprint: 0xCBF2_9CE4_8422_2325,
        }
    }

    /// Tells every step to `trace`.
    pub fn set_trace(&mut self, trace: fn(&str)) {
        self.trace = Some(trace);
    }

    /// The time since the world began, ms.
    #[must_use]
    pub fn now(&self) -> At {
        self.agenda.now()
    }

    /// How many events have been handled.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Follows from everything that was said so far, and when: two runs of one seed have the same.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The relay.
    #[must_use]
    pub fn relay(&self) -> &RelayHost {
        &self.relay
    }

    /// The daemons, by machine number.
    #[must_use]
    pub fn daemons(&self) -> &[DaemonHost] {
        &self.daemons
    }

    /// The network.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// What a machine's wall clock says, while its daemon is up.
    #[must_use]
    pub fn wall(&self, machine: usize) -> Option<Ms> {
        let daemon = self.daemons.get(machine).filter(|daemon| daemon.is_up())?;
        Some(daemon.clock.read(self.agenda.now()).wall)
    }

    /// Adds a machine whose wall clock is `offset` ms ahead; its daemon is not up yet.
    pub fn add_machine(&mut self, offset: i64) -> usize {
        self.daemons.push(DaemonHost::new(Clock::new(offset)));
        self.daemons.len() - 1
    }

    /// Starts a process `delay` ms from now; one that is up already is left alone.
    pub fn start(&mut self, party: Party, delay: u64) {
        self.agenda.after(delay, Event::Start(party));
    }

    /// Whether a process is up.
    #[must_use]
    pub fn is_up(&self, party: Party) -> bool {
        match party {
            Party::Relay => self.relay.is_up(),
            Party::Daemon(machine) => self.daemons.get(machine).is_some_and(DaemonHost::is_up),
        }
    }

    /// Lets a process die: at once when nothing waits for it, else in its next turn.
    pub fn crash(&mut self, party: Party, crash: Crash) {
        let waits = match party {
            Party::Relay => self.relay.doom(crash),
            Party::Daemon(machine) => {
                self.daemons.get_mut(machine).is_some_and(|daemon| daemon.doom(crash))
            }
        };
        if !waits {
            self.die(party, crash.silent);
        }
    }

    /// Asks a process to stop in good order.
    pub fn stop(&mut self, party: Party) {
        match party {
            Party::Relay => self.relay_input(messaging_relay_engine::In::Stop),
            Party::Daemon(machine) => {
                self.daemon_input(machine, messaging_daemon_engine::In::Stop);
            }
        }
    }

    /// Makes chosen writes of a process's store fail from now on.
    pub fn set_faults(&mut self, party: Party, faults: FaultPlan) {
        match party {
            Party::Relay => self.relay.set_faults(faults),
            Party::Daemon(machine) => {
                if let Some(daemon) = self.daemons.get_mut(machine) {
                    daemon.set_faults(faults);
                }
            }
        }
    }

    /// Makes the next write of a daemon's key or configuration file fail.
    pub fn set_file_fault(&mut self, machine: usize, fault: Option<FileFault>) {
        if let Some(daemon) = self.daemons.get_mut(machine) {
            daemon.files.fault = fault;
        }
    }

    /// Sets a process's wall clock `offset` ms ahead of the true time.
    pub fn set_clock(&mut self, party: Party, offset: i64) {
        match party {
            Party::Relay => self.relay.clock.set(offset),
            Party::Daemon(machine) => {
                if let Some(daemon) = self.daemons.get_mut(machine) {
                    daemon.clock.set(offset);
                }
            }
        }
    }

    /// Breaks every connection of a machine, once.
    pub fn cut(&mut self, machine: usize) {
        let links: Vec<_> = self
            .network
            .believed(crate::network::End::Daemon)
            .filter(|link| self.network.machine(*link) == Some(machine))
            .collect();
        for link in links {
            self.note(|| format!("network: connection {link} of machine {machine} breaks"));
            self.network.cut(&mut self.agenda, link);
        }
    }

    /// Cuts a machine off from the relay, or joins it again.
    pub fn set_cut_off(&mut self, machine: usize, cut_off: bool) {
        self.network.set_cut_off(&mut self.agenda, machine, cut_off);
    }

    /// Sets a reminder `delay` ms from now.
    pub fn remind(&mut self, delay: u64, what: u64) {
        self.agenda.after(delay, Event::Reminder(what));
    }

    /// Goes on by one event; `None` when nothing happens until `until`, which is now the present.
    pub fn next(&mut self, until: At) -> Option<Happened> {
        let event = self.agenda.next(until)?;
        self.steps += 1;
        if self.steps == MOST_STEPS {
            self.watch.violation("runs away: more events than any run needs");
        }
        if self.steps >= MOST_STEPS {
            return None;
        }
        Some(self.happen(event))
    }

    fn happen(&mut self, event: Event) -> Happened {
        match event {
            Event::Carried(carried) => self.carried(carried),
            Event::Turn(Party::Relay, life) => return self.relay_turn(life),
            Event::Turn(Party::Daemon(machine), life) => return self.daemon_turn(machine, life),
            Event::Tick(party, life, at) => self.ticked(party, life, at),
            Event::Start(party) => return self.come_up(party),
            Event::Written(machine, life) => self.file_written(machine, life),
            Event::Asked(client, line) => self.client_asked(client, &line),
            Event::Left(client) => self.client_left(client),
            Event::Line(client, line) => return Happened::Line(client, line),
            Event::Hung(client) => return Happened::Hung(client),
            Event::Reminder(what) => return Happened::Reminder(what),
        }
        Happened::Nothing
    }

    fn carried(&mut self, carried: Carried) {
        if !self.network.arrives(&carried) {
            return;
        }
        match carried.to {
            crate::network::End::Relay => self.arrives_at_relay(carried),
            crate::network::End::Daemon => self.arrives_at_daemon(carried),
        }
    }

    fn ticked(&mut self, party: Party, life: u32, at: At) {
        match party {
            Party::Relay if self.relay.expects_tick(life, at) => {
                self.relay_input(messaging_relay_engine::In::Tick);
            }
            Party::Daemon(machine) => {
                let expected = self
                    .daemons
                    .get_mut(machine)
                    .is_some_and(|daemon| daemon.expects_tick(life, at));
                if expected {
                    self.daemon_input(machine, messaging_daemon_engine::In::Tick);
                }
            }
            Party::Relay => {}
        }
    }

    fn come_up(&mut self, party: Party) -> Happened {
        if self.is_up(party) {
            return Happened::Nothing;
        }
        self.note(|| format!("{party:?}: starts"));
        match party {
            Party::Relay => self.relay_starts(),
            Party::Daemon(machine) => self.daemon_starts(machine),
        }
        if self.is_up(party) { Happened::Up(party) } else { Happened::Nothing }
    }

    /// A process is gone, from one moment to the next.
    fn die(&mut self, party: Party, silent: bool) {
        self.note(|| format!("{party:?}: dies{}", if silent { " silently" } else { "" }));
        match party {
            Party::Relay => self.relay_dies(silent),
            Party::Daemon(machine) => self.daemon_dies(machine, silent),
        }
    }

    /// The randomness of one life of a process.
    fn rng(&self, party: Party, life: u32) -> SeededRandom {
        let number = match party {
            Party::Relay => 0,
            Party::Daemon(machine) => 1 + machine as u64,
        };
        let mut dice = Dice::stream(self.seed, 1_000 + number * 1_000_000 + u64::from(life));
        SeededRandom::new(dice.roll())
    }

    /// Takes something that was said into the fingerprint (FNV-1a).
    fn record(&mut self, text: &str) {
        for byte in self.agenda.now().to_le_bytes().iter().chain(text.as_bytes()) {
            self.fingerprint = (self.fingerprint ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = self.trace {
            trace(&format!("{:>9} {}", self.agenda.now(), line()));
        }
    }
}
