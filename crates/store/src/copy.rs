//! A consistent copy of a store that is in use, made beside its owner.
//! Spec: §8.2 "Backups", D3.24

use std::ffi::c_int;
use std::fs::File;
use std::path::Path;

use rusqlite::Connection;

use crate::error::{OpenError, StoreError};
use crate::layout::Layout;
use crate::open::{BUSY_TIMEOUT, READ_ONLY, READ_WRITE, Store, create_new_private, verdict};

impl Store {
    /// Copies the store at `from` to `to`, which must not exist: one moment of it, whole pages only, mode 0600, synced. The
    /// records named in `without` are not in the copy, nor are their bytes.
    ///
    /// The owner goes on writing meanwhile; its log grows until this ends. `stop` is asked now and then whether to give up.
    /// Errors: as [`Store::check`]; [`StoreError::Full`] and [`StoreError::Io`] of the copy. What was written then is the
    /// caller's to delete. Cost: reads and writes all of the store.
    pub fn copy(
        from: &Path,
        to: &Path,
        layout: &Layout,
        without: &[&str],
        stop: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), OpenError> {
        let name = to.to_str().ok_or(StoreError::Io)?;
        create_new_private(to)?;
        let mut conn = Connection::open_with_flags(from, READ_ONLY)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        verdict(&conn, layout)?;
        conn.progress_handler(STEPS, Some(stop))?;
        conn.execute("VACUUM INTO ?1", [name])?;
        drop(conn);
        forget(to, layout, without)?;
        File::open(to).and_then(|file| file.sync_all()).map_err(|_| StoreError::Io)?;
        Ok(())
    }
}

/// Takes records out of a copy that nobody else has open. The old pages are kept in memory, not in a file beside it.
fn forget(path: &Path, layout: &Layout, records: &[&str]) -> Result<(), OpenError> {
    let conn = Connection::open_with_flags(path, READ_WRITE)?;
    conn.pragma_update(None, "journal_mode", "memory")?;
    conn.pragma_update(None, "secure_delete", "ON")?;
    let sql = format!("DELETE FROM \"{}\" WHERE key = ?1", layout.records);
    for record in records {
        conn.execute(&sql, [record])?;
    }
    Ok(())
}

/// Steps of SQLite's machine between two questions whether to give up: well below a millisecond.
const STEPS: c_int = 10_000;
