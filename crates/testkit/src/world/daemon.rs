//! A daemon as a process: its loop, its clients, its link, its disk.

use super::files::{Files, Write};
use super::relay::brief;
use super::{ClientId, Crash, Event, Happened, Party, RELAY_URL, World};
use crate::agenda::At;
use crate::clock::Clock;
use crate::network::{Arrival, Carried, End, LinkId as NetworkLink};
use messaging_daemon_engine::config::Config;
use messaging_daemon_engine::{
    Boot, ConnId, DaemonEngine, In, LAYOUT, LinkFault, LinkId, Out, Tier,
};
use messaging_ipc::request::Request;
use messaging_store::{FaultPlan, Loop, MAX_BATCH, Store, View};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A daemon's process, up or down, and the home it runs from.
pub struct DaemonHost {
    engine: Option<Loop<DaemonEngine>>,
    pub(super) disk: Option<Store>,
    /// The home's files.
    pub files: Files,
    pub(super) clock: Clock,
    life: u32,
    inbox: Vec<In>,
    turn_due: bool,
    tick_at: Option<At>,
    doomed: Option<Crash>,
    faults: FaultPlan,
    /// How often it dialled the relay.
    pub dials: u32,
    link: Option<(LinkId, NetworkLink)>,
    clients: BTreeMap<ClientId, Client>,
}

/// A socket keeps the order of what goes through it, each way.
struct Client {
    /// Until when lines are on their way to the client.
    busy: At,
    /// Until when lines are on their way from it.
    asking: At,
}

impl DaemonHost {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            engine: None,
            disk: Store::memory(&LAYOUT, &[]).ok(),
            files: Files::default(),
            clock,
            life: 0,
            inbox: Vec::new(),
            turn_due: false,
            tick_at: None,
            doomed: None,
            faults: FaultPlan::none(),
            dials: 0,
            link: None,
            clients: BTreeMap::new(),
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
    /// A client connects to a daemon's socket; `None` while the daemon is down.
    pub fn connect(&mut self, machine: usize, tier: Tier) -> Option<ClientId> {
        let daemon = self.daemons.get_mut(machine)?;
        daemon.engine.as_ref()?;
        self.clients += 1;
        let client = self.clients;
        daemon.clients.insert(client, Client { busy: 0, asking: 0 });
        self.daemon_input(machine, In::IpcOpened { conn: ConnId(client), tier });
        Some(client)
    }

    /// A client sends a line; it takes a moment to arrive.
    pub fn ask(&mut self, client: ClientId, line: Vec<u8>) {
        let delay = self.dice.below(3);
        let at = self.asking(client, delay);
        self.agenda.at(at, Event::Asked(client, line));
    }

    /// A client goes away; what it sent before still arrives.
    pub fn leave(&mut self, client: ClientId) {
        let at = self.asking(client, 0);
        self.agenda.at(at, Event::Left(client));
    }

    fn asking(&mut self, client: ClientId, delay: u64) -> At {
        let at = self.agenda.now() + delay;
        let held = self.machine_of_client(client).and_then(|machine| {
            self.daemons.get_mut(machine).and_then(|daemon| daemon.clients.get_mut(&client))
        });
        let Some(held) = held else { return at };
        held.asking = held.asking.max(at);
        held.asking
    }

    pub(super) fn client_asked(&mut self, client: ClientId, line: &[u8]) {
        let Some(machine) = self.machine_of_client(client) else { return };
        self.note(|| {
            let text = String::from_utf8_lossy(line);
            format!("machine {machine}, client {client} asks: {}", brief(text.trim_end()))
        });
        match Request::parse(line.trim_ascii_end()) {
            Ok(request) => {
                self.daemon_input(machine, In::IpcRequest { conn: ConnId(client), request });
            }
            Err(_) => self.watch.violation("a client sent a line that is no request"),
        }
    }

    pub(super) fn client_left(&mut self, client: ClientId) {
        if let Some(machine) = self.machine_of_client(client) {
            if let Some(daemon) = self.daemons.get_mut(machine) {
                daemon.clients.remove(&client);
            }
            self.daemon_input(machine, In::IpcClosed { conn: ConnId(client) });
        }
    }

    fn machine_of_client(&self, client: ClientId) -> Option<usize> {
        self.daemons.iter().position(|daemon| daemon.clients.contains_key(&client))
    }

