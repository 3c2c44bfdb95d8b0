//! `kv`: single facts of the home.
//! Spec: D3.29

use messaging_core::ids::{Label, MachineId, PersonId, RelayUrl};
use messaging_store::{StoreError, Tx, View, params};
use serde::{Deserialize, Serialize};

/// The machine that this store belongs to, written once its keys are stored.
pub(crate) const IDENTITY_MACHINE: &str = "identity.machine";
/// What `config.json` must say of this machine, written with [`IDENTITY_MACHINE`].
pub(crate) const IDENTITY_CONFIG: &str = "identity.config";
/// The place in a team that this machine is about to take, until it has it.
pub(crate) const INTENT: &str = "identity.intent";
/// The realm that the store's roster or log is of.
pub(crate) const REALM_ID: &str = "realm.id";
/// The last presence number used.
pub(crate) const PRESENCE_SEQ: &str = "presence.seq";
/// The standing divergence alarms, as a JSON list.
pub(crate) const DIVERGENCE: &str = "divergence";
/// The last number of a change of the person's conversations.
pub(crate) const CHAT_SEQ: &str = "chat.seq";
/// The number under which a channel was last deleted here.
pub(crate) const CHAT_DELETED_SEQ: &str = "chat.deleted_seq";
/// The number of the last card that was signed here.
pub(crate) const CARD_SEQ: &str = "card.seq";
/// The last roster entry whose change of the person's devices was told.
pub(crate) const DEVICE_CURSOR: &str = "notice.deviceCursor";
/// Since when this machine's keys are missing, while they are.
pub(crate) const KEYS_MISSING_AT: &str = "alarm.keysMissing";
/// Since when this home is known to run from an older copy, while it does.
pub(crate) const RESTORED_AT: &str = "alarm.restored";
/// Since when another copy of this home is known to run, while it does.
pub(crate) const TWIN_AT: &str = "alarm.twin";

/// The three values that joining writes to the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityConfig {
    pub(crate) relay: RelayUrl,
    pub(crate) person: PersonId,
    pub(crate) label: Label,
}

/// The text at `key`.
pub(crate) fn get(view: &View<'_>, key: &str) -> Result<Option<String>, StoreError> {
    view.row("SELECT value FROM kv WHERE key = ?1", params![key], |row| row.get(0))
}

/// Sets `key`.
pub(crate) fn set(tx: &mut Tx<'_>, key: &str, value: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO kv (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params![key, value],
    )?;
    Ok(())
}

/// Forgets `key`.
pub(crate) fn delete(tx: &mut Tx<'_>, key: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM kv WHERE key = ?1", params![key])?;
    Ok(())
}

/// The machine that this store belongs to.
pub(crate) fn machine(view: &View<'_>) -> Result<Option<MachineId>, StoreError> {
    match get(view, IDENTITY_MACHINE)? {
        Some(text) => text.parse().map(Some).map_err(|_| StoreError::Corrupt),
        None => Ok(None),
    }
}

/// What the configuration must say of this machine.
pub(crate) fn identity_config(view: &View<'_>) -> Result<Option<IdentityConfig>, StoreError> {
    match get(view, IDENTITY_CONFIG)? {
        Some(text) => serde_json::from_str(&text).map(Some).map_err(|_| StoreError::Corrupt),
        None => Ok(None),
    }
}

/// The number at `key`, 0 when it was never set.
pub(crate) fn number(view: &View<'_>, key: &str) -> Result<u64, StoreError> {
    match get(view, key)? {
        Some(text) => text.parse().map_err(|_| StoreError::Corrupt),
        None => Ok(0),
    }
}
