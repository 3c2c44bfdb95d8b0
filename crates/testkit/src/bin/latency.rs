//! Measures how long mail takes between two real daemons and a relay on this machine, beside what its disk can do at all.
//!
//! ```text
//! cargo run --release --bin latency [-- --messages N] [--folder PATH] [--json]
//! ```
//!
//! One message at a time: sent, shown to the recipient's agent, read by it at once. Told are the times from the call to the
//! sender's events that it was delivered and that it was read, as a client sees them. A delivery waits for five commits one
//! behind the other (the sender's outbox, the relay's queue, the recipient's inbox with its receipt, the relay's queue, the
//! sender's record), a reading for the same five of the mail and three more of its receipt. What one commit and one bare
//! write with a sync cost is taken before and after, on the same disk.
//!
//! A member's budget is a number of messages a minute; past it, the next one is sent when there is room.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that people and CI read")]

#[path = "relay_bench/cpu.rs"]
#[allow(dead_code, reason = "shared with relay-bench, which asks for more")]
mod cpu;
#[path = "relay_bench/yardsticks.rs"]
mod yardsticks;

use messaging_core::limits::INBOUND_PER_MACHINE_PER_MINUTE;
use messaging_programs::Program;
use messaging_testkit::programs::{Daemon, Ipc, PATIENCE, Problem, Relay, until};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use yardsticks::Yardsticks;

const USAGE: &str = "usage: latency [--messages N] [--folder PATH] [--json]";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    if name.to_string_lossy().starts_with("messaging") {
        return messaging_programs::main(Program::CommandLine, arguments);
    }
    match run(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("latency: {problem}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Result<String, Problem> {
    let (mut messages, mut place, mut as_json) = (100_usize, std::env::temp_dir(), false);
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or("a value is missing");
        match word.to_str() {
            Some("--messages") => {
                messages = value()?.to_str().ok_or("no number")?.parse()?;
            }
            Some("--folder") => place = PathBuf::from(value()?),
            Some("--json") => as_json = true,
            _ => return Err("an unknown word".into()),
        }
    }
    let before = yardsticks::measure(&place)?;
    let times = measure(messages.max(1), &place)?;
    let after = yardsticks::measure(&place)?;
    let report = Report { messages: messages.max(1), times, yardsticks: before.between(&after) };
    Ok(if as_json { report.json() } else { report.text() })
}

/// How long each message took until its sender knew.
struct Times {
    delivered: Vec<Duration>,
    read: Vec<Duration>,
}

fn measure(messages: usize, place: &Path) -> Result<Times, Problem> {
    let executable = std::env::current_exe()?;
    let folder = tempfile::Builder::new().prefix("latency-").tempdir_in(place)?;
    let relay = Relay::start(&executable, &folder.path().join("relay.db"), &[])?;
    let alice = Daemon::start(&executable, &folder.path().join("a"))?;
    let bob = Daemon::start(&executable, &folder.path().join("b"))?;
    let (mut sender, mut reader) = (alice.ipc()?, bob.ipc()?);
    let create = json!({"relay": relay.url(), "team": "bench", "person": "alice", "label": "a"});
    sender.call("team.create", &create)??;
    let invited = sender.call("team.invite", &json!({"person": "bob"}))??;
    reader.call("team.join", &json!({"ticket": invited["ticket"], "label": "b"}))??;
    // Nobody asks first whether alice may write.
    let open = json!({"subject": {"person": "alice"}, "ask": "open"});
    until("the sender to be known", PATIENCE, || {
        Ok(reader.call("grant.set", &open)?.is_ok().then_some(()))
    })?;
    for (ipc, key) in [(&mut sender, SENDER), (&mut reader, READER)] {
        // The sessions of terminals are no agents to the loop guard.
        ipc.call("session.register", &json!({"key": key, "agent": "cli", "name": "bench"}))??;
        ipc.call("events.subscribe", &json!({"key": key}))??;
    }
    until("the recipient to be known", PATIENCE, || {
        let found = sender.call("contacts.list", &json!({}))??;
        let knows = found["entries"]
            .as_array()
            .is_some_and(|entries| entries.iter().any(|entry| entry["address"] == RECIPIENT));
        Ok(knows.then_some(()))
    })?;
    let end = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| read_everything(&mut reader, &end));
        let times = send_everything(&mut sender, messages);
        end.store(true, std::sync::atomic::Ordering::Relaxed);
        reading.join().map_err(|_| "the reader panicked")??;
        times
    })
}

