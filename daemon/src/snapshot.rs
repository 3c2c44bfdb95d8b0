//! The copy of a home that a backup program takes away: made on a thread of its own, whole or not there.
//! Spec: §8.2 "Backups", D3.24
//!
//! It is written as `run/snapshot.new` and gets its name once everything in it is on disk. What a process left behind is
//! deleted by the next start.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use messaging_core::time::Ms;
use messaging_daemon_engine::{Copied, In, LAYOUT, SaveToken};
use messaging_ipc::results::daemon::SnapshotFile;
use messaging_store::Store;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use crate::exit::StartError;
use crate::home::Home;
use crate::os;
use crate::owner::WeakInbox;

/// Makes and deletes copies, one act after the other.
pub(crate) struct Snapshots {
    home: Home,
    runtime: Handle,
    door: WeakInbox,
    /// The last act; each waits for the one before it.
    last: Option<Act>,
}

struct Act {
    thread: JoinHandle<()>,
    gives_up: Arc<AtomicBool>,
}

impl Snapshots {
    /// For a home; `door` is where outcomes are told.
    pub(crate) fn new(home: Home, runtime: Handle, door: WeakInbox) -> Self {
        Self { home, runtime, door, last: None }
    }

    /// Begins a copy.
    pub(crate) fn take(&mut self, token: SaveToken, at: Ms) {
        let home = self.home.clone();
        self.act(
            move |gives_up| {
                let copied = copy(&home, at, gives_up).ok();
                if copied.is_none() {
                    // What stays after that is deleted by the next start.
                    let _ = clear(&home);
                }
                In::Snapshotted { token, copied }
            },
            move || In::Snapshotted { token, copied: None },
        );
    }

    /// Ends a copy that is being made, and deletes what there is.
    pub(crate) fn discard(&mut self, token: SaveToken) {
        self.give_up();
        let home = self.home.clone();
        self.act(
            move |_| In::Saved { token, ok: clear(&home).is_ok() },
            move || In::Saved { token, ok: false },
        );
    }

    /// Ends what is under way and waits for it. The door must be closed: nobody listens any more.
    pub(crate) fn end(&mut self) {
        self.give_up();
        if let Some(act) = self.last.take() {
            // A panic there has already ended the process.
            let _ = act.thread.join();
        }
    }

    fn give_up(&self) {
        if let Some(act) = &self.last {
            act.gives_up.store(true, Ordering::Relaxed);
        }
    }

    fn act(
        &mut self,
        work: impl FnOnce(&Arc<AtomicBool>) -> In + Send + 'static,
        failed: impl FnOnce() -> In,
    ) {
        let before = self.last.take();
        let gives_up = Arc::new(AtomicBool::new(false));
        let (flag, door, runtime) =
            (Arc::clone(&gives_up), self.door.clone(), self.runtime.clone());
        let told = self.door.clone();
        let thread = std::thread::Builder::new().name("snapshot".into()).spawn(move || {
            if let Some(before) = before {
                let _ = before.thread.join();
            }
            let outcome = work(&flag);
            tell(&runtime, &door, outcome);
        });
        match thread {
            Ok(thread) => self.last = Some(Act { thread, gives_up }),
            Err(_) => {
                // No thread is to be had: the answer must not wait on this one, which reads the door.
                let outcome = failed();
                self.runtime.spawn(async move {
                    if let Some(door) = told.upgrade() {
                        let _ = door.put(outcome).await;
                    }
                });
            }
        }
    }
}

fn tell(runtime: &Handle, door: &WeakInbox, outcome: In) {
    if let Some(door) = door.upgrade() {
        // An owner that is gone has nobody to tell.
        let _ = runtime.block_on(door.put(outcome));
    }
}

/// Deletes what a process left.
///
/// Errors: [`StartError::System`].
pub(crate) fn clear_leftovers(home: &Home) -> Result<(), StartError> {
    clear(home).map_err(|error| StartError::System { what: "run/snapshot", error })
}

fn copy(home: &Home, at: Ms, gives_up: &Arc<AtomicBool>) -> io::Result<Copied> {
    clear(home)?;
    let (staged, folder) = places(home);
    DirBuilder::new().mode(0o700).create(&staged)?;
    let stop = {
        let gives_up = Arc::clone(gives_up);
        move || gives_up.load(Ordering::Relaxed)
    };
    let store = staged.join(STORE);
    Store::copy(&home.store(), &store, &LAYOUT, &NOT_COPIED, stop).map_err(io::Error::other)?;
    let mut files = vec![listed(STORE, &store, gives_up)?];
    if let Some((bytes, _)) = os::read_private(&home.config(), CONFIG_BYTES)? {
        let config = staged.join(CONFIG);
        os::write_new(&config, &bytes)?;
        files.push(listed(CONFIG, &config, gives_up)?);
    }
    let manifest = json!({"storeSchema": LAYOUT.schema, "at": at, "files": files});
    os::write_new(&staged.join(MANIFEST), format!("{manifest}\n").as_bytes())?;
    File::open(&staged)?.sync_all()?;
    if gives_up.load(Ordering::Relaxed) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    fs::rename(&staged, &folder)?;
    File::open(home.run())?.sync_all()?;
    Ok(Copied { folder: folder.to_string_lossy().into_owned(), files })
}

fn listed(name: &str, path: &Path, gives_up: &AtomicBool) -> io::Result<SnapshotFile> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        if gives_up.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        hash.update(chunk.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(SnapshotFile { name: name.to_owned(), bytes, sha256 })
}

fn clear(home: &Home) -> io::Result<()> {
    let (staged, folder) = places(home);
    for path in [staged, folder] {
        match os::stat(&path)? {
            None => {}
            Some(found) if found.is_directory() => fs::remove_dir_all(&path)?,
            // Whatever was put there is not ours to follow.
            Some(_) => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

fn places(home: &Home) -> (PathBuf, PathBuf) {
    let run = home.run();
    (run.join("snapshot.new"), run.join("snapshot"))
}

const STORE: &str = "messaging.db";
const CONFIG: &str = "config.json";
const MANIFEST: &str = "manifest.json";
/// Records that are worth something to whoever has them.
const NOT_COPIED: [&str; 1] = ["wake.pending"];
/// The most that a configuration may hold, and more than it.
const CONFIG_BYTES: usize = 1 << 20;
const CHUNK: usize = 256 * 1_024;