    pub(super) fn daemon_starts(&mut self, machine: usize) {
        let now = self.agenda.now();
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        let Some(disk) = daemon.disk.take() else { return };
        daemon.life += 1;
        daemon.clock.restart(now);
        let boot = Boot {
            config: daemon.files.config(),
            unknown_keys: Vec::new(),
            identity: daemon.files.identity(),
            pairing: daemon.files.pairing(),
            pid: 1_000 * daemon.life + u32::try_from(machine).unwrap_or_default(),
            version: "0.0.0",
        };
        let (life, clock, faults) = (daemon.life, daemon.clock, daemon.faults.clone());
        let rng = self.rng(Party::Daemon(machine), life);
        match DaemonEngine::start(disk, boot, clock.read(now), rng) {
            Ok((mut engine, first)) => {
                engine.set_faults(faults);
                if let Some(daemon) = self.daemons.get_mut(machine) {
                    daemon.engine = Some(engine);
                }
                for out in first {
                    self.daemon_does(machine, out);
                }
                self.daemon_goes_on(machine);
            }
            Err(error) => {
                // Its disk is lost with it: nothing more can be said of this machine.
                self.watch.violation(format!("machine {machine} does not start: {error}"));
            }
        }
    }

    pub(super) fn daemon_dies(&mut self, machine: usize, silent: bool) {
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        let Some(engine) = daemon.engine.take() else { return };
        daemon.disk = Some(engine.into_store());
        daemon.inbox.clear();
        daemon.turn_due = false;
        daemon.tick_at = None;
        daemon.doomed = None;
        daemon.link = None;
        let kept = self.dice.below(1 + daemon.files.pending() as u64);
        daemon.files.crash(usize::try_from(kept).unwrap_or_default());
        for (client, held) in std::mem::take(&mut daemon.clients) {
            self.agenda.at(held.busy + 1, Event::Hung(client));
        }
        self.network.died(&mut self.agenda, End::Daemon, Some(machine), silent);
    }

    pub(super) fn daemon_input(&mut self, machine: usize, input: In) {
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        if daemon.engine.is_none() {
            return;
        }
        daemon.inbox.push(input);
        if !daemon.turn_due {
            daemon.turn_due = true;
            let busy = self.dice.below(3);
            self.agenda.after(busy, Event::Turn(Party::Daemon(machine), daemon.life));
        }
    }

    pub(super) fn arrives_at_daemon(&mut self, carried: Carried) {
        let machine = carried.machine;
        if let Arrival::Frame(text) = &carried.what {
            self.relay_drains(carried.link, text.len());
        }
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        let Some((link, over)) = daemon.link else { return };
        if over != carried.link {
            return;
        }
        match carried.what {
            Arrival::Open => self.daemon_input(machine, In::LinkUp { link }),
            Arrival::Frame(text) => {
                self.note(|| format!("machine {machine} hears on {over}: {}", brief(&text)));
                self.daemon_input(machine, In::LinkFrame { link, text: text.to_string() });
            }
            Arrival::Closed(close) => {
                daemon.link = None;
                let why = LinkFault::Closed;
                self.daemon_input(machine, In::LinkDown { link, close, why });
            }
            Arrival::Refused => {
                daemon.link = None;
                let why = LinkFault::Refused;
                self.daemon_input(machine, In::LinkDown { link, close: None, why });
            }
        }
    }

    pub(super) fn file_written(&mut self, machine: usize, life: u32) {
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        if daemon.life != life || daemon.engine.is_none() {
            return;
        }
        if let Some((token, ok)) = daemon.files.end_write() {
            self.daemon_input(machine, In::Saved { token, ok });
        }
    }

    pub(super) fn daemon_turn(&mut self, machine: usize, life: u32) -> Happened {
        let now = self.agenda.now();
        let Some(daemon) = self.daemons.get_mut(machine) else { return Happened::Nothing };
        if daemon.life != life {
            return Happened::Nothing;
        }
        let Some(engine) = &mut daemon.engine else { return Happened::Nothing };
        daemon.turn_due = false;
        let doomed = daemon.doomed.take();
        let take = doomed.map_or(MAX_BATCH, |crash| crash.inputs).min(daemon.inbox.len());
        let inputs: Vec<In> = daemon.inbox.drain(..take).collect();
        let mut released: Vec<Out> =
            engine.turn(daemon.clock.read(now), inputs).into_iter().collect();
        if let Some(crash) = doomed {
            released.truncate(crash.effects);
        }
        let exits = released.iter().any(|out| matches!(out, Out::Exit));
        if let Some(rows) = daemon.rows() {
            self.watch.daemon_turned(machine, &rows);
        }
        for out in released {
            self.daemon_does(machine, out);
        }
        if let Some(crash) = doomed {
            self.die(Party::Daemon(machine), crash.silent);
            return Happened::Down(Party::Daemon(machine));
        }
        if exits {
            self.die(Party::Daemon(machine), false);
            return Happened::Down(Party::Daemon(machine));
        }
        self.daemon_goes_on(machine);
        Happened::Nothing
    }

