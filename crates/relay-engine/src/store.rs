//! The relay's rows: the only SQL of this crate.
//! Spec: §8.8, W5.14

pub(crate) mod presence;
pub(crate) mod queue;
pub(crate) mod seen;
pub(crate) mod teams;

use messaging_core::ids::{Hash, MachineId};
use messaging_store::types::{FromSql, FromSqlError};
use messaging_store::{Layout, Row, SchemaAt, StoreError, Tx};

/// The store of a relay that serves teams.
///
/// Envelopes stand last in their rows: what is counted before them is read without walking through their pages.
///
/// A directory relay's store is another `kind`: it will have `queue`, `seen` and `presence`, and tables of its own.
pub const TEAM_RELAY: Layout = Layout {
    records: "meta",
    schema_at: SchemaAt::UserVersion,
    generation: 2,
    schema: 1,
    min_reader: 1,
    marks: &[("kind", "team")],
    baseline: concat!(
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE queue(pos INTEGER PRIMARY KEY AUTOINCREMENT, realm TEXT NOT NULL, sender TEXT NOT NULL,
            id TEXT NOT NULL, recipient TEXT NOT NULL, bytes INTEGER NOT NULL, exp INTEGER NOT NULL, at INTEGER NOT NULL,
            env TEXT NOT NULL);
        CREATE INDEX queue_to ON queue(realm, recipient, sender, pos);
        CREATE INDEX queue_exp ON queue(exp);
        CREATE TABLE seen(realm TEXT NOT NULL, sender TEXT NOT NULL, id TEXT NOT NULL, digest BLOB NOT NULL,
            until INTEGER NOT NULL, PRIMARY KEY(id, sender, realm)) WITHOUT ROWID;
        CREATE INDEX seen_until ON seen(until);
        CREATE TABLE presence(realm TEXT NOT NULL, machine TEXT NOT NULL, person TEXT NOT NULL, seq INTEGER NOT NULL,
            exp INTEGER NOT NULL, env TEXT NOT NULL, PRIMARY KEY(realm, machine));",
        "CREATE TABLE teams(team TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL);
        CREATE TABLE roster(team TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, entry TEXT NOT NULL,
            PRIMARY KEY(team, seq));",
    ),
    growth: &[],
    ignored: &["_litestream_"],
};

/// The records of a new store beside the layout's own.
#[must_use]
pub fn first_records(relay: &str) -> [(&str, &str); 2] {
    [("write_probe", "0"), ("relay_id", relay)]
}

/// Writes the probe. Its value differs each time, so a commit of it changed a row.
pub(crate) fn probe(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO meta(key, value) VALUES ('write_probe', '1')
         ON CONFLICT(key) DO UPDATE SET value = value + 1",
        (),
    )?;
    Ok(())
}

/// A machine in a realm: who queues, remembers and is told things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Party {
    pub(crate) realm: Hash,
    pub(crate) machine: MachineId,
}

/// An id from a column. One that does not read was not written by us: the store is corrupt.
pub(crate) struct Id<T>(pub(crate) T);

impl<T: core::str::FromStr> FromSql for Id<T> {
    fn column_result(value: messaging_store::types::ValueRef<'_>) -> Result<Self, FromSqlError> {
        value.as_str()?.parse().map(Id).map_err(|_| FromSqlError::InvalidType)
    }
}

/// A counting column; a negative number counts as 0.
pub(crate) fn count(row: &Row<'_>, index: usize) -> Result<u64, rusqlite::Error> {
    row.get::<_, i64>(index).map(|n| u64::try_from(n).unwrap_or(0))
}

/// A number as a column holds it.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_store::Store;

    /// A change of the baseline is seen in review; once stores are out, it needs a step of growth instead.
    #[test]
    fn the_baseline_is_the_one_on_record() {
        let store = Store::memory(&TEAM_RELAY, &first_records("ws://127.0.0.1:8080")).unwrap();
        assert_eq!(store.shape().unwrap(), include_str!("store/schema-1.sql"));
    }
}
