//! Daemons and a relay in one test, on one clock that only the test moves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use messaging_core::consent::{AskLevel, GrantDraft, Levels, Subject, VerifiedGrant};
use messaging_core::ids::{Label, MachineId, PersonId, RelayUrl, Req, RosterPerson, Ulid};
use messaging_core::jcs;
use messaging_core::roster::{Member, Op, Role, Roster, sign_genesis};
use messaging_core::testing::SeededRandom;
use messaging_core::time::{Mono, Ms, Now};
use messaging_ipc::reply::Incoming;
use messaging_ipc::request::{Request, RequestId};
use messaging_store::{
    Batch, Effects, FaultPlan, Loop, Machine, Settled, Store, StoreError, Turn, Tx,
};
use serde_json::{Value, json};

use super::forge::mail;
use super::relay::Relay;
use crate::config::Config;
use crate::engine::{Boot, DaemonEngine};
use crate::events::LogEvent;
use crate::identity::IdentityFile;
use crate::input::{ConnId, In, LinkFault, LinkId, Out, SaveToken, Tier};
use crate::pairing::PairingFile;
use crate::store::{LAYOUT, grants, kv, roster};
use crate::wake::{WakeHost, WakeId};

/// When every test begins.
pub(crate) const START: Now = Now { wall: Ms(1_800_000_000_000), mono: Mono(1_000_000) };

/// The relay that every test uses.
pub(crate) const URL: &str = "ws://127.0.0.1:8080/v1/connect";

/// A connection for calls that are no session's.
pub(crate) const CONN: u64 = 5_000_000;

/// Several daemons of one team, and its relay.
pub(crate) struct Bench {
    pub(crate) now: Now,
    pub(crate) daemons: Vec<Daemon>,
    pub(crate) relay: Relay,
}

/// One daemon and what it wished for.
pub(crate) struct Daemon {
    pub(crate) running: Option<Loop<DaemonEngine>>,
    pub(crate) keys: IdentityFile,
    /// Whether `identity.json` is there.
    pub(crate) has_keys: bool,
    /// `pairing.json`.
    pub(crate) pairing: Option<PairingFile>,
    /// Whether files can be written.
    pub(crate) can_save: bool,
    pub(crate) config: Config,
    pub(crate) link: Option<LinkId>,
    wishes: VecDeque<Out>,
    pub(crate) answers: BTreeMap<String, Result<Value, Value>>,
    pub(crate) events: Vec<Value>,
    pub(crate) log: Vec<LogEvent>,
    /// What was wished for to wake clients.
    pub(crate) wakes: Vec<(WakeId, WakeHost, Vec<Ulid>)>,
    /// The copy that is being made, or held.
    pub(crate) copying: Option<SaveToken>,
    calls: u64,
    seed: u64,
}

/// What a test can call a session by.
pub(crate) struct Session {
    pub(crate) daemon: usize,
    pub(crate) conn: u64,
    pub(crate) key: String,
}

/// The members of a team, one machine each, the first an admin.
pub(crate) fn team(names: &[(&str, &str)]) -> (Roster, Vec<IdentityFile>) {
    let mut rng = SeededRandom::new(7);
    let keys: Vec<IdentityFile> = names.iter().map(|_| IdentityFile::generate(&mut rng)).collect();
    let member = |at: usize, role| Member {
        machine: *keys[at].machine(),
        enc: *keys[at].identity.enc.public(),
        person: RosterPerson::parse(names[at].0).unwrap(),
        role,
        label: Label::parse(names[at].1).unwrap(),
    };
    let founder = &keys[0].identity.signing;
    let genesis =
        sign_genesis(&"demo".parse().unwrap(), &member(0, Role::Admin), START.wall, founder);
    let mut roster = Roster::from_entries([&genesis.unwrap()]).unwrap();
    for at in 1..names.len() {
        let op = Op::MemberAdd { member: member(at, Role::Member) };
        let entry = roster.sign_next(&op, START.wall, founder).unwrap();
        roster.apply(&entry, None).unwrap();
    }
    (roster, keys)
}