    fn daemon_goes_on(&mut self, machine: usize) {
        let now = self.agenda.now();
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        let Some(engine) = &daemon.engine else { return };
        let party = Party::Daemon(machine);
        if !daemon.inbox.is_empty() && !daemon.turn_due {
            daemon.turn_due = true;
            self.agenda.after(0, Event::Turn(party, daemon.life));
        }
        // A tick that is due at once still takes a moment.
        let tick_at = engine.deadline().map(|mono| daemon.clock.when(mono, now + 1));
        if tick_at != daemon.tick_at {
            daemon.tick_at = tick_at;
            if let Some(at) = tick_at {
                self.agenda.at(at, Event::Tick(party, daemon.life, at));
            }
        }
    }

    fn daemon_does(&mut self, machine: usize, out: Out) {
        match out {
            Out::IpcSend { conn, line, .. } => self.line_to_client(machine, conn.0, line),
            Out::IpcClose { conn } => {
                if let Some(daemon) = self.daemons.get_mut(machine)
                    && let Some(client) = daemon.clients.remove(&conn.0)
                {
                    self.agenda.at(client.busy + 1, Event::Hung(conn.0));
                }
            }
            Out::Dial { link, url, .. } => {
                if url.as_str() != RELAY_URL {
                    self.watch.violation(format!("machine {machine} dials another relay"));
                }
                self.daemon_dials(machine, link);
            }
            Out::LinkSend { link, text } => self.daemon_says(machine, link, text),
            Out::LinkClose { link } => {
                let Some(daemon) = self.daemons.get_mut(machine) else { return };
                if let Some((held, over)) = daemon.link
                    && held == link
                {
                    daemon.link = None;
                    self.network.close(&mut self.agenda, over, End::Daemon, Some(1000));
                }
            }
            Out::SaveIdentity { token, identity } => {
                self.save(machine, token, Write::Identity(identity.to_value()));
            }
            Out::SavePairing { token, pairing } => {
                self.save(machine, token, Write::Pairing(Some(pairing.to_value())));
            }
            Out::ErasePairing { token } => self.save(machine, token, Write::Pairing(None)),
            Out::SaveConfig { token, relay, person, label } => {
                let Some(daemon) = self.daemons.get(machine) else { return };
                let held = daemon.files.config_map();
                let config = Config::with_membership(held, &relay, &person, &label);
                self.save(machine, token, Write::Config(config));
            }
            // No scenario copies a home.
            Out::TakeSnapshot { token, .. } => {
                self.daemon_input(machine, In::Snapshotted { token, copied: None });
            }
            Out::DropSnapshot { token } => {
                self.daemon_input(machine, In::Saved { token, ok: true });
            }
            Out::Log(event) => {
                self.note(|| format!("machine {machine} logs {event:?}"));
                self.watch.daemon_logs(machine, &event);
            }
            // No session of the World names a host.
            Out::Wake { .. } => self.watch.violation(format!("machine {machine} wakes somebody")),
            Out::Exit => {}
        }
    }

    fn daemon_dials(&mut self, machine: usize, link: LinkId) {
        let relay_up = self.relay.is_up();
        let over = self.network.dial(&mut self.agenda, machine, relay_up);
        self.note(|| format!("machine {machine} dials: connection {over}"));
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        daemon.dials += 1;
        if let Some((_, old)) = daemon.link.replace((link, over)) {
            self.network.close(&mut self.agenda, old, End::Daemon, Some(1000));
        }
    }

    fn daemon_says(&mut self, machine: usize, link: LinkId, text: String) {
        let Some(daemon) = self.daemons.get(machine) else { return };
        let Some((held, over)) = daemon.link else { return };
        if held != link {
            return;
        }
        if let Some(rows) = daemon.rows() {
            self.watch.daemon_says(machine, over, &text, &rows);
        }
        self.note(|| format!("machine {machine} says on {over}: {}", brief(&text)));
        self.check_key(machine, &text);
        self.record(&text);
        self.network.send(&mut self.agenda, over, End::Daemon, text.into());
    }

    fn line_to_client(&mut self, machine: usize, client: ClientId, line: Vec<u8>) {
        let now = self.agenda.now();
        let delay = self.dice.below(3);
        let Ok(text) = String::from_utf8(line) else {
            return self.watch.violation("a line that is not UTF-8");
        };
        let text: Arc<str> = text.into();
        self.record(&text);
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        if let Some(rows) = daemon.rows() {
            self.watch.daemon_answers(machine, &text, &rows);
        }
        let Some(held) = daemon.clients.get_mut(&client) else { return };
        held.busy = held.busy.max(now + delay);
        let at = held.busy;
        self.note(|| format!("machine {machine} tells client {client}: {}", brief(&text)));
        self.agenda.at(at, Event::Line(client, text));
    }

    fn save(&mut self, machine: usize, token: messaging_daemon_engine::SaveToken, write: Write) {
        let delay = self.dice.tail(3, 200);
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        daemon.files.ask(token, write);
        self.agenda.after(delay, Event::Written(machine, daemon.life));
    }
}
