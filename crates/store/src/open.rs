//! Opening a store: a new one gets the baseline, one of ours grows, any other is refused and stays as it was.
//! Spec: §8.8 "Opening", "When stores grow", W5.14

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::error::{OpenError, Refusal, StoreError};
use crate::layout::{Growth, Layout, SchemaAt, Step};
use crate::tx::{Ledger, Tx, View};

/// An open store of ours, brought up to this release's schema.
pub struct Store {
    conn: Connection,
}

impl Store {
    /// Opens the store at `path`, or creates it (mode 0600) with `records` beside the layout's own.
    ///
    /// WAL, `synchronous=FULL`, foreign keys enforced, a busy timeout of 5 s. Errors: [`OpenError::Refused`] for a store that
    /// is not ours to open, which then is as it was, byte for byte.
    pub fn open(path: &Path, layout: &Layout, records: &[(&str, &str)]) -> Result<Self, OpenError> {
        create_private(path)?;
        inspect(path, layout)?;
        let conn = Connection::open_with_flags(path, READ_WRITE)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        // Asked again with the file in hand: another process may have been first.
        verdict(&conn, layout)?;
        conn.pragma_update(None, "journal_mode", "wal")?;
        Self::prepare(conn, layout, records)
    }

    /// Says whether the store at `path` is ours to open, and changes nothing; one that does not exist yet is.
    ///
    /// Errors: as [`Store::open`].
    pub fn check(path: &Path, layout: &Layout) -> Result<(), OpenError> {
        if path.exists() { inspect(path, layout) } else { Ok(()) }
    }

    /// Whether every page of the store at `path` is as SQLite left it, without touching it. Cost: reads all of it.
    ///
    /// Errors: as [`Store::check`]; [`StoreError::Busy`] for a store that only a writer can read now.
    pub fn is_sound(path: &Path, layout: &Layout) -> Result<bool, OpenError> {
        let conn = reading(path)?.ok_or(StoreError::Busy)?;
        verdict(&conn, layout)?;
        let found: String = conn.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
        Ok(found == "ok")
    }

    /// A new store in memory, gone with the value.
    pub fn memory(layout: &Layout, records: &[(&str, &str)]) -> Result<Self, OpenError> {
        Self::prepare(Connection::open_in_memory()?, layout, records)
    }

    /// The committed rows.
    pub fn view(&self) -> View<'_> {
        View::new(&self.conn)
    }

    /// The tables, columns, indexes and triggers, one statement a line, sorted: what a snapshot holds to.
    pub fn shape(&self) -> Result<String, StoreError> {
        let mut statements = self.view().rows(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
            (),
            |row| row.get::<_, String>(0),
        )?;
        for statement in &mut statements {
            *statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        statements.sort();
        Ok(statements.join("\n") + "\n")
    }

    /// Moves everything from the write-ahead log into the file and empties the log. For a clean stop.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.view().row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
        Ok(())
    }

    /// Writes in one transaction, while no loop has the store.
    ///
    /// Errors: the first of `act`, or the commit's; then nothing was written.
    pub fn write<T>(
        &self,
        act: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut ledger = Ledger::default();
        ledger.begin_input(true, false);
        match act(&mut Tx::new(&self.conn, &mut ledger)) {
            Ok(value) => ledger.commit(&self.conn).map(|()| value),
            Err(error) => {
                ledger.abandon(&self.conn);
                Err(error)
            }
        }
    }

    /// Writes a consistent copy to `path`, which must not exist; mode 0600.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        create_new_private(path)?;
        let mut copy = Connection::open_with_flags(path, READ_WRITE)?;
        let backup = rusqlite::backup::Backup::new(&self.conn, &mut copy)?;
        backup.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
        Ok(())
    }

    /// A copy in memory of everything that `view` sees, which is a store of `layout`.
    ///
    /// Errors: as [`Store::open`].
    pub fn copy_of(view: &View<'_>, layout: &Layout) -> Result<Self, OpenError> {
        let mut conn = Connection::open_in_memory()?;
        rusqlite::backup::Backup::new(view.conn(), &mut conn)?.run_to_completion(
            COPY_PAGES,
            Duration::ZERO,
            None,
        )?;
        Self::prepare(conn, layout, &[])
    }

    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }

    fn prepare(
        mut conn: Connection,
        layout: &Layout,
        records: &[(&str, &str)],
    ) -> Result<Self, OpenError> {
        for (name, value) in [
            ("synchronous", "FULL"),
            ("foreign_keys", "ON"),
            ("trusted_schema", "OFF"),
            ("temp_store", "MEMORY"),
        ] {
            conn.pragma_update(None, name, value)?;
        }
        conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        conn.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
        // A double-quoted unknown column is then an error, not a string.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
        conn.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        match verdict(&conn, layout)? {
            Verdict::New => found(&mut conn, layout, records)?,
            Verdict::Ours { schema } => grow(&mut conn, layout, schema)?,
        }
        Ok(Self { conn })
    }
}

