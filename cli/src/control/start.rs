//! Starting a daemon, when nothing answers.
//! Spec: §8.2 "Hello", D6.4 `daemon start`

use std::borrow::Cow;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use messaging_client::{ClientError, Place, Socket, hello};
use messaging_core::code::Code;
use messaging_core::peer_text::one_line;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::fault::Fault;

/// How often a starting daemon is asked.
const POLL: Duration = Duration::from_millis(25);
/// How often a home that another daemon owns is tried again.
const OWNED_POLL: Duration = Duration::from_millis(100);
/// The status of a daemon whose home another one owns (D3.32).
const OWNED: i32 = 69;
/// The most that a repair may say, bytes.
const REPAIR_WORDS: u64 = 65_536;
/// The most that a failed start may say, bytes.
const WORDS: u64 = 8_192;

/// What a start came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// The daemon's process.
    pub(crate) pid: u32,
    /// False when one ran already.
    pub(crate) started: bool,
}

/// Starts this very executable as the daemon of the home, unless one answers, and waits until it says hello.
///
/// Errors: `daemon_mismatch` for a daemon of another release, which is never replaced; what the daemon says when it does
/// not start.
pub(crate) async fn start(context: &Context, wait: Duration) -> Result<Started, Fault> {
    if context.globals.run.is_some()
        || (context.globals.home.is_none() && context.environment.run.is_some())
    {
        return Err(Fault::usage(
            "a daemon with a folder of its own for its sockets is started by its host",
            "name a home with --home instead.",
        ));
    }
    let home = context.home()?;
    let place = context.place()?;
    if let Some(pid) = answering(&place).await? {
        return Ok(Started { pid, started: false });
    }
    let until = Instant::now() + wait;
    let mut child = spawn(&home)?;
    loop {
        let ended = child.try_wait().ok().flatten();
        if let Some(pid) = answering(&place).await? {
            return Ok(Started { pid, started: child.id() == Some(pid) });
        }
        let is_late = Instant::now() >= until;
        match ended {
            // Another one has the home: it was started at the same moment and will answer, or it stops and makes room.
            Some(status) if status.code() == Some(OWNED) && !is_late => {
                sleep(OWNED_POLL).await;
                if answering(&place).await?.is_none() {
                    child = spawn(&home)?;
                }
            }
            Some(status) => return Err(failed(&mut child, status.code()).await),
            None if is_late => {
                return Err(Fault::new(
                    Code::DaemonUnavailable,
                    format!("the daemon did not answer within {} s", wait.as_secs()),
                )
                .next("run `messaging daemon logs`, or wait longer with --wait."));
            }
            None => sleep(POLL).await,
        }
    }
}

/// Has this very executable repair the store of the home, whose daemon must not run. Returns what it says, one JSON line.
///
/// Errors: `invalid_state` while a daemon answers; what the repair says.
pub(crate) async fn repair(context: &Context) -> Result<Vec<u8>, Fault> {
    let home = context.home()?;
    match hello(&context.place()?, Socket::Admin).await {
        Err(ClientError::Unavailable(_)) => {}
        Err(error @ ClientError::Untrusted(_)) => return Err(error.into()),
        _ => {
            return Err(Fault::new(Code::InvalidState, "the daemon runs, and has the store")
                .next("run `messaging daemon stop` first."));
        }
    }
    let mut command = program(&home)?;
    command.arg("--repair").stdout(Stdio::piped());
    let mut child = Command::from(command).spawn().map_err(|_| not_started())?;
    let mut word = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What cannot be read is not said.
        let _ = stdout.take(REPAIR_WORDS).read_to_end(&mut word).await;
    }
    match child.wait().await {
        Ok(status) if status.success() => Ok(word),
        ended => {
            let status = ended.ok().and_then(|status| status.code());
            Err(failed(&mut child, status).await)
        }
    }
}

/// Starts this very executable as the daemon of a home.
fn spawn(home: &Path) -> Result<Child, Fault> {
    Command::from(program(home)?).spawn().map_err(|_| not_started())
}

fn not_started() -> Fault {
    Fault::local("the daemon could not be started", "start messagingd yourself.")
}

/// This very executable as the daemon of a home.
fn program(home: &Path) -> Result<std::process::Command, Fault> {
    let program = std::env::current_exe().map_err(|_| {
        Fault::local("this program does not find itself", "start messagingd yourself.")
    })?;
    let mut command = std::process::Command::new(program);
    command
        .arg0("messagingd")
        .arg("--home")
        .arg(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Its own group: Ctrl-C in this terminal is not meant for it.
        .process_group(0);
    Ok(command)
}

/// The pid of the daemon of this release that answers, if one does.
async fn answering(place: &Place) -> Result<Option<u32>, Fault> {
    match hello(place, Socket::Admin).await {
        Ok(hello) => {
            let hello = hello.admit().map_err(ClientError::Mismatch)?;
            Ok(Some(hello.pid))
        }
        Err(ClientError::Unavailable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What the daemon said before it ended: `<code>: <message>` and `Next: <step>`, or its status alone.
async fn failed(child: &mut Child, status: Option<i32>) -> Fault {
    let mut words = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // What cannot be read is not said.
        let _ = stderr.take(WORDS).read_to_end(&mut words).await;
    }
    let words = String::from_utf8_lossy(&words);
    said(&words).unwrap_or_else(|| {
        let how =
            status.map_or_else(|| "was killed".to_owned(), |s| format!("ended with status {s}"));
        Fault::new(Code::DaemonUnavailable, format!("the daemon {how} before it answered"))
            .next("run `messaging daemon logs`.")
    })
}

fn said(words: &str) -> Option<Fault> {
    let (code, message) = words.lines().find_map(|line| {
        let (code, message) = line.split_once(": ")?;
        Some((Code::parse(code)?, message))
    })?;
    let next = words.lines().find_map(|line| line.strip_prefix("Next: "));
    let fault = Fault::new(code, one_line(message, 400));
    Some(match next {
        Some(next) => fault.next(Cow::Owned(one_line(next, 400))),
        None => fault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemons_own_words_are_kept() {
        let fault = said("noise\nforbidden: the home is open\nNext: run chmod.\n").unwrap();
        assert_eq!(
            (fault.code, &*fault.message, &*fault.remedy),
            (Code::Forbidden, "the home is open", "run chmod.")
        );
        assert_eq!(said("thread panicked at x: y"), None);
        assert_eq!(said(""), None);
    }
}
