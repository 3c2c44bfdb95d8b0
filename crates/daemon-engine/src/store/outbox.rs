//! `outbox`: sealed envelopes that the relay has not taken yet, oldest first.
//! Spec: §7 "send", D3.7
//!
//! The text of an envelope never changes once it is here: a resend is the identical envelope.

use messaging_core::code::Code;
use messaging_core::envelope::{Class, SealedType};
use messaging_core::ids::{MachineId, PersonId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read, stored};

/// An envelope that waits, without its text.
#[derive(Clone, Debug)]
pub(crate) struct OutboxRow {
    pub(crate) seq: i64,
    pub(crate) id: Ulid,
    pub(crate) bytes: u64,
    /// How often the relay asked to try again.
    pub(crate) attempts: u64,
    /// The last refusal that was no end.
    pub(crate) code: Option<Code>,
    pub(crate) exp: Ms,
}

/// A new envelope.
pub(crate) struct NewOutbox<'a> {
    pub(crate) id: &'a Ulid,
    pub(crate) to_device: &'a MachineId,
    pub(crate) to_person: &'a PersonId,
    pub(crate) r#type: SealedType,
    pub(crate) class: Class,
    pub(crate) created_at: Ms,
    pub(crate) exp: Ms,
    pub(crate) envelope: &'a str,
}

const COLUMNS: &str = "seq, id, bytes, attempts, code, exp";

fn read(row: &Row<'_>) -> Read<OutboxRow> {
    let mut c = Columns::of(row);
    Ok(OutboxRow {
        seq: c.row_id()?,
        id: c.value()?,
        bytes: c.count()?,
        attempts: c.count()?,
        code: c.word_or_none(Code::parse)?,
        exp: c.ms()?,
    })
}

/// Adds an envelope at the end.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewOutbox<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO outbox (id, to_device, to_person, type, class, bytes, created_at, exp, envelope)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            new.id.as_str(),
            new.to_device.as_str(),
            new.to_person.as_str(),
            new.r#type.as_str(),
            new.class.as_str(),
            stored(new.envelope.len() as u64),
            new.created_at.as_i64(),
            new.exp.as_i64(),
            new.envelope
        ],
    )?;
    Ok(())
}

/// The envelope `id`, when it still waits.
pub(crate) fn by_id(view: &View<'_>, id: &Ulid) -> Result<Option<OutboxRow>, StoreError> {
    view.row(&format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1"), params![id.as_str()], read)
}

/// Shows the rows that may be sent now, oldest first, until `see` answers `false`.
///
/// A row waits behind an older one to the same machine that waits for its time, so that mail keeps its order.
pub(crate) fn each_due(
    view: &View<'_>,
    now: Ms,
    mut see: impl FnMut(OutboxRow) -> bool,
) -> Result<(), StoreError> {
    view.each(
        &format!(
            "SELECT {COLUMNS} FROM outbox AS o WHERE o.next_at <= ?1 AND NOT EXISTS (
               SELECT 1 FROM outbox AS b WHERE b.to_device = o.to_device AND b.seq < o.seq AND b.next_at > ?1)
             ORDER BY o.seq"
        ),
        params![now.as_i64()],
        |row| Ok(see(read(row)?)),
    )
}

/// The text of the envelope at `seq`.
pub(crate) fn envelope(view: &View<'_>, seq: i64) -> Result<Option<String>, StoreError> {
    view.row("SELECT envelope FROM outbox WHERE seq = ?1", params![seq], |row| row.get(0))
}

/// When the next row that waits for its time may be sent.
pub(crate) fn next_retry(view: &View<'_>, now: Ms) -> Result<Option<Ms>, StoreError> {
    let at = view.row(
        "SELECT min(next_at) FROM outbox WHERE next_at > ?1",
        params![now.as_i64()],
        |row| Columns::of(row).ms_or_none(),
    )?;
    Ok(at.flatten())
}

/// Rows and bytes that wait.
pub(crate) fn load(view: &View<'_>) -> Result<(u64, u64), StoreError> {
    let row = view.row("SELECT count(*), coalesce(sum(bytes), 0) FROM outbox", (), |row| {
        let mut c = Columns::of(row);
        Ok((c.count()?, c.count()?))
    })?;
    Ok(row.unwrap_or_default())
}

/// Whether anything waits.
pub(crate) fn any(view: &View<'_>) -> Result<bool, StoreError> {
    let row = view.row("SELECT 1 FROM outbox LIMIT 1", (), |_| Ok(()))?;
    Ok(row.is_some())
}

/// Puts a row off until `next_at`, after the relay answered `code`.
pub(crate) fn put_off(
    tx: &mut Tx<'_>,
    seq: i64,
    code: Code,
    next_at: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE outbox SET attempts = attempts + 1, code = ?2, next_at = ?3 WHERE seq = ?1",
        params![seq, code.as_str(), next_at.as_i64()],
    )?;
    Ok(())
}

/// Lets the rows that were put off with `code` go now.
pub(crate) fn release(tx: &mut Tx<'_>, code: Code, now: Ms) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE outbox SET next_at = ?2 WHERE code = ?1 AND next_at > ?2",
        params![code.as_str(), now.as_i64()],
    )
}

/// Whether a row waits that was put off with `code`.
pub(crate) fn has_put_off(view: &View<'_>, code: Code, now: Ms) -> Result<bool, StoreError> {
    let row = view.row(
        "SELECT 1 FROM outbox WHERE code = ?1 AND next_at > ?2 LIMIT 1",
        params![code.as_str(), now.as_i64()],
        |_| Ok(()),
    )?;
    Ok(row.is_some())
}

/// Whether a row waits for a time after `latest`.
pub(crate) fn waits_past(view: &View<'_>, latest: Ms) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM outbox WHERE next_at > ?1 LIMIT 1";
    Ok(view.row(sql, params![latest.as_i64()], |_| Ok(()))?.is_some())
}

/// Lets the rows that wait for a time after `latest` go now.
pub(crate) fn release_past(tx: &mut Tx<'_>, latest: Ms, now: Ms) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE outbox SET next_at = ?2 WHERE next_at > ?1",
        params![latest.as_i64(), now.as_i64()],
    )
}

/// Takes a row out.
pub(crate) fn delete(tx: &mut Tx<'_>, seq: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM outbox WHERE seq = ?1", params![seq])?;
    Ok(())
}

/// The rows whose time ran out, oldest first.
pub(crate) fn expired(view: &View<'_>, now: Ms) -> Result<Vec<OutboxRow>, StoreError> {
    view.rows(
        &format!("SELECT {COLUMNS} FROM outbox WHERE exp <= ?1 ORDER BY seq"),
        params![now.as_i64()],
        read,
    )
}

/// Every row, oldest first.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<OutboxRow>, StoreError> {
    view.rows(&format!("SELECT {COLUMNS} FROM outbox ORDER BY seq"), (), read)
}
