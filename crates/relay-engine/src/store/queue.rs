//! The table `queue`: sealed envelopes that wait for their recipient.
//! Spec: §7 "Queue size and fairness", "Delivery"; W5.14

use std::ops::ControlFlow;

use messaging_core::ids::{MachineId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

use super::{Id, Party, count, int};

/// A place in the queue: it grows, and is never used again.
pub(crate) type Pos = i64;

/// An envelope to queue.
pub(crate) struct NewRow<'a> {
    pub(crate) sender: &'a MachineId,
    pub(crate) id: &'a Ulid,
    pub(crate) recipient: &'a Party,
    /// Its canonical text.
    pub(crate) env: &'a str,
    pub(crate) exp: Ms,
    pub(crate) at: Ms,
}

/// What stands at a place, without the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) pos: Pos,
    pub(crate) sender: MachineId,
    pub(crate) bytes: u64,
}

/// An envelope that waits, with its text.
pub(crate) struct Waiting<'a> {
    pub(crate) pos: Pos,
    pub(crate) id: Ulid,
    pub(crate) exp: Ms,
    pub(crate) env: &'a str,
}

/// What one sender has waiting for one recipient.
pub(crate) struct SenderRows {
    pub(crate) sender: MachineId,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) first_exp: Ms,
}

pub(crate) fn insert(tx: &mut Tx<'_>, row: &NewRow<'_>) -> Result<Pos, StoreError> {
    tx.execute(
        "INSERT INTO queue(realm, sender, id, recipient, env, bytes, exp, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            row.recipient.realm.as_str(),
            row.sender.as_str(),
            row.id.as_str(),
            row.recipient.machine.as_str(),
            row.env,
            int(row.env.len() as u64),
            row.exp.as_i64(),
            row.at.as_i64(),
        ],
    )?;
    Ok(tx.last_insert_rowid())
}

/// Deletes one row; `false` when it was gone.
pub(crate) fn delete(tx: &mut Tx<'_>, pos: Pos) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM queue WHERE pos = ?1", [pos])? == 1)
}

