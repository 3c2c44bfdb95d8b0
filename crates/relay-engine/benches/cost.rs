//! What a message costs the relay's brain, in CPU time, beside a bare signature check: from its text to its delivery and its
//! recipient's ack, over a store in a file.
//! Spec: §7 "Group commit"
//!
//! `prepare` is what connection tasks do, on every core; the rest is the owner's thread. CPU time, not wall time: it says the
//! same on a busy machine. Sockets are not in it.
#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up should stop")]

use std::io::Write as _;
use std::net::IpAddr;

use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, Nonce32};
use messaging_core::keys::{Identity, PublicKey};
use messaging_core::relay_auth::{Challenge, RosterHello};
use messaging_core::roster::{Member, Op, Role, Roster, RosterHead, sign_genesis};
use messaging_core::testing::SeededRandom;
use messaging_core::time::{Mono, Ms, Now};
use messaging_core::{b64, jcs, random};
use messaging_relay_engine::{
    Config, ConnId, GenesisPolicy, In, Out, Preparer, RelayEngine, TEAM_RELAY, first_records,
};
use messaging_store::{Loop, Store};
use serde_json::{Value, json};

const RELAY: &str = "ws://127.0.0.1:8080";
const START: Now = Now { wall: Ms(1_800_000_000_000), mono: Mono(0) };
/// The sealed body of a text of 1 KiB.
const BODY: usize = 1_060;
/// What follows a `hello` to a backlog: the welcome, a window of deliveries, and word to the other machine.
const FIRST: usize = 66;
/// Messages in each row of the table.
const MESSAGES: usize = 12_800;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "machines  in a turn   check  prepare     send      ack   all / check").unwrap();
    for (machines, turn) in [(16, 1), (16, 16), (16, 64), (16, 256), (200, 64), (200, 256)] {
        let path = folder.path().join(format!("{machines}-{turn}.db"));
        let store = Store::open(&path, &TEAM_RELAY, &first_records(RELAY)).unwrap();
        let cost = Relay::new(store, machines).run(turn, MESSAGES.min(turn * 400));
        let Cost { check, prepare, send, ack } = cost;
        let all = (prepare + send + ack) / check;
        writeln!(
            out,
            "{machines:8} {turn:10} {check:7.1} {prepare:8.1} {send:8.1} {ack:8.1} {all:13.2}"
        )
        .unwrap();
    }
    let store = Store::open(&folder.path().join("backlog.db"), &TEAM_RELAY, &first_records(RELAY));
    let drained = Relay::new(store.unwrap(), 2).backlog(10_000);
    writeln!(out, "µs of CPU a message; one of a backlog of 10,000: {drained:.1}").unwrap();
}

/// µs of CPU for each message.
#[derive(Default)]
struct Cost {
    check: f64,
    prepare: f64,
    send: f64,
    ack: f64,
}

struct Machine {
    keys: Identity,
    member: Member,
    conn: ConnId,
    preparer: Preparer,
}

struct Relay {
    turns: Loop<RelayEngine>,
    rng: SeededRandom,
    realm: Hash,
    head: RosterHead,
    machines: Vec<Machine>,
    sent: u64,
}

