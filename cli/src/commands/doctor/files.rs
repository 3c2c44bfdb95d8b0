//! What can be seen without the daemon: folders, sockets, the lock, the settings, the keys, the store, the log.
//! Spec: D6.6, D3.1

use std::fs::{Metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use messaging_client::{Place, Socket};
use messaging_core::json;
use messaging_core::time::Ms;
use messaging_daemon_engine::LAYOUT;
use messaging_store::{OpenError, Store, StoreError};

use super::Check;
use crate::commands::config::{Found, examine};
use crate::control::locked_pid;

/// Log lines looked at, from the end, bytes.
const LOG_TAIL: usize = 262_144;
const DAY_MS: u64 = 86_400_000;
/// Without a reader it is never so large.
const LARGE_LOG_MIB: u64 = 256;

/// The home: there, a real folder, this user's alone.
pub(super) fn home(path: &Path) -> Check {
    match symlink_metadata(path) {
        Ok(found) => private("home", &found),
        Err(_) => Check::warn(
            "home",
            "there is none yet",
            "run `messaging daemon start`, which makes it.",
        ),
    }
}

/// A folder of the home.
pub(super) fn folder(id: &'static str, path: &Path) -> Check {
    match symlink_metadata(path) {
        Ok(found) => private(id, &found),
        Err(_) => {
            Check::warn(id, "there is none yet", "run `messaging daemon start`, which makes it.")
        }
    }
}

fn private(id: &'static str, found: &Metadata) -> Check {
    if !found.is_dir() {
        Check::fail(
            id,
            "it is no real folder",
            "put a real folder in its place, or name another home with --home.",
        )
    } else if found.uid() != own() {
        Check::fail(
            id,
            "it is another user's",
            "run as its owner, or name another home with --home.",
        )
        .coded("not_private")
    } else if found.mode() & 0o022 != 0 {
        Check::fail(id, "others can write it", "take the right away: chmod go-w.")
            .coded("not_private")
    } else {
        Check::ok(id, format!("a folder of yours, mode {:o}", found.mode() & 0o777))
    }
}

/// Both sockets: there, this user's, with modes that let in whom they should.
pub(super) fn sockets(place: &Place) -> Vec<Check> {
    [("admin.sock", Socket::Admin, [0o600, 0o660]), ("agent.sock", Socket::Agent, [0o600, 0o660])]
        .into_iter()
        .map(|(id, socket, modes)| match place.check(socket) {
            Err(error) => Check::fail(id, error.message(), "run `messaging daemon restart`."),
            Ok(path) => match symlink_metadata(path).map(|found| found.mode() & 0o777) {
                Ok(mode) if modes.contains(&mode) => Check::ok(id, format!("mode {mode:o}")),
                Ok(mode) => Check::fail(
                    id,
                    format!("mode {mode:o} lets others in"),
                    "run `messaging daemon restart`.",
                ),
                Err(_) => Check::fail(id, "it has gone", "run `messaging daemon restart`."),
            },
        })
        .collect()
}

/// The lock file and the daemon that answers name the same process.
pub(super) fn lock(run: &Path, daemon: Option<u32>) -> Check {
    match (locked_pid(run), daemon) {
        (Some(locked), Some(pid)) if locked == pid => {
            Check::ok("lock", format!("names process {pid}"))
        }
        (Some(locked), Some(pid)) => Check::fail(
            "lock",
            format!("names process {locked}, and process {pid} answers"),
            "stop both, then run `messaging daemon start`.",
        )
        .coded("stale_lock"),
        (None, Some(_)) => Check::warn(
            "lock",
            "names no process, and a daemon answers",
            "run `messaging daemon restart`.",
        ),
        (Some(_), None) => Check::warn(
            "lock",
            "is left from a daemon that did not stop by itself",
            "run `messaging daemon start`; it cleans up.",
        )
        .coded("stale_lock"),
        (None, None) => Check::ok("lock", "free"),
    }
}

/// The disk of the home has room, and can be written.
pub(super) fn disk(home: &Path) -> Check {
    let id = "disk";
    let Ok(disk) = rustix::fs::statvfs(home) else {
        return Check::ok(id, "not looked at: there is no home yet");
    };
    if disk.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        let next =
            "make it writable; the daemon goes on by itself, or run `messaging daemon start`.";
        return Check::fail(id, "the home's disk is read-only", next).coded("disk_read_only");
    }
    match disk.f_bavail.saturating_mul(disk.f_frsize) {
        0..FULL => {
            let next = "free some space; the daemon goes on by itself within a minute.";
            Check::fail(id, "the home's disk is full", next).coded("disk_full")
        }
        FULL..LOW => {
            Check::warn(id, "the home's disk is nearly full", "free some space.").coded("disk_low")
        }
        _ => Check::ok(id, "there is room"),
    }
}