/// Makes an empty file that only its owner reads, unless there is one: SQLite gives its log the same mode.
fn create_private(path: &Path) -> Result<(), OpenError> {
    match private_options().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(StoreError::Full.into()),
        Err(_) => Err(StoreError::Io.into()),
    }
}

/// Makes an empty file that only its owner reads. Errors: also when there is one.
pub(crate) fn create_new_private(path: &Path) -> Result<(), StoreError> {
    match private_options().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(StoreError::Full),
        Err(_) => Err(StoreError::Io),
    }
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Looks at a store without touching it: a connection that may write would move a foreign store's log into its file.
fn inspect(path: &Path, layout: &Layout) -> Result<(), OpenError> {
    match reading(path)? {
        Some(conn) => verdict(&conn, layout).map(|_| ()),
        // Only a writer can read past an interrupted rollback; what it rolls back was never part of the store.
        None => Ok(()),
    }
}

/// A connection that leaves the file and what stands beside it as they are; none past an interrupted rollback.
pub(crate) fn reading(path: &Path) -> Result<Option<Connection>, OpenError> {
    if beside(path, "-journal").exists() {
        return Ok(None);
    }
    let conn = if beside(path, "-wal").exists() {
        Connection::open_with_flags(path, READ_ONLY)?
    } else {
        // Without a log the file alone is the store, and reading it as unchanging leaves no file beside it.
        Connection::open_with_flags(unchanging(path), READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?
    };
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(Some(conn))
}

/// What a store's tables and records say.
pub(crate) enum Verdict {
    New,
    Ours { schema: u32 },
}

impl Verdict {
    /// The schema that the store records.
    pub(crate) fn schema(&self) -> Option<u32> {
        match self {
            Self::New => None,
            Self::Ours { schema } => Some(*schema),
        }
    }
}

pub(crate) fn verdict(conn: &Connection, layout: &Layout) -> Result<Verdict, OpenError> {
    let tables = tables(conn, layout)?;
    if tables.is_empty() {
        return Ok(Verdict::New);
    }
    if !tables.iter().any(|table| table == layout.records) {
        return Err(Refusal::NoGeneration.into());
    }
    match record_number(conn, layout, "generation")? {
        None => return Err(Refusal::NoGeneration.into()),
        Some(generation) if generation != layout.generation => {
            return Err(Refusal::Generation.into());
        }
        Some(_) => {}
    }
    for (name, value) in layout.marks {
        if record(conn, layout, name)?.as_deref() != Some(value) {
            return Err(Refusal::Record(name).into());
        }
    }
    match record_number(conn, layout, "min_reader")? {
        Some(least) if least <= layout.schema => {}
        _ => return Err(Refusal::MinReader.into()),
    }
    let schema = match layout.schema_at {
        SchemaAt::UserVersion => {
            Some(conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?)
                .and_then(|schema| u32::try_from(schema).ok())
        }
        SchemaAt::Record => record_number(conn, layout, "schema")?,
    };
    Ok(Verdict::Ours { schema: schema.unwrap_or(0) })
}

fn tables(conn: &Connection, layout: &Layout) -> Result<Vec<String>, OpenError> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let mut statement = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        let names = statement.query_map((), |row| row.get(0))?;
        names.collect()
    };
    let mut names = read().map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::Refused(Refusal::NotADatabase),
        _ => error.into(),
    })?;
    names.retain(|name| {
        !name.starts_with("sqlite_")
            && !layout.ignored.iter().any(|prefix| name.starts_with(prefix))
    });
    Ok(names)
}