impl Bench {
    /// A team whose daemons are started, connected and up to date.
    pub(crate) fn connected(names: &[(&str, &str)]) -> Self {
        let mut bench = Self::offline(names);
        bench.relay.up = true;
        bench.advance(1_000);
        for at in 0..bench.daemons.len() {
            assert!(bench.engine(at).link.is_ready(), "daemon {at} is not connected");
        }
        bench
    }

    /// The same with a relay that does not answer yet.
    pub(crate) fn offline(names: &[(&str, &str)]) -> Self {
        Self::founded(names, true)
    }

    /// A team whose daemons are connected, and whose persons have said nothing about each other.
    pub(crate) fn reserved(names: &[(&str, &str)]) -> Self {
        let mut bench = Self::founded(names, false);
        bench.relay.up = true;
        bench.advance(1_000);
        bench
    }

    /// A team; its persons let each other's agents ask theirs, or have said nothing.
    fn founded(names: &[(&str, &str)], open: bool) -> Self {
        let (roster, keys) = team(names);
        let mut bench = Self { now: START, daemons: Vec::new(), relay: Relay::new(roster.clone()) };
        for (seed, keys) in keys.into_iter().enumerate() {
            let mut store = home(&roster, &keys);
            if open {
                store = opened(store, &roster, &keys);
            }
            let config = Config { relay: Some(RelayUrl::parse(URL).unwrap()), ..Config::default() };
            bench.daemons.push(Daemon::new(keys, config, seed as u64));
            bench.start(seed, store);
        }
        bench.settle();
        bench
    }

    /// One daemon that is in no team, and a relay that knows none.
    pub(crate) fn homeless() -> Self {
        let mut bench = Self { now: START, daemons: Vec::new(), relay: Relay::new(Roster::new()) };
        bench.relay.up = true;
        bench.newcomer();
        bench
    }

    /// Adds a daemon that is in no team, and gives its number.
    pub(crate) fn newcomer(&mut self) -> usize {
        let at = self.daemons.len();
        let keys = IdentityFile::generate(&mut SeededRandom::new(99 + at as u64));
        self.daemons.push(Daemon::new(keys, Config::default(), at as u64));
        self.daemons[at].has_keys = false;
        self.start(at, Store::memory(&LAYOUT, &[]).unwrap());
        self.settle();
        at
    }

    /// Starts a daemon over its store.
    pub(crate) fn start(&mut self, at: usize, store: Store) {
        let daemon = &mut self.daemons[at];
        daemon.seed += 1_000;
        let boot = Boot {
            config: daemon.config.clone(),
            unknown_keys: Vec::new(),
            identity: daemon.has_keys.then(|| daemon.keys.clone()),
            pairing: daemon.pairing.clone(),
            pid: 7,
            version: "0.0.0",
        };
        let rng = SeededRandom::new(daemon.seed);
        let (running, first) = DaemonEngine::start(store, boot, self.now, rng).unwrap();
        daemon.running = Some(running);
        daemon.wishes.extend(first);
    }

    /// Ends a daemon where it stands, and gives its store.
    pub(crate) fn kill(&mut self, at: usize) -> Store {
        let daemon = &mut self.daemons[at];
        daemon.wishes.clear();
        if let Some(link) = daemon.link.take() {
            self.relay.closed(at, link);
        }
        self.daemons[at].running.take().unwrap().into_store()
    }

    /// Changes a daemon's configuration for its next start.
    pub(crate) fn configure(&mut self, at: usize, change: impl FnOnce(&mut Config)) {
        change(&mut self.daemons[at].config);
        let store = self.kill(at);
        self.start(at, store);
        self.advance(2_000);
    }

    pub(crate) fn engine(&self, at: usize) -> &DaemonEngine {
        self.daemons[at].running.as_ref().unwrap().machine()
    }

