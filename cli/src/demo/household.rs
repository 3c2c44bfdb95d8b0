//! The programs of the demonstration and their folder: started here, ended here, whatever happens.
//! Spec: D6.7

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use messaging_client::{Client, Events, Place, Socket};
use messaging_core::code::Code;
use messaging_core::json;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::fault::Fault;

/// How long a program may take to be ready, and to end when asked.
const PATIENCE: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);
/// A program that is started with this set ends when the process of this id does.
const FOLLOW: &str = "MESSAGING_FOLLOW";
/// A temporary folder with a longer path leaves no room for a socket's.
const BASE_BYTES: usize = 48;
/// What is kept of a program's own words, bytes.
const WORDS: usize = 4_096;

/// A temporary folder and the programs that run in it.
pub(super) struct Household {
    folder: Option<tempfile::TempDir>,
    path: PathBuf,
    keep: bool,
    programs: Vec<Program>,
}

struct Program {
    name: &'static str,
    child: Child,
    words: Receiver<String>,
}

impl Household {
    /// Makes the folder, this user's alone, with a path short enough for sockets.
    pub(super) fn found(keep: bool) -> Result<Self, Fault> {
        let usual = std::env::temp_dir();
        let base =
            if usual.as_os_str().len() <= BASE_BYTES { usual } else { PathBuf::from("/tmp") };
        let unwritable = |_| {
            Fault::local(
                "there is no place for a temporary folder",
                "set TMPDIR to a folder of yours.",
            )
        };
        // The folder is made with mode 0700 from the start.
        let folder = tempfile::Builder::new()
            .prefix("messaging-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(base)
            .map_err(unwritable)?;
        let path = folder.path().to_owned();
        Ok(Self { folder: Some(folder), path, keep, programs: Vec::new() })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, if it stays.
    pub(super) fn kept_folder(&self) -> Option<PathBuf> {
        self.keep.then(|| self.path.clone())
    }

    /// Starts a relay that any team may be founded at, and waits until it listens.
    pub(super) async fn relay(&mut self, origin: &str) -> Result<(SocketAddr, u32), Fault> {
        let db = self.path.join("relay.db");
        let arguments =
            ["--listen", "127.0.0.1:0", "--genesis-allow", "any", "--relay-id", origin, "--db"];
        let mut command = command("messaging-relay")?;
        command.args(arguments).arg(&db);
        let pid = self.start("relay", command)?;
        let until = Instant::now() + PATIENCE;
        let mut words = String::new();
        loop {
            let program = self.programs.last_mut();
            while let Some(line) =
                program.as_ref().and_then(|program| program.words.try_recv().ok())
            {
                if let Some(address) = listening(&line) {
                    return Ok((address, pid));
                }
                words += &(line + "\n");
            }
            let ended =
                program.is_some_and(|program| matches!(program.child.try_wait(), Ok(Some(_))));
            if ended || Instant::now() >= until {
                return Err(not_ready("relay", &words));
            }
            sleep(POLL).await;
        }
    }

    /// Starts the daemon of a home in the folder, and waits until it says hello.
    pub(super) async fn daemon(
        &mut self,
        name: &'static str,
    ) -> Result<(Client, Events, u32), Fault> {
        let home = self.path.join(name);
        let mut command = command("messagingd")?;
        command.arg("--home").arg(&home);
        let pid = self.start(name, command)?;
        let place = Place::home(&home);
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok((client, events)) = Client::connect(&place, Socket::Admin).await {
                return Ok((client, events, pid));
            }
            let program = self.programs.last_mut();
            let ended =
                program.is_some_and(|program| matches!(program.child.try_wait(), Ok(Some(_))));
            if ended || Instant::now() >= until {
                let words: Vec<String> = self
                    .programs
                    .last()
                    .map(|program| program.words.try_iter().collect())
                    .unwrap_or_default();
                return Err(not_ready(name, &words.join("\n")));
            }
            sleep(POLL).await;
        }
    }

    fn start(&mut self, name: &'static str, mut command: Command) -> Result<u32, Fault> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|_| {
            Fault::local(format!("the {name} could not be started"), "try again later.")
        })?;
        let words = listen(child.stderr.take());
        let pid = child.id();
        self.programs.push(Program { name, child, words });
        Ok(pid)
    }

    /// Ends every program as an operator would, the last first, then deletes the folder unless it is kept.
    pub(super) async fn end(mut self) -> Result<(), Fault> {
        let mut stubborn = None;
        while let Some(mut program) = self.programs.pop() {
            if !program.end().await {
                stubborn = Some(program.name);
            }
        }
        if let (Some(folder), true) = (self.folder.take(), self.keep) {
            // The person asked to look at it.
            let _ = folder.keep();
        }
        match stubborn {
            None => Ok(()),
            Some(name) => Err(Fault::local(
                format!("the {name} did not stop by itself and was ended"),
                "run the demonstration again; if it repeats, tell whoever maintains this program.",
            )),
        }
    }
}

