//! `mail.*`: the person's correspondence as a whole. These methods are this implementation's own.
//! Spec: §8.2

use messaging_ipc::params::archive::{ExportMail, SearchMail};
use messaging_ipc::results::archive::{HeldPage, MailHits};

use super::{Answer, Call, Handled, field};
use crate::archive;
use crate::engine::DaemonEngine;
use crate::store::archive::Place;
use crate::work::{Step, Work};

/// Finds mail that agents of this machine got or sent.
pub(super) fn search(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: SearchMail,
) -> Handled<MailHits> {
    let from = from(params.cursor.as_ref().map(|cursor| cursor.as_str()))?;
    if params.query.as_str().trim().is_empty() {
        return Err(field("query", "at least one word"));
    }
    // A channel holds lines, which `search` finds.
    let filter = archive::filter(work.tx, params.with.as_ref(), params.since)?;
    let Some(filter) = filter.filter(|filter| filter.channel.is_none()) else {
        return Ok(Answer::Now(MailHits { hits: Vec::new(), cursor: None }));
    };
    let limit = params.limit.as_usize();
    let hits = archive::search(work.tx, params.query.as_str(), &filter, from, limit)?;
    Ok(Answer::Now(hits))
}

/// Reads everything, mail and lines, page by page.
pub(super) fn export(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: ExportMail,
) -> Handled<HeldPage> {
    let from = from(params.cursor.as_ref().map(|cursor| cursor.as_str()))?;
    let Some(filter) = archive::filter(work.tx, params.with.as_ref(), params.since)? else {
        return Ok(Answer::Now(HeldPage { entries: Vec::new(), cursor: None }));
    };
    let page = archive::page(work.tx, &filter, from, params.limit.as_usize())?;
    Ok(Answer::Now(page))
}

fn from(cursor: Option<&str>) -> Step<Option<Place>> {
    let wrong = || field("cursor", "it names no place in the mail");
    cursor.map(|cursor| archive::place(cursor).ok_or_else(wrong)).transpose()
}
