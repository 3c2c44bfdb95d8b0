//! One program as a process, its words kept, and its end.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, Problem, until};

/// A running program. It is killed when its value goes.
#[derive(Debug)]
pub struct Process {
    child: Child,
    words: Arc<Mutex<Vec<String>>>,
    listener: Option<JoinHandle<()>>,
}

impl Process {
    /// A command that runs `program` (such as `messagingd`) of the executable that can be all of them, with none of the
    /// settings that this process has.
    pub fn command(executable: &Path, program: &str) -> Command {
        let mut command = Command::new(executable);
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            if name.starts_with("MESSAGING_") || name.starts_with("JELLY_") {
                command.env_remove(&variable);
            }
        }
        command.arg0(program).stdin(Stdio::null());
        command
    }

    /// Starts a program. On Linux it also ends with the thread that started it, so that nothing outlives a run that is
    /// killed.
    ///
    /// Errors: what the system says.
    pub fn start(executable: &Path, program: &str, arguments: &[&OsStr]) -> Result<Self, Problem> {
        Self::start_ahead(executable, program, arguments, 0)
    }

    /// The same, its wall clock so many milliseconds ahead of the system's. Only a debug build can do that.
    ///
    /// Errors: as [`start`](Self::start).
    pub fn start_ahead(
        executable: &Path,
        program: &str,
        arguments: &[&OsStr],
        ahead_ms: u64,
    ) -> Result<Self, Problem> {
        Self::start_in(executable, program, arguments, ahead_ms, &[])
    }

    /// The same, in an environment with further variables.
    ///
    /// Errors: as [`start`](Self::start).
    pub fn start_in(
        executable: &Path,
        program: &str,
        arguments: &[&OsStr],
        ahead_ms: u64,
        variables: &[(&'static str, String)],
    ) -> Result<Self, Problem> {
        let mut child = Self::command(executable, program)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(AHEAD, ahead_ms.to_string())
            .env(FOLLOW, std::process::id().to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let words = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&words);
        let listener =
            child.stderr.take().map(|stderr| std::thread::spawn(move || listen(stderr, &heard)));
        Ok(Self { child, words, listener })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    ///
    /// Errors: what the system says.
    pub fn is_running(&mut self) -> Result<bool, Problem> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// What it said on its standard error so far, a line each.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Kills it as `kill -9` does, and waits until the system has taken it away.
    ///
    /// Errors: it had ended by itself, and then what it said; what the system says.
    pub fn kill(&mut self) -> Result<(), Problem> {
        if let Some(status) = self.child.try_wait()? {
            return Err(
                format!("it had ended by itself, {status}: {}", self.words().join("\n")).into()
            );
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends a signal.
    ///
    /// Errors: what the system says.
    pub fn signal(&self, signal: Signal) -> Result<(), Problem> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
        // A process that was not waited for keeps its pid, even after its end.
        Ok(kill_process(pid, signal)?)
    }

    /// Asks it to stop as an operator does, and waits for its end.
    ///
    /// Errors: it does not stop; what the system says.
    pub fn stop(&mut self) -> Result<ExitStatus, Problem> {
        self.signal(Signal::TERM)?;
        self.ended()
    }

    /// Waits for its end, its last words included.
    ///
    /// Errors: it goes on; what the system says.
    pub fn ended(&mut self) -> Result<ExitStatus, Problem> {
        let child = &mut self.child;
        let status = until("the program's end", PATIENCE, || Ok(child.try_wait()?))?;
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        Ok(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After an end there is nothing left to kill; before it there must not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a program's lines for as long as it writes, so that it never waits for us.
fn listen(stderr: impl Read, words: &Mutex<Vec<String>>) {
    for line in BufReader::new(stderr).lines() {
        let Ok(line) = line else { return };
        words.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// How far a debug build's clock is ahead, ms.
const AHEAD: &str = "MESSAGING_DEBUG_AHEAD_MS";

/// A program that is started with this set ends when the process of this id does.
const FOLLOW: &str = "MESSAGING_FOLLOW";
