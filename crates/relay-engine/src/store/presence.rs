//! The table `presence`: the latest presence of each machine.
//! Spec: §7 "presence", W5.7

use messaging_core::ids::{Hash, MachineId, PersonId};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::{Id, Party, count, int};

/// The `seq` of the presence that is kept.
pub(crate) fn seq(view: &View<'_>, machine: &Party) -> Result<Option<u64>, StoreError> {
    view.row(
        "SELECT seq FROM presence WHERE realm = ?1 AND machine = ?2",
        params![machine.realm.as_str(), machine.machine.as_str()],
        |row| count(row, 0),
    )
}

pub(crate) fn put(
    tx: &mut Tx<'_>,
    machine: &Party,
    person: &PersonId,
    seq: u64,
    env: &str,
    exp: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO presence(realm, machine, person, seq, env, exp) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT(realm, machine) DO UPDATE SET
         person = excluded.person, seq = excluded.seq, env = excluded.env, exp = excluded.exp",
        params![
            machine.realm.as_str(),
            machine.machine.as_str(),
            person.as_str(),
            int(seq),
            env,
            exp.as_i64()
        ],
    )?;
    Ok(())
}

/// The machines of a realm with a presence that still holds.
pub(crate) fn machines(
    view: &View<'_>,
    realm: &Hash,
    now: Ms,
) -> Result<Vec<MachineId>, StoreError> {
    view.rows(
        "SELECT machine FROM presence WHERE realm = ?1 AND exp > ?2 ORDER BY machine",
        params![realm.as_str(), now.as_i64()],
        |row| Ok(row.get::<_, Id<_>>(0)?.0),
    )
}

/// Hands the text of a machine's presence to `see`, if one still holds.
pub(crate) fn text(
    view: &View<'_>,
    machine: &Party,
    now: Ms,
    see: impl FnOnce(&str),
) -> Result<(), StoreError> {
    view.row(
        "SELECT env FROM presence WHERE realm = ?1 AND machine = ?2 AND exp > ?3",
        params![machine.realm.as_str(), machine.machine.as_str(), now.as_i64()],
        |row| {
            see(row.get_ref(0)?.as_str()?);
            Ok(())
        },
    )?;
    Ok(())
}

pub(crate) fn delete(tx: &mut Tx<'_>, machine: &Party) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM presence WHERE realm = ?1 AND machine = ?2",
        params![machine.realm.as_str(), machine.machine.as_str()],
    )?;
    Ok(())
}

/// Whether any presence has expired: asked before a purge writes.
pub(crate) fn any_expired(view: &View<'_>, now: Ms) -> Result<bool, StoreError> {
    let found =
        view.row("SELECT 1 FROM presence WHERE exp <= ?1 LIMIT 1", [now.as_i64()], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Deletes what has expired; how many went.
pub(crate) fn purge(tx: &mut Tx<'_>, now: Ms) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM presence WHERE exp <= ?1", [now.as_i64()])
}