/// A record's text, however it is stored; `None` when it is missing or the table has other columns.
fn record(conn: &Connection, layout: &Layout, key: &str) -> Result<Option<String>, OpenError> {
    let sql = format!("SELECT value FROM \"{}\" WHERE key = ?1", layout.records);
    let Ok(mut statement) = conn.prepare(&sql) else { return Ok(None) };
    let value = statement
        .query_row([key], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(number) => Some(number.to_string()),
                ValueRef::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
                _ => None,
            })
        })
        .optional()?;
    Ok(value.flatten())
}

fn record_number(conn: &Connection, layout: &Layout, key: &str) -> Result<Option<u32>, OpenError> {
    Ok(record(conn, layout, key)?.and_then(|text| text.parse().ok()))
}

fn set_record(conn: &Connection, layout: &Layout, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO \"{}\"(key, value) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        layout.records
    );
    conn.execute(&sql, [key, value]).map(|_| ())
}

/// Writes the baseline and the records of a new store, and grows it to the present schema.
fn found(
    conn: &mut Connection,
    layout: &Layout,
    records: &[(&str, &str)],
) -> Result<(), OpenError> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    tx.execute_batch(layout.baseline)?;
    set_record(&tx, layout, "generation", &layout.generation.to_string())?;
    set_record(&tx, layout, "min_reader", &layout.min_reader.to_string())?;
    for (key, value) in layout.marks.iter().chain(records) {
        set_record(&tx, layout, key, value)?;
    }
    apply(&tx, layout.growth)?;
    set_schema(&tx, layout)?;
    tx.commit()?;
    Ok(())
}

/// Runs every step that this release knows, again if need be, and raises the schema, never lowering it.
fn grow(conn: &mut Connection, layout: &Layout, schema: u32) -> Result<(), OpenError> {
    if schema >= layout.schema {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    apply(&tx, layout.growth)?;
    set_schema(&tx, layout)?;
    tx.commit()?;
    Ok(())
}

fn apply(conn: &Connection, growth: &[Growth]) -> rusqlite::Result<()> {
    for step in growth.iter().flat_map(|growth| growth.steps) {
        match step {
            Step::Create(sql) => conn.execute_batch(sql)?,
            Step::Column { table, name, decl } => {
                if !conn.column_exists(None, *table, *name)? {
                    conn.execute_batch(&format!(
                        "ALTER TABLE \"{table}\" ADD COLUMN {name} {decl}"
                    ))?;
                }
            }
        }
    }
    Ok(())
}

fn set_schema(conn: &Connection, layout: &Layout) -> rusqlite::Result<()> {
    match layout.schema_at {
        SchemaAt::UserVersion => conn.pragma_update(None, "user_version", layout.schema),
        SchemaAt::Record => set_record(conn, layout, "schema", &layout.schema.to_string()),
    }
}

/// The name of a file that SQLite keeps beside the database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A URI that opens `path` as a file nobody changes.
fn unchanging(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

pub(crate) const READ_WRITE: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
pub(crate) const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// SQLite's own 16 are fewer than an engine has statements, and a cache that turns over is slower than none.
const CACHED_STATEMENTS: usize = 128;
/// 16 MiB of log between checkpoints: each costs two syncs, which a busy server should not pay every few commits.
const CHECKPOINT_PAGES: i64 = 4_096;
/// A log that a reader made larger is cut to 32 MiB when it begins anew.
const LOG_LIMIT: i64 = 32 << 20;
const COPY_PAGES: std::ffi::c_int = 1_024;

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
