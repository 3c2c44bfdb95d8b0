//! The person's answer to what is held: delivered, declined, and what they say about the sender from now on.
//! Spec: §6.9 "Holds", D1.7 rows 30 to 32, D3.11
//!
//! Everything that an answer does is one turn: the grant and its sync, the held row gone, the item or the task in, the
//! receipt on its way, the notice of it seen. A crash leaves a request held or answered, never both.

use messaging_core::code::Code;
use messaging_core::consent::{
    Arrived, AskLevel, ChatLevel, ConsentClass, Decision, EffectiveChat, Levels, Subject,
    VerifiedGrant,
};
use messaging_core::ids::{PersonId, Ulid};
use messaging_core::json;
use messaging_core::payload::MessagePayload;
use messaging_core::receipt::Receipt;
use messaging_core::time::Ms;
use messaging_ipc::params::consent::Answer;
use messaging_store::{StoreError, View};

use super::{chain_persons, grants, judge, policy};
use crate::engine::DaemonEngine;
use crate::inbound::{self, Released};
use crate::realm::is_person;
use crate::store::held::{self, HeldRow};
use crate::store::suggestions::{self, SuggestionRow};
use crate::work::{Halt, Step, Work};
use crate::{notices, receipts};

/// What an answer is about.
pub(crate) enum Answered {
    /// Asks of one person, oldest first, the one that was named among them.
    Asks { person: PersonId, rows: Vec<HeldRow> },
    /// An own agent's suggestion.
    Suggestion(SuggestionRow),
}

/// What an answer would be about; nothing is written.
///
/// Errors: `not_found` for what is not held, or has ended; `invalid_request` for an answer that is not one of its kind.
pub(crate) fn find(
    view: &View<'_>,
    id: &Ulid,
    answer: Answer,
    all: bool,
    now: Ms,
) -> Step<Answered> {
    if let Some(row) = held::by_id(view, id)?.filter(|row| row.exp > now) {
        if answer == Answer::Accept {
            return Err(not_of_the_kind("an ask is answered once, always, decline or block"));
        }
        let person = row.person.clone();
        let rows = if all { held::open(view, Some(&person), now)? } else { vec![row] };
        return Ok(Answered::Asks { person, rows });
    }
    if let Some(row) = suggestions::get(view, id)? {
        if answer != Answer::Decline {
            return Err(not_of_the_kind("a suggestion is declined, or followed with a request"));
        }
        return Ok(Answered::Suggestion(row));
    }
    Err(Halt::refused(Code::NotFound, "nothing of that id waits for an answer"))
}

/// Carries an answer out and gives the ids it settled.
///
/// Errors: as [`find`] and [`grants::prepare`]; then nothing is done. A request that cannot be delivered any more is
/// refused with its code, and counts as answered.
pub(crate) fn answer(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
    answer: Answer,
    all: bool,
) -> Step<Vec<Ulid>> {
    let now = work.wall();
    let (person, rows) = match find(work.tx, id, answer, all, now)? {
        Answered::Suggestion(row) => {
            suggestions::delete(work.tx, &row.id)?;
            notices::answered(work, &row.id)?;
            return Ok(vec![row.id]);
        }
        Answered::Asks { person, rows } => (person, rows),
    };
    if let Some(grant) = said(engine, work, &person, answer)? {
        grants::keep(engine, work, &grant)?;
    }
    let mut answered = Vec::new();
    for row in rows {
        settle(engine, work, &row, answer)?;
        answered.push(row.id);
    }
    Ok(answered)
}

/// What the person says about the sender with this answer, signed; every level that it is not about stays as it is.
fn said(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    person: &PersonId,
    answer: Answer,
) -> Step<Option<VerifiedGrant>> {
    let subject = Subject::Person(person.clone());
    let held = grants::levels(work, &subject)?;
    // Trust that ended is not said again: a grant that is signed now must end later than now.
    let trusted_until = held.trusted_until.filter(|until| *until > work.wall());
    let held = Levels { trusted_until, ..held };
    let levels = match answer {
        Answer::Always => Levels { ask: Some(AskLevel::Open), ..held },
        Answer::Block => Levels { chat: Some(ChatLevel::Blocked), ..held },
        Answer::Once | Answer::Accept | Answer::Decline => return Ok(None),
    };
    if engine.realm.machines_of(person).next().is_none() {
        // They left: there is nobody to say anything about.
        return Ok(None);
    }
    grants::prepare(engine, work, &subject, levels).map(Some)
}

/// Answers one request.
fn settle(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    row: &HeldRow,
    answer: Answer,
) -> Result<(), StoreError> {
    // Only what is delivered is opened: what is damaged can be declined.
    let contents = match answer {
        Answer::Once | Answer::Always => {
            Some(held::contents(work.tx, row)?.ok_or(StoreError::Corrupt)?)
        }
        Answer::Decline | Answer::Block | Answer::Accept => None,
    };
    held::delete(work.tx, row)?;
    notices::answered(work, &row.id)?;
    let sender = engine.realm.member(&row.device);
    if !sender.is_some_and(|member| is_person(&member.person, &row.person)) {
        // The sender left: nobody is told.
        return Ok(());
    }
    let refusal = match contents {
        None => Some(Code::Declined),
        Some((envelope, payload)) => {
            let message: MessagePayload =
                json::decode(&payload).map_err(|_| StoreError::Corrupt)?;
            match class(engine, work, row, &message, answer)? {
                Ok(class) => {
                    let released = Released { envelope, payload, message, class };
                    inbound::release(engine, work, released)?.err()
                }
                Err(code) => Some(code),
            }
        }
    };
    match refusal {
        Some(code) => receipts::send(engine, work, &row.device, &Receipt::rejected(row.id, code)),
        None => Ok(()),
    }
}

/// How a request is delivered: once guarded, whatever the level is now; always by what the person says now. Somebody who
/// was blocked meanwhile is declined.
fn class(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    row: &HeldRow,
    message: &MessagePayload,
    answer: Answer,
) -> Result<Result<ConsentClass, Code>, StoreError> {
    let now = work.wall();
    let Some((_, own)) = engine.own() else { return Ok(Err(Code::NotMember)) };
    if policy(engine, work.tx, &own, &row.person, now)?.1.chat == EffectiveChat::Blocked {
        return Ok(Err(Code::Declined));
    }
    if answer == Answer::Once {
        return Ok(Ok(ConsentClass::Guarded));
    }
    let chain = chain_persons(message);
    Ok(match judge(engine, work.tx, &row.person, &Arrived::Ask { chain: &chain }, now)? {
        Decision::Deliver { class, .. } => Ok(class),
        // The person just said that it is open.
        Decision::Hold => Ok(ConsentClass::Guarded),
        Decision::Refuse(code) => Err(code),
    })
}

fn not_of_the_kind(words: &'static str) -> Halt {
    Halt::refused(Code::InvalidRequest, words)
}