impl Relay {
    /// A team of `n` machines, all connected.
    fn new(store: Store, n: usize) -> Self {
        let mut config = Config::new(RELAY);
        config.genesis = GenesisPolicy::Any;
        config.limits.frames_per_minute = 1 << 40;
        config.limits.bytes_per_minute = 1 << 50;
        config.limits.queue_per_sender = 1 << 40;
        let engine = RelayEngine::load(config, store.view(), START).unwrap();
        let mut turns = Loop::new(store, engine, SeededRandom::new(1));
        let mut rng = SeededRandom::new(2);
        let mut machines: Vec<Machine> = (0..n).map(|at| machine(at, &mut rng)).collect();
        let (founder, name) = (&machines[0], "bench".parse().unwrap());
        let key = &founder.keys.signing;
        let mut entries = vec![sign_genesis(&name, &founder.member, START.wall, key).unwrap()];
        let mut roster = Roster::from_entries(&entries).unwrap();
        for machine in &machines[1..] {
            let op = Op::MemberAdd { member: machine.member.clone() };
            let entry = roster.sign_next(&op, START.wall, key).unwrap();
            roster.apply(&entry, None).unwrap();
            entries.push(entry);
        }
        let realm = *roster.team_id().unwrap();
        for (at, machine) in machines.iter_mut().enumerate() {
            let say = |turns: &mut Loop<RelayEngine>, machine: &mut Machine, frame: Value| {
                let input = machine.input(&frame.to_string());
                drop(turns.turn(START, [input]));
            };
            let nonce = machine.open(&mut turns, &mut rng);
            if at == 0 {
                say(&mut turns, machine, append(&entries[0]));
            }
            let hello = machine.hello(&realm, nonce);
            say(&mut turns, machine, hello);
            if at == 0 {
                for entry in &entries[1..] {
                    say(&mut turns, machine, append(entry));
                }
            }
        }
        Self { turns, rng, realm, head: roster.head().unwrap(), machines, sent: 0 }
    }

    /// A `send` of one machine to the next, and the ack of its recipient.
    fn message(&mut self) -> (usize, usize, String, String) {
        let from = usize::try_from(self.sent).unwrap() % self.machines.len();
        let to = (from + 1) % self.machines.len();
        self.sent += 1;
        let at = START.wall.plus(self.sent / 100);
        let RosterHead { seq, hash } = self.head;
        let end = |machine: &Machine| {
            let Member { person, machine, .. } = &machine.member;
            json!({"person": person, "device": machine, "agent": "api"})
        };
        let (sender, recipient) = (&self.machines[from], &self.machines[to]);
        let mut env = json!({
            "v": "messaging/1", "id": random::ulid(at, &mut self.rng), "type": "message",
            "realm": self.realm, "from": end(sender), "to": end(recipient), "ts": START.wall,
            "exp": START.wall.plus(604_800_000), "class": "contact",
            "anchor": {"kind": "roster", "seq": seq, "hash": hash}, "enc": "x25519-aes256gcm",
            "epk": sender.member.enc, "nonce": "AAAAAAAAAAAAAAAA",
            "body": b64::encode(&random::bytes::<BODY>(&mut self.rng)),
        });
        env["sig"] = json!(sender.keys.signing.sign_value(Domain::Envelope, &env).unwrap());
        let ack = json!({"t": "recv.ack", "id": env["id"], "from": env["from"]["device"]});
        (from, to, json!({"t": "send", "env": env}).to_string(), ack.to_string())
    }

