//! What reading and finding costs a daemon that holds 200,000 lines, beside one that holds none: CPU time of one call, over a
//! store in a file.
//! Spec: §8.2 "Chats"
//!
//! CPU time, not wall time: it says the same on a busy machine. Sockets are not in it.
#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up should stop")]

use std::io::Write as _;
use std::path::Path;

use messaging_core::ids::{Label, RosterPerson};
use messaging_core::roster::{Member, Role, Roster, sign_genesis};
use messaging_core::testing::SeededRandom;
use messaging_core::time::{Mono, Ms, Now};
use messaging_core::{jcs, random};
use messaging_daemon_engine::config::Config;
use messaging_daemon_engine::identity::IdentityFile;
use messaging_daemon_engine::{Boot, ConnId, DaemonEngine, In, LAYOUT, Out, Tier};
use messaging_ipc::request::{Request, RequestId};
use messaging_store::{Loop, Store};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

const START: Now = Now { wall: Ms(1_800_000_000_000), mono: Mono(0) };
const CONN: ConnId = ConnId(1);
const LINES: u64 = 200_000;
/// Rooms, each with one person.
const ROOMS: u64 = 40;
/// How often each call is made.
const CALLS: usize = 101;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut none = daemon(&folder.path().join("none.db"), 0);
    let mut full = daemon(&folder.path().join("full.db"), LINES);
    let mut out = std::io::stdout();
    writeln!(out, "ms of CPU a call, median       no lines  {LINES} lines").unwrap();
    for (what, method, params) in calls() {
        let (empty, lines) = (cost(&mut none, method, &params), cost(&mut full, method, &params));
        writeln!(out, "{what:30} {empty:8.2} {lines:13.2}").unwrap();
    }
}

/// The calls, with what each shows.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let find = |query: &str| json!({"query": query});
    let within = |query: &str| json!({"query": query, "conversation": "dm:alice"});
    vec![
        ("conv.read, the latest", "conv.read", json!({"conversation": "dm:alice"})),
        (
            "conv.read, in the middle",
            "conv.read",
            json!({"conversation": "dm:alice", "before": 100_000}),
        ),
        ("conv.list", "conv.list", json!({})),
        ("notice.list, with counts", "notice.list", json!({})),
        ("search, a common word", "search", find("deployment")),
        ("search, a rare word", "search", find("zyzzyva")),
        ("search, two words", "search", find("deployment zyzzyva")),
        ("search, nothing found", "search", find("quetzalcoatl")),
        ("search, a piece of a word", "search", find("zzyv")),
        ("search, two letters", "search", find("qx")),
        ("search, in one room", "search", within("zyzzyva")),
        ("contacts.list", "contacts.list", json!({})),
    ]
}

