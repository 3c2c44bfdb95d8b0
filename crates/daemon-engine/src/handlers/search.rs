//! `search`: the lines of the person's conversations that hold every word asked for.
//! Spec: §8.2 `search`, D1.7 row 13, D3.20

use messaging_ipc::params::conv::Search;
use messaging_ipc::results::conv::Hits;

use super::conv::fitting;
use super::{Answer, Call, Handled};
use crate::chats::{self, Names};
use crate::engine::DaemonEngine;
use crate::store::lines::{self, Looks, Terms};
use crate::work::Work;

/// Finds lines, newest first.
pub(super) fn search(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: Search,
) -> Handled<Hits> {
    let room = match &params.conversation {
        Some(room) => Some(chats::known(engine, work.tx, room)?),
        None => None,
    };
    let Some(terms) = Terms::of(&chats::fold(params.query.as_str())) else {
        return Ok(Answer::Now(Hits { hits: Vec::new(), more: false }));
    };
    let limit = params.limit.as_usize();
    let most = limit.saturating_add(1);
    let (rows, left) = lines::find(work.tx, &terms, room.as_ref(), most, Looks::ONE_CALL)?;
    let mut names = Names::default();
    let mut found = Vec::new();
    for row in rows {
        if let Some(conversation) = names.room(work.tx, &row.room)? {
            found.push(chats::line(row, conversation));
        }
    }
    let (hits, more) = fitting(found.into_iter(), limit);
    Ok(Answer::Now(Hits { hits, more: more || left }))
}