fn send_everything(ipc: &mut Ipc, messages: usize) -> Result<Times, Problem> {
    let mut times = Times { delivered: Vec::new(), read: Vec::new() };
    let burst = usize::try_from(INBOUND_PER_MACHINE_PER_MINUTE)?.saturating_sub(10);
    for number in 0..messages {
        if number >= burst {
            std::thread::sleep(Duration::from_millis(60_000 / INBOUND_PER_MACHINE_PER_MINUTE + 20));
        }
        let parts = json!([{"text": format!("message {number} {}", "x".repeat(200))}]);
        let start = Instant::now();
        let send = json!({"key": SENDER, "to": RECIPIENT, "parts": parts});
        let sent = ipc.call("msg.send", &send)??;
        let id = &sent["results"][0]["envelopeId"];
        times.delivered.push(reaches(ipc, id, "delivered", start)?);
        times.read.push(reaches(ipc, id, "read", start)?);
    }
    Ok(times)
}

/// Waits for a stage of an envelope.
fn reaches(ipc: &mut Ipc, id: &Value, stage: &str, start: Instant) -> Result<Duration, Problem> {
    loop {
        let event = ipc.event(PATIENCE)?.ok_or("a message did not come through")?;
        if event["type"] == "delivery" && event["envelopeId"] == *id {
            if event["stage"] == stage {
                return Ok(start.elapsed());
            }
            if event["stage"] == "rejected" {
                return Err(format!("a message was rejected: {}", event["code"]).into());
            }
        }
    }
}

fn read_everything(ipc: &mut Ipc, end: &std::sync::atomic::AtomicBool) -> Result<(), Problem> {
    while !end.load(std::sync::atomic::Ordering::Relaxed) {
        let Some(event) = ipc.event(Duration::from_millis(100))? else { continue };
        if event["type"] == "inbox" {
            ipc.call("item.read", &json!({"key": READER, "id": event["item"]["id"]}))??;
        }
    }
    Ok(())
}

struct Report {
    messages: usize,
    times: Times,
    yardsticks: Yardsticks,
}

impl Report {
    fn text(&self) -> String {
        let commit = Duration::from_secs_f64(1.0 / self.yardsticks.commit.max(0.001));
        let mut text = format!(
            "{} messages, one at a time\n                    p50        p99   in commits (p50)\n",
            self.messages
        );
        for (name, times) in
            [("send to delivered", &self.times.delivered), ("send to read", &self.times.read)]
        {
            let (p50, p99) = (percentile(times, 50), percentile(times, 99));
            text += &format!(
                "{name:<18} {:>6.2} ms  {:>6.2} ms  {:>6.1}\n",
                ms(p50),
                ms(p99),
                p50.as_secs_f64() / commit.as_secs_f64()
            );
        }
        text + &format!(
            "one commit {:.2} ms, one bare write with its sync {:.2} ms",
            ms(commit),
            ms(self.yardsticks.probe)
        )
    }

    fn json(&self) -> String {
        let figures = |times: &[Duration]| json!({"p50Ms": ms(percentile(times, 50)), "p99Ms": ms(percentile(times, 99))});
        json!({
            "messages": self.messages,
            "delivered": figures(&self.times.delivered),
            "read": figures(&self.times.read),
            "commitMs": 1_000.0 / self.yardsticks.commit.max(0.001),
            "probeMs": ms(self.yardsticks.probe),
        })
        .to_string()
    }
}

/// The time within which so many of a hundred were done.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const SENDER: &str = "the-key-of-the-session-that-sends";
const READER: &str = "the-key-of-the-session-that-reads";
const RECIPIENT: &str = "bob/bench@b";
