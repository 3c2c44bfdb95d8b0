//! `idempotency`: the first result of a call that may be repeated.
//! Spec: D3.5

use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::columns::Columns;

/// What a key was first used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    /// The hash of what was asked.
    pub(crate) hash: String,
    /// The result, as JSON text.
    pub(crate) result: String,
}

/// What `key` was first used for, within `scope`, while that is remembered.
pub(crate) fn get(
    view: &View<'_>,
    scope: &str,
    key: &str,
    now: Ms,
) -> Result<Option<Used>, StoreError> {
    view.row(
        "SELECT hash, result FROM idempotency WHERE scope = ?1 AND key = ?2 AND until > ?3",
        params![scope, key, now.as_i64()],
        |row| {
            let mut c = Columns::of(row);
            Ok(Used { hash: c.text()?, result: c.text()? })
        },
    )
}

/// Remembers the first use of `key`.
pub(crate) fn put(
    tx: &mut Tx<'_>,
    scope: &str,
    key: &str,
    used: &Used,
    until: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO idempotency (scope, key, hash, result, until) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (scope, key) DO UPDATE SET hash = excluded.hash, result = excluded.result, until = excluded.until",
        params![scope, key, used.hash, used.result, until.as_i64()],
    )?;
    Ok(())
}