    /// Sends, delivers and acks `messages`, so many in a turn.
    fn run(mut self, in_a_turn: usize, messages: usize) -> Cost {
        let mut cost = Cost::default();
        for _ in 0..messages / in_a_turn {
            let batch: Vec<_> = (0..in_a_turn).map(|_| self.message()).collect();
            cost.check += cpu(|| self.check(&batch[0].2, in_a_turn)).1;
            let ((sends, acks), spent) = cpu(|| {
                let prepared = batch.iter().map(|(from, to, send, ack)| {
                    (self.machines[*from].input(send), self.machines[*to].input(ack))
                });
                prepared.unzip::<_, _, Vec<In>, Vec<In>>()
            });
            cost.prepare += spent;
            cost.send += self.turn(sends, 2 * in_a_turn);
            cost.ack += self.turn(acks, 0);
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of messages")]
        let n = messages as f64;
        let Cost { check, prepare, send, ack } = cost;
        Cost { check: check / n, prepare: prepare / n, send: send / n, ack: ack / n }
    }

    /// The second machine comes back to `n` envelopes. µs of CPU for each to be delivered and acked.
    fn backlog(mut self, n: u32) -> f64 {
        drop(self.turns.turn(START, [In::Closed { conn: self.machines[1].conn }]));
        let mut acks = Vec::new();
        while acks.len() < n as usize {
            let (from, _, send, ack) = self.message();
            if from == 0 {
                let input = self.machines[0].input(&send);
                drop(self.turns.turn(START, [input]));
                acks.push(ack);
            }
        }
        self.machines[1].conn = ConnId(9_999);
        let nonce = self.machines[1].open(&mut self.turns, &mut self.rng);
        let hello = self.machines[1].hello(&self.realm, nonce).to_string();
        let mut inputs = vec![self.machines[1].input(&hello)];
        let mut acks = acks.into_iter();
        let mut spent = 0.0;
        while !inputs.is_empty() {
            let frames = inputs.len();
            spent +=
                self.turn(std::mem::take(&mut inputs), if frames == 1 { FIRST } else { frames });
            inputs.extend(acks.by_ref().take(32).map(|ack| self.machines[1].input(&ack)));
            if acks.len() < 64 {
                break;
            }
        }
        spent / f64::from(n)
    }

    /// Checks the signature of one frame's envelope, so many times.
    fn check(&self, frame: &str, times: usize) {
        let frame: Value = serde_json::from_str(frame).unwrap();
        let env = &frame["env"];
        let text = jcs::canonical_without(env, "sig").unwrap();
        let sig = env["sig"].as_str().unwrap().parse().unwrap();
        let key = env["from"]["device"].as_str().unwrap().parse().unwrap();
        let key = PublicKey::of(&key).unwrap();
        for _ in 0..times {
            assert!(key.verify(Domain::Envelope, &text, &sig));
        }
    }

    /// Takes one turn, after which every socket has drained; µs of CPU.
    fn turn(&mut self, inputs: Vec<In>, expected: usize) -> f64 {
        let (released, mut spent) = cpu(|| self.turns.turn(START, inputs));
        let mut sent = 0;
        let mut drained = Vec::new();
        for out in released {
            if let Out::Send { conn, text } = out {
                sent += 1;
                drained.push(In::Drained { conn, bytes: text.len() });
            }
        }
        assert!(sent == expected, "{sent} frames instead of {expected}");
        drained.truncate(256);
        spent += cpu(|| drop(self.turns.turn(START, drained))).1;
        spent
    }
}

impl Machine {
    fn open(&mut self, turns: &mut Loop<RelayEngine>, rng: &mut SeededRandom) -> Nonce32 {
        let nonce = Nonce32::from_bytes(&random::bytes(rng));
        self.preparer = Preparer::new(RELAY, nonce);
        let address: IpAddr = [192, 0, 2, 1].into();
        drop(turns.turn(START, [In::Opened { conn: self.conn, address, nonce }]));
        nonce
    }

    fn hello(&self, realm: &Hash, nonce: Nonce32) -> Value {
        let challenge = Challenge { relay: RELAY.to_owned(), nonce };
        let hello = RosterHello::sign(&challenge, realm, START.wall, &self.keys.signing);
        let mut frame = json!(hello.unwrap());
        frame["t"] = json!("hello");
        frame
    }

    fn input(&mut self, text: &str) -> In {
        let frame = self.preparer.prepare(text.as_bytes());
        In::Frame { conn: self.conn, bytes: text.len(), frame }
    }
}

fn machine(at: usize, rng: &mut SeededRandom) -> Machine {
    let keys = Identity::generate(rng);
    let member = Member {
        machine: *keys.machine(),
        enc: *keys.enc.public(),
        person: format!("p{at}").parse().unwrap(),
        role: if at == 0 { Role::Admin } else { Role::Member },
        label: "desk".parse().unwrap(),
    };
    let preparer = Preparer::new(RELAY, Nonce32::from_bytes(&[0; 32]));
    Machine { keys, member, conn: ConnId(at as u64), preparer }
}

fn append(entry: &Value) -> Value {
    json!({"t": "roster.append", "req": "a", "entry": entry})
}

/// What `work` gives, and its CPU time on this thread, µs.
fn cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    #[expect(clippy::cast_precision_loss, reason = "ns of a bench fit")]
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let before = now();
    let result = work();
    (result, now() - before)
}
