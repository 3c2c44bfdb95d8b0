//! One daemon per home: an exclusive SQLite transaction that the kernel frees with its owner.
//!
//! Spec: §8.1, D3.1
//!
//! Nothing in this process may open the lock database but SQLite: closing any other handle on
//! the file would drop the lock (POSIX locks belong to the process, not to the handle).

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::exit::StartError;
use crate::home::Home;
use crate::os;

/// The home's lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct HomeLock {
    pid_file: PathBuf,
    // Keeps the transaction open; never used again.
    _transaction: Connection,
}

impl HomeLock {
    /// Takes the lock and writes the pid file.
    ///
    /// Errors: [`StartError::Owned`] when another process holds it; nothing was written then.
    pub fn take(home: &Home) -> Result<HomeLock, StartError> {
        let database = home.run().join("messagingd.lock.db");
        let pid_file = home.run().join("messagingd.lock");
        if os::stat(&database).map_err(system)?.is_some_and(|owner| !owner.is_regular()) {
            return Err(StartError::NotPrivate {
                what: "run/messagingd.lock.db",
                rule: crate::exit::PrivacyRule::NotRegular,
            });
        }
        os::make_private_file(&database).map_err(system)?;
        let transaction = match begin_exclusive(&database) {
            Ok(transaction) => transaction,
            Err(error) if is_busy(&error) => {
                return Err(StartError::Owned { pid: read_pid(&pid_file) });
            }
            Err(_) => return Err(system(std::io::ErrorKind::InvalidData.into())),
        };
        let lock = HomeLock { pid_file, _transaction: transaction };
        os::write_private(&lock.pid_file, format!("{}\n", os::process_id()).as_bytes())
            .map_err(system)?;
        Ok(lock)
    }

    /// Removes the pid file and frees the lock: the last act of a clean stop.
    pub fn release(self) {
        // A pid file that stays names a dead process; clients are told to expect that.
        let _ = std::fs::remove_file(&self.pid_file);
    }
}

/// The pid that a pid file names. It never decides who owns the home, so anything but a plain
/// decimal pid reads as none.
#[must_use]
pub fn read_pid(path: &Path) -> Option<u32> {
    let (bytes, _) = os::read_private(path, 16).ok()??;
    let text = std::str::from_utf8(&bytes).ok()?;
    let digits = text.strip_suffix('\n').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    let pid: u32 = plain.then_some(digits)?.parse().ok()?;
    (pid <= i32::MAX.unsigned_abs()).then_some(pid)
}

fn begin_exclusive(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    Ok(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn system(error: std::io::Error) -> StartError {
    StartError::System { what: "run/messagingd.lock.db", error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let base = tempfile::tempdir().unwrap();
        let home = Home::open(&base.path().join("home")).unwrap();
        (base, home)
    }

    #[test]
    fn the_second_owner_is_refused_and_told_the_pid() {
        let (_base, home) = home();
        let first = HomeLock::take(&home).unwrap();
        let before = std::fs::read(home.run().join("messagingd.lock")).unwrap();
        assert_eq!(before, format!("{}\n", std::process::id()).as_bytes());
        for _ in 0..3 {
            match HomeLock::take(&home) {
                Err(StartError::Owned { pid }) => assert_eq!(pid, Some(std::process::id())),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(std::fs::read(home.run().join("messagingd.lock")).unwrap(), before);
        first.release();
        assert!(!home.run().join("messagingd.lock").exists());
        HomeLock::take(&home).unwrap();
    }

    #[test]
    fn the_lock_database_is_private_and_stays_empty() {
        let (_base, home) = home();
        let _lock = HomeLock::take(&home).unwrap();
        let path = home.run().join("messagingd.lock.db");
        assert_eq!(os::stat(&path).unwrap().unwrap().mode, 0o600);
        assert_eq!(std::fs::symlink_metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn no_pid_file_decides_ownership() {
        let (_base, home) = home();
        let init = "1\n";
        let cases = [
            init,
            "",
            "\n",
            "-5\n",
            "0\n",
            "00012\n",
            "99999999999999999999\n",
            "2147483648\n",
            "12 34\n",
            "abc\n",
            "0x10\n",
            "\u{0}\n",
            "12\n12\n",
            "1.5\n",
            "+7\n",
        ];
        for text in cases {
            std::fs::write(home.run().join("messagingd.lock"), text).unwrap();
            assert_eq!(read_pid(&home.run().join("messagingd.lock")), (text == init).then_some(1));
            // Whatever it says, the home is free.
            HomeLock::take(&home).unwrap().release();
        }
        std::fs::write(home.run().join("messagingd.lock"), vec![0xff; 1 << 20]).unwrap();
        assert_eq!(read_pid(&home.run().join("messagingd.lock")), None);
        HomeLock::take(&home).unwrap().release();
        std::fs::create_dir(home.run().join("messagingd.lock")).unwrap();
        assert_eq!(read_pid(&home.run().join("messagingd.lock")), None);
    }

    #[test]
    fn a_link_or_a_foreign_file_in_the_locks_place_is_refused() {
        let (base, home) = home();
        let path = home.run().join("messagingd.lock.db");
        std::os::unix::fs::symlink(base.path().join("elsewhere"), &path).unwrap();
        assert_eq!(HomeLock::take(&home).unwrap_err().exit_status(), 77);
        assert!(!base.path().join("elsewhere").exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"this is no database, and long enough to have a header ..........")
            .unwrap();
        assert_eq!(HomeLock::take(&home).unwrap_err().exit_status(), 70);
    }
}
