//! The table `seen`: which envelopes were taken, until they could not be valid any more.
//! Spec: §7 "Dedupe", W5.4, R9

use messaging_core::ids::Ulid;
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::{Id, Party, count, int};

/// What was remembered of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) digest: [u8; 32],
    pub(crate) until: Ms,
}

/// Remembers an id; `false` when it is remembered already, and then nothing changed.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    sender: &Party,
    id: &Ulid,
    seen: &Seen,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "INSERT INTO seen(realm, sender, id, digest, until) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        params![
            sender.realm.as_str(),
            sender.machine.as_str(),
            id.as_str(),
            seen.digest,
            seen.until.as_i64()
        ],
    )?;
    Ok(changed == 1)
}

pub(crate) fn get(view: &View<'_>, sender: &Party, id: &Ulid) -> Result<Option<Seen>, StoreError> {
    view.row(
        "SELECT digest, until FROM seen WHERE realm = ?1 AND sender = ?2 AND id = ?3",
        params![sender.realm.as_str(), sender.machine.as_str(), id.as_str()],
        |row| Ok(Seen { digest: row.get(0)?, until: Ms::from_i64(row.get(1)?) }),
    )
}

/// Forgets an id; `false` when it was not remembered.
pub(crate) fn delete(tx: &mut Tx<'_>, sender: &Party, id: &Ulid) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "DELETE FROM seen WHERE realm = ?1 AND sender = ?2 AND id = ?3",
        params![sender.realm.as_str(), sender.machine.as_str(), id.as_str()],
    )?;
    Ok(changed == 1)
}

/// How many ids of a sender are remembered.
pub(crate) fn of_sender(view: &View<'_>, sender: &Party) -> Result<u64, StoreError> {
    let rows = view.row(
        "SELECT COUNT(*) FROM seen WHERE realm = ?1 AND sender = ?2",
        params![sender.realm.as_str(), sender.machine.as_str()],
        |row| count(row, 0),
    )?;
    Ok(rows.unwrap_or(0))
}

/// How many ids are remembered in all. Cost: a whole index is read.
pub(crate) fn total(view: &View<'_>) -> Result<u64, StoreError> {
    let rows = view.row("SELECT COUNT(*) FROM seen", (), |row| count(row, 0))?;
    Ok(rows.unwrap_or(0))
}

/// At most `most` ids whose time has passed.
pub(crate) fn expired(
    view: &View<'_>,
    now: Ms,
    most: usize,
) -> Result<Vec<(Party, Ulid)>, StoreError> {
    view.rows(
        "SELECT realm, sender, id FROM seen WHERE until <= ?1 ORDER BY until LIMIT ?2",
        params![now.as_i64(), int(most as u64)],
        |row| {
            let party =
                Party { realm: row.get::<_, Id<_>>(0)?.0, machine: row.get::<_, Id<_>>(1)?.0 };
            Ok((party, row.get::<_, Id<_>>(2)?.0))
        },
    )
}
