//! The table `seen`: which envelopes were taken, until they could not be valid any more.
//! Spec: §7 "Dedupe", W5.4, R9
//!
//! Its key begins with the id, which begins with a time: what many senders send at once then lands on a few pages.

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

/// Remembers something else of an id.
pub(crate) fn replace(
    tx: &mut Tx<'_>,
    sender: &Party,
    id: &Ulid,
    seen: &Seen,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE seen SET digest = ?4, until = ?5 WHERE id = ?3 AND sender = ?2 AND realm = ?1",
        params![
            sender.realm.as_str(),
            sender.machine.as_str(),
            id.as_str(),
            seen.digest,
            seen.until.as_i64()
        ],
    )?;
    Ok(())
}

pub(crate) fn get(view: &View<'_>, sender: &Party, id: &Ulid) -> Result<Option<Seen>, StoreError> {
    view.row(
        "SELECT digest, until FROM seen WHERE id = ?3 AND sender = ?2 AND realm = ?1",
        params![sender.realm.as_str(), sender.machine.as_str(), id.as_str()],
        |row| Ok(Seen { digest: row.get(0)?, until: Ms::from_i64(row.get(1)?) }),
    )
}

/// Forgets an id; `false` when it was not remembered.
pub(crate) fn delete(tx: &mut Tx<'_>, sender: &Party, id: &Ulid) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "DELETE FROM seen WHERE id = ?3 AND sender = ?2 AND realm = ?1",
        params![sender.realm.as_str(), sender.machine.as_str(), id.as_str()],
    )?;
    Ok(changed == 1)
}

/// How many ids of each sender are remembered. Cost: the whole table is read.
pub(crate) fn by_sender(view: &View<'_>) -> Result<Vec<(Party, u64)>, StoreError> {
    view.rows("SELECT realm, sender, COUNT(*) FROM seen GROUP BY realm, sender", (), |row| {
        let party = Party { realm: row.get::<_, Id<_>>(0)?.0, machine: row.get::<_, Id<_>>(1)?.0 };
        Ok((party, count(row, 2)?))
    })
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
