//! `channels`: the channels that this machine's person is in, and the ids that they left (`channels_left`).
//! Spec: §6.8, D3.19

use messaging_core::ids::{ChannelName, Ulid};
use messaging_store::{StoreError, View, params};

use super::columns::Columns;

/// The name that this machine holds a channel under.
pub(crate) fn local_name(view: &View<'_>, id: &Ulid) -> Result<Option<ChannelName>, StoreError> {
    view.row("SELECT local_name FROM channels WHERE id = ?1", params![id.as_str()], |row| {
        Columns::of(row).value()
    })
}
