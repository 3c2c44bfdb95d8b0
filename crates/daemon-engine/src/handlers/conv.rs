//! `conv.read`.
//! Spec: §8.2 "conv.read", D1.7 row 12

use messaging_core::ids::{PersonId, SessionName};
use messaging_ipc::params::conv::{PageCursor, Read};
use messaging_ipc::results::conv::ConvPage;
use messaging_ipc::scalars::Conversation;

use super::later::not_in_this_build;
use super::{Answer, Call, Handled, field};
use crate::dealings;
use crate::engine::DaemonEngine;
use crate::store::dealings::Part;
use crate::work::Work;

pub(super) use super::later::conv::{list, mark_read, subscribe};

/// One page of a conversation, oldest first. Nothing is marked, and nobody hears of it.
pub(super) fn read(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Read,
) -> Handled<ConvPage> {
    match &params.conversation {
        Conversation::Agent { person, agent } => with_agent(work, call, &params, (person, agent)),
        Conversation::Room(_) => Err(not_in_this_build()),
    }
}

/// What the session exchanged with another agent.
fn with_agent(
    work: &Work<'_, '_>,
    call: &Call,
    params: &Read,
    peer: (&PersonId, &SessionName),
) -> Handled<ConvPage> {
    let session = call.session()?.id;
    let part = match (&params.before, &params.after) {
        (Some(PageCursor::Entry(place)), _) => Part::Before(place.at, &place.id),
        (None, Some(PageCursor::Entry(place))) => Part::After(place.at, &place.id),
        (None, None) => Part::Latest,
        // The parameters' own rules refuse these before.
        _ => return Err(field("before", "an entry's time and id")),
    };
    let limit = params.limit.map_or(ENTRIES, |limit| limit.as_usize());
    let (entries, more) = dealings::page(work.tx, session, peer, part, limit)?;
    let conversation = params.conversation.clone();
    Ok(Answer::Now(ConvPage::Agent { conversation, entries, more }))
}

/// The entries of a page when none are asked for.
const ENTRIES: usize = 30;