    /// One row of a daemon's store.
    pub(crate) fn count(&self, at: usize, sql: &str) -> i64 {
        let running = self.daemons[at].running.as_ref().unwrap();
        running.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
    }

    pub(crate) fn machine(&self, at: usize) -> MachineId {
        *self.daemons[at].keys.machine()
    }

    pub(crate) fn person(&self, at: usize) -> PersonId {
        let machine = self.machine(at);
        PersonId::from(&self.relay.roster.member(&machine).unwrap().person)
    }

    /// Makes steps of a daemon's store fail from now on.
    pub(crate) fn set_faults(&mut self, at: usize, faults: FaultPlan) {
        self.daemons[at].running.as_mut().unwrap().set_faults(faults);
    }

    /// Puts one input in and carries out what follows, everywhere, until nothing moves.
    pub(crate) fn input(&mut self, at: usize, input: In) {
        self.turn(at, [input]);
        self.settle();
    }

    pub(crate) fn turn(&mut self, at: usize, inputs: impl IntoIterator<Item = In>) {
        let daemon = &mut self.daemons[at];
        if let Some(running) = &mut daemon.running {
            daemon.wishes.extend(running.turn(self.now, inputs));
        }
    }

    /// A frame from the relay, as a test likes it.
    pub(crate) fn frame(&mut self, at: usize, text: &str) {
        let link = self.daemons[at].link.expect("a link");
        self.input(at, In::LinkFrame { link, text: text.to_owned() });
    }

