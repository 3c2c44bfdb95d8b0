//! `channel.*`: founding, changing and leaving channels, by the names that this machine holds them under.
//! Spec: §6.8, §8.2 "Chats", D1.7 rows 45-48

use messaging_ipc::params::channel::{Create, Members, OneChannel};
use messaging_ipc::results::Done;
use messaging_ipc::results::conv::ChannelChanged;
use messaging_store::StoreError;

use super::{Answer, Call, Handled};
use crate::chats;
use crate::engine::DaemonEngine;
use crate::store::rooms::RoomKey;
use crate::work::{Halt, Work};

/// Founds a channel.
pub(super) fn create(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: Create,
) -> Handled<ChannelChanged> {
    let room = chats::create(engine, work, params.name, &params.persons)?;
    changed(work, &room)
}

/// Invites persons.
pub(super) fn invite(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: Members,
) -> Handled<ChannelChanged> {
    let room = chats::invite(engine, work, &params.name, &params.persons)?;
    changed(work, &room)
}

/// Removes persons.
pub(super) fn remove(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: Members,
) -> Handled<ChannelChanged> {
    let room = chats::remove(engine, work, &params.name, &params.persons)?;
    changed(work, &room)
}

/// Leaves a channel.
pub(super) fn leave(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: OneChannel,
) -> Handled<Done> {
    chats::leave(engine, work, &params.name)?;
    Ok(Answer::Now(Done::OK))
}

fn changed(work: &Work<'_, '_>, room: &RoomKey) -> Handled<ChannelChanged> {
    let channel = chats::conversation(work.tx, room)?.ok_or(Halt::Store(StoreError::Other))?;
    Ok(Answer::Now(ChannelChanged { channel }))
}
