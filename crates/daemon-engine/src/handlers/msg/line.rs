//! A line that a session writes to a person or into a channel, and the wish that its person contact somebody.
//! Spec: §8.2 "msg.send", D3.6, D3.11 "Suggestions"

use messaging_core::code::Code;
use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::json::utf16_len;
use messaging_core::limits::CHAT_CHARS;
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_ipc::params::msg::Send;
use messaging_ipc::results::session::Sent;
use messaging_ipc::scalars::Room;
use messaging_ipc::shapes::{Content, SendResult, TaskOrMessage};
use serde_json::json;

use super::super::repeat::Repeat;
use super::super::{Answer, Call, Handled, conv, field};
use crate::chats::{self, Draft};
use crate::engine::DaemonEngine;
use crate::notices;
use crate::store::suggestions;
use crate::work::{Halt, Step, Work};

/// Writes one line.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    room: &Room,
    params: &Send,
) -> Handled<Sent> {
    let session = call.session()?;
    let text = only_text(params)?;
    let own = PersonId::from(&engine.ready()?.me.person);
    let contact = match &params.request {
        None => None,
        Some(wish) if *room == Room::Dm(own.clone()) => Some(wish.contact.as_str()),
        Some(_) => return Err(field("request", "it goes with a line to one's own person")),
    };
    let key = chats::find(engine, work.tx, room)?;
    let thread = conv::thread(work, &key, params.reply_to.as_ref())?;
    check_size(text)?;
    call.refuse_secrets(work)?;
    let asked = json!({
        "room": room, "thread": thread, "text": text,
        "contact": contact,
    });
    let given = params.idempotency_key.as_ref();
    let repeat = Repeat::new(&session.key_hash, given, "idempotencyKey", &asked)?;
    if let Some(first) = repeat.first(work)? {
        return Ok(Answer::Now(first));
    }
    let is_new = match contact {
        Some(email) => check_suggestion(work, &session.name, email)?,
        None => false,
    };
    let draft = Draft { room: &key, text, thread, agent: Some(&session.name) };
    let row = chats::write(engine, work, &draft)?;
    if let Some(email) = contact.filter(|_| is_new) {
        suggestions::insert(work.tx, &row.id, &session.name, email, work.now.wall)?;
        notices::request(engine, work, &row.id, &own, Some(&session.name))?;
    }
    let result = Sent { results: vec![result(params, row.id, row.thread)] };
    repeat.remember(work, &result)?;
    Ok(Answer::Now(result))
}

/// The text of a send that is a line and nothing else.
fn only_text(params: &Send) -> Step<&str> {
    if params.kind.unwrap_or(TaskOrMessage::Message) == TaskOrMessage::Task {
        return Err(field("kind", "a task is for an agent"));
    }
    for (name, given) in [
        ("contextId", params.context_id.is_some()),
        ("taskId", params.task_id.is_some()),
        ("messageId", params.message_id.is_some()),
        ("metadata", params.metadata.is_some()),
        ("extensions", params.extensions.is_some()),
        ("referenceTaskIds", params.reference_task_ids.is_some()),
        ("onBehalfOf", params.on_behalf_of.is_some()),
        ("wake", params.wake.is_some()),
    ] {
        if given {
            return Err(field(name, "it goes with mail to an agent"));
        }
    }
    let only = "a line is one part with a text and nothing else";
    match &params.parts[..] {
        [part] if part.members().len() == 1 => match part.content() {
            Some(Content::Text(text)) if !text.is_empty() => Ok(text),
            _ => Err(field("parts", only)),
        },
        _ => Err(field("parts", only)),
    }
}

/// Errors: `too_large` for more than a chat line holds.
pub(in crate::handlers) fn check_size(text: &str) -> Step<()> {
    if utf16_len(text) > CHAT_CHARS {
        return Err(Halt::refused(Code::TooLarge, "a line is at most 8000 UTF-16 units"));
    }
    Ok(())
}

/// Whether the wish is a suggestion that does not wait already.
///
/// Errors: `rate_limited` when too many wait for the person.
fn check_suggestion(work: &Work<'_, '_>, agent: &SessionName, email: &str) -> Step<bool> {
    if suggestions::is_open(work.tx, agent, email)? {
        return Ok(false);
    }
    let (all, of_agent) = suggestions::counts(work.tx, agent)?;
    if all >= SUGGESTIONS || of_agent >= SUGGESTIONS_OF_AGENT {
        return Err(Halt::refused(Code::RateLimited, "too many suggestions wait for the person"));
    }
    Ok(true)
}

fn result(params: &Send, id: Ulid, thread: Option<Ulid>) -> SendResult {
    SendResult {
        to: params.to.to_string(),
        envelope_id: id,
        message_id: id.to_string(),
        context_id: PeerText::new(thread.unwrap_or(id).to_string()),
        task_id: None,
        stage: Stage::Accepted,
        code: None,
        expect: None,
    }
}

/// Suggestions that may wait for the person.
const SUGGESTIONS: u64 = 100;
/// Suggestions of one agent that may wait.
const SUGGESTIONS_OF_AGENT: u64 = 10;