/// The median of a call's CPU time, ms.
fn cost(daemon: &mut Loop<DaemonEngine>, method: &str, params: &Value) -> f64 {
    let mut times: Vec<f64> = (0..CALLS)
        .map(|_| {
            let request = Request {
                id: RequestId::Text("c".to_owned()),
                method: method.to_owned(),
                params: Some(params.clone()),
                grant: None,
            };
            let before = cpu();
            let out: Vec<Out> =
                daemon.turn(START, [In::IpcRequest { conn: CONN, request }]).into_iter().collect();
            let ms = cpu() - before;
            let answered = |out: &Out| match out {
                Out::IpcSend { line, answers: true, .. } => {
                    !String::from_utf8_lossy(line).contains("\"error\"")
                }
                _ => false,
            };
            assert!(out.iter().any(answered), "{method}: an error");
            ms
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(CALLS / 2).copied().unwrap()
}

/// Milliseconds of CPU that this thread has used.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss, reason = "a bench runs for minutes, not for years")]
    let ms = time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6;
    ms
}

/// A daemon of a team of one, with so many lines.
fn daemon(path: &Path, lines: u64) -> Loop<DaemonEngine> {
    let mut rng = SeededRandom::new(7);
    let keys = IdentityFile::generate(&mut rng);
    let me = Member {
        machine: *keys.machine(),
        enc: *keys.identity.enc.public(),
        person: RosterPerson::parse("alice").unwrap(),
        role: Role::Admin,
        label: Label::parse("laptop").unwrap(),
    };
    let signing = &keys.identity.signing;
    let genesis = sign_genesis(&"demo".parse().unwrap(), &me, START.wall, signing).unwrap();
    let roster = Roster::from_entries([&genesis]).unwrap();
    drop(Store::open(path, &LAYOUT, &[]).unwrap());
    let mut conn = Connection::open(path).unwrap();
    let fill = conn.transaction().unwrap();
    for entry in roster.entries() {
        let row = params![0, entry.hash().as_str(), entry.canonical().as_str()];
        fill.execute("INSERT INTO roster (seq, hash, entry) VALUES (?1, ?2, ?3)", row).unwrap();
    }
    let config =
        json!({"relay": "ws://127.0.0.1:8080/v1/connect", "person": "alice", "label": "laptop"});
    for (key, value) in [
        ("realm.id", roster.team_id().unwrap().as_str().to_owned()),
        ("identity.machine", me.machine.as_str().to_owned()),
        ("identity.config", jcs::to_value(&config).unwrap().to_string()),
        ("chat.seq", lines.to_string()),
    ] {
        fill.execute("INSERT INTO kv (key, value) VALUES (?1, ?2)", params![key, value]).unwrap();
    }
    write_lines(&fill, lines, &mut rng);
    fill.execute("INSERT INTO lines_found (lines_found) VALUES ('rebuild')", ()).unwrap();
    fill.commit().unwrap();
    drop(conn);
    let boot = Boot {
        config: Config::default(),
        unknown_keys: Vec::new(),
        identity: Some(keys),
        pairing: None,
        pid: 1,
        version: "0.0.0",
    };
    let store = Store::open(path, &LAYOUT, &[]).unwrap();
    let (mut daemon, _) = DaemonEngine::start(store, boot, START, SeededRandom::new(1)).unwrap();
    let _ = daemon.turn(START, [In::IpcOpened { conn: CONN, tier: Tier::Admin }]);
    daemon
}

/// Lines of a dozen words each, in rooms that take turns.
fn write_lines(fill: &Connection, lines: u64, rng: &mut SeededRandom) {
    let mut insert = fill
        .prepare(
            "INSERT INTO lines (seq, id, change_seq, room_kind, room_id, person, device, direction, text, fold, bytes, at,
               filed_at)
             VALUES (?1, ?2, ?1, 'dm', ?3, ?4, ?5, 'in', ?6, ?6 || char(10, 10), ?7, ?8, ?8)",
        )
        .unwrap();
    let device = messaging_core::ids::MachineId::from_bytes(&[7; 32]);
    for seq in 1..=lines {
        let room = match seq % ROOMS {
            0 => "alice".to_owned(),
            n => format!("p{n}"),
        };
        let words: Vec<String> = (0..12).map(|_| word(rng)).collect();
        let mut text = words.join(" ");
        if seq % 20_000 == 0 {
            text.push_str(" zyzzyva");
        }
        let bytes = i64::try_from(text.len()).unwrap();
        let id = random::ulid(START.wall, rng);
        let row = params![
            i64::try_from(seq).unwrap(),
            id.as_str(),
            room,
            room,
            device.as_str(),
            text,
            bytes,
            START.wall.as_i64()
        ];
        insert.execute(row).unwrap();
    }
}

/// One of a few thousand words, some of them often.
fn word(rng: &mut SeededRandom) -> String {
    const OFTEN: [&str; 8] =
        ["deployment", "failed", "again", "the", "staging", "please", "review", "tomorrow"];
    const PIECES: [&str; 16] = [
        "ba", "co", "di", "fu", "ga", "he", "ji", "ko", "lu", "ma", "ne", "po", "ri", "su", "ta",
        "vo",
    ];
    let pick = random::below(rng, 4);
    let at =
        |list: &[&'static str], n: u64| list.get(usize::try_from(n).unwrap()).copied().unwrap();
    if pick == 0 {
        return at(&OFTEN, random::below(rng, 8)).to_owned();
    }
    (0..3).map(|_| at(&PIECES, random::below(rng, 16))).collect()
}
