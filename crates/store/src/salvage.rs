//! What can still be read of a damaged store, in a new one.
//! Spec: §8.8 (a store is never deleted by itself); the repair is ours
//!
//! A page that cannot be read hides the rows on it, and SQLite stops there. So each table is read from both ends and, where
//! both meet damage, in halves between them, until what is left unread is small.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::error::{OpenError, Refusal, StoreError};
use crate::layout::Layout;
use crate::open::{BUSY_TIMEOUT, READ_WRITE, Store, reading, verdict};

/// What became of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// The table.
    pub table: String,
    /// Rows that are in the new store.
    pub rows: u64,
    /// Whether some could not be read.
    pub lost: bool,
}

impl Store {
    /// Copies what can be read of the store at `from` into a new one at `to`, which must not exist. `from` is left as it is.
    ///
    /// Tables whose names begin with one of `derived` are made from others and stay empty. Errors: [`OpenError::Refused`] for
    /// a store that is not ours, or of a later schema, of which this release would lose what it does not know;
    /// [`StoreError::Corrupt`] when nothing at all can be read. Cost: reads and writes all of the store.
    pub fn salvage(
        from: &Path,
        to: &Path,
        layout: &Layout,
        derived: &[&str],
    ) -> Result<(Self, Vec<Salvaged>), OpenError> {
        let old = match reading(from)? {
            Some(conn) => conn,
            None => Connection::open_with_flags(from, READ_WRITE)?,
        };
        old.busy_timeout(BUSY_TIMEOUT)?;
        match verdict(&old, layout) {
            Ok(found) if found.schema().is_some_and(|schema| schema > layout.schema) => {
                return Err(Refusal::MinReader.into());
            }
            // What says whose store it is may be what is damaged.
            Ok(_) | Err(OpenError::Failed(_)) => {}
            Err(refused) => return Err(refused),
        }
        let new = Self::open(to, layout, &[])?;
        let mut all = Vec::new();
        for (table, has_rowid) in tables(new.conn())? {
            if derived.iter().any(|prefix| table.starts_with(prefix)) {
                continue;
            }
            new.conn().execute_batch("BEGIN IMMEDIATE")?;
            let salvaged = Copy::of(&old, new.conn(), &table)
                .map(|mut copy| if has_rowid { copy.by_rowid() } else { copy.both_ends() });
            new.conn().execute_batch("COMMIT")?;
            all.push(salvaged.unwrap_or(Salvaged { table, rows: 0, lost: true }));
        }
        if all.iter().all(|salvaged| salvaged.rows == 0) && all.iter().any(|table| table.lost) {
            return Err(StoreError::Corrupt.into());
        }
        keep_counters(&old, new.conn());
        Ok((new, all))
    }
}

/// The tables of a sound store, each with whether its rows have numbers. Virtual ones and theirs are left out.
fn tables(conn: &Connection) -> Result<Vec<(String, bool)>, StoreError> {
    let mut statement = conn.prepare(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%'
         ESCAPE '\\' ORDER BY name",
    )?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, !row.get::<_, bool>(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Numbers that were given must not be given again.
fn keep_counters(old: &Connection, new: &Connection) {
    let read = || -> rusqlite::Result<Vec<(String, i64)>> {
        let mut statement = old.prepare("SELECT name, seq FROM sqlite_sequence")?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    // Without them the highest rows that were saved count.
    for (name, seq) in read().unwrap_or_default() {
        let raised = new.execute(
            "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
            rusqlite::params![name, seq],
        );
        if matches!(raised, Ok(0)) {
            let _ = new.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2
                 WHERE EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)",
                rusqlite::params![name, seq],
            );
        }
    }
}

/// One table on its way.
struct Copy<'a> {
    old: &'a Connection,
    new: &'a Connection,
    table: String,
    columns: String,
    key: String,
    insert: String,
    rows: u64,
    lost: bool,
}

/// How far a reading came.
enum End {
    /// Through all of it.
    Whole,
    /// To a damaged place, after this row.
    Broken(Option<i64>),
}

