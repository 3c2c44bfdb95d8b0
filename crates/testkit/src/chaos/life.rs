//! One machine, killed in the middle of what happens once in its life: it always opens again, and is whole.
//! Spec: §4 "Encryption-key rotation", §8.2 "Admitting a machine", "Backups", §8.8, D3.3, D3.21, D3.22, D3.24
//!
//! Each round begins one act, kills at a random moment, looks at the store as it lies there, starts again, and brings the act
//! to its end. A mail to the machine and one from it show that it is who it was.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use messaging_daemon_engine::LAYOUT;
use messaging_store::Store;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::dice::Dice;
use crate::programs::{Daemon, Ipc, PATIENCE, Problem, Process, Relay, until};

/// What is under way when the machine is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Its encryption key is replaced.
    Rotation,
    /// It claims the place that an admin gave to its keys.
    Claim,
    /// It joins by an invite.
    Join,
    /// Its home is copied.
    Snapshot,
    /// Old rows are deleted.
    Sweep,
    /// Another release of the daemon takes over.
    Upgrade,
}

impl Act {
    /// Each of them.
    pub const ALL: [Self; 6] =
        [Self::Rotation, Self::Claim, Self::Join, Self::Snapshot, Self::Sweep, Self::Upgrade];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Claim => "claim",
            Self::Join => "join",
            Self::Snapshot => "snapshot",
            Self::Sweep => "sweep",
            Self::Upgrade => "upgrade",
        }
    }

    /// The latest moment of a kill, µs after the act began: about as long as it takes.
    const fn span_us(self) -> u64 {
        match self {
            Self::Rotation | Self::Join => 60_000,
            Self::Claim => 40_000,
            Self::Snapshot => 120_000,
            Self::Sweep => 400_000,
            Self::Upgrade => 500_000,
        }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The executable that can be all programs.
    pub executable: PathBuf,
    /// An empty folder with a short path.
    pub folder: PathBuf,
    /// Kills in each act.
    pub rounds: u32,
    /// When, and which act how far.
    pub seed: u64,
}

/// What the rounds of one act came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The act.
    pub act: Act,
    /// How often it was killed.
    pub kills: u32,
    /// How often the act had its effect before the kill, or in spite of it.
    pub done: u32,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_secs_f64();
        let Self { act, kills, done, .. } = self;
        write!(
            f,
            "{}: {kills} kills, the act done or going on by itself after {done}, {took:.1} s",
            act.name()
        )
    }
}

/// Runs every round of one act.
///
/// Errors: a home that did not open or was not whole, in words; something that could not be started.
pub fn run(plan: &Plan, act: Act) -> Result<Report, Problem> {
    let began = Instant::now();
    let mut dice = Dice::stream(plan.seed, act as u64);
    let mut report = Report { act, kills: 0, done: 0, took: Duration::ZERO };
    let mut house = None;
    for round in 0..plan.rounds {
        // A machine keeps sixteen replaced keys, and no week passes here; nobody needs a team of hundreds either.
        if round % ROUNDS_A_HOUSE == 0 {
            drop(house.take());
        }
        let folder = plan.folder.join(format!("{}{}", act.name(), round / ROUNDS_A_HOUSE));
        let house = match &mut house {
            Some(house) => house,
            none => none.insert(House::found(&plan.executable, &folder)?),
        };
        let moment = Duration::from_micros(dice.below(act.span_us()));
        let done = house.round(act, round, moment).map_err(|problem| {
            format!(
                "{} round {round}, killed after {} us: {problem}",
                act.name(),
                moment.as_micros()
            )
        })?;
        report.kills += 1;
        report.done += u32::from(done);
    }
    report.took = began.elapsed();
    Ok(report)
}

/// A relay, an admin who lives on, and the machine that is killed.
struct House {
    executable: PathBuf,
    folder: PathBuf,
    relay: Relay,
    admin: Daemon,
    victim: Daemon,
    /// Mail that was sent to the machine so far, in this house.
    mails: u32,
}

