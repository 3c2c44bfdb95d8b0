//! The realms that this relay serves, as whoever routes sees them.
//! Spec: §5 "Realm and anchor", §7
//!
//! A team relay serves teams. A directory relay will serve one directory realm from here, and whoever routes will not see
//! the difference.

use messaging_core::ids::Hash;
use messaging_core::realm::RealmView;
use messaging_store::{StoreError, View};

use crate::teams::Teams;

/// Every realm that was met.
#[derive(Debug, Default)]
pub(crate) struct Realms {
    pub(crate) teams: Teams,
}

impl Realms {
    /// A realm's view; none for one that this relay does not serve.
    pub(crate) fn view(
        &mut self,
        rows: &View<'_>,
        realm: &Hash,
    ) -> Result<Option<impl RealmView>, StoreError> {
        self.teams.view(rows, realm)
    }

    /// Reads a realm again when it is next met.
    pub(crate) fn forget(&mut self, realm: &Hash) {
        self.teams.forget(realm);
    }
}