/// Below it the store cannot work, bytes.
const FULL: u64 = 1 << 20;
/// Below it a busy day may fill the disk, bytes.
const LOW: u64 = 64 << 20;

/// The settings, read as the daemon reads them.
pub(super) fn config(home: &Path) -> Check {
    let next = "run `messaging config check`.";
    match examine(&home.join("config.json")) {
        Ok(Found::Nothing) => Check::ok("config", "none, so every setting is its default"),
        Ok(Found::Valid { unknown, .. }) if !unknown.is_empty() => {
            Check::warn("config", format!("{} keys that no release knows", unknown.len()), next)
        }
        Ok(Found::Valid { refuse_secrets: false, .. }) => Check::warn(
            "config",
            "outbound.refuseSecrets is off: credentials in messages are not caught",
            "set it to true, unless you are sure.",
        ),
        Ok(Found::Valid { .. }) => Check::ok("config", "valid"),
        Err(fault) => Check::fail("config", fault.message, next),
    }
}

/// The file of private keys: this user's alone. It is looked at, never opened.
pub(super) fn keys(home: &Path) -> Check {
    let id = "keys";
    match symlink_metadata(home.join("identity.json")) {
        Err(_) => Check::ok(id, "none yet"),
        Ok(found) if !found.is_file() => {
            Check::fail(id, "identity.json is no plain file", "put the real file in its place.")
        }
        Ok(found) if found.uid() != own() => {
            Check::fail(id, "identity.json is another user's", "run as its owner.")
        }
        Ok(found) if found.mode() & 0o077 != 0 => Check::fail(
            id,
            "others can read identity.json",
            "run chmod 600 on it, and think about who has read it.",
        )
        .coded("not_private"),
        Ok(_) => Check::ok(id, "identity.json is private"),
    }
}

/// The store of a daemon that does not run, read without touching it.
pub(super) fn store(home: &Path, in_use: bool) -> Check {
    let id = "store";
    let path = home.join("messaging.db");
    if in_use {
        return Check::ok(id, "in use by the daemon that answers");
    }
    if !path.exists() {
        return Check::ok(id, "none yet");
    }
    match Store::is_sound(&path, &LAYOUT) {
        Ok(true) => Check::ok(id, format!("sound, schema {} or older", LAYOUT.schema)),
        Ok(false) | Err(OpenError::Failed(StoreError::Corrupt)) => {
            Check::fail(id, "it is damaged", "run `messaging daemon repair`.")
                .coded("store_damaged")
        }
        Err(OpenError::Refused(refusal)) => Check::fail(
            id,
            refusal.to_string(),
            "use the release that made it, or move it aside and set this device up again.",
        )
        .coded("store_refused"),
        Err(OpenError::Failed(error)) => Check::warn(
            id,
            format!("it cannot be read now ({})", error.name()),
            "check the disk, then run this again.",
        ),
    }
}

/// The store's own log is small, unless somebody has been reading the store for long.
pub(super) fn store_log(home: &Path) -> Check {
    let id = "store log";
    match symlink_metadata(home.join("messaging.db-wal")).map_or(0, |found| found.len()) >> 20 {
        mib if mib < LARGE_LOG_MIB => Check::ok(id, format!("{mib} MiB")),
        mib => Check::warn(
            id,
            format!("{mib} MiB: a program has been reading the store for long"),
            "end the program that has messaging.db open; the daemon then empties it.",
        ),
    }
}

