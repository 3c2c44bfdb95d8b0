//! Opening: what is made, what grows, what is refused and left as it was.

use super::*;
use std::collections::BTreeMap;
use std::fs;

const RELAYLIKE: Layout = Layout {
    records: "meta",
    schema_at: SchemaAt::UserVersion,
    generation: 2,
    schema: 1,
    min_reader: 1,
    marks: &[("kind", "team")],
    baseline: "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL); CREATE TABLE things(a INTEGER);",
    growth: &[],
    ignored: &["_litestream_"],
};

const GROWN: Layout = Layout {
    schema: 3,
    growth: &[
        Growth {
            schema: 2,
            steps: &[Step::Column { table: "things", name: "b", decl: "INTEGER DEFAULT 7" }],
        },
        Growth {
            schema: 3,
            steps: &[Step::Create("CREATE INDEX IF NOT EXISTS things_b ON things(b)")],
        },
    ],
    ..RELAYLIKE
};

const DAEMONLIKE: Layout = Layout {
    records: "kv",
    schema_at: SchemaAt::Record,
    baseline: "CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL);",
    marks: &[("impl", "rs1")],
    ..RELAYLIKE
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn db(&self) -> PathBuf {
        self.0.path().join("a store?#%.db")
    }
    fn raw(&self, sql: &str) -> Connection {
        let conn = Connection::open(self.db()).unwrap();
        conn.execute_batch(sql).unwrap();
        conn
    }
    /// Every file with its bytes, but for SQLite's index of the log, which holds nothing of its own.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.to_string_lossy().ends_with("-shm"))
            .map(|path| (path.to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect()
    }
    fn refused(&self, layout: &Layout) -> OpenError {
        let before = self.files();
        let error = Store::open(&self.db(), layout, &[]).map(|_| ()).unwrap_err();
        assert_eq!(self.files(), before, "a refusal changes nothing");
        error
    }
}

fn number(store: &Store, sql: &str) -> i64 {
    store.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
}

fn text(store: &Store, sql: &str) -> String {
    store.view().row(sql, (), |row| row.get(0)).unwrap().unwrap()
}

#[test]
fn a_new_store_gets_the_baseline_and_its_records() {
    let folder = Folder::new();
    let store = Store::open(&folder.db(), &RELAYLIKE, &[("relay_id", "ws://x")]).unwrap();
    assert_eq!(number(&store, "PRAGMA user_version"), 1);
    assert_eq!(text(&store, "PRAGMA journal_mode"), "wal");
    assert_eq!(number(&store, "PRAGMA synchronous"), 2);
    assert_eq!(number(&store, "PRAGMA foreign_keys"), 1);
    assert_eq!(number(&store, "PRAGMA busy_timeout"), 5_000);
    for (key, value) in
        [("generation", "2"), ("min_reader", "1"), ("kind", "team"), ("relay_id", "ws://x")]
    {
        let sql = format!("SELECT value FROM meta WHERE key = '{key}'");
        assert_eq!(text(&store, &sql), value, "{key}");
    }
    drop(store);
    Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_a_store_and_its_log() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    store.conn().execute("INSERT INTO things(a) VALUES (1)", ()).unwrap();
    let copy = folder.0.path().join("copy.db");
    store.copy_to(&copy).unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(folder.0.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    assert!(store.copy_to(&copy).is_err(), "a copy never overwrites");
    drop(store);
    assert_eq!(number(&Store::open(&copy, &RELAYLIKE, &[]).unwrap(), "SELECT a FROM things"), 1);
}

#[test]
fn a_copy_in_memory_is_a_store_of_its_own() {
    let store = Store::memory(&RELAYLIKE, &[]).unwrap();
    store.conn().execute("INSERT INTO things(a) VALUES (1)", ()).unwrap();
    let copy = Store::copy_of(&store.view(), &RELAYLIKE).unwrap();
    store.conn().execute("UPDATE things SET a = 2", ()).unwrap();
    assert_eq!(number(&copy, "SELECT a FROM things"), 1);
    assert!(Store::copy_of(&store.view(), &DAEMONLIKE).is_err(), "of another layout");
}

#[test]
fn a_daemons_records_stand_in_its_own_table() {
    let folder = Folder::new();
    let store = Store::open(&folder.db(), &DAEMONLIKE, &[]).unwrap();
    assert_eq!(text(&store, "SELECT value FROM kv WHERE key = 'schema'"), "1");
    assert_eq!(text(&store, "SELECT value FROM kv WHERE key = 'impl'"), "rs1");
    assert_eq!(number(&store, "PRAGMA user_version"), 0);
    drop(store);
    Store::open(&folder.db(), &DAEMONLIKE, &[]).unwrap();
}

#[test]
fn stores_of_others_are_refused_and_unchanged() {
    let meta = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);";
    let cases: &[(&str, Refusal)] = &[
        ("CREATE TABLE queue(x)", Refusal::NoGeneration),
        ("CREATE TABLE meta(other)", Refusal::NoGeneration),
        (meta, Refusal::NoGeneration),
        (
            "INSERT INTO meta VALUES ('generation','1'), ('min_reader','1'), ('kind','team')",
            Refusal::Generation,
        ),
        (
            "INSERT INTO meta VALUES ('generation','x'), ('min_reader','1'), ('kind','team')",
            Refusal::NoGeneration,
        ),
        (
            "INSERT INTO meta VALUES ('generation','2'), ('min_reader','2'), ('kind','team')",
            Refusal::MinReader,
        ),
        ("INSERT INTO meta VALUES ('generation','2'), ('kind','team')", Refusal::MinReader),
        (
            "INSERT INTO meta VALUES ('generation','2'), ('min_reader','1'), ('kind','directory')",
            Refusal::Record("kind"),
        ),
        ("INSERT INTO meta VALUES ('generation','2'), ('min_reader','1')", Refusal::Record("kind")),
    ];
    for (sql, expected) in cases {
        for wal in [false, true] {
            let folder = Folder::new();
            let sql =
                if sql.starts_with("INSERT") { format!("{meta}{sql}") } else { (*sql).into() };
            let mode =
                if wal { "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0;" } else { "" };
            // The connection stays open, so with WAL the rows are in the log alone.
            let other = folder.raw(&format!("{mode}{sql}"));
            assert_eq!(folder.refused(&RELAYLIKE), OpenError::Refused(*expected), "{sql}");
            drop(other);
            assert_eq!(folder.refused(&RELAYLIKE), OpenError::Refused(*expected), "{sql}");
        }
    }
}

#[test]
fn a_log_left_by_a_killed_owner_is_not_folded_into_a_refused_store() {
    let (from, to) = (Folder::new(), Folder::new());
    let other =
        from.raw("PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0; CREATE TABLE queue(x);");
    fs::copy(from.db(), to.db()).unwrap();
    fs::copy(beside(&from.db(), "-wal"), beside(&to.db(), "-wal")).unwrap();
    drop(other);
    assert_eq!(to.refused(&RELAYLIKE), OpenError::Refused(Refusal::NoGeneration));
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    fs::write(folder.db(), vec![b'x'; 5_000]).unwrap();
    assert_eq!(folder.refused(&RELAYLIKE), OpenError::Refused(Refusal::NotADatabase));
}

#[test]
fn tables_of_a_replicator_do_not_make_a_store_old() {
    let folder = Folder::new();
    folder.raw(
        "CREATE TABLE _litestream_seq(id INTEGER); CREATE TABLE _litestream_lock(id INTEGER);",
    );
    Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
}

#[test]
fn an_empty_file_and_a_missing_folder() {
    let folder = Folder::new();
    fs::write(folder.db(), b"").unwrap();
    Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    let nowhere = folder.0.path().join("no/such/folder.db");
    let error = Store::open(&nowhere, &RELAYLIKE, &[]).map(|_| ()).unwrap_err();
    assert_eq!(error, OpenError::Failed(StoreError::Io));
}

#[test]
fn a_store_grows_in_place_and_an_older_release_still_opens_it() {
    let folder = Folder::new();
    let store = Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    store.conn().execute("INSERT INTO things(a) VALUES (1)", ()).unwrap();
    drop(store);
    let store = Store::open(&folder.db(), &GROWN, &[]).unwrap();
    assert_eq!(number(&store, "PRAGMA user_version"), 3);
    assert_eq!(number(&store, "SELECT b FROM things"), 7);
    let grown = store.shape().unwrap();
    drop(store);

    let store = Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    assert_eq!(number(&store, "PRAGMA user_version"), 3, "the schema is never lowered");
    drop(store);

    // A store that has the steps but not the number, as after a restored copy of one table.
    folder.raw("PRAGMA user_version = 1");
    let store = Store::open(&folder.db(), &GROWN, &[]).unwrap();
    assert_eq!(store.shape().unwrap(), grown, "steps may run again");

    let fresh = Store::memory(&GROWN, &[]).unwrap();
    assert_eq!(fresh.shape().unwrap().lines().count(), grown.lines().count());
    assert_eq!(number(&fresh, "PRAGMA user_version"), 3);
}

#[test]
fn a_store_that_another_process_has_open_opens_too() {
    let folder = Folder::new();
    let first = Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    first.conn().execute("INSERT INTO things(a) VALUES (1)", ()).unwrap();
    let second = Store::open(&folder.db(), &RELAYLIKE, &[]).unwrap();
    assert_eq!(number(&second, "SELECT a FROM things"), 1);
}

#[test]
fn error_kinds_have_names_and_no_text_of_the_statement() {
    let store = Store::memory(&RELAYLIKE, &[("k", "v")]).unwrap();
    let constraint = store.conn().execute("INSERT INTO meta VALUES ('k', 'SECRET')", ());
    let error = StoreError::from(constraint.unwrap_err());
    assert_eq!(error, StoreError::Constraint);
    assert_eq!(error.to_string(), "store error: constraint");
    let kind = store.view().row("SELECT 'SECRET'", (), |row| row.get::<_, i64>(0)).unwrap_err();
    assert_eq!(kind, StoreError::Corrupt);
    assert_eq!(store.view().rows("SELECT nonsense", (), |_| Ok(())), Err(StoreError::Other));
    store.conn().pragma_update(None, "max_page_count", 4).unwrap();
    let full = store.conn().execute(
        "INSERT INTO things SELECT value FROM json_each('[1]') UNION ALL SELECT zeroblob(100000)",
        (),
    );
    assert_eq!(StoreError::from(full.unwrap_err()), StoreError::Full);
}

#[test]
fn a_sound_store_is_told_from_a_damaged_one_without_touching_it() {
    let folder = Folder::new();
    drop(Store::open(&folder.db(), &GROWN, &[]).unwrap());
    let before = folder.files();
    assert_eq!(Store::is_sound(&folder.db(), &GROWN), Ok(true));
    assert_eq!(folder.files(), before);
    // The last page becomes something else; the first stays, so that it is still a database.
    let mut bytes = fs::read(folder.db()).unwrap();
    let page = bytes.len() - 4_096;
    assert!(page > 0);
    bytes[page..].fill(0xA5);
    fs::write(folder.db(), bytes).unwrap();
    let damaged = folder.files();
    assert_ne!(Store::is_sound(&folder.db(), &GROWN), Ok(true));
    assert_eq!(folder.files(), damaged);
}
