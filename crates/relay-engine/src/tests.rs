//! The rules of W8 §7 for a team relay, driven through the loop, with a virtual clock and fixed randomness.

mod connecting;
mod delivering;
mod faults;
mod limits;
mod sending;
mod teams;

use std::collections::BTreeMap;
use std::net::IpAddr;

use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId, Nonce32, TeamName, Ulid};
use messaging_core::invite;
use messaging_core::keys::{Identity, SigningKey};
use messaging_core::limits::{FRAME_BYTES, TTL_MS};
use messaging_core::random;
use messaging_core::relay_auth::{Challenge, RosterHello};
use messaging_core::roster::{Member, Op, Role, Roster, sign_genesis};
use messaging_core::testing::SeededRandom;
use messaging_core::time::{Mono, Ms, Now};
use messaging_store::{Loop, Store};
use serde_json::{Value, json};

use crate::{
    Config, ConnId, Event, GenesisPolicy, In, Out, Preparer, RelayEngine, TEAM_RELAY, Unready,
    first_records,
};

const RELAY: &str = "ws://127.0.0.1:8080";
const START: Now = Now { wall: Ms(1_800_000_000_000), mono: Mono(1_000) };

/// What a client sees of its connection.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Frame(Value),
    Closed(u16),
    Terminated,
}

/// A relay, its clock, and what each connection saw and has not looked at.
struct Rig {
    relay: Loop<RelayEngine>,
    now: Now,
    rng: SeededRandom,
    conns: u64,
    preparers: BTreeMap<ConnId, (Preparer, Nonce32)>,
    seen: BTreeMap<ConnId, Vec<Seen>>,
    logs: Vec<Event>,
    ready: Vec<Vec<Unready>>,
    /// Sockets that report nothing as drained.
    stuck: Vec<ConnId>,
}

/// A member's machine.
#[derive(Clone)]
struct Peer {
    keys: Identity,
    member: Member,
}

impl Peer {
    fn new(seed: u8, person: &str, label: &str, role: Role) -> Self {
        let keys = Identity::from_secrets([seed; 32], [seed ^ 0xff; 32]);
        let member = Member {
            machine: *keys.machine(),
            enc: *keys.enc.public(),
            person: person.parse().unwrap(),
            role,
            label: label.parse().unwrap(),
        };
        Self { keys, member }
    }

    fn key(&self) -> &SigningKey {
        &self.keys.signing
    }

    fn machine(&self) -> MachineId {
        *self.keys.machine()
    }
}

/// A team as its members hold it.
struct Team {
    id: Hash,
    roster: Roster,
    alice: Peer,
    bob: Peer,
    carol: Peer,
}

fn alice() -> Peer {
    Peer::new(1, "alice", "desk", Role::Admin)
}

fn bob() -> Peer {
    Peer::new(2, "bob", "desk", Role::Member)
}

fn carol() -> Peer {
    Peer::new(3, "carol", "desk", Role::Member)
}

fn stranger() -> Peer {
    Peer::new(99, "mallory", "desk", Role::Member)
}

