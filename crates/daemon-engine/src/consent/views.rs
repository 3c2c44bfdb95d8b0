//! Grants and what is held as clients see them, and the sentence of an act before it is done.
//! Spec: D1.6, D1.7 rows 27 to 32

use messaging_core::consent::{
    ConsentGrant, EffectivePolicy, Levels, Relation, Subject, VerifiedGrant,
};
use messaging_core::ids::{Label, PersonId, SessionAddress, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use messaging_ipc::params::consent::Answer;
use messaging_ipc::results::request::{AnswerPreview, RequestKind};
use messaging_ipc::shapes::{
    GrantSubject, GrantView, HeldAsk, NoticeFrom, RequestView, ReviewItem,
};
use messaging_store::{StoreError, View};

use super::answers::Answered;
use super::sentences;
use crate::engine::DaemonEngine;
use crate::history;
use crate::store::channels;
use crate::store::grants::Lapsed;
use crate::store::held::HeldRow;
use crate::store::inbox::ItemKind;
use crate::store::suggestions::SuggestionRow;

/// A grant.
pub(crate) fn grant(view: &View<'_>, grant: &ConsentGrant) -> Result<GrantView, StoreError> {
    Ok(GrantView {
        subject: subject(view, &grant.subject)?,
        id: grant.id,
        ts: grant.ts,
        by: grant.by,
        resigned_at: grant.resigned_at,
        chat: grant.chat,
        agent_mail: grant.agent_mail,
        ask: grant.ask,
        trusted_until: grant.trusted_until,
        discoverable: grant.discoverable,
    })
}

/// What lapsed. Trust that has ended since is nothing to confirm.
pub(crate) fn lapsed(view: &View<'_>, lapsed: &Lapsed, now: Ms) -> Result<ReviewItem, StoreError> {
    let Levels { chat, agent_mail, ask, trusted_until, discoverable } = lapsed.said.levels;
    Ok(ReviewItem {
        subject: subject(view, &lapsed.subject)?,
        chat,
        agent_mail,
        ask,
        trusted_until: trusted_until.filter(|until| *until > now),
        discoverable,
        lapsed_at: lapsed.at,
    })
}

fn subject(view: &View<'_>, subject: &Subject) -> Result<GrantSubject, StoreError> {
    Ok(match subject {
        Subject::Person(person) => GrantSubject::Person { person: person.clone() },
        Subject::Channel(channel) => {
            GrantSubject::Channel { channel: *channel, name: channels::local_name(view, channel)? }
        }
    })
}

/// The sentence of a grant that was prepared and is not kept.
pub(crate) fn sentence(
    view: &View<'_>,
    own: &PersonId,
    grant: &VerifiedGrant,
    now: Ms,
) -> Result<String, StoreError> {
    let channel = match &grant.subject {
        Subject::Channel(channel) => channels::local_name(view, channel)?,
        Subject::Person(_) => None,
    };
    let policy = EffectivePolicy::of(Relation::Org, Some(grant), &[], now);
    Ok(sentences::grant(&grant.subject, own, &grant.levels(), &policy, channel.as_ref(), now))
}

/// A held ask; none for one of which nothing whole is left to show. It can still be declined.
pub(crate) fn held(engine: &DaemonEngine, row: HeldRow) -> Option<RequestView> {
    let (shown, label) = row.shown.clone().zip(label(engine, &row))?;
    let view = HeldAsk {
        id: row.id,
        address: SessionAddress::new(&row.person, &shown.from, &label),
        person: row.person,
        device: row.device,
        label,
        agent: shown.from,
        to: shown.to,
        preview: PeerText::new(shown.preview),
        held_at: row.at,
        exp: row.exp,
        chain: shown.chain,
    };
    Some(match row.kind {
        ItemKind::Message => RequestView::Message(view),
        ItemKind::Task => RequestView::Task(view),
    })
}

/// The label of a sender's machine; of one that left, the last it had.
fn label(engine: &DaemonEngine, row: &HeldRow) -> Option<Label> {
    let current = engine.realm.member(&row.device).map(|member| member.label.clone());
    current.or_else(|| {
        history::stays(engine.realm.roster()).get(&row.device).map(|stay| stay.label.clone())
    })
}

/// A suggestion.
pub(crate) fn suggestion(row: SuggestionRow) -> RequestView {
    RequestView::Suggestion {
        id: row.id,
        agent: row.agent,
        email: PeerText::new(row.email),
        at: row.at,
    }
}

/// What an answer would do.
pub(crate) fn preview(
    engine: &DaemonEngine,
    named: &Ulid,
    about: Answered,
    answer: Answer,
) -> Result<AnswerPreview, StoreError> {
    match about {
        Answered::Asks { person, rows } => {
            let count = rows.len();
            let row = rows.iter().find(|row| row.id == *named).ok_or(StoreError::Other)?;
            let ask = row.shown.clone().ok_or(StoreError::Corrupt)?;
            Ok(AnswerPreview {
                kind: match row.kind {
                    ItemKind::Message => RequestKind::Message,
                    ItemKind::Task => RequestKind::Task,
                },
                sentence: sentences::asks(&person, &ask.to, answer, count),
                from: from(&person),
                agent: Some(ask.from),
                to: Some(ask.to),
                count: count as u64,
            })
        }
        Answered::Suggestion(row) => {
            let own = engine.own().map(|(_, person)| person).ok_or(StoreError::Other)?;
            Ok(AnswerPreview {
                kind: RequestKind::Suggestion,
                sentence: sentences::suggestion(&row.agent, &row.email),
                from: from(&own),
                agent: Some(row.agent),
                to: None,
                count: 1,
            })
        }
    }
}

/// Who a person is as the realm verified them: in a team that is their name.
fn from(person: &PersonId) -> NoticeFrom {
    NoticeFrom { name: PeerText::new(person.as_str()), email: None, org: None }
}
