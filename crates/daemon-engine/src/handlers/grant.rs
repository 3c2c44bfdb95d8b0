//! `grant.*`.
//! Spec: §6.9 "Grants", §8.2 "Consent", D1.7 rows 27 to 29

use messaging_core::code::Code;
use messaging_core::consent::{AskLevel, Levels, Subject};
use messaging_core::limits::TRUST_DEFAULT_MS;
use messaging_core::time::Ms;
use messaging_ipc::params::consent::{ListGrants, SetGrant, Subject as Named};
use messaging_ipc::results::request::{GrantPreview, GrantSet, Grants};
use messaging_store::View;

use super::{Answer, Call, Handled, field};
use crate::consent::{grants, views};
use crate::engine::DaemonEngine;
use crate::store::{channels, grants as rows};
use crate::work::{Halt, Step, Work};

/// The grants, newest first, and what lapsed.
pub(super) fn list(
    _: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: ListGrants,
) -> Handled<Grants> {
    let only = params.subject.map(|named| subject(work.tx, named)).transpose()?;
    let wanted = |subject: &Subject| only.as_ref().is_none_or(|only| only == subject);
    let mut grants = Vec::new();
    for grant in rows::all(work.tx)?.iter().filter(|grant| wanted(&grant.subject)) {
        grants.push(views::grant(work.tx, grant)?);
    }
    let mut review = Vec::new();
    for lapsed in rows::reviews(work.tx)?.iter().filter(|lapsed| wanted(&lapsed.subject)) {
        review.push(views::lapsed(work.tx, lapsed, work.wall())?);
    }
    Ok(Answer::Now(Grants { grants, review }))
}

/// Signs the whole grant for a subject: a level that is left out is the default, none at all a clear.
pub(super) fn set(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: SetGrant,
) -> Handled<GrantSet> {
    let (subject, levels) = said(engine, work, params)?;
    let grant = grants::prepare(engine, work, &subject, levels)?;
    grants::keep(engine, work, &grant)?;
    Ok(Answer::Now(GrantSet { grant: views::grant(work.tx, &grant)? }))
}

/// Says in one sentence what the same call would mean, after the same checks.
pub(super) fn set_preview(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: SetGrant,
) -> Handled<GrantPreview> {
    let (subject, levels) = said(engine, work, params)?;
    let grant = grants::prepare(engine, work, &subject, levels)?;
    let sentence = views::sentence(work.tx, &grant.person, &grant, work.wall())?;
    Ok(Answer::Now(GrantPreview { sentence }))
}

/// What a call says, its trust as the end it means.
fn said(engine: &DaemonEngine, work: &Work<'_, '_>, params: SetGrant) -> Step<(Subject, Levels)> {
    let trusted_until = until(&params, work.wall())?;
    let levels = Levels {
        chat: params.chat,
        agent_mail: params.agent_mail,
        ask: params.ask,
        trusted_until,
        discoverable: params.discoverable,
    };
    let subject = subject(work.tx, params.subject)?;
    fits(engine, &subject, &levels)?;
    Ok((subject, levels))
}

/// Whether what is said can be said about a subject, in words for who said it. The grant's own rules say the same.
fn fits(engine: &DaemonEngine, subject: &Subject, levels: &Levels) -> Step<()> {
    match subject {
        Subject::Channel(_) if levels.chat.is_some() => {
            Err(field("chat", "lines are muted or refused by person, not by channel"))
        }
        Subject::Channel(_) if levels.trusted_until.is_some() => {
            Err(field("trustedUntil", "a person is trusted, not a channel"))
        }
        Subject::Person(person) if engine.own().is_some_and(|(_, own)| own == *person) => {
            if (Levels { discoverable: None, ..*levels }).is_empty() {
                Ok(())
            } else {
                Err(field("subject", "you and your own agents need no leave"))
            }
        }
        Subject::Channel(_) | Subject::Person(_) if levels.discoverable.is_some() => {
            Err(field("discoverable", "only you yourself can be found"))
        }
        Subject::Channel(_) | Subject::Person(_) => Ok(()),
    }
}

fn until(params: &SetGrant, now: Ms) -> Step<Option<Ms>> {
    if params.trust == Some(false) && params.trusted_until.is_some() {
        return Err(field("trust", "no trust has no end"));
    }
    let until = match (params.trust, params.trusted_until) {
        (_, Some(until)) => Some(until),
        (Some(true), None) => Some(now.plus(TRUST_DEFAULT_MS)),
        (Some(false) | None, None) => None,
    };
    if until.is_some() && params.ask != Some(AskLevel::Open) {
        return Err(field("ask", "trust needs requests that run at once"));
    }
    Ok(until)
}

/// The subject that a call names; a channel by its local name.
fn subject(view: &View<'_>, named: Named) -> Step<Subject> {
    match (named.person, named.channel) {
        (Some(person), _) => Ok(Subject::Person(person)),
        (None, Some(name)) => {
            let unknown = || Halt::refused(Code::NotFound, "no such channel on this machine");
            channels::by_local(view, &name)?
                .map(|row| Subject::Channel(row.record.id))
                .ok_or_else(unknown)
        }
        // The parameters were checked: a subject is one of the two.
        (None, None) => Err(field("subject", "a person or a channel")),
    }
}
