//! Teams: their chains as this relay holds them, appends, pages and removals.
//! Spec: §4, §7 "Paging", "roster.append", "Removal"; W5.8

mod append;
mod page;

use std::collections::BTreeMap;

use messaging_core::ids::Hash;
use messaging_core::json;
use messaging_core::limits::ROSTER_ENTRY_BYTES;
use messaging_core::realm::RosterView;
use messaging_core::roster::Roster;
use messaging_store::{StoreError, View};

use crate::store;

/// The teams that were met since the start.
#[derive(Debug, Default)]
pub(crate) struct Teams {
    held: BTreeMap<Hash, Roster>,
}

impl Teams {
    /// A team's chain; none for a team that is not here. It is read and verified when it is first met.
    pub(crate) fn roster(
        &mut self,
        rows: &View<'_>,
        team: &Hash,
    ) -> Result<Option<&mut Roster>, StoreError> {
        if !self.held.contains_key(team) {
            let texts = store::teams::entries(rows, team)?;
            if texts.is_empty() {
                return Ok(None);
            }
            self.held.insert(*team, replay(&texts, team)?);
        }
        Ok(self.held.get_mut(team))
    }

    /// A team as a realm.
    pub(crate) fn view<'a>(
        &'a mut self,
        rows: &View<'_>,
        team: &Hash,
    ) -> Result<Option<RosterView<'a>>, StoreError> {
        let roster = self.roster(rows, team)?;
        Ok(roster.and_then(|roster| RosterView::new(roster)))
    }

    /// Takes in a team that was just founded.
    fn found(&mut self, team: Hash, roster: Roster) {
        self.held.insert(team, roster);
    }

    /// Reads a team again when it is next met.
    pub(crate) fn forget(&mut self, team: &Hash) {
        self.held.remove(team);
    }
}

/// Folds stored entries. What does not verify was not stored by us: the store is corrupt.
fn replay(texts: &[String], team: &Hash) -> Result<Roster, StoreError> {
    let mut roster = Roster::new();
    for text in texts {
        let entry = json::parse(text.as_bytes(), ROSTER_ENTRY_BYTES);
        let applied = entry.and_then(|entry| roster.apply(&entry, None));
        applied.map_err(|_| StoreError::Corrupt)?;
    }
    if roster.team_id() == Some(team) { Ok(roster) } else { Err(StoreError::Corrupt) }
}