impl House {
    fn found(executable: &Path, folder: &Path) -> Result<Self, Problem> {
        std::fs::create_dir(folder)?;
        let relay = Relay::start(executable, &folder.join("relay.db"), &[])?;
        let admin = Daemon::start(executable, &folder.join("a"))?;
        let victim = Daemon::start(executable, &folder.join("v"))?;
        let create =
            json!({"relay": relay.url(), "team": "life", "person": "alice", "label": "laptop"});
        call(&admin, "team.create", &create)?;
        let ticket = call(&admin, "team.invite", &json!({"person": "bob"}))?["ticket"].clone();
        call(&victim, "team.join", &json!({"ticket": ticket, "label": "desk"}))?;
        let (executable, folder) = (executable.to_owned(), folder.to_owned());
        let house = Self { executable, folder, relay, admin, victim, mails: 0 };
        for (daemon, person) in [(&house.admin, "bob"), (&house.victim, "alice")] {
            let open = json!({"subject": {"person": person}, "ask": "open"});
            let mut ipc = daemon.ipc()?;
            until("the other person", PATIENCE, || {
                Ok(ipc.call("grant.set", &open)?.is_ok().then_some(()))
            })?;
        }
        Ok(house)
    }

    /// One round. Whether the act had its effect without being begun again.
    fn round(&mut self, act: Act, round: u32, moment: Duration) -> Result<bool, Problem> {
        match act {
            Act::Rotation => self.rotation(moment),
            Act::Claim => self.newcomer(round, moment, true),
            Act::Join => self.newcomer(round, moment, false),
            Act::Snapshot => self.snapshot(moment),
            Act::Sweep => self.sweep(moment),
            Act::Upgrade => self.upgrade(moment),
        }
    }

    fn rotation(&mut self, moment: Duration) -> Result<bool, Problem> {
        linked(&self.victim)?;
        let before = own_enc(&self.victim)?;
        self.victim.ipc()?.ask("identity.rotateEnc", &json!({}))?;
        kill_after(&mut self.victim, moment)?;
        self.victim.start_again()?;
        linked(&self.victim)?;
        // A key that was begun is published; one that was not on the disk never was.
        until("the new key, or none", PATIENCE, || {
            let held = std::fs::read_to_string(self.victim.home().join("identity.json"))?;
            Ok((!held.contains("pending")).then_some(()))
        })?;
        let done = own_enc(&self.victim)? != before;
        self.both_ways()?;
        Ok(done)
    }

    /// A machine that is new in this round gets its place, by a claim or by an invite.
    fn newcomer(&mut self, round: u32, moment: Duration, claims: bool) -> Result<bool, Problem> {
        let label = format!("m{round}");
        let mut daemon = Daemon::start(&self.executable, &self.folder.join(format!("n{round}")))?;
        let (method, params) = if claims {
            let team = call(&self.admin, "daemon.status", &json!({}))?["realm"]["id"].clone();
            let pair =
                json!({"relay": self.relay.url(), "team": team, "person": "bob", "label": label});
            let mut place = call(&daemon, "team.pair", &pair)?;
            if let Some(place) = place.as_object_mut() {
                place.remove("card");
            }
            call(&self.admin, "team.add", &place)?;
            ("team.claim", json!({}))
        } else {
            let ticket =
                call(&self.admin, "team.invite", &json!({"person": "bob"}))?["ticket"].clone();
            ("team.join", json!({"ticket": ticket, "label": label}))
        };
        daemon.ipc()?.ask(method, &params)?;
        kill_after(&mut daemon, moment)?;
        daemon.start_again()?;
        whole_alarms(&daemon)?;
        let mut began_again = false;
        until("a place in the team", PATIENCE, || {
            if call(&daemon, "daemon.status", &json!({}))?.get("identity").is_some() {
                return Ok(Some(()));
            }
            // What is under way refuses a second one, and ends by itself.
            began_again |= daemon.ipc()?.call(method, &params)?.is_ok();
            Ok(None)
        })?;
        linked(&daemon)?;
        let pairing = daemon.home().join("pairing.json");
        until("the end of the keys that waited", PATIENCE, || {
            Ok((!pairing.exists()).then_some(()))
        })?;
        let members = call(&self.admin, "team.list", &json!({}))?;
        let named = members["members"].as_array().into_iter().flatten();
        if named.filter(|member| member["label"] == label).count() != 1 {
            return Err("the team does not name the machine once".into());
        }
        daemon.stop()?;
        Ok(!began_again)
    }

