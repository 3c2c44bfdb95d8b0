//! `line_copies`: what became of each envelope that carries a line, or a channel's change, to one machine.
//! Spec: §6.8 "Delivery", D3.19

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, PersonId, Ulid};
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read};

/// How far a copy came. It settles once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyState {
    /// On its way.
    Sent,
    /// Waits for the recipient's person.
    Held,
    /// Stored by the recipient's machine.
    Delivered,
    /// Refused, with a code.
    Rejected,
    /// Its time ran out.
    Expired,
}

impl CopyState {
    const ALL: [Self; 5] = [Self::Sent, Self::Held, Self::Delivered, Self::Rejected, Self::Expired];

    const fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Held => "held",
            Self::Delivered => "delivered",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether nothing changes it any more.
    pub(crate) const fn is_settled(self) -> bool {
        matches!(self, Self::Delivered | Self::Rejected | Self::Expired)
    }

    /// Whether the machine does not have the line and will not get it.
    pub(crate) const fn failed(self) -> bool {
        matches!(self, Self::Rejected | Self::Expired)
    }
}

/// One copy.
#[derive(Clone, Debug)]
pub(crate) struct CopyRow {
    pub(crate) envelope: Ulid,
    pub(crate) line: Ulid,
    pub(crate) person: PersonId,
    pub(crate) device: MachineId,
    pub(crate) state: CopyState,
    pub(crate) code: Option<Code>,
    pub(crate) exp: Ms,
}

const COLUMNS: &str = "envelope_id, line_id, person, device, state, code, exp";

fn read(row: &Row<'_>) -> Read<CopyRow> {
    let mut c = Columns::of(row);
    Ok(CopyRow {
        envelope: c.value()?,
        line: c.value()?,
        person: c.value()?,
        device: c.value()?,
        state: c.word(CopyState::of)?,
        code: c.word_or_none(Code::parse)?,
        exp: c.ms()?,
    })
}

/// Records a copy.
pub(crate) fn insert(tx: &mut Tx<'_>, row: &CopyRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO line_copies (envelope_id, line_id, person, device, state, code, exp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            row.envelope.as_str(),
            row.line.as_str(),
            row.person.as_str(),
            row.device.as_str(),
            row.state.word(),
            row.code.map(Code::as_str),
            row.exp.as_i64()
        ],
    )?;
    Ok(())
}

/// The copy that an envelope carries.
pub(crate) fn get(view: &View<'_>, envelope: &Ulid) -> Result<Option<CopyRow>, StoreError> {
    view.row(
        &format!("SELECT {COLUMNS} FROM line_copies WHERE envelope_id = ?1"),
        params![envelope.as_str()],
        read,
    )
}

/// Writes how far a copy came.
pub(crate) fn set_state(tx: &mut Tx<'_>, row: &CopyRow) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE line_copies SET state = ?2, code = ?3 WHERE envelope_id = ?1",
        params![row.envelope.as_str(), row.state.word(), row.code.map(Code::as_str)],
    )?;
    Ok(())
}

/// The copies of a line, those of one person together.
pub(crate) fn of_line(view: &View<'_>, line: &Ulid) -> Result<Vec<CopyRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM line_copies WHERE line_id = ?1 ORDER BY person, envelope_id"
        ),
        params![line.as_str()],
        read,
    )
}

/// The copies that wait for a machine.
pub(crate) fn open_to(view: &View<'_>, device: &MachineId) -> Result<Vec<CopyRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM line_copies WHERE state IN ('sent', 'held') AND device = ?1 ORDER BY envelope_id"
        ),
        params![device.as_str()],
        read,
    )
}

/// The copies that nobody confirmed before their time ran out, at or before `before`, the oldest first.
pub(crate) fn overdue(view: &View<'_>, before: Ms, limit: u32) -> Result<Vec<CopyRow>, StoreError> {
    view.rows(
        &format!(
            "SELECT {COLUMNS} FROM line_copies WHERE state IN ('sent', 'held') AND exp <= ?1 ORDER BY exp LIMIT ?2"
        ),
        params![before.as_i64(), limit],
        read,
    )
}
