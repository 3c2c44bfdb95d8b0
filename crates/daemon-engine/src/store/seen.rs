//! `seen`: envelopes that were judged, so that none is judged twice.
//! Spec: §5 step 8, W4.3, rulings R1 and R2

use messaging_core::ids::{MachineId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{StoreError, Tx, View, params};

/// Whether the envelope was judged before.
pub(crate) fn has(view: &View<'_>, device: &MachineId, id: &Ulid) -> Result<bool, StoreError> {
    let row = view.row(
        "SELECT 1 FROM seen WHERE device = ?1 AND id = ?2",
        params![device.as_str(), id.as_str()],
        |_| Ok(()),
    )?;
    Ok(row.is_some())
}

/// Marks the envelope as judged until `until`.
pub(crate) fn mark(
    tx: &mut Tx<'_>,
    device: &MachineId,
    id: &Ulid,
    until: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO seen (device, id, until) VALUES (?1, ?2, ?3) ON CONFLICT (device, id) DO NOTHING",
        params![device.as_str(), id.as_str(), until.as_i64()],
    )?;
    Ok(())
}

/// Forgets some of the envelopes that are past their time: nobody can send them again. Whether there may be more.
pub(crate) fn forget(tx: &mut Tx<'_>, now: Ms) -> Result<bool, StoreError> {
    let rows = tx.execute(
        "DELETE FROM seen WHERE (device, id) IN (SELECT device, id FROM seen WHERE until <= ?1 LIMIT ?2)",
        params![now.as_i64(), AT_ONCE],
    )?;
    Ok(rows >= AT_ONCE as usize)
}

/// Marks that one turn forgets.
const AT_ONCE: u32 = 2_000;