    fn snapshot(&mut self, moment: Duration) -> Result<bool, Problem> {
        if self.mails == 0 {
            self.fill("INSERT INTO notices (id, category, text, at) SELECT 'x' || i, 'alert', hex(randomblob(2000)), 9000000000000", 8_000)?;
        }
        self.victim.ipc()?.ask("daemon.snapshot", &json!({}))?;
        kill_after(&mut self.victim, moment)?;
        let folder = self.victim.home().join("run/snapshot");
        let done = folder.exists();
        if done {
            whole_copy(&folder)?;
        }
        self.victim.start_again()?;
        if folder.exists() || folder.with_extension("new").exists() {
            return Err("a copy outlived its daemon".into());
        }
        call(&self.victim, "daemon.snapshot", &json!({}))?;
        whole_copy(&folder)?;
        call(&self.victim, "daemon.snapshot", &json!({"done": true}))?;
        self.both_ways()?;
        Ok(done)
    }

    fn sweep(&mut self, moment: Duration) -> Result<bool, Problem> {
        self.fill("INSERT INTO spent SELECT 'x' || i, 1", 20_000)?;
        kill_after(&mut self.victim, moment)?;
        let left = self.rows("SELECT count(*) FROM spent")?;
        self.victim.start_again()?;
        until("the end of the sweep", PATIENCE, || {
            Ok((self.rows("SELECT count(*) FROM spent")? == 0).then_some(()))
        })?;
        self.both_ways()?;
        Ok(left < 20_000)
    }

    fn upgrade(&mut self, moment: Duration) -> Result<bool, Problem> {
        self.victim.stop()?;
        self.victim.set_variables(&[("MESSAGING_TEST_RELEASE", "0.0.9".to_owned())]);
        self.victim.start_again()?;
        self.victim.set_variables(&[]);
        let home = self.victim.home().to_owned();
        let mut restart = self.restart()?;
        thread::sleep(moment);
        restart.kill()?;
        restart.wait()?;
        // Whichever daemon has the home now is killed too: it is the old one of this house, or the one that it started.
        let done = match Ipc::connect(&home)? {
            Some(mut ipc) => {
                let status = ipc.call("daemon.status", &json!({}))?;
                let is_new = status.is_ok_and(|status| status["version"] != "0.0.9");
                kill_locked(&home)?;
                is_new
            }
            None => {
                kill_locked(&home)?;
                false
            }
        };
        whole_store(&home)?;
        until("the home for itself", PATIENCE, || {
            // One that the command had only just begun to start may come in between; it is killed like the others.
            let started = self.victim.start_again().is_ok();
            let own = self.victim.process().map(|process| process.pid()).ok();
            if started && own.is_some() && own == locked(&home) {
                return Ok(Some(()));
            }
            kill_locked(&home)?;
            Ok(None)
        })?;
        self.both_ways()?;
        Ok(done)
    }

    /// `messaging daemon restart` on the machine's home.
    fn restart(&self) -> Result<Child, Problem> {
        let mut command = Process::command(&self.executable, "messaging");
        command.arg("--home").arg(self.victim.home()).args(["daemon", "restart"]);
        Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    /// Writes many rows into the machine's store while its daemon is down.
    fn fill(&mut self, insert: &str, rows: u32) -> Result<(), Problem> {
        self.victim.stop()?;
        let store = Store::open(&self.victim.home().join("messaging.db"), &LAYOUT, &[])
            .map_err(|error| error.to_string())?;
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) {insert} FROM n"
        );
        store.write(|tx| tx.execute(&sql, ()))?;
        drop(store);
        self.victim.start_again()
    }

    /// A number out of the machine's store, its daemon running or not.
    fn rows(&self, sql: &str) -> Result<i64, Problem> {
        let store = Store::open(&self.victim.home().join("messaging.db"), &LAYOUT, &[])
            .map_err(|error| error.to_string())?;
        Ok(store.view().row(sql, (), |row| row.get(0))?.unwrap_or_default())
    }

    /// Mail to the machine and from it arrives, and no alarm stands.
    fn both_ways(&mut self) -> Result<(), Problem> {
        whole_alarms(&self.victim)?;
        linked(&self.victim)?;
        linked(&self.admin)?;
        self.mails += 1;
        let text = format!("mail {}", self.mails);
        let daemons = [(&self.admin, "alice"), (&self.victim, "bob")];
        let mut ends = Vec::new();
        for (daemon, person) in daemons {
            let key = format!("the-key-of-{person}s-agent-{}", self.mails);
            let name = format!("api{}", self.mails);
            let mut ipc = daemon.ipc()?;
            answered(
                &mut ipc,
                "session.register",
                &json!({"key": key, "agent": "cli", "name": name}),
            )?;
            ends.push((ipc, key, format!("{person}/{name}")));
        }
        for from in 0..2 {
            let to = ends[1 - from].2.clone();
            let (ipc, key, _) = &mut ends[from];
            let send = json!({"key": key, "to": to, "parts": [{"text": text}]});
            until("the other agent", PATIENCE, || Ok(ipc.call("msg.send", &send)?.ok()))?;
        }
        for (ipc, key, address) in &mut ends {
            until(&format!("mail at {address}"), PATIENCE, || {
                let inbox = answered(ipc, "inbox.list", &json!({"key": key}))?;
                Ok((inbox["items"].as_array().map(Vec::len) == Some(1)).then_some(()))
            })?;
            answered(ipc, "session.unregister", &json!({"key": key}))?;
        }
        Ok(())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // What does not stop is killed with its value.
        let _ = self.relay.stop();
    }
}

