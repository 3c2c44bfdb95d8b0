//! A server that replaces itself by the release that its daemon is of, in place: same process, same streams, nothing lost.
//! Spec: §8.2 "Hello", D1.2, D7.1 "Daemon"
//!
//! The daemon was upgraded while the host went on. When the program on disk is the daemon's release too, the process
//! becomes it at the next call, which the successor answers.

use std::ffi::OsString;
use std::io::{Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as StdCommand, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use messaging_core::b64;
use messaging_ipc::scalars::SessionKey;
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};

/// The variable that names the file with what a successor is told.
pub(crate) const VARIABLE: &str = "MESSAGING_MCP_HANDOVER";
/// How long a program may take to say its release.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest file that is read.
const FILE_BYTES: u64 = 256 * 1_024 * 1_024;

/// What a successor is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Handover {
    /// The session's key.
    pub(crate) key: Option<SessionKey>,
    /// What tells this server from another, for the keys of its sends.
    pub(crate) instance: Option<String>,
    /// The host's process.
    pub(crate) host: Option<i32>,
    /// The host's lines that are heard again.
    pub(crate) lines: Vec<String>,
    /// The id of its opening, when that was answered.
    pub(crate) answered: Option<Value>,
    /// What was read after them, base64url.
    pub(crate) rest: String,
    /// What the tools remember.
    pub(crate) memory: Value,
}

impl Handover {
    /// What a predecessor left; `None` for a server that a host started.
    pub(crate) fn read() -> Option<Self> {
        let number: u32 = std::env::var(VARIABLE).ok()?.parse().ok()?;
        let path = format!("/proc/self/fd/{number}");
        let file = std::fs::File::open(path).ok()?;
        let found = file.metadata().ok()?;
        let is_ours = found.is_file() && found.len() <= FILE_BYTES;
        if is_ours { serde_json::from_reader(file).ok() } else { None }
    }

    /// The bytes that are heard before anything that the host says from now on.
    pub(crate) fn said(&self) -> Vec<u8> {
        let mut said = Vec::new();
        for line in &self.lines {
            said.extend_from_slice(line.as_bytes());
            said.push(b'\n');
        }
        said.extend(b64::decode(&self.rest).unwrap_or_default());
        said
    }

    /// Becomes the program at a path. Returns only when that fails.
    pub(crate) fn exec(&self, path: &Path) {
        let write = || {
            // It has no name, so nobody else can open it, and it is gone with the last process that holds it.
            let mut file = tempfile::tempfile().ok()?;
            file.write_all(&serde_json::to_vec(self).ok()?).ok()?;
            file.rewind().ok()?;
            fcntl_setfd(&file, FdFlags::empty()).ok()?;
            Some(file)
        };
        let Some(file) = write() else { return };
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let mut args = std::env::args_os();
        let name = args.next().unwrap_or_else(|| "messaging-mcp".into());
        let mut command = StdCommand::new(path);
        command.arg0(name).args(args).env(VARIABLE, number.to_string());
        // It returns only when it failed, and then everything is as it was.
        let _ = command.exec();
    }
}

/// The program on disk that is of a release, if there is one: the one that this process was started as, or the file that it
/// was started from.
pub(crate) async fn successor(release: &str) -> Option<PathBuf> {
    let found = candidates(std::env::args_os().next(), std::env::var_os("PATH"));
    for path in found {
        if release_of(&path).await.as_deref() == Some(release) {
            return Some(path);
        }
    }
    None
}

fn candidates(name: Option<OsString>, path: Option<OsString>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(name) = name.map(PathBuf::from) {
        if name.components().count() > 1 {
            found.push(name);
        } else {
            let folders = path.iter().flat_map(std::env::split_paths);
            found.extend(folders.map(|folder| folder.join(&name)).find(|file| file.is_file()));
        }
    }
    if let Ok(file) = std::env::current_exe() {
        // The system says so of a file that another took the place of.
        let text = file.to_string_lossy();
        found.push(text.strip_suffix(" (deleted)").map_or(file.clone(), PathBuf::from));
    }
    found
}

/// The release that a program says it is of.
async fn release_of(path: &Path) -> Option<String> {
    let mut command = Command::new(path);
    command.as_std_mut().arg0("messaging-mcp");
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let release = text.trim().strip_prefix("messaging-mcp ")?;
    Some(release.to_owned())
}

/// Where calls wait for the successor.
#[derive(Debug)]
pub(crate) struct Waiting {
    count: AtomicUsize,
    asks: mpsc::Sender<Ask>,
}

/// A call that waits for this process to become another, and what tells it that it did not.
pub(crate) type Ask = (PathBuf, oneshot::Sender<()>);

impl Waiting {
    pub(crate) fn new(asks: mpsc::Sender<Ask>) -> Self {
        Self { count: AtomicUsize::new(0), asks }
    }

    /// Calls that wait.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Waits for a successor of a release. Returns when there is none, or it could not take over.
    pub(crate) async fn wait(&self, release: &str) {
        let Some(path) = successor(release).await else { return };
        let (failed, told) = oneshot::channel();
        self.count.fetch_add(1, Ordering::SeqCst);
        let _one = One(&self.count);
        if self.asks.send((path, failed)).await.is_ok() {
            let _ = told.await;
        }
    }
}

/// A call that waits, counted as long as it does.
struct One<'a>(&'a AtomicUsize);

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_sought_where_it_was_started_from() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("messaging-mcp");
        std::fs::write(&file, "").unwrap();
        let path = std::env::join_paths(["/none".as_ref(), folder.path()]).unwrap();
        let first = |name: &str| candidates(Some(name.into()), Some(path.clone())).remove(0);
        assert_eq!(first("messaging-mcp"), file);
        assert_eq!(first("/x/messaging-mcp"), PathBuf::from("/x/messaging-mcp"));
        assert_eq!(candidates(None, None), [std::env::current_exe().unwrap()]);
    }

    #[test]
    fn a_handover_of_a_later_release_is_read_as_far_as_it_is_known() {
        let read: Handover = serde_json::from_str(r#"{"lines":["x"],"later":1}"#).unwrap();
        assert_eq!(read.lines, ["x"]);
        let whole = Handover { instance: Some("i".into()), host: Some(7), ..read };
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Handover>(&text).unwrap(), whole);
    }
}