impl Rig {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(RELAY);
        config.genesis = GenesisPolicy::Any;
        config.limits.frames_per_minute = 100_000;
        change(&mut config);
        let store = Store::memory(&TEAM_RELAY, &first_records(RELAY)).unwrap();
        Self::over(store, config, START)
    }

    fn over(store: Store, config: Config, now: Now) -> Self {
        let engine = RelayEngine::load(config, store.view(), now).unwrap();
        Self {
            relay: Loop::new(store, engine, SeededRandom::new(7)),
            now,
            rng: SeededRandom::new(8),
            conns: 0,
            preparers: BTreeMap::new(),
            seen: BTreeMap::new(),
            logs: Vec::new(),
            ready: Vec::new(),
            stuck: Vec::new(),
        }
    }

    /// The process dies and another starts over the same store. Connections are gone.
    fn restart(self) -> Self {
        let config = self.relay.machine().config.clone();
        let now = self.now;
        let (conns, rng) = (self.conns, self.rng);
        Self { conns, rng, ..Self::over(self.relay.into_store(), config, now) }
    }

    fn turn(&mut self, inputs: Vec<In>) {
        let released = self.relay.turn(self.now, inputs);
        let mut drained = BTreeMap::new();
        for out in released {
            match out {
                Out::Send { conn, text } => {
                    assert!(text.len() <= FRAME_BYTES || text.contains("\"entries\""));
                    *drained.entry(conn).or_insert(0) += text.len();
                    let frame = Seen::Frame(serde_json::from_str(&text).unwrap());
                    self.seen.entry(conn).or_default().push(frame);
                }
                Out::Close { conn, code } => {
                    self.seen.entry(conn).or_default().push(Seen::Closed(code.number()));
                }
                Out::Terminate { conn } => {
                    self.seen.entry(conn).or_default().push(Seen::Terminated);
                }
                Out::Admitted { .. } => {}
                Out::Ready(why) => self.ready.push(why),
                Out::Log(event) => self.logs.push(event),
            }
        }
        let drained: Vec<In> = drained
            .into_iter()
            .filter(|(conn, _)| !self.stuck.contains(conn))
            .map(|(conn, bytes)| In::Drained { conn, bytes })
            .collect();
        if !drained.is_empty() {
            self.turn(drained);
        }
    }

    /// Lets time pass, with every tick that the relay asks for.
    fn pass(&mut self, ms: u64) {
        let until = self.now.mono.plus(ms);
        loop {
            let deadline = self.relay.deadline().filter(|at| *at <= until);
            let at = deadline.unwrap_or(until).max(self.now.mono);
            let step = at.since(self.now.mono);
            self.now = Now { wall: self.now.wall.plus(step), mono: at };
            if deadline.is_none() {
                return;
            }
            self.turn(vec![In::Tick]);
        }
    }

    fn open(&mut self) -> ConnId {
        self.open_from("192.0.2.1")
    }

    fn open_from(&mut self, address: &str) -> ConnId {
        self.conns += 1;
        let conn = ConnId(self.conns);
        let nonce = Nonce32::from_bytes(&random::bytes(&mut self.rng));
        self.preparers.insert(conn, (Preparer::new(RELAY, nonce), nonce));
        self.turn(vec![In::Opened { conn, address: address.parse::<IpAddr>().unwrap(), nonce }]);
        conn
    }

    /// A text, as the connection's task would hand it in.
    fn input(&mut self, conn: ConnId, text: &str) -> In {
        let (preparer, _) = self.preparers.get_mut(&conn).unwrap();
        let frame = preparer.prepare(text.as_bytes());
        In::Frame { conn, bytes: text.len(), frame }
    }

    fn say(&mut self, conn: ConnId, frame: &Value) {
        self.say_all(&[(conn, frame.clone())]);
    }

    /// Several frames in one turn.
    fn say_all(&mut self, frames: &[(ConnId, Value)]) {
        let inputs =
            frames.iter().map(|(conn, frame)| self.input(*conn, &frame.to_string())).collect();
        self.turn(inputs);
    }

    fn ask(&mut self, conn: ConnId, frame: &Value) -> Vec<Value> {
        self.look(conn);
        self.say(conn, frame);
        self.frames(conn)
    }

    /// Everything since the last look.
    fn look(&mut self, conn: ConnId) -> Vec<Seen> {
        self.seen.remove(&conn).unwrap_or_default()
    }

    /// The frames since the last look; the connection is still open.
    fn frames(&mut self, conn: ConnId) -> Vec<Value> {
        self.look(conn)
            .into_iter()
            .map(|seen| match seen {
                Seen::Frame(frame) => frame,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn hello(&mut self, conn: ConnId, peer: &Peer, team: &Hash) -> Value {
        let (_, nonce) = self.preparers[&conn];
        let challenge = Challenge { relay: RELAY.to_owned(), nonce };
        let hello = RosterHello::sign(&challenge, team, self.now.wall, peer.key()).unwrap();
        named("hello", json!(hello))
    }

    /// Connects a machine, and returns after its welcome.
    fn connect(&mut self, peer: &Peer, team: &Hash) -> ConnId {
        let conn = self.open();
        let hello = self.hello(conn, peer, team);
        self.say(conn, &hello);
        let kinds: Vec<_> = self.look(conn);
        assert!(
            kinds.iter().any(|seen| matches!(seen, Seen::Frame(f) if f["t"] == "welcome")),
            "{kinds:?}"
        );
        conn
    }

    /// Connects; what came after the welcome is left to be looked at.
    fn connect_and_keep(&mut self, peer: &Peer, team: &Hash) -> ConnId {
        let conn = self.open();
        let hello = self.hello(conn, peer, team);
        self.look(conn);
        self.say(conn, &hello);
        let seen = self.seen.get_mut(&conn).unwrap();
        assert!(matches!(&seen[0], Seen::Frame(f) if f["t"] == "welcome"), "{seen:?}");
        seen.remove(0);
        conn
    }

    fn append(&mut self, conn: ConnId, req: &str, entry: &Value) -> Vec<Value> {
        self.ask(conn, &json!({"t": "roster.append", "req": req, "entry": entry}))
    }

    /// Alice founds a team; Bob and Carol are added.
    fn team(&mut self) -> Team {
        let (alice, bob, carol) = (alice(), bob(), carol());
        let name: TeamName = "demo".parse().unwrap();
        let genesis = sign_genesis(&name, &alice.member, self.now.wall, alice.key()).unwrap();
        let mut roster = Roster::from_entries([&genesis]).unwrap();
        let id = *roster.team_id().unwrap();
        let conn = self.open();
        let replies = self.append(conn, "g", &genesis);
        assert_eq!(replies[0]["t"], "roster.ok", "{replies:?}");
        let hello = self.hello(conn, &alice, &id);
        self.say(conn, &hello);
        for peer in [&bob, &carol] {
            let op = Op::MemberAdd { member: peer.member.clone() };
            let entry = roster.sign_next(&op, self.now.wall, alice.key()).unwrap();
            roster.apply(&entry, None).unwrap();
            let replies = self.append(conn, "a", &entry);
            assert_eq!(replies[0]["t"], "roster.ok", "{replies:?}");
        }
        self.turn(vec![In::Closed { conn }]);
        Team { id, roster, alice, bob, carol }
    }

    fn ulid(&mut self) -> Ulid {
        random::ulid(self.now.wall, &mut self.rng)
    }

    /// A sealed envelope, signed. The body is not for the relay to open.
    fn mail(&mut self, team: &Team, from: &Peer, to: &Peer) -> Value {
        let id = self.ulid();
        self.mail_with(team, from, to, |env| env["id"] = json!(id))
    }

    fn mail_with(
        &mut self,
        team: &Team,
        from: &Peer,
        to: &Peer,
        change: impl FnOnce(&mut Value),
    ) -> Value {
        let class = if from.member.person == to.member.person { "self" } else { "contact" };
        let head = team.roster.head().unwrap();
        let mut env = json!({
            "v": "messaging/1", "id": self.ulid(), "type": "message", "realm": team.id,
            "from": end(from), "to": end(to), "ts": self.now.wall, "exp": self.now.wall.plus(TTL_MS),
            "class": class, "anchor": {"kind": "roster", "seq": head.seq, "hash": head.hash},
            "enc": "x25519-aes256gcm", "epk": from.member.enc, "nonce": "AAAAAAAAAAAAAAAA",
            "body": "AAAA",
        });
        change(&mut env);
        sign(&mut env, from.key());
        env
    }

    fn presence(&mut self, team: &Team, from: &Peer, seq: u64) -> Value {
        self.presence_with(team, from, seq, |_| {})
    }

    fn presence_with(
        &mut self,
        team: &Team,
        from: &Peer,
        seq: u64,
        change: impl FnOnce(&mut Value),
    ) -> Value {
        let head = team.roster.head().unwrap();
        let mut env = json!({
            "v": "messaging/1", "id": self.ulid(), "type": "presence", "realm": team.id,
            "from": {"person": from.member.person, "device": from.machine()}, "to": {"team": true},
            "ts": self.now.wall, "exp": self.now.wall.plus(TTL_MS),
            "anchor": {"kind": "roster", "seq": head.seq, "hash": head.hash}, "enc": "none",
            "body": {"seq": seq, "label": from.member.label, "sessions": [], "features": []},
        });
        change(&mut env);
        sign(&mut env, from.key());
        env
    }

    fn count(&self, sql: &str) -> i64 {
        self.relay.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
    }

    fn queued(&self) -> i64 {
        self.count("SELECT COUNT(*) FROM queue")
    }
}

impl Team {
    /// An entry that the members take in, too.
    fn entry(&mut self, op: &Op, now: Now, by: &Peer) -> Value {
        let entry = self.roster.sign_next(op, now.wall, by.key()).unwrap();
        self.roster.apply(&entry, None).unwrap();
        entry
    }

    /// An open invite for `person`: its entry, and its secret.
    fn invite(&mut self, rig: &mut Rig, person: &str) -> (Value, Ulid, SigningKey) {
        let secret = SigningKey::from_seed(&random::bytes(&mut rig.rng));
        let invite_id = rig.ulid();
        let op = Op::InviteCreate {
            invite_id,
            invite_pub: *secret.machine(),
            person: person.parse().unwrap(),
            expires: rig.now.wall.plus(3_600_000),
        };
        let alice = self.alice.clone();
        (self.entry(&op, rig.now, &alice), invite_id, secret)
    }

    /// The entry with which `joiner` redeems an invite.
    fn redeem(&mut self, now: Now, id: Ulid, secret: &SigningKey, joiner: &Peer) -> Value {
        let member = json!(joiner.member);
        let proof = invite::redeem_proof(secret, &self.id, &id, &member).unwrap();
        let op = Op::InviteRedeem { invite_id: id, proof, member: joiner.member.clone() };
        self.entry(&op, now, joiner)
    }
}

fn sign(env: &mut Value, key: &SigningKey) {
    env.as_object_mut().unwrap().remove("sig");
    env["sig"] = json!(key.sign_value(Domain::Envelope, env).unwrap());
}

fn end(peer: &Peer) -> Value {
    json!({"person": peer.member.person, "device": peer.machine(), "agent": "api"})
}

fn named(t: &str, mut frame: Value) -> Value {
    frame["t"] = json!(t);
    frame
}

fn send(env: &Value) -> Value {
    json!({"t": "send", "env": env})
}

fn ack_of(env: &Value) -> Value {
    json!({"t": "recv.ack", "id": env["id"], "from": env["from"]["device"]})
}

fn acked(env: &Value) -> Value {
    json!({"t": "ack", "id": env["id"], "stage": "relayed"})
}

fn delivered(env: &Value) -> Value {
    json!({"t": "deliver", "env": env})
}

#[track_caller]
fn nacked(frames: &[Value], id: &Value, code: &str) {
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(frames[0]["t"], "nack", "{frames:?}");
    assert_eq!(frames[0]["id"], *id, "{frames:?}");
    assert_eq!(frames[0]["code"], code, "{frames:?}");
}

#[track_caller]
fn errored(frames: &[Value], code: &str) {
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(frames[0]["t"], "error", "{frames:?}");
    assert_eq!(frames[0]["code"], code, "{frames:?}");
}

/// Said why, and closed.
#[track_caller]
fn closed(seen: &[Seen], error: &str, code: u16) {
    match seen {
        [Seen::Frame(frame), Seen::Closed(number)] => {
            assert_eq!(frame["t"], "error", "{seen:?}");
            assert_eq!(frame["code"], error, "{seen:?}");
            assert_eq!(*number, code, "{seen:?}");
        }
        _ => panic!("{seen:?}"),
    }
}
