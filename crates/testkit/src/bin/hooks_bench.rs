//! Measures what a hook costs an agent at each of its steps, and what many of them leave behind.
//!
//! ```text
//! cargo run --release --bin hooks-bench [-- --calls N] [--folder PATH]
//! ```
//!
//! A relay, a daemon and an agent's server run as real programs; this process is the harness. It calls the real `messaging
//! hook` as a harness does, a process each time: with the daemon up, stopped (SIGSTOP) and gone. Beside the hook stands what a
//! process costs that does nothing (`messaging version`). What `--calls` hooks leave is counted at the daemon (open files,
//! memory) and in the folder of the seats; a leak is a failure.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people and CI read")]

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use messaging_programs::Program;
use messaging_testkit::programs::{Daemon, Problem, Process, Relay};
use rustix::process::Signal;
use serde_json::{Value, json};

const USAGE: &str = "usage: hooks-bench [--calls N] [--folder PATH]";
/// A leak of so many bytes a call is none.
const NOISE: u64 = 1_024;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    if name.to_string_lossy().starts_with("messaging") {
        return messaging_programs::main(Program::CommandLine, arguments);
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("hooks-bench: {problem}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Result<(), Problem> {
    let (mut calls, mut place) = (1_000_u64, std::env::temp_dir());
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or("a value is missing");
        match word.to_str() {
            Some("--calls") => calls = value()?.to_str().ok_or("no number")?.parse()?,
            Some("--folder") => place = PathBuf::from(value()?),
            _ => return Err("an unknown word".into()),
        }
    }
    let executable = std::env::current_exe()?;
    let folder = tempfile::Builder::new().prefix("hooks-").tempdir_in(place)?;
    let relay = Relay::start(&executable, &folder.path().join("relay.db"), &[])?;
    let mut daemon = Daemon::start(&executable, &folder.path().join("a"))?;
    let mut ipc = daemon.ipc()?;
    let create = json!({"relay": relay.url(), "team": "bench", "person": "alice", "label": "a"});
    ipc.call("team.create", &create)??;
    let server = Server::start(&executable, daemon.home())?;
    let bench = Bench { executable: &executable, home: daemon.home().to_owned() };
    let begun = bench.hook("SessionStart", &json!({"source": "startup"}))?;
    if !begun.1.contains("messaging_inbox") {
        return Err("the hook does not know its server".into());
    }
    let few = calls.clamp(1, 100);
    report("a process that does nothing", &bench.measure(few, Bench::nothing)?);
    let tool = |bench: &Bench<'_>| bench.tool();
    bench.measure(few, tool)?;
    let pid = daemon.process()?.pid();
    let before = Left::look(pid, &bench.home)?;
    let up = bench.measure(calls, tool)?;
    let after = Left::look(pid, &bench.home)?;
    report("daemon up", &up);
    println!("{calls} calls left: {before} before, {after} after");
    if after.files > before.files + 8 || after.seats > before.seats {
        return Err("the calls left files open, or files".into());
    }
    if after.memory > before.memory + 8 * 1_024 * 1_024 + calls * NOISE {
        return Err("the calls left memory in use".into());
    }
    daemon.process()?.signal(Signal::STOP)?;
    let stopped = bench.measure(few, tool);
    daemon.process()?.signal(Signal::CONT)?;
    report("daemon stopped", &stopped?);
    daemon.stop()?;
    report("daemon gone", &bench.measure(few, tool)?);
    drop(server);
    Ok(())
}

struct Bench<'a> {
    executable: &'a Path,
    home: PathBuf,
}

impl Bench<'_> {
    /// One hook: how long it took, and what it said.
    fn hook(&self, event: &str, more: &Value) -> Result<(Duration, String), Problem> {
        let mut input = json!({"session_id": "c1", "cwd": "/x", "hook_event_name": event});
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        self.call(&["hook", "claude-code"], input.to_string().as_bytes())
    }

    fn tool(&self) -> Result<Duration, Problem> {
        Ok(self.hook("PostToolUse", &json!({"tool_name": "Bash", "tool_response": {}}))?.0)
    }

    fn nothing(&self) -> Result<Duration, Problem> {
        Ok(self.call(&["version"], b"")?.0)
    }

    fn call(&self, args: &[&str], input: &[u8]) -> Result<(Duration, String), Problem> {
        let start = Instant::now();
        let mut child = Process::command(self.executable, "messaging")
            .arg("--home")
            .arg(&self.home)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that reads nothing is done with it.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output()?;
        let took = start.elapsed();
        if !output.status.success() {
            return Err(format!("{args:?}: {}", output.status).into());
        }
        Ok((took, String::from_utf8(output.stdout)?))
    }

    fn measure(
        &self,
        calls: u64,
        call: impl Fn(&Self) -> Result<Duration, Problem>,
    ) -> Result<Vec<Duration>, Problem> {
        let mut times: Vec<Duration> = (0..calls).map(|_| call(self)).collect::<Result<_, _>>()?;
        times.sort_unstable();
        Ok(times)
    }
}

fn report(what: &str, times: &[Duration]) {
    let at = |percent: usize| {
        let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    println!("{what:<28} p50 {:>7.2} ms   p99 {:>7.2} ms   ({})", at(50), at(99), times.len());
}

/// What is there of a daemon and beside its sessions.
struct Left {
    files: usize,
    memory: u64,
    seats: usize,
}

impl Left {
    fn look(pid: u32, home: &Path) -> Result<Self, Problem> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.split_whitespace().next()).ok_or("no memory")?;
        Ok(Self {
            files: std::fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
            memory: memory.parse::<u64>()? * 1_024,
            seats: std::fs::read_dir(home.join("harness"))?.count(),
        })
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let memory = self.memory / 1_024;
        write!(f, "{} open files, {memory} KiB, {} files of seats", self.files, self.seats)
    }
}

/// An agent's server, started by this process as by a harness.
struct Server(Child);

impl Server {
    fn start(executable: &Path, home: &Path) -> Result<Self, Problem> {
        let mut child = Process::command(executable, "messaging-mcp")
            .arg("--home")
            .arg(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.as_mut().ok_or("no pipe")?;
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}
        });
        let call = json!({"name": "messaging_inbox", "arguments": {}});
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        ] {
            writeln!(to, "{message}")?;
        }
        let mut from = BufReader::new(child.stdout.as_mut().ok_or("no pipe")?);
        let mut line = String::new();
        for _ in 0..2 {
            line.clear();
            from.read_line(&mut line)?;
        }
        if !line.contains("\"id\":2") {
            return Err("the server did not answer".into());
        }
        Ok(Self(child))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