impl<'a> Copy<'a> {
    /// `None` when the old store has no such table, or says so.
    fn of(old: &'a Connection, new: &'a Connection, table: &str) -> Option<Self> {
        let theirs = columns(old, table).ok().filter(|columns| !columns.is_empty())?;
        let ours = columns(new, table).ok()?;
        let shared: Vec<_> =
            ours.iter().filter(|(name, _)| theirs.iter().any(|t| t.0 == *name)).collect();
        let quoted = |names: Vec<&str>| {
            names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        };
        let mut keys: Vec<_> = ours.iter().filter(|(_, key)| *key > 0).collect();
        keys.sort_by_key(|(_, key)| *key);
        let marks = vec!["?"; shared.len()].join(", ");
        let list = quoted(shared.iter().map(|(name, _)| name.as_str()).collect());
        Some(Self {
            old,
            new,
            table: table.to_owned(),
            insert: format!("INSERT OR IGNORE INTO \"{table}\" ({list}) VALUES ({marks})"),
            columns: list,
            key: quoted(keys.iter().map(|(name, _)| name.as_str()).collect()),
            rows: 0,
            lost: false,
        })
    }

    fn by_rowid(&mut self) -> Salvaged {
        let mut unread = vec![(i64::MIN, i64::MAX)];
        let mut tries = 0;
        while let Some((low, high)) = unread.pop() {
            let End::Broken(last) = self.read("rowid", low, high, "ASC") else { continue };
            self.lost = true;
            tries += 1;
            let Some(low) = last.map_or(Some(low), |last| last.checked_add(1)) else { continue };
            if tries > TRIES || low > high {
                continue;
            }
            let End::Broken(first) = self.read("rowid", low, high, "DESC") else { continue };
            let Some(high) = first.map_or(Some(high), |first| first.checked_sub(1)) else {
                continue;
            };
            if low < high {
                let middle = i64::midpoint(low, high);
                unread.extend([(low, middle), (middle + 1, high)]);
            }
        }
        self.done()
    }

    fn both_ends(&mut self) -> Salvaged {
        let key = self.key.clone();
        let order = |direction: &str| {
            let key = key.split(", ").map(|name| format!("{name} {direction}")).collect::<Vec<_>>();
            format!(
                "SELECT 0, {} FROM \"{}\" ORDER BY {}",
                self.columns,
                self.table,
                key.join(", ")
            )
        };
        for sql in [order("ASC"), order("DESC")] {
            match self.run(&sql, &[]) {
                End::Whole => break,
                End::Broken(_) => self.lost = true,
            }
        }
        self.done()
    }

    fn done(&self) -> Salvaged {
        Salvaged { table: self.table.clone(), rows: self.rows, lost: self.lost }
    }

    fn read(&mut self, key: &str, low: i64, high: i64, direction: &str) -> End {
        let sql = format!(
            "SELECT {key}, {} FROM \"{}\" WHERE {key} BETWEEN ?1 AND ?2 ORDER BY {key} {direction}",
            self.columns, self.table
        );
        self.run(&sql, &[low, high])
    }

    /// Copies rows until the end or the first that cannot be read.
    fn run(&mut self, sql: &str, between: &[i64]) -> End {
        let mut last = None;
        let Ok(mut statement) = self.old.prepare(sql) else { return End::Broken(last) };
        let width = statement.column_count();
        let Ok(mut rows) = statement.query(params_from_iter(between)) else {
            return End::Broken(last);
        };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return End::Whole,
                Err(_) => return End::Broken(last),
            };
            let key = row.get::<_, i64>(0).ok();
            let values: rusqlite::Result<Vec<Value>> = (1..width).map(|at| row.get(at)).collect();
            let kept = values.and_then(|values| {
                self.new.prepare_cached(&self.insert)?.execute(params_from_iter(values))
            });
            match kept {
                Ok(changed) => self.rows += changed as u64,
                // Nonsense in one row hides no other.
                Err(_) => self.lost = true,
            }
            last = key.or(last);
        }
    }
}

/// The names of a table's columns, each with its place in the primary key, from 1.
fn columns(conn: &Connection, table: &str) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut statement = conn.prepare("SELECT name, pk FROM pragma_table_info(?1)")?;
    let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// How often a table is tried again behind a damaged place.
