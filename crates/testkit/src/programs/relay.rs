//! A relay that listens on a free port of this machine, and after a kill on the same one again.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use super::{PATIENCE, Problem, Process, until};

/// Who may found a team.
const GENESIS_ALLOW: &str = "--genesis-allow";

/// A relay's process and its place.
#[derive(Debug)]
pub struct Relay {
    executable: PathBuf,
    db: PathBuf,
    flags: Vec<String>,
    port: u16,
    process: Option<Process>,
    ahead_ms: u64,
}

impl Relay {
    /// Starts a relay on the store `db` at which anybody may found a team unless the flags say otherwise, and waits until it
    /// listens.
    ///
    /// Errors: it does not start; then what it said.
    pub fn start(executable: &Path, db: &Path, flags: &[&str]) -> Result<Self, Problem> {
        let mut relay = Self {
            executable: executable.to_owned(),
            db: db.to_owned(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            port: 0,
            process: None,
            ahead_ms: 0,
        };
        relay.start_again()?;
        Ok(relay)
    }

    /// Sets its wall clock so many milliseconds ahead of the system's, from its next start on. Only a debug build can do that.
    pub fn set_ahead(&mut self, ms: u64) {
        self.ahead_ms = ms;
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/v1/connect", self.port)
    }

    /// Its process.
    ///
    /// Errors: it was stopped or killed.
    pub fn process(&mut self) -> Result<&mut Process, Problem> {
        self.process.as_mut().ok_or_else(|| "the relay does not run".into())
    }

    /// Kills it without warning. Errors: as [`Process::kill`].
    pub fn kill(&mut self) -> Result<(), Problem> {
        self.process()?.kill()?;
        self.process = None;
        Ok(())
    }

    /// Stops it as an operator does.
    ///
    /// Errors: it does not stop, or not well.
    pub fn stop(&mut self) -> Result<(), Problem> {
        let status = self.process()?.stop()?;
        self.process = None;
        if status.success() { Ok(()) } else { Err(format!("the relay's stop: {status}").into()) }
    }

    /// Sends its process a signal. Errors: what the system says.
    pub fn signal(&mut self, signal: Signal) -> Result<(), Problem> {
        self.process()?.signal(signal)
    }

    /// Starts it on the same store and port, after a stop or a kill.
    ///
    /// Errors: it does not start; then what it said.
    pub fn start_again(&mut self) -> Result<(), Problem> {
        self.process = None;
        // Somebody else's connection may hold the port for a moment.
        let (process, port) = until("a relay that listens", PATIENCE, || self.try_start())?;
        self.port = port;
        self.process = Some(process);
        Ok(())
    }

    /// One try; `None` when the port is taken.
    fn try_start(&self) -> Result<Option<(Process, u16)>, Problem> {
        let listen = format!("127.0.0.1:{}", self.port);
        let mut arguments: Vec<&OsStr> = ["--listen", &listen, "--db"].map(OsStr::new).to_vec();
        arguments.push(self.db.as_os_str());
        if !self.flags.iter().any(|flag| flag == GENESIS_ALLOW) {
            arguments.extend([GENESIS_ALLOW, "any"].map(OsStr::new));
        }
        arguments.extend(self.flags.iter().map(OsStr::new));
        let mut process =
            Process::start_ahead(&self.executable, "messaging-relay", &arguments, self.ahead_ms)?;
        until("the relay's word that it listens", PATIENCE, || {
            if let Some(port) = process.words().iter().find_map(|line| listening(line)) {
                return Ok(Some(Some(port)));
            }
            if process.is_running()? {
                return Ok(None);
            }
            process.ended()?;
            let words = process.words().join("\n");
            let is_taken = self.port != 0 && words.contains("in use");
            if is_taken { Ok(Some(None)) } else { Err(format!("the relay ended: {words}").into()) }
        })
        .map(|port| port.map(|port| (process, port)))
    }
}

/// The port in the relay's line that it listens.
fn listening(line: &str) -> Option<u16> {
    let line: Value = serde_json::from_str(line).ok()?;
    if line.get("event")?.as_str()? != "relay.listening" {
        return None;
    }
    line.get("address")?.as_str()?.rsplit_once(':')?.1.parse().ok()
}