    /// Carries out wishes until there are none.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the daemons never came to rest");
    }

    /// Carries out one wish, or brings one frame; `false` when nothing is left to do.
    pub(crate) fn step(&mut self) -> bool {
        if let Some(at) = self.daemons.iter().position(|daemon| !daemon.wishes.is_empty()) {
            let wish = self.daemons[at].wishes.pop_front().unwrap();
            self.carry_out(at, wish);
        } else if let Some((to, link, text)) = self.relay.next_frame() {
            if self.daemons[to].link == Some(link) {
                self.turn(to, [In::LinkFrame { link, text }]);
            }
        } else if let Some((to, link, close)) = self.relay.next_hang_up() {
            if self.daemons[to].link == Some(link) {
                self.daemons[to].link = None;
                self.turn(to, [In::LinkDown { link, close: Some(close), why: LinkFault::Closed }]);
            }
        } else {
            return false;
        }
        true
    }

    fn carry_out(&mut self, at: usize, wish: Out) {
        match wish {
            Out::IpcSend { line, .. } => self.daemons[at].hear(&line),
            Out::IpcClose { .. } | Out::Exit => {}
            Out::Dial { link, .. } if self.relay.up => {
                self.daemons[at].link = Some(link);
                self.turn(at, [In::LinkUp { link }]);
                self.relay.opened(at, link);
            }
            Out::Dial { link, .. } => {
                let why = LinkFault::Refused;
                self.turn(at, [In::LinkDown { link, close: None, why }]);
            }
            Out::LinkSend { link, text } => {
                if self.daemons[at].link == Some(link) {
                    self.relay.hear(at, link, &text, self.now.wall);
                }
            }
            Out::LinkClose { link } => {
                if self.daemons[at].link == Some(link) {
                    self.daemons[at].link = None;
                    self.relay.closed(at, link);
                }
            }
            Out::SaveIdentity { token, identity } => {
                let ok = self.daemons[at].can_save;
                if ok {
                    self.daemons[at].keys = *identity;
                    self.daemons[at].has_keys = true;
                }
                self.turn(at, [In::Saved { token, ok }]);
            }
            Out::SavePairing { token, pairing } => {
                let ok = self.daemons[at].can_save;
                if ok {
                    self.daemons[at].pairing = Some(*pairing);
                }
                self.turn(at, [In::Saved { token, ok }]);
            }
            Out::ErasePairing { token } => {
                let ok = self.daemons[at].can_save;
                if ok {
                    self.daemons[at].pairing = None;
                }
                self.turn(at, [In::Saved { token, ok }]);
            }
            Out::SaveConfig { token, relay, .. } => {
                let ok = self.daemons[at].can_save;
                if ok {
                    self.daemons[at].config.relay = Some(relay);
                }
                self.turn(at, [In::Saved { token, ok }]);
            }
            Out::Wake { call, host, ids } => self.daemons[at].wakes.push((call, host, ids)),
            Out::TakeSnapshot { token, .. } => {
                // A copy takes its time: a test says when it is whole.
                self.daemons[at].copying = Some(token);
            }
            Out::DropSnapshot { token } => {
                self.daemons[at].copying = None;
                self.turn(at, [In::Saved { token, ok: true }]);
            }
            Out::Log(event) => self.daemons[at].log.push(event),
        }
    }

    /// Breaks a daemon's link.
    pub(crate) fn cut(&mut self, at: usize) {
        self.close(at, None);
    }

    /// Closes a daemon's link with a code.
    pub(crate) fn close(&mut self, at: usize, close: Option<u16>) {
        if let Some(link) = self.daemons[at].link.take() {
            self.relay.closed(at, link);
            self.input(at, In::LinkDown { link, close, why: LinkFault::Closed });
        }
    }

    /// Moves the clock, with every tick on the way.
    pub(crate) fn advance(&mut self, ms: u64) {
        let end = self.now.mono.plus(ms);
        self.settle();
        let (mut ticks, mut at_once) = (self.now.mono, 0);
        loop {
            at_once = if ticks == self.now.mono { at_once + 1 } else { 0 };
            ticks = self.now.mono;
            assert!(at_once < 10_000, "a deadline that never passes");
            let due = self
                .daemons
                .iter()
                .enumerate()
                .filter_map(|(at, daemon)| Some((daemon.running.as_ref()?.deadline()?, at)))
                .min();
            match due {
                Some((mono, at)) if mono <= end => {
                    let step = mono.since(self.now.mono);
                    self.now =
                        Now { wall: self.now.wall.plus(step), mono: mono.max(self.now.mono) };
                    self.input(at, In::Tick);
                }
                _ => break,
            }
        }
        let step = end.since(self.now.mono);
        self.now = Now { wall: self.now.wall.plus(step), mono: end };
    }

    /// Moves the clock without a tick, as when a machine sleeps.
    pub(crate) fn skip(&mut self, ms: u64) {
        self.now = Now { wall: self.now.wall.plus(ms), mono: self.now.mono.plus(ms) };
    }

    /// Opens the admin connection [`CONN`] of a daemon.
    pub(crate) fn admin(&mut self, at: usize) {
        self.input(at, In::IpcOpened { conn: ConnId(CONN), tier: Tier::Admin });
    }

    /// Registers a session on a connection of its own.
    pub(crate) fn session(&mut self, at: usize, name: &str, more: Value) -> Session {
        let conn = self.daemons[at].calls + 1;
        self.input(at, In::IpcOpened { conn: ConnId(conn), tier: Tier::Admin });
        let key = format!("{name}-{conn}-the-key-of-a-session");
        let mut params = json!({"key": key, "agent": "codex", "name": name});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.call(at, conn, "session.register", params).unwrap();
        let session = Session { daemon: at, conn, key };
        self.ask(&session, "events.subscribe", json!({})).unwrap();
        session
    }

    /// Registers a session again, on a new connection.
    pub(crate) fn resume(&mut self, session: &Session) -> Session {
        let at = session.daemon;
        self.daemons[at].calls += 1;
        let conn = 1_000_000 + self.daemons[at].calls;
        self.input(at, In::IpcOpened { conn: ConnId(conn), tier: Tier::Admin });
        let params = json!({"key": session.key, "agent": "codex"});
        self.call(at, conn, "session.register", params).unwrap();
        let session = Session { daemon: at, conn, key: session.key.clone() };
        self.ask(&session, "events.subscribe", json!({})).unwrap();
        session
    }

    /// Ends a session's connection.
    pub(crate) fn leave(&mut self, session: &Session) {
        self.input(session.daemon, In::IpcClosed { conn: ConnId(session.conn) });
    }

    /// A call of a session.
    pub(crate) fn ask(
        &mut self,
        session: &Session,
        method: &str,
        mut params: Value,
    ) -> Result<Value, String> {
        params["key"] = json!(session.key);
        self.call(session.daemon, session.conn, method, params)
    }

    /// A call. The error is its code.
    pub(crate) fn call(
        &mut self,
        at: usize,
        conn: u64,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = self.begin(at, conn, method, params);
        self.settle();
        self.answer(at, &id).unwrap_or_else(|| panic!("{method} was not answered"))
    }

    /// Begins a call that may be answered later.
    pub(crate) fn begin(&mut self, at: usize, conn: u64, method: &str, params: Value) -> String {
        let daemon = &mut self.daemons[at];
        daemon.calls += 1;
        let id = format!("c{}", daemon.calls);
        let request = Request {
            id: RequestId::Text(id.clone()),
            method: method.to_owned(),
            params: Some(params),
            grant: None,
        };
        self.turn(at, [In::IpcRequest { conn: ConnId(conn), request }]);
        id
    }

    /// The answer to a call, once.
    pub(crate) fn answer(&mut self, at: usize, id: &str) -> Option<Result<Value, String>> {
        let answer = self.daemons[at].answers.remove(id)?;
        Some(answer.map_err(|error| error["data"]["code"].as_str().unwrap().to_owned()))
    }

    /// The error of a call that was answered with one, whole.
    pub(crate) fn error(&mut self, at: usize, id: &str) -> Value {
        self.daemons[at].answers.remove(id).expect("an answer").expect_err("an error")
    }

    /// Sends a text and gives its envelope's id.
    pub(crate) fn send(&mut self, from: &Session, to: &str, text: &str) -> String {
        let params = json!({"to": to, "parts": [{"text": text}]});
        let result = self.ask(from, "msg.send", params).unwrap();
        result["results"][0]["envelopeId"].as_str().unwrap().to_owned()
    }

    /// The texts in a session's inbox, oldest first.
    pub(crate) fn texts(&mut self, session: &Session) -> Vec<String> {
        let result = self.ask(session, "inbox.list", json!({"limit": 200})).unwrap();
        let items = result["items"].as_array().unwrap();
        items.iter().rev().map(|item| item["preview"].as_str().unwrap().to_owned()).collect()
    }

    /// The stage, and the code, of something a session sent.
    pub(crate) fn stage(&mut self, session: &Session, id: &str) -> String {
        let result = self.ask(session, "item.read", json!({"id": id})).unwrap();
        let stage = result["stage"].as_str().unwrap();
        match result["code"].as_str() {
            Some(code) => format!("{stage} {code}"),
            None => stage.to_owned(),
        }
    }

    /// Has a daemon ask for entries that its relay does not answer, and gives the request's name.
    pub(crate) fn ask_for_more(&mut self, at: usize) -> Req {
        self.relay.silent = true;
        let mut env = self.forge(0, at, mail("nobody", "x"));
        env["anchor"]["seq"] = json!(99);
        let env = self.sign(0, env);
        self.deliver(at, &env);
        self.relay.silent = false;
        self.relay.last_sync(at).req
    }

    /// What a daemon says went wrong with its relay last.
    pub(crate) fn last_error(&self, at: usize) -> Option<&'static str> {
        self.engine(at).link.last_error().map(|error| error.words)
    }
}

