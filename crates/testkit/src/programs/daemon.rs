//! The daemon of one home.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Ipc, PATIENCE, Problem, Process, until};

/// A daemon's process and its home.
#[derive(Debug)]
pub struct Daemon {
    executable: PathBuf,
    home: PathBuf,
    process: Option<Process>,
    ahead_ms: u64,
    variables: Vec<(&'static str, String)>,
}

impl Daemon {
    /// Starts the daemon of a home, and waits until it says hello.
    ///
    /// Errors: it does not start; then what it said.
    pub fn start(executable: &Path, home: &Path) -> Result<Self, Problem> {
        let (executable, home) = (executable.to_owned(), home.to_owned());
        let (ahead_ms, variables) = (0, Vec::new());
        let mut daemon = Self { executable, home, process: None, ahead_ms, variables };
        daemon.start_again()?;
        Ok(daemon)
    }

    /// Sets variables that its next start sees, in the place of the last ones.
    pub fn set_variables(&mut self, variables: &[(&'static str, String)]) {
        self.variables = variables.to_vec();
    }

    /// Its home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Its process.
    ///
    /// Errors: it was stopped or killed.
    pub fn process(&mut self) -> Result<&mut Process, Problem> {
        self.process.as_mut().ok_or_else(|| "the daemon does not run".into())
    }

    /// A connection to its admin socket.
    ///
    /// Errors: nobody answers.
    pub fn ipc(&self) -> Result<Ipc, Problem> {
        Ipc::connect(&self.home)?.ok_or_else(|| "the daemon does not answer".into())
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
        let process = self.process()?;
        let status = process.stop()?;
        let words = process.words().join("\n");
        self.process = None;
        if status.success() && words.is_empty() {
            Ok(())
        } else {
            Err(format!("the daemon's stop: {status}: {words}").into())
        }
    }

    /// Lets its wall clock be so many milliseconds ahead of the system's from its next start on. Only a debug build can do
    /// that.
    pub fn set_ahead(&mut self, ms: u64) {
        self.ahead_ms = ms;
    }

    /// Starts it again, after a stop or a kill. Errors: as [`Daemon::start`].
    pub fn start_again(&mut self) -> Result<(), Problem> {
        self.process = None;
        let arguments = [OsStr::new("--home"), self.home.as_os_str()];
        let mut process = Process::start_in(
            &self.executable,
            "messagingd",
            &arguments,
            self.ahead_ms,
            &self.variables,
        )?;
        until("the daemon's hello", PATIENCE, || {
            if !process.is_running()? {
                process.ended()?;
                return Err(format!("the daemon ended: {}", process.words().join("\n")).into());
            }
            Ipc::connect(&self.home)
        })?;
        self.process = Some(process);
        Ok(())
    }
}
