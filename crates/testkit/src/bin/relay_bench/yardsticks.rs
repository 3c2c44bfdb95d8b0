//! What this machine can do at all, measured bare.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use messaging_core::domain::Domain;
use messaging_core::jcs;
use messaging_core::keys::{PublicKey, SigningKey};
use messaging_core::testing::SeededRandom;
use messaging_core::time::{Mono, Now};
use messaging_store::{
    Batch, Effects, Layout, Loop, Machine, SchemaAt, Settled, Store, StoreError, Turn, params,
};
use serde_json::json;

use crate::cpu;

/// The yardsticks of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yardsticks {
    /// V: strict Ed25519 checks a second, of a text as long as an envelope with 1 KiB of body.
    pub(crate) verify: f64,
    /// The same a second of CPU: what it would be with a core of its own. The relay's CPU is held against this one.
    pub(crate) verify_cpu: f64,
    /// Median time to overwrite 4 KiB and sync.
    pub(crate) probe: Duration,
    /// Commits a second of one 1.5 KiB row, in a store opened as the relay opens its own.
    pub(crate) commit: f64,
}

impl Yardsticks {
    /// The middle of two moments.
    pub(crate) fn between(&self, other: &Self) -> Self {
        Self {
            verify: f64::midpoint(self.verify, other.verify),
            verify_cpu: f64::midpoint(self.verify_cpu, other.verify_cpu),
            probe: (self.probe + other.probe) / 2,
            commit: f64::midpoint(self.commit, other.commit),
        }
    }
}

/// Takes all three. The folder must be on the disk that the relay's store will be on.
pub(crate) fn measure(folder: &Path) -> Result<Yardsticks, String> {
    let folder = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let (verify, verify_cpu) = verify()?;
    Ok(Yardsticks {
        verify,
        verify_cpu,
        probe: probe(&folder.path().join("probe")).map_err(|error| error.to_string())?,
        commit: commit(&folder.path().join("bare.db"))?,
    })
}

fn verify() -> Result<(f64, f64), String> {
    const TEXT: usize = 1_900;
    const TIMES: u32 = 3_000;
    let key = SigningKey::from_seed(&[7; 32]);
    let text = jcs::canonical(&json!("x".repeat(TEXT))).map_err(|error| error.to_string())?;
    let sig = key.sign(Domain::Envelope, &text);
    let public = PublicKey::of(key.machine()).ok_or("the bench's own key is not usable")?;
    let (start, cpu) = (Instant::now(), cpu::of_this_thread());
    for _ in 0..TIMES {
        if !std::hint::black_box(&public).verify(Domain::Envelope, &text, &sig) {
            return Err("a good signature did not verify".to_owned());
        }
    }
    let (wall, cpu) = (start.elapsed(), cpu::of_this_thread().saturating_sub(cpu));
    // Where the system does not tell, the wall clock must do.
    let cpu = if cpu.is_zero() { wall } else { cpu };
    Ok((f64::from(TIMES) / wall.as_secs_f64(), f64::from(TIMES) / cpu.as_secs_f64()))
}

fn probe(path: &Path) -> std::io::Result<Duration> {
    const TIMES: usize = 101;
    let mut file = File::create(path)?;
    let page = [7_u8; 4096];
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let start = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&page)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(TIMES / 2).copied().unwrap_or_default())
}

fn commit(path: &Path) -> Result<f64, String> {
    const TIMES: u32 = 1_000;
    let store = Store::open(path, &BARE, &[]).map_err(|error| error.to_string())?;
    let mut rows = Loop::new(store, Rows, SeededRandom::new(1));
    let row = "x".repeat(1_536);
    let now = Now { mono: Mono(1), ..Now::default() };
    let start = Instant::now();
    for _ in 0..TIMES {
        let _ = rows.turn(now, [row.clone()]);
    }
    let rate = f64::from(TIMES) / start.elapsed().as_secs_f64();
    let held = rows.view().row("SELECT count(*) FROM rows", (), |row| row.get::<_, u32>(0));
    if held == Ok(Some(TIMES)) { Ok(rate) } else { Err("the bare store lost rows".to_owned()) }
}

/// The least machine: each input is one row.
struct Rows;

impl Machine for Rows {
    type In = String;
    type Out = ();
    type Ticket = ();

    fn batch(_: &String) -> Batch {
        Batch::Shared
    }
    fn ticket(&self, _: &String) {}
    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        row: String,
        _: &mut Effects<()>,
    ) -> Result<(), StoreError> {
        turn.tx.execute("INSERT INTO rows(text) VALUES (?1)", params![row])?;
        Ok(())
    }
    fn refused(&mut self, (): (), _: StoreError, _: Now, _: &mut Effects<()>) {}
    fn settle(&mut self, _: &mut Settled<'_>, _: &mut Effects<()>) {}
    fn deadline(&self) -> Option<Mono> {
        None
    }
}

const BARE: Layout = Layout {
    records: "meta",
    schema_at: SchemaAt::UserVersion,
    generation: 1,
    schema: 1,
    min_reader: 1,
    marks: &[],
    baseline: "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE rows(pos INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL);",
    growth: &[],
    ignored: &[],
};