impl Daemon {
    fn new(keys: IdentityFile, config: Config, seed: u64) -> Self {
        Self {
            running: None,
            keys,
            has_keys: true,
            pairing: None,
            can_save: true,
            config,
            link: None,
            wishes: VecDeque::new(),
            answers: BTreeMap::new(),
            events: Vec::new(),
            log: Vec::new(),
            wakes: Vec::new(),
            copying: None,
            calls: 0,
            seed,
        }
    }

    fn hear(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").expect("a line feed");
        let value: Value = serde_json::from_slice(line).unwrap();
        match Incoming::parse(line).unwrap() {
            Incoming::Event(_) => self.events.push(value["params"].clone()),
            Incoming::Answer { .. } => {
                let id = value["id"].as_str().unwrap().to_owned();
                let answer = match value.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(value["error"].clone()),
                };
                self.answers.insert(id, answer);
            }
            Incoming::Other => panic!("not a line of this release"),
        }
    }

    /// The events of a type.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }
}

/// A home that joined this team.
pub(crate) fn home(verified: &Roster, keys: &IdentityFile) -> Store {
    let store = Store::memory(&LAYOUT, &[]).unwrap();
    let me = verified.member(keys.machine()).unwrap();
    let config = kv::IdentityConfig {
        relay: RelayUrl::parse(URL).unwrap(),
        person: PersonId::from(&me.person),
        label: me.label.clone(),
    };
    let (verified, machine) = (verified.clone(), *keys.machine());
    write(store, move |tx| {
        for entry in verified.entries() {
            roster::append(tx, entry.seq(), entry.hash(), entry.canonical().as_str())?;
        }
        kv::set(tx, kv::REALM_ID, verified.team_id().unwrap().as_str())?;
        kv::set(tx, kv::IDENTITY_MACHINE, machine.as_str())?;
        kv::set(tx, kv::IDENTITY_CONFIG, &jcs::to_value(&config).unwrap().to_string())
    })
}

