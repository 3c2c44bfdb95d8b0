//! What a store of ours looks like: its records, its baseline and how it grows.
//! Spec: §8.8

/// One kind of store: the relay's or the daemon's.
///
/// Its records stand in a table with the columns `key` and `value`: `generation` and `min_reader` always.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The table of records (`meta`, `kv`).
    pub records: &'static str,
    /// Where the schema number stands.
    pub schema_at: SchemaAt,
    /// Stores of another generation are refused.
    pub generation: u32,
    /// The newest schema that this release knows.
    pub schema: u32,
    /// The lowest schema that can read a store made by this release.
    pub min_reader: u32,
    /// Further records that must be exactly so (`impl`, `kind`); a new store is given them.
    pub marks: &'static [(&'static str, &'static str)],
    /// The SQL of schema 1.
    pub baseline: &'static str,
    /// What came after schema 1, in order.
    pub growth: &'static [Growth],
    /// Tables whose names start so do not make a store old (`_litestream_`).
    pub ignored: &'static [&'static str],
}

/// Where the schema number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaAt {
    /// In `PRAGMA user_version`.
    UserVersion,
    /// In the record `schema`.
    Record,
}

/// One later schema. Its steps only add, and each may run again on a store that has it.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// The schema that the steps bring.
    pub schema: u32,
    /// What they do, in order.
    pub steps: &'static [Step],
}

/// One additive, repeatable change.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `CREATE TABLE IF NOT EXISTS` or `CREATE INDEX IF NOT EXISTS`.
    Create(&'static str),
    /// A nullable column, or one with a constant default; added only when it is missing.
    Column {
        /// The table that grows.
        table: &'static str,
        /// The column's name.
        name: &'static str,
        /// Its type and default.
        decl: &'static str,
    },
}
