//! `request.*`.
//! Spec: §6.9 "Holds", §8.2 "Consent", D1.7 rows 30 to 32

use messaging_ipc::params::Nothing;
use messaging_ipc::params::consent::AnswerRequest;
use messaging_ipc::results::request::{AnswerPreview, Answered, Requests};

use super::{Answer, Call, Handled};
use crate::consent::{answers, views};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::{held, suggestions};
use crate::work::Work;

/// What waits for the person: asks oldest first, then suggestions.
pub(super) fn list(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Requests> {
    let mut requests = Vec::new();
    for row in held::open(work.tx, None, work.wall())? {
        let device = row.device;
        match views::held(engine, row) {
            Some(request) => requests.push(request),
            None => work.log(LogEvent::HeldDamaged { device }),
        }
    }
    requests.extend(suggestions::all(work.tx)?.into_iter().map(views::suggestion));
    Ok(Answer::Now(Requests { requests }))
}

/// Carries the person's answer out.
pub(super) fn answer(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: AnswerRequest,
) -> Handled<Answered> {
    let answered = answers::answer(engine, work, &params.id, params.answer, params.all)?;
    Ok(Answer::Now(Answered { answered }))
}

/// Says in one sentence what the same call would mean.
pub(super) fn answer_preview(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: AnswerRequest,
) -> Handled<AnswerPreview> {
    let AnswerRequest { id, answer, all } = params;
    let about = answers::find(work.tx, &id, answer, all, work.wall())?;
    Ok(Answer::Now(views::preview(engine, &id, about, answer)?))
}
