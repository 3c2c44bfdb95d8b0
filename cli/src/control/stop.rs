//! Stopping the daemon that runs, and nothing else.
//! Spec: D6.5

use std::path::Path;
use std::time::Duration;

use messaging_client::{Client, ClientError, Socket, hello};
use messaging_core::code::Code;
use messaging_ipc::call;
use messaging_ipc::hello::Hello;
use messaging_ipc::params::Nothing;
use rustix::process::{Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::lock::{is_alive, locked_pid, process};
use crate::context::Context;
use crate::fault::Fault;

/// How long the daemon may take to answer that it stops.
const ANSWER: Duration = Duration::from_secs(10);
/// How often its process is looked for.
const POLL: Duration = Duration::from_millis(20);

/// What a stop came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// No daemon ran.
    NotRunning,
    /// This process has ended.
    Ended(u32),
}

/// Stops the daemon of the home and waits until its process is gone.
///
/// A daemon of this release is asked. One of another release, and one that does not answer, gets SIGTERM, and only while
/// the lock file names the very pid that said hello: never a pid that a file alone claims.
pub(crate) async fn stop(context: &Context) -> Result<Stopped, Fault> {
    let place = context.place()?;
    let at_start = locked_pid(place.folder());
    let found = match hello(&place, Socket::Admin).await {
        Ok(found) => found,
        Err(ClientError::Unavailable(_)) => return Ok(Stopped::NotRunning),
        Err(error) => return Err(error.into()),
    };
    let pid = found.pid;
    if found.clone().admit().is_ok() {
        match ask(context, &found).await {
            Ok(()) => {}
            Err(error) => terminate_unanswered(place.folder(), pid, at_start, error)?,
        }
    } else {
        terminate_other_release(place.folder(), pid)?;
    }
    context
        .step("waiting for the daemon to end", gone(context, place.folder(), pid, at_start))
        .await
}

async fn ask(context: &Context, found: &Hello) -> Result<(), ClientError> {
    let place = context.place().map_err(|_| ClientError::Unavailable("the home is gone"))?;
    let (client, _) = Client::connect(&place, Socket::Admin).await?;
    let client = client.with_timeout(ANSWER);
    if client.hello().pid != found.pid {
        // Another daemon took its place between the two connections: that one was not meant.
        return Ok(());
    }
    client.call::<call::DaemonStop>(&Nothing {}).await.map(|_| ())
}

fn terminate_other_release(run: &Path, pid: u32) -> Result<(), Fault> {
    // Read at the moment of the signal: a freed pid may be another process's by now.
    if locked_pid(run) != Some(pid) {
        return Err(Fault::new(
            Code::DaemonMismatch,
            format!(
                "the daemon is of another release, and its lock does not name its process {pid}"
            ),
        )
        .next("stop that process yourself, after making sure that it is the daemon."));
    }
    signal(pid)
}

fn terminate_unanswered(
    run: &Path,
    pid: u32,
    at_start: Option<u32>,
    error: ClientError,
) -> Result<(), Fault> {
    if matches!(error, ClientError::Refused(_)) {
        // It answered, and does not want to.
        return Err(error.into());
    }
    match locked_pid(run) {
        // The lock goes last: it has stopped while we asked.
        None if at_start.is_some() || !is_alive(pid) => Ok(()),
        now if at_start.is_none_or(|named| named == pid)
            && now.is_none_or(|named| named == pid) =>
        {
            signal(pid)
        }
        _ => Err(Fault::new(
            Code::DaemonUnavailable,
            "the daemon does not answer, and its lock names another process",
        )
        .next("run `messaging daemon status`.")),
    }
}

fn signal(pid: u32) -> Result<(), Fault> {
    let Some(process) = process(pid) else {
        return Err(Fault::new(Code::DaemonMismatch, "the daemon names no process"));
    };
    match kill_process(process, Signal::TERM) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(_) => Err(Fault::new(Code::Forbidden, "the daemon is another user's process")),
    }
}

/// Waits until the process is gone, or the lock names a third one.
async fn gone(
    context: &Context,
    run: &Path,
    pid: u32,
    at_start: Option<u32>,
) -> Result<Stopped, Fault> {
    let until = Instant::now() + context.timeout();
    loop {
        let third = locked_pid(run).is_some_and(|named| named != pid && Some(named) != at_start);
        if third || !is_alive(pid) {
            return Ok(Stopped::Ended(pid));
        }
        if Instant::now() >= until {
            return Err(Fault::new(Code::DaemonUnavailable, "the daemon is still stopping")
                .next("wait a moment, then run `messaging daemon status`."));
        }
        sleep(POLL).await;
    }
}
