//! `cards` and `card_asks`: what others say this person may send them, and when cards were asked for.
//! Spec: §6.9 "Cards on the daemon", D3.12
//!
//! A card is kept as it was signed, one for each person.

use messaging_core::consent::VerifiedCard;
use messaging_core::ids::PersonId;
use messaging_core::time::Ms;
use messaging_store::{Row, StoreError, Tx, View, params};

use super::columns::{Columns, Read, stored};

/// Who asks whom for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// This machine asks them.
    Out,
    /// They ask this machine.
    In,
}

impl Asks {
    const fn word(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
        }
    }
}

fn read(row: &Row<'_>) -> Read<VerifiedCard> {
    Columns::of(row).held(VerifiedCard::held)
}

/// The card of a person.
pub(crate) fn get(view: &View<'_>, person: &PersonId) -> Result<Option<VerifiedCard>, StoreError> {
    view.row("SELECT card FROM cards WHERE person = ?1", params![person.as_str()], read)
}

/// Every card, by person.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<VerifiedCard>, StoreError> {
    view.rows("SELECT card FROM cards ORDER BY person", (), read)
}

/// Keeps a card in the place of the one that its person sent before.
pub(crate) fn put(tx: &mut Tx<'_>, card: &VerifiedCard, at: Ms) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO cards (person, card, seq, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (person) DO UPDATE SET card = excluded.card, seq = excluded.seq, at = excluded.at",
        params![card.from.as_str(), card.raw().to_string(), stored(card.seq.0), at.as_i64()],
    )?;
    Ok(())
}

/// Drops the card of a person.
pub(crate) fn delete(tx: &mut Tx<'_>, person: &PersonId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM cards WHERE person = ?1", params![person.as_str()])?;
    Ok(())
}

/// When a card was asked for last, one way or the other.
pub(crate) fn asked_at(
    view: &View<'_>,
    person: &PersonId,
    asks: Asks,
) -> Result<Option<Ms>, StoreError> {
    view.row(
        "SELECT at FROM card_asks WHERE person = ?1 AND direction = ?2",
        params![person.as_str(), asks.word()],
        |row| Columns::of(row).ms(),
    )
}

/// Notes that a card was asked for.
pub(crate) fn asked(
    tx: &mut Tx<'_>,
    person: &PersonId,
    asks: Asks,
    at: Ms,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO card_asks (person, direction, at) VALUES (?1, ?2, ?3)
         ON CONFLICT (person, direction) DO UPDATE SET at = excluded.at",
        params![person.as_str(), asks.word(), at.as_i64()],
    )?;
    Ok(())
}
