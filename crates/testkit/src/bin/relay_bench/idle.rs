//! What a connection costs that says nothing: the memory of a relay in a process of its own, before and after.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use messaging_core::testing::SeededRandom;
use messaging_relay::{Config, GenesisPolicy, Relay};
use messaging_runtime::files;
use messaging_runtime::log::{Level, Logger};

use crate::report;
use messaging_testkit::party::{Machine, Problem, found, login};

/// Machines of one team. Each is told when another connects, so one large team would measure that.
const TEAM: usize = 50;

/// Opens `connections`, and says what each cost.
pub(crate) fn run(connections: usize, folder: &Path) -> Result<String, String> {
    let folder = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    let (relay, url) = spawn(folder.path()).map_err(|error| error.to_string())?;
    let load = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let pid = relay.0.id();
    load.block_on(measure(pid, url, connections)).map_err(|error| error.to_string())
}

async fn measure(pid: u32, url: String, connections: usize) -> Result<String, Problem> {
    let _ = files::allow(u64::try_from(connections)?.saturating_add(64));
    let mut rng = SeededRandom::new(1);
    let start = resident(pid)?;
    let mut members = Vec::new();
    while members.len() < connections {
        let machines: Vec<Machine> = (0..TEAM.min(connections - members.len()))
            .map(|n| Machine::new(n, &mut rng))
            .collect::<Result<_, _>>()?;
        let roster = found(&url, &machines).await?;
        let team = *roster.team_id().ok_or("no team")?;
        members.extend(machines.into_iter().map(|machine| (team, machine)));
    }
    let before = resident(pid)?;
    let mut sockets = Vec::with_capacity(connections);
    for (team, machine) in &members {
        sockets.push(login(&url, team, machine).await?);
    }
    let after = resident(pid)?;
    let each = after.saturating_sub(before) / u64::try_from(connections)?;
    Ok(format!(
        "{connections} idle connections: {each} bytes each (relay {} KiB at start, {} KiB with {} teams, {} KiB connected)\n",
        start >> 10,
        before >> 10,
        connections.div_ceil(TEAM),
        after >> 10,
    ))
}

/// The relay's process, ended with its value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(folder: &Path) -> Result<(Ended, String), Problem> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--serve")
        .arg("--folder")
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let child = Ended(child);
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url)?;
    if url.trim().is_empty() {
        Err("the relay did not start".into())
    } else {
        Ok((child, url.trim().to_owned()))
    }
}

/// Is the relay: says where, and serves until it is killed.
pub(crate) fn serve(folder: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut config = Config::loopback(folder.join("relay.db"));
        config.genesis = GenesisPolicy::Any;
        config.limits.team_creates_per_hour = 1 << 40;
        config.limits.frames_per_minute = 1 << 40;
        let relay = Relay::start(config, Logger::stderr(Level::Warn))
            .await
            .map_err(|error| error.to_string())?;
        report::show(&format!("{}/v1/connect\n", relay.relay_id()));
        relay.serve(std::future::pending()).await.map_err(|error| error.to_string())
    })
}

/// Resident memory of a process, bytes.
fn resident(pid: u32) -> Result<u64, Problem> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}