const TRIES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::SchemaAt;

    const LAYOUT: Layout = Layout {
        records: "kv",
        schema_at: SchemaAt::Record,
        generation: 2,
        schema: 1,
        min_reader: 1,
        marks: &[("impl", "rs1")],
        baseline: "CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
            CREATE TABLE mail(seq INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL) STRICT;
            CREATE TABLE seen(device TEXT, id TEXT, PRIMARY KEY (device, id)) STRICT, WITHOUT ROWID;
            CREATE VIRTUAL TABLE found USING fts5(text);",
        growth: &[],
        ignored: &[],
    };
    const PAGE: usize = 4_096;

    /// A store with many rows, its file closed.
    fn filled(path: &Path) {
        let store = Store::open(path, &LAYOUT, &[]).unwrap();
        store
            .conn()
            .execute_batch(
                "BEGIN;
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                 INSERT INTO mail (text) SELECT printf('%0300d', i) FROM n;
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                 INSERT INTO seen SELECT printf('device %04d', i % 7), printf('%060d', i) FROM n;
                 INSERT INTO found SELECT text FROM mail WHERE seq < 9;
                 COMMIT; DELETE FROM mail WHERE seq = 2000;",
            )
            .unwrap();
        store.checkpoint().unwrap();
    }

    fn salvage(folder: &Path) -> (Store, Vec<Salvaged>) {
        Store::salvage(&folder.join("old.db"), &folder.join("new.db"), &LAYOUT, &["found"]).unwrap()
    }

    fn count(store: &Store, sql: &str) -> i64 {
        store.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
    }

    #[test]
    fn all_of_a_sound_store_is_saved_and_no_number_is_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        filled(&folder.path().join("old.db"));
        let (store, tables) = salvage(folder.path());
        let told: Vec<_> = tables.iter().map(|t| (t.table.as_str(), t.rows, t.lost)).collect();
        assert_eq!(told, [("kv", 0, false), ("mail", 1_999, false), ("seen", 2_000, false)]);
        store.conn().execute_batch("INSERT INTO mail (text) VALUES ('x')").unwrap();
        assert_eq!(count(&store, "SELECT max(seq) FROM mail"), 2_001);
        assert_eq!(count(&store, "SELECT count(*) FROM found"), 0, "what is derived is not copied");
    }

    #[test]
    fn rows_around_any_damaged_page_are_saved() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old.db");
        filled(&old);
        let whole = std::fs::read(&old).unwrap();
        let pages = whole.len() / PAGE;
        let mut least = i64::MAX;
        // The first page tells the tables: without it there is nothing to begin with.
        for page in (1..pages).step_by(11) {
            let mut bytes = whole.clone();
            bytes[page * PAGE..][..PAGE].fill(0xa5);
            std::fs::write(&old, &bytes).unwrap();
            let (store, _) = salvage(folder.path());
            let rows =
                count(&store, "SELECT (SELECT count(*) FROM mail) + (SELECT count(*) FROM seen)");
            least = least.min(rows);
            drop(store);
            std::fs::remove_file(folder.path().join("new.db")).unwrap();
            assert_eq!(std::fs::read(&old).unwrap(), bytes, "the old one is left as it is");
        }
        // Whichever page it is, all that is lost is what hangs on it: at worst the root of one table.
        assert!(least >= 1_900, "{least}");
    }

    #[test]
    fn what_is_no_store_of_ours_or_a_later_ones_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old.db");
        filled(&old);
        let conn = Connection::open(&old).unwrap();
        conn.execute_batch("UPDATE kv SET value = '2' WHERE key = 'schema'").unwrap();
        drop(conn);
        let new = folder.path().join("new.db");
        let refused = Store::salvage(&old, &new, &LAYOUT, &[]).err().unwrap();
        assert_eq!(refused, OpenError::Refused(Refusal::MinReader));
        assert!(!new.exists());
        std::fs::write(&old, vec![7; 3 * PAGE]).unwrap();
        let refused = Store::salvage(&old, &new, &LAYOUT, &[]).err().unwrap();
        assert_eq!(refused, OpenError::Refused(Refusal::NotADatabase));
    }
}