fn kill_after(daemon: &mut Daemon, moment: Duration) -> Result<(), Problem> {
    // No wait for anything: the moment itself is drawn.
    thread::sleep(moment);
    daemon.kill()?;
    whole_store(daemon.home())
}

/// The process that the lock of a home names.
fn locked(home: &Path) -> Option<u32> {
    std::fs::read_to_string(home.join("run/messagingd.lock")).ok()?.trim().parse().ok()
}

/// Kills the process that the lock of a home names. It is one of ours: nobody else knows the home.
fn kill_locked(home: &Path) -> Result<(), Problem> {
    let pid = locked(home).and_then(|pid| i32::try_from(pid).ok());
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { return Ok(()) };
    // One that had ended by itself is gone.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    until("its end", PATIENCE, || Ok(Ipc::connect(home)?.is_none().then_some(())))
}

/// The store as it lies there: every page is as it was written.
fn whole_store(home: &Path) -> Result<(), Problem> {
    match Store::is_sound(&home.join("messaging.db"), &LAYOUT) {
        Ok(true) => Ok(()),
        other => Err(format!("the store after the kill: {other:?}").into()),
    }
}

/// A copy that has its name is whole.
fn whole_copy(folder: &Path) -> Result<(), Problem> {
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join("manifest.json"))?)?;
    let files = manifest["files"].as_array().ok_or("a manifest without files")?;
    for file in files {
        let bytes = std::fs::read(folder.join(file["name"].as_str().ok_or("no name")?))?;
        let sha256: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if file["sha256"] != sha256 || file["bytes"] != bytes.len() {
            return Err("a copy is not what its manifest says".into());
        }
    }
    whole_store(folder)
}

fn whole_alarms(daemon: &Daemon) -> Result<(), Problem> {
    let status = call(daemon, "daemon.status", &json!({}))?;
    for alarm in ["alarm", "divergence", "damaged", "twinSince"] {
        if let Some(stands) = status.get(alarm) {
            return Err(format!("{alarm}: {stands}").into());
        }
    }
    Ok(())
}

fn linked(daemon: &Daemon) -> Result<(), Problem> {
    let mut ipc = daemon.ipc()?;
    until("a link to the relay", PATIENCE, || {
        let health = answered(&mut ipc, "daemon.health", &json!({}))?;
        if health["relay"] == "connected" {
            return Ok(Some(()));
        }
        if health["relay"] == "offline" {
            answered(&mut ipc, "daemon.woke", &json!({}))?;
        }
        Ok(None)
    })
}

fn own_enc(daemon: &Daemon) -> Result<Value, Problem> {
    Ok(call(daemon, "daemon.status", &json!({}))?["identity"]["enc"].clone())
}

fn call(daemon: &Daemon, method: &str, params: &Value) -> Result<Value, Problem> {
    answered(&mut daemon.ipc()?, method, params)
}

fn answered(ipc: &mut Ipc, method: &str, params: &Value) -> Result<Value, Problem> {
    Ok(ipc.call(method, params)?.map_err(|refused| format!("{method}: {refused}"))?)
}

const ROUNDS_A_HOUSE: u32 = 12;
