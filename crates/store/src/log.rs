//! The write-ahead log's size: how large it gets, and how it becomes small again.
//! Spec: §8.8, D3.21
//!
//! SQLite moves the log into the file each few thousand pages and begins it anew, unless somebody still reads from it: a
//! backup, a person with a shell. Then it grows for as long as that takes, and nothing that has been deleted leaves it. When
//! they are gone it is emptied by whoever asks next; the owner never waits for a reader.

use std::path::Path;
use std::time::Duration;

use crate::error::StoreError;
use crate::open::{BUSY_TIMEOUT, beside};
use crate::tx::View;

impl View<'_> {
    /// The size of the log's file, bytes; 0 without one.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        let path = self.conn().path().filter(|path| !path.is_empty());
        let log = path.and_then(|path| std::fs::metadata(beside(Path::new(path), "-wal")).ok());
        log.map_or(0, |found| found.len())
    }

    /// Moves the log into the file and empties it, without waiting. `false`: somebody reads from it.
    pub fn fold_log(&self) -> Result<bool, StoreError> {
        self.conn().busy_timeout(Duration::ZERO)?;
        let folded = self.row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0));
        self.conn().busy_timeout(BUSY_TIMEOUT)?;
        match folded {
            Ok(busy) => Ok(busy != Some(1)),
            Err(StoreError::Busy) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::layout::{Layout, SchemaAt};
    use crate::open::Store;

    const LAYOUT: Layout = Layout {
        records: "kv",
        schema_at: SchemaAt::Record,
        generation: 2,
        schema: 1,
        min_reader: 1,
        marks: &[],
        baseline: "CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
            CREATE TABLE mail(seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
        growth: &[],
        ignored: &[],
    };
    const MIB: u64 = 1 << 20;

    /// Writes and deletes so much, in many transactions.
    fn churn(store: &Store, mib: u64) {
        for _ in 0..mib {
            store
                .write(|tx| {
                    tx.execute("DELETE FROM mail", ())?;
                    tx.execute("INSERT INTO mail (body) VALUES (randomblob(1 << 20))", ())
                })
                .unwrap();
        }
    }

    #[test]
    fn the_log_is_bounded_grows_under_a_reader_and_is_emptied_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let store = Store::open(&path, &LAYOUT, &[]).unwrap();
        churn(&store, 120);
        let calm = store.view().log_bytes();
        assert!(calm < 40 * MIB, "{calm}");

        let reader = rusqlite::Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM mail").unwrap();
        let before: i64 = reader.query_row("SELECT max(seq) FROM mail", (), |r| r.get(0)).unwrap();
        churn(&store, 120);
        let held = store.view().log_bytes();
        assert!(held > 100 * MIB, "{held}: nothing it reads is taken away");
        let began = Instant::now();
        assert!(!store.view().fold_log().unwrap());
        assert!(began.elapsed() < Duration::from_secs(2), "the owner does not wait for a reader");
        let after: i64 = reader.query_row("SELECT max(seq) FROM mail", (), |r| r.get(0)).unwrap();
        assert_eq!(before, after);

        reader.execute_batch("COMMIT").unwrap();
        assert!(store.view().fold_log().unwrap());
        assert_eq!(store.view().log_bytes(), 0);
        churn(&store, 120);
        assert!(store.view().log_bytes() < 40 * MIB);
    }

    #[test]
    fn a_log_that_a_reader_made_large_shrinks_by_itself_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let store = Store::open(&path, &LAYOUT, &[]).unwrap();
        let reader = rusqlite::Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM mail").unwrap();
        churn(&store, 100);
        drop(reader);
        churn(&store, 60);
        assert!(store.view().log_bytes() <= 40 * MIB, "{}", store.view().log_bytes());
    }

    #[test]
    fn a_store_in_memory_has_no_log() {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        assert_eq!(store.view().log_bytes(), 0);
        assert!(store.view().fold_log().unwrap());
    }
}
