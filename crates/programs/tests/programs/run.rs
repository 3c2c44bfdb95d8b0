//! Running a program with nothing of this machine's environment, and what came of it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use messaging_client::testing::{FakeDaemon, private_home};

/// The executable `messaging`.
pub(crate) fn messaging() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_messaging"))
}

/// A command that sees no setting of the person who runs the tests.
pub(crate) fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            status: output.status.code().unwrap_or(-1),
        }
    }

    /// The whole as one text, for a snapshot. `home` stands for the folder, whose name is another one each time.
    pub(crate) fn transcript(&self, home: &Path) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text += &format!("[stderr]\n{}", self.stderr);
        }
        text += &format!("[status {}]\n", self.status);
        text.replace(&home.display().to_string(), "HOME")
            .replace(env!("CARGO_PKG_VERSION"), "RELEASE")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// Runs `messaging` against a home, with bytes on standard input.
pub(crate) fn fed(home: &Path, stdin: &[u8], args: &[&str]) -> Ran {
    let mut command = clean(&messaging());
    command.arg("--home").arg(home).args(args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let feeding = std::thread::spawn(move || {
        // A command that needs no input may be gone before it is fed.
        let _ = input.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    Ran::of(output)
}

/// Runs `messaging` against a home.
pub(crate) fn on(home: &Path, args: &[&str]) -> Ran {
    let mut command = clean(&messaging());
    Ran::of(command.arg("--home").arg(home).args(args).output().unwrap())
}

/// Runs `messaging` against a scripted daemon.
pub(crate) fn with(daemon: &FakeDaemon, args: &[&str]) -> Ran {
    on(daemon.home(), args)
}

/// Runs `messaging` against a home that no daemon has.
pub(crate) fn alone(args: &[&str]) -> (Ran, tempfile::TempDir) {
    let home = private_home();
    (on(home.path(), args), home)
}

/// Runs any command as it is.
pub(crate) fn ran(command: &mut Command) -> Ran {
    Ran::of(command.output().unwrap())
}