/// The log of the last day holds no error.
pub(super) fn log(home: &Path, now: Ms) -> Check {
    let id = "log";
    let Ok(bytes) = std::fs::read(home.join("logs").join("messagingd.log")) else {
        return Check::ok(id, "none yet");
    };
    let tail = bytes.get(bytes.len().saturating_sub(LOG_TAIL)..).unwrap_or_default();
    let errors = tail
        .split(|byte| *byte == b'\n')
        .filter_map(|line| json::parse(line, LOG_TAIL).ok())
        .filter(|line| {
            let recent = line["ts"].as_u64().is_some_and(|ts| now.since(Ms(ts)) < DAY_MS);
            recent && line["level"] == "error"
        })
        .count();
    match errors {
        0 => Check::ok(id, "no errors within a day"),
        n => Check::warn(
            id,
            format!("{n} errors within a day"),
            "run `messaging daemon logs --level error`.",
        ),
    }
}

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn home_with(mode: u32) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        home
    }

    #[test]
    fn a_home_that_others_can_write_fails() {
        for (mode, state) in
            [(0o700, State::Ok), (0o755, State::Ok), (0o770, State::Fail), (0o707, State::Fail)]
        {
            assert_eq!(home(home_with(mode).path()).state, state, "{mode:o}");
        }
        assert_eq!(home(Path::new("/nonexistent")).state, State::Warn);
        assert_eq!(home(Path::new("/dev/null")).state, State::Fail);
    }

    #[test]
    fn the_lock_and_the_daemon_must_agree() {
        let run = home_with(0o700);
        assert_eq!(lock(run.path(), None).state, State::Ok);
        std::fs::write(run.path().join("messagingd.lock"), "12\n").unwrap();
        assert_eq!(lock(run.path(), Some(12)).state, State::Ok);
        assert_eq!(lock(run.path(), Some(13)).state, State::Fail);
        assert_eq!(lock(run.path(), None).state, State::Warn);
        std::fs::write(run.path().join("messagingd.lock"), "-1\n").unwrap();
        assert_eq!(lock(run.path(), Some(12)).state, State::Warn);
    }

    #[test]
    fn keys_that_others_can_read_fail() {
        let home = home_with(0o700);
        assert_eq!(keys(home.path()).state, State::Ok);
        let path = home.path().join("identity.json");
        std::fs::write(&path, "{}").unwrap();
        for (mode, state) in [(0o600, State::Ok), (0o640, State::Fail), (0o604, State::Fail)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(keys(home.path()).state, state, "{mode:o}");
        }
    }

    #[test]
    fn a_store_is_looked_at_and_left_alone() {
        let home = home_with(0o700);
        assert_eq!(store(home.path(), false).state, State::Ok);
        let path = home.path().join("messaging.db");
        drop(Store::open(&path, &LAYOUT, &[]).unwrap());
        assert_eq!(store(home.path(), false).state, State::Ok);
        std::fs::write(
            &path,
            "not a database at all, and longer than a header is, which SQLite reads first of all",
        )
        .unwrap();
        assert_eq!(store(home.path(), false).state, State::Fail);
    }

    #[test]
    fn a_log_that_somebody_holds_is_told() {
        let home = home_with(0o700);
        assert_eq!(store_log(home.path()).state, State::Ok);
        let log = std::fs::File::create(home.path().join("messaging.db-wal")).unwrap();
        log.set_len(300 << 20).unwrap();
        let check = store_log(home.path());
        assert_eq!(check.state, State::Warn);
        assert!(check.message.starts_with("300 MiB"), "{}", check.message);
    }

    #[test]
    fn errors_of_the_last_day_are_counted() {
        let home = home_with(0o700);
        std::fs::create_dir(home.path().join("logs")).unwrap();
        let now = Ms(1_800_000_000_000);
        let write = |ts: u64, level: &str| {
            let line = format!("{{\"ts\":{ts},\"level\":\"{level}\",\"event\":\"x\"}}\ngarbage\n");
            std::fs::write(home.path().join("logs/messagingd.log"), line).unwrap();
            log(home.path(), now).state
        };
        assert_eq!(write(now.0 - 1, "error"), State::Warn);
        assert_eq!(write(now.0 - 1, "warn"), State::Ok);
        assert_eq!(write(now.0 - DAY_MS, "error"), State::Ok);
    }
}
