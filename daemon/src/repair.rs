//! The repair of a damaged store: what can be read goes into a new file, the old one is kept beside it.
//! Spec: §8.8; the repair is ours
//!
//! ```text
//! messaging.db ─▶ messaging.db.repairing ─▶ messaging.db.repaired      (whole and synced from here on)
//! messaging.db, its log ─▶ messaging.db.damaged-<ms>                   messaging.db.repaired ─▶ messaging.db
//! ```
//!
//! A process that dies on the way leaves either the old store or the repaired one: a daemon does not start between the two,
//! and the next repair goes on from there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use messaging_daemon_engine::{LAYOUT, repair};
use messaging_runtime::clock;
use messaging_store::{OpenError, Store};
use serde_json::{Value, json};

use crate::exit::StartError;
use crate::home::Home;
use crate::keys;
use crate::lock::HomeLock;
use crate::os;

/// Repairs the store of a home whose daemon does not run, if it needs it, and says what came of it.
///
/// Errors: as a start's; [`StartError::Beyond`] when nothing can be read.
pub(crate) fn run(path: &Path) -> Result<Value, StartError> {
    let home = Home::open(path)?;
    let lock = HomeLock::take(&home)?;
    let told = repaired(&home);
    lock.release();
    told
}

/// Whether a repair was begun and did not end, so that there is no store to open.
pub(crate) fn is_half_done(home: &Home) -> bool {
    beside(home, DONE).exists()
}

fn repaired(home: &Home) -> Result<Value, StartError> {
    if is_half_done(home) {
        let aside = swap(home).map_err(system)?;
        return Ok(json!({"repaired": true, "aside": aside, "resumed": true}));
    }
    if !home.store().exists() || is_sound(home)? {
        return Ok(json!({"repaired": false}));
    }
    let staged = beside(home, BEGUN);
    unstage(&staged).map_err(system)?;
    let told = salvaged(home, &staged);
    if told.is_err() {
        // What could be saved is in the old store still.
        let _ = unstage(&staged);
    }
    told
}

fn unstage(staged: &Path) -> io::Result<()> {
    ["", "-wal", "-shm"].iter().try_for_each(|suffix| remove(&with(staged, suffix)))
}

fn salvaged(home: &Home, staged: &Path) -> Result<Value, StartError> {
    let machine = keys::load(home)?.map(|keys| *keys.machine());
    let salvage = Store::salvage(&home.store(), staged, &LAYOUT, repair::DERIVED);
    let (store, tables) = salvage.map_err(|error| match error {
        OpenError::Refused(refusal) => StartError::StoreRefused(refusal),
        OpenError::Failed(messaging_store::StoreError::Corrupt) => StartError::Beyond,
        OpenError::Failed(error) => StartError::Store(error),
    })?;
    let entries = repair::mend(&store, machine.as_ref()).map_err(StartError::Store)?;
    store.checkpoint().map_err(StartError::Store)?;
    drop(store);
    let finish = || {
        File::open(staged)?.sync_all()?;
        fs::rename(staged, beside(home, DONE))?;
        File::open(home.root())?.sync_all()?;
        swap(home)
    };
    let aside = finish().map_err(system)?;
    let lost: Vec<&str> =
        tables.iter().filter(|table| table.lost).map(|table| table.table.as_str()).collect();
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    Ok(
        json!({"repaired": true, "aside": aside, "rows": rows, "lost": lost, "rosterEntries": entries}),
    )
}

/// Whether nothing has to be repaired: every page is as it was written, and what a start reads can be read.
fn is_sound(home: &Home) -> Result<bool, StartError> {
    match Store::is_sound(&home.store(), &LAYOUT) {
        Ok(false) => return Ok(false),
        Ok(true) => {}
        Err(OpenError::Refused(refusal)) => return Err(StartError::StoreRefused(refusal)),
        Err(OpenError::Failed(messaging_store::StoreError::Corrupt)) => return Ok(false),
        Err(OpenError::Failed(error)) => return Err(StartError::Store(error)),
    }
    Ok(Store::open(&home.store(), &LAYOUT, &[]).is_ok_and(|store| repair::is_whole(&store)))
}

/// Puts the old store aside and the new one in its place. Returns the old one's name.
fn swap(home: &Home) -> io::Result<String> {
    let name = format!("messaging.db.damaged-{}", clock::wall());
    let aside = home.root().join(&name);
    // The log first: it must never stand beside the new store, and the old one is read with it only under its new name.
    for suffix in ["-wal", ""] {
        let (from, to) = (with(&home.store(), suffix), with(&aside, suffix));
        if os::stat(&from)?.is_some() {
            fs::rename(from, to)?;
        }
    }
    remove(&with(&home.store(), "-shm"))?;
    File::open(home.root())?.sync_all()?;
    fs::rename(beside(home, DONE), home.store())?;
    File::open(home.root())?.sync_all()?;
    Ok(name)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(home: &Home, suffix: &str) -> PathBuf {
    with(&home.store(), suffix)
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn system(error: io::Error) -> StartError {
    StartError::System { what: "messaging.db", error }
}

const BEGUN: &str = ".repairing";
const DONE: &str = ".repaired";
