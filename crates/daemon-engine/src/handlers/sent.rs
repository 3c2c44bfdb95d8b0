//! `sent.list`: what a session sent to agents, and what of it waits for an answer. This implementation's own.
//! Spec: §8.4

use messaging_core::ids::SessionAddress;
use messaging_core::peer_text::PeerText;
use messaging_ipc::params::inbox::ListSent;
use messaging_ipc::results::inbox::{SentItem, SentPage};
use messaging_store::{StoreError, View};

use super::{Answer, Call, Handled};
use crate::engine::DaemonEngine;
use crate::store::sent::{self, SentRow};
use crate::store::sent_text;
use crate::views;
use crate::work::Work;

/// One page, newest first.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: ListSent,
) -> Handled<SentPage> {
    let session = call.session()?.id;
    let limit = params.limit.as_usize();
    let before = params.before.as_ref().map(|cursor| (cursor.at, &cursor.id));
    // One more than asked for says whether there are more.
    let mut rows = sent::page(work.tx, session, params.unanswered, before, limit + 1)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        items.extend(item(work.tx, row)?);
    }
    Ok(Answer::Now(SentPage { items, more }))
}

/// A message to an agent as its sender sees it.
fn item(view: &View<'_>, row: SentRow) -> Result<Option<SentItem>, StoreError> {
    let Some(agent) = &row.to_agent else { return Ok(None) };
    let preview = sent_text::get(view, &row.id)?.map(|message| views::preview(&message));
    Ok(Some(SentItem {
        id: row.id,
        to: SessionAddress::new(&row.to_person, agent, &row.to_label),
        message_id: row.message_id,
        context_id: PeerText::new(row.context_id),
        task_id: row.task_id,
        reply_to: row.reply_to,
        preview: preview.map(PeerText::new),
        stage: row.stage,
        code: row.code,
        stage_at: row.history.last().map_or(row.ts, |step| step.at),
        at: row.ts,
        exp: row.exp,
    }))
}