/// Whether a place is taken.
pub(crate) fn exists(view: &View<'_>, pos: Pos) -> Result<bool, StoreError> {
    let found = view.row("SELECT 1 FROM queue WHERE pos = ?1", [pos], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Whether the envelope at a place is this one.
pub(crate) fn holds(view: &View<'_>, pos: Pos, id: &Ulid) -> Result<bool, StoreError> {
    let found = view.row(
        "SELECT 1 FROM queue WHERE pos = ?1 AND id = ?2",
        params![pos, id.as_str()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Where the envelope `id` of `sender` waits for `recipient`.
pub(crate) fn find(
    view: &View<'_>,
    recipient: &Party,
    sender: &MachineId,
    id: &Ulid,
) -> Result<Option<Place>, StoreError> {
    view.row(
        "SELECT pos, bytes FROM queue WHERE realm = ?1 AND recipient = ?2 AND sender = ?3 AND id = ?4",
        params![recipient.realm.as_str(), recipient.machine.as_str(), sender.as_str(), id.as_str()],
        |row| Ok(Place { pos: row.get(0)?, sender: *sender, bytes: count(row, 1)? }),
    )
}

/// Shows the rows of `sender` for `recipient` after `after`, in queue order, at most `most`.
pub(crate) fn after(
    view: &View<'_>,
    recipient: &Party,
    sender: &MachineId,
    after: Pos,
    most: usize,
    mut see: impl FnMut(Waiting<'_>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    view.each(
        "SELECT pos, id, exp, env FROM queue
         WHERE realm = ?1 AND recipient = ?2 AND sender = ?3 AND pos > ?4 ORDER BY pos LIMIT ?5",
        params![
            recipient.realm.as_str(),
            recipient.machine.as_str(),
            sender.as_str(),
            after,
            int(most as u64)
        ],
        |row| {
            let waiting = Waiting {
                pos: row.get(0)?,
                id: row.get::<_, Id<_>>(1)?.0,
                exp: Ms::from_i64(row.get(2)?),
                env: row.get_ref(3)?.as_str()?,
            };
            Ok(see(waiting).is_continue())
        },
    )
}

/// Hands the text at `pos` to `see`; `false` when the row is gone.
pub(crate) fn text(view: &View<'_>, pos: Pos, see: impl FnOnce(&str)) -> Result<bool, StoreError> {
    let seen = view.row("SELECT env FROM queue WHERE pos = ?1", [pos], |row| {
        see(row.get_ref(0)?.as_str()?);
        Ok(())
    })?;
    Ok(seen.is_some())
}

/// What waits for `recipient`, by sender.
pub(crate) fn senders(view: &View<'_>, recipient: &Party) -> Result<Vec<SenderRows>, StoreError> {
    view.rows(
        "SELECT sender, COUNT(*), SUM(bytes), MIN(exp) FROM queue
         WHERE realm = ?1 AND recipient = ?2 GROUP BY sender",
        params![recipient.realm.as_str(), recipient.machine.as_str()],
        |row| {
            Ok(SenderRows {
                sender: row.get::<_, Id<_>>(0)?.0,
                rows: count(row, 1)?,
                bytes: count(row, 2)?,
                first_exp: Ms::from_i64(row.get(3)?),
            })
        },
    )
}

/// Rows and bytes of the whole queue. Cost: the whole table is read.
pub(crate) fn totals(view: &View<'_>) -> Result<(u64, u64), StoreError> {
    let totals = view.row("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM queue", (), |row| {
        Ok((count(row, 0)?, count(row, 1)?))
    })?;
    Ok(totals.unwrap_or_default())
}

/// When the oldest waiting envelope was taken in.
pub(crate) fn oldest(view: &View<'_>) -> Result<Option<Ms>, StoreError> {
    let oldest = view.row("SELECT at FROM queue ORDER BY pos LIMIT 1", (), |row| row.get(0))?;
    Ok(oldest.map(Ms::from_i64))
}

/// At most `most` rows whose time has passed, with their recipients.
pub(crate) fn expired(
    view: &View<'_>,
    now: Ms,
    most: usize,
) -> Result<Vec<(Party, Place)>, StoreError> {
    view.rows(
        "SELECT realm, recipient, sender, pos, bytes FROM queue WHERE exp <= ?1 ORDER BY exp LIMIT ?2",
        params![now.as_i64(), int(most as u64)],
        |row| {
            let party = Party { realm: row.get::<_, Id<_>>(0)?.0, machine: row.get::<_, Id<_>>(1)?.0 };
            let place = Place {
                sender: row.get::<_, Id<_>>(2)?.0,
                pos: row.get(3)?,
                bytes: count(row, 4)?,
            };
            Ok((party, place))
        },
    )
}

/// The expired rows of one recipient.
pub(crate) fn expired_of(
    view: &View<'_>,
    recipient: &Party,
    now: Ms,
) -> Result<Vec<Place>, StoreError> {
    view.rows(
        "SELECT sender, pos, bytes FROM queue WHERE realm = ?1 AND recipient = ?2 AND exp <= ?3",
        params![recipient.realm.as_str(), recipient.machine.as_str(), now.as_i64()],
        |row| {
            Ok(Place { sender: row.get::<_, Id<_>>(0)?.0, pos: row.get(1)?, bytes: count(row, 2)? })
        },
    )
}

/// Deletes everything from `sender` to `recipient`; rows and bytes that went.
pub(crate) fn delete_pair(
    tx: &mut Tx<'_>,
    recipient: &Party,
    sender: &MachineId,
) -> Result<(u64, u64), StoreError> {
    let pair = params![recipient.realm.as_str(), recipient.machine.as_str(), sender.as_str()];
    let sizes = tx.row(
        "SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM queue
         WHERE realm = ?1 AND recipient = ?2 AND sender = ?3",
        pair,
        |row| Ok((count(row, 0)?, count(row, 1)?)),
    )?;
    let (rows, bytes) = sizes.unwrap_or_default();
    if rows > 0 {
        tx.execute("DELETE FROM queue WHERE realm = ?1 AND recipient = ?2 AND sender = ?3", pair)?;
    }
    Ok((rows, bytes))
}