impl Program {
    /// Asks the program to stop; false when it had to be killed, or did not end well.
    async fn end(&mut self) -> bool {
        let until = Instant::now() + PATIENCE;
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A program that has ended by itself cannot be signalled, and was not collected yet, so its pid is its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) => sleep(POLL).await,
                Err(_) => return false,
            }
        }
        false
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After a clean end there is nothing left to kill; after anything else there must not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Household {
    fn drop(&mut self) {
        // The folder goes after the programs that write into it.
        self.programs.clear();
    }
}

/// This very executable, as another of its programs.
fn command(name: &str) -> Result<Command, Fault> {
    let program = std::env::current_exe().map_err(|_| {
        Fault::local("this program does not find itself", "start it by its full path.")
    })?;
    let mut command = Command::new(program);
    // Settings of the person's own daemon and relay have no place here.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("MESSAGING_") || name.starts_with("JELLY_") {
            command.env_remove(&variable);
        }
    }
    command.arg0(name).env(FOLLOW, std::process::id().to_string());
    Ok(command)
}

/// Reads a program's lines for as long as it writes, so that it never waits for us.
fn listen(stderr: Option<ChildStderr>) -> Receiver<String> {
    let (tell, words) = channel();
    if let Some(stderr) = stderr {
        std::thread::spawn(move || {
            let mut kept = 0;
            let mut lines = BufReader::new(stderr);
            let mut line = String::new();
            while let Ok(1..) = lines.by_ref().take(65_536).read_line(&mut line) {
                kept += line.len();
                // What comes after the start is only drained.
                if kept <= WORDS && tell.send(line.trim_end().to_owned()).is_err() {
                    kept = WORDS + 1;
                }
                line.clear();
            }
        });
    }
    words
}

/// The address in the relay's line that it listens.
fn listening(line: &str) -> Option<SocketAddr> {
    let line = json::parse(line.as_bytes(), WORDS).ok()?;
    if line.get("event")?.as_str()? != "relay.listening" {
        return None;
    }
    line.get("address")?.as_str()?.parse().ok()
}

fn not_ready(name: &str, words: &str) -> Fault {
    let words = messaging_core::peer_text::one_line(words, 400);
    Fault::new(
        Code::DaemonUnavailable,
        format!("the {name} of the demonstration did not start: {words}"),
    )
    .next("run it again; if it repeats, set TMPDIR to another folder.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relays_own_line_names_its_address() {
        let line = r#"{"ts":1,"level":"info","event":"relay.listening","address":"127.0.0.1:4000","relay":"ws://x"}"#;
        assert_eq!(listening(line), Some("127.0.0.1:4000".parse().unwrap()));
        assert_eq!(listening(r#"{"event":"relay.start"}"#), None);
        assert_eq!(listening("panic"), None);
    }

    #[test]
    fn the_folder_is_private_and_short_and_goes_with_the_household() {
        let household = Household::found(false).unwrap();
        let path = household.path().to_owned();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(path.as_os_str().len() + "/alice/run/admin.sock".len() < 100);
        drop(household);
        assert!(!path.exists());
    }
}
