//! What a session exchanged with other agents, as clients see it: mail both ways, and tasks once.
//! Spec: §8.2 "conv.read", "Your agents"; D1.6 `ConvEntry`
//!
//! Looking changes no stage and tells nobody.

use messaging_core::ids::{PersonId, SessionName};
use messaging_core::peer_text::PeerText;
use messaging_ipc::shapes::{ConvEntry, Direction, TaskRole};
use messaging_store::{StoreError, View};

use crate::store::dealings::{self, Entry, Part, Source};
use crate::store::sessions::SessionId;
use crate::store::{inbox, sent, tasks};
use crate::views;

/// A page of a conversation, oldest first, and whether there is more in the direction read.
pub(crate) fn page(
    view: &View<'_>,
    session: SessionId,
    peer: (&PersonId, &SessionName),
    part: Part<'_>,
    limit: usize,
) -> Result<(Vec<ConvEntry>, bool), StoreError> {
    // One more than asked for says whether there are more.
    let mut found = dealings::entries(view, session, peer, part, limit + 1)?;
    let more = found.len() > limit;
    found.truncate(limit);
    if !matches!(part, Part::After(..)) {
        found.reverse();
    }
    let mut entries = Vec::with_capacity(found.len());
    for found in &found {
        entries.push(entry(view, found)?.ok_or(StoreError::Corrupt)?);
    }
    Ok((entries, more))
}

fn entry(view: &View<'_>, entry: &Entry) -> Result<Option<ConvEntry>, StoreError> {
    match entry.source {
        Source::Inbox => Ok(inbox::by_id(view, &entry.id)?.map(|row| ConvEntry::Mail {
            id: row.id,
            at: row.arrived_at,
            direction: Direction::In,
            peer: views::peer(
                &row.from_person,
                row.from_device,
                &row.from_label,
                row.from_agent.as_ref(),
            ),
            preview: Some(PeerText::new(row.preview)),
            attachments: Some(row.attachments),
            stage: row.stage,
            code: None,
            message_id: PeerText::new(row.message_id),
            context_id: PeerText::new(row.context_id),
            reply_to: row.reply_to,
        })),
        Source::Sent => Ok(sent::get(view, &entry.id)?.map(|row| ConvEntry::Mail {
            id: row.id,
            at: row.ts,
            direction: Direction::Out,
            peer: views::peer(&row.to_person, row.to_device, &row.to_label, row.to_agent.as_ref()),
            preview: None,
            attachments: None,
            stage: row.stage,
            code: row.code,
            message_id: PeerText::new(row.message_id),
            context_id: PeerText::new(row.context_id),
            reply_to: row.reply_to,
        })),
        Source::Task(role) => {
            let Some(task) = &entry.task else { return Ok(None) };
            Ok(tasks::get(view, task, role)?.map(|row| ConvEntry::Task {
                id: row.request_id,
                at: row.created_at,
                direction: match role {
                    TaskRole::Requester => Direction::Out,
                    TaskRole::Executor => Direction::In,
                },
                role,
                peer: views::peer(
                    &row.peer_person,
                    row.peer_device,
                    &row.peer_label,
                    Some(&row.peer_agent),
                ),
                title: PeerText::new(row.title),
                state: row.state,
                updated_at: row.updated_at,
            }))
        }
    }
}
