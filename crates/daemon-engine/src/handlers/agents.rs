//! `agents.*`: what the person's own agents exchanged, for the person to look at.
//! Spec: §8.2 "Your agents", D1.7 rows 36 and 37

use std::cmp::Reverse;

use messaging_core::code::Code;
use messaging_core::presence::Activity;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::people::ReadAgent;
use messaging_ipc::results::people::{AgentConversation, AgentRead, AgentState, AgentView, Agents};
use messaging_ipc::scalars::Conversation;
use messaging_store::{StoreError, View};

use super::{Answer, Call, Handled, field};
use crate::dealings;
use crate::engine::DaemonEngine;
use crate::store::dealings::{self as rows, Part};
use crate::store::inbox;
use crate::store::sessions::{self, SessionRow};
use crate::work::{Halt, Work};

/// Every session of this machine, the most recently busy first.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Agents> {
    let mut agents = Vec::new();
    for row in sessions::open(work.tx)? {
        agents.push(view(work.tx, &row)?);
    }
    agents.sort_by(|a, b| (Reverse(a.last_at), &a.agent).cmp(&(Reverse(b.last_at), &b.agent)));
    Ok(Answer::Now(Agents { agents }))
}

fn view(view: &View<'_>, row: &SessionRow) -> Result<AgentView, StoreError> {
    let figures = rows::figures(view, row.id)?;
    Ok(AgentView {
        agent: row.name.clone(),
        conversations: figures.peers,
        unread: inbox::unread(view, row.id)?,
        last_at: figures.last_at,
        state: match row.state {
            _ if row.kept_at.is_some() => AgentState::Kept,
            Activity::Idle => AgentState::Idle,
            Activity::Busy => AgentState::Busy,
        },
    })
}

/// With whom one agent dealt, or a page of what it dealt with one of them.
pub(super) fn read(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: ReadAgent,
) -> Handled<AgentRead> {
    let unknown = || Halt::refused(Code::NotFound, "this machine has no such agent");
    let session = sessions::by_name(work.tx, &params.agent)?.ok_or_else(unknown)?.id;
    let Some(conversation) = params.conversation else {
        if params.before.is_some() {
            return Err(field("before", "it goes with a conversation"));
        }
        let conversations = rows::peers(work.tx, session, params.limit.as_usize())?
            .into_iter()
            .map(|peer| AgentConversation {
                conversation: Conversation::Agent { person: peer.person, agent: peer.agent },
                unread: peer.unread,
                last_at: peer.last_at,
            })
            .collect();
        return Ok(Answer::Now(AgentRead::Conversations { conversations }));
    };
    let Conversation::Agent { person, agent } = &conversation else {
        return Err(field("conversation", "agent:<person>/<agent>"));
    };
    let part = match &params.before {
        None => Part::Latest,
        Some(place) => Part::Before(place.at, &place.id),
    };
    let limit = params.limit.as_usize();
    let (entries, more) = dealings::page(work.tx, session, (person, agent), part, limit)?;
    Ok(Answer::Now(AgentRead::Entries { conversation, entries, more }))
}
