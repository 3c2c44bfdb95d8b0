//! What a create or join is about to do, stored before it is done: a machine that dies in between finds it at its next start.
//! Spec: §8.9, D3.3

use messaging_core::ids::{Hash, Label, MachineId, PersonId, RelayUrl};
use messaging_store::{StoreError, View};
use serde::{Deserialize, Serialize};

use crate::store::kv;
use crate::work::Work;

/// The place that this machine is about to take. It holds no secret: the invite's stays in the caller's ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) relay: RelayUrl,
    pub(super) team: Hash,
    pub(super) person: PersonId,
    pub(super) label: Label,
    /// The machine whose keys are in `identity.json`.
    pub(super) machine: MachineId,
}

impl Intent {
    /// The stored intent.
    pub(super) fn load(view: &View<'_>) -> Result<Option<Self>, StoreError> {
        match kv::get(view, kv::INTENT)? {
            Some(text) => serde_json::from_str(&text).map(Some).map_err(|_| StoreError::Corrupt),
            None => Ok(None),
        }
    }

    /// Stores it in the place of any other.
    pub(super) fn store(&self, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
        let text = serde_json::to_string(self).map_err(|_| StoreError::Other)?;
        kv::set(work.tx, kv::INTENT, &text)
    }

    /// Forgets the stored intent.
    pub(super) fn forget(work: &mut Work<'_, '_>) -> Result<(), StoreError> {
        kv::delete(work.tx, kv::INTENT)
    }

    /// What the configuration must say once the place is taken.
    pub(super) fn config(&self) -> kv::IdentityConfig {
        kv::IdentityConfig {
            relay: self.relay.clone(),
            person: self.person.clone(),
            label: self.label.clone(),
        }
    }
}