/// A home whose person lets the agents of everybody else in the team ask theirs, as all their devices know.
pub(crate) fn opened(store: Store, verified: &Roster, keys: &IdentityFile) -> Store {
    let me = verified.member(keys.machine()).unwrap();
    let own = PersonId::from(&me.person);
    let persons: BTreeSet<&RosterPerson> =
        verified.members().map(|member| &member.person).collect();
    let levels = Levels { ask: Some(AskLevel::Open), ..Levels::default() };
    let said: Vec<VerifiedGrant> = persons
        .into_iter()
        .filter(|person| **person != me.person)
        .zip(1..)
        .map(|(person, number)| {
            let subject = Subject::Person(person.into());
            let id = Ulid::from_parts(START.wall, [number; 10]);
            let realm = *verified.team_id().unwrap();
            let draft =
                GrantDraft { realm, id, person: &own, ts: START.wall, subject: &subject, levels };
            draft.sign(&keys.identity.signing).unwrap()
        })
        .collect();
    let machines: Vec<MachineId> = verified.members().map(|member| member.machine).collect();
    write(store, move |tx| {
        for grant in &said {
            grants::put(tx, grant)?;
        }
        machines.iter().try_for_each(|machine| grants::told(tx, machine, START.wall))
    })
}

/// Writes to a store while no daemon has it.
pub(crate) fn write(
    store: Store,
    act: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + 'static,
) -> Store {
    let mut running = Loop::new(store, Writer, SeededRandom::new(1));
    let act: Act = Box::new(act);
    assert!(running.turn(START, [act]).is_empty(), "the write failed");
    running.into_store()
}

struct Writer;

type Act = Box<dyn FnOnce(&mut Tx<'_>) -> Result<(), StoreError>>;

impl Machine for Writer {
    type In = Act;
    type Out = ();
    type Ticket = ();

    fn batch(_: &Act) -> Batch {
        Batch::Alone
    }

    fn ticket(&self, _: &Act) {}

    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        act: Act,
        _: &mut Effects<()>,
    ) -> Result<(), StoreError> {
        act(&mut turn.tx)
    }

    fn refused(&mut self, (): (), _: StoreError, _: Now, out: &mut Effects<()>) {
        out.push(());
    }

    fn settle(&mut self, _: &mut Settled<'_>, _: &mut Effects<()>) {}

    fn deadline(&self) -> Option<Mono> {
        None
    }
}
