//! What a message is, told from its ends and its `conv`, and the rules that come with it.
//! Spec: §5 "Meaning", W2.4, W4.7
//!
//! | `to.agent` | `conv`    | meaning                                    |
//! |------------|-----------|--------------------------------------------|
//! | present    | absent    | mail, or a task request                    |
//! | absent     | absent    | a direct line                              |
//! | absent     | `channel` | a channel's change or a post               |
//! | absent     | `self`    | a sync between two devices of one person   |
//! | absent     | `request` | a message request                          |
//! | absent     | `card`    | a contact card, or the wish for one        |
//!
//! The same function judges what is about to be sealed and what was opened.

use serde_json::Value;

use crate::a2a::{Content, Message, Object, Part};
use crate::code::Failure;
use crate::consent::ContactCard;
use crate::conv::{Card, ChannelConv, Conv, Sync};
use crate::delegation::Chain;
use crate::envelope::{Class, End};
use crate::ids::{SessionName, Ulid};
use crate::json::utf16_len;
use crate::limits::{GRANTS_PER_SYNC, REQUEST_CHARS};
use crate::payload::{MessageKind, MessagePayload};

/// What a message is.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning<'a> {
    /// From an agent to an agent; with a `taskId`, it continues that task.
    Mail {
        /// The agent that wrote it.
        from: &'a SessionName,
        /// The agent it is for.
        to: &'a SessionName,
    },
    /// A request to run a task, from an agent to an agent.
    Task {
        /// The agent that asks.
        from: &'a SessionName,
        /// The agent that is asked.
        to: &'a SessionName,
        /// The task.
        task: Ulid,
        /// Who asked whom; its signatures are not verified yet.
        chain: &'a Chain,
    },
    /// A direct line to the person.
    Line,
    /// A channel's change, or a line in it.
    Channel(&'a ChannelConv),
    /// Grants from another device of the same person: 1 to 100 objects, each to be verified for itself.
    Sync {
        /// Whether they are all of them.
        what: Sync,
        /// The grants as they arrived.
        grants: &'a [Value],
    },
    /// A message request.
    Request {
        /// Its text, 1 to 500 UTF-16 units.
        text: &'a str,
    },
    /// A contact card as it arrived: its shape holds, its signature is not verified yet.
    Card(&'a Value),
    /// The wish for a contact card.
    CardWanted,
}

/// The ends of a message, as its header has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<'a> {
    /// Who sent it.
    pub from: &'a End,
    /// Whom it is for.
    pub to: &'a End,
    /// How the two stand to each other.
    pub class: Class,
}

/// Tells what a message is.
///
/// `raw` is the value that `payload` was read from: some forms allow no member beside their own. That the class fits the
/// persons was checked with the header. Errors: `invalid_request`.
pub fn check<'a>(
    ends: Ends<'a>,
    payload: &'a MessagePayload,
    raw: &'a Value,
) -> Result<Meaning<'a>, Failure> {
    if payload.kind == MessageKind::Message && payload.delegation.is_some() {
        return Err(Failure::invalid("delegation"));
    }
    let Some(to) = &ends.to.agent else { return to_person(ends, payload, raw) };

    let from = ends.from.agent.as_ref().ok_or(Failure::invalid("from.agent"))?;
    if payload.conv.is_some() {
        return Err(Failure::invalid("conv"));
    }
    if ends.class == Class::Request {
        return Err(Failure::invalid("class"));
    }
    let message = &payload.message;
    match payload.kind {
        MessageKind::Message => Ok(Meaning::Mail { from, to }),
        MessageKind::Task => {
            let task = message.task_id.ok_or(Failure::invalid("message.taskId"))?;
            if message.context_id.is_none() {
                return Err(Failure::invalid("message.contextId"));
            }
            let chain = payload.delegation.as_ref().ok_or(Failure::invalid("delegation"))?;
            Ok(Meaning::Task { from, to, task, chain })
        }
    }
}

/// A message to no agent: a line, or something that two daemons say to each other.
fn to_person<'a>(
    ends: Ends<'a>,
    payload: &'a MessagePayload,
    raw: &'a Value,
) -> Result<Meaning<'a>, Failure> {
    check_line(payload)?;
    let is_request = matches!(payload.conv, Some(Conv::Request {}));
    if is_request != (ends.class == Class::Request) {
        return Err(Failure::invalid("class"));
    }
    match &payload.conv {
        None => Ok(Meaning::Line),
        Some(Conv::Channel(conv)) => Ok(Meaning::Channel(conv)),
        Some(Conv::Sync { what }) => {
            from_person_of_class(ends, Class::Own)?;
            Ok(Meaning::Sync { what: *what, grants: grants(raw)? })
        }
        Some(Conv::Request {}) => {
            only_form(raw)?;
            request_text(&payload.message, raw).map(|text| Meaning::Request { text })
        }
        Some(Conv::Card { what }) => {
            from_person_of_class(ends, Class::Contact)?;
            only_form(raw)?;
            card(*what, raw)
        }
    }
}

/// What every message to a person keeps: no task, and ids that fit a transcript.
fn check_line(payload: &MessagePayload) -> Result<(), Failure> {
    let Message { message_id, context_id, task_id, .. } = &payload.message;
    if payload.kind != MessageKind::Message {
        return Err(Failure::invalid("kind"));
    }
    if task_id.is_some() {
        return Err(Failure::invalid("message.taskId"));
    }
    if Ulid::parse(message_id).is_err() {
        return Err(Failure::invalid("message.messageId"));
    }
    if context_id.as_ref().is_some_and(|id| Ulid::parse(id).is_err()) {
        return Err(Failure::invalid("message.contextId"));
    }
    Ok(())
}

fn from_person_of_class(ends: Ends<'_>, class: Class) -> Result<(), Failure> {
    if ends.from.agent.is_some() {
        return Err(Failure::invalid("from.agent"));
    }
    if ends.class == class { Ok(()) } else { Err(Failure::invalid("class")) }
}

/// The payload is `{kind, message, conv}` and the message `{messageId, role, parts}`, and nothing else.
fn only_form(raw: &Value) -> Result<(), Failure> {
    // All of these members were read already: counting them is enough.
    let counts = |value: Option<&Value>| value.and_then(Value::as_object).map(Object::len);
    if counts(Some(raw)) == Some(3) && counts(raw.get("message")) == Some(3) {
        Ok(())
    } else {
        Err(Failure::invalid("message members"))
    }
}

/// The one part of the message, with its one member.
fn only_part(raw: &Value) -> Result<&Object, Failure> {
    let parts =
        raw.get("message").and_then(|message| message.get("parts")).and_then(Value::as_array);
    match parts.map(|parts| parts.as_slice()) {
        Some([Value::Object(part)]) if part.len() == 1 => Ok(part),
        _ => Err(Failure::invalid("message.parts")),
    }
}

/// The one member, called `name`, of the data of the one part.
fn only_data<'a>(raw: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    match only_part(raw)?.get("data") {
        Some(Value::Object(data)) if data.len() == 1 => data.get(name),
        _ => None,
    }
    .ok_or(Failure::invalid("message.parts[0].data"))
}

fn grants(raw: &Value) -> Result<&[Value], Failure> {
    let grants = only_data(raw, "grants")?.as_array().map(|grants| grants.as_slice());
    match grants {
        Some(grants)
            if (1..=GRANTS_PER_SYNC).contains(&grants.len())
                && grants.iter().all(Value::is_object) =>
        {
            Ok(grants)
        }
        _ => Err(Failure::invalid("grants")),
    }
}

fn request_text<'a>(message: &'a Message, raw: &Value) -> Result<&'a str, Failure> {
    only_part(raw)?;
    match &message.parts[..] {
        [Part { content: Content::Text(text), .. }]
            if (1..=REQUEST_CHARS).contains(&utf16_len(text)) =>
        {
            Ok(text)
        }
        _ => Err(Failure::invalid("request text")),
    }
}

fn card(what: Card, raw: &Value) -> Result<Meaning<'_>, Failure> {
    match what {
        Card::Card => {
            let card = only_data(raw, "card")?;
            ContactCard::read(card)?;
            Ok(Meaning::Card(card))
        }
        Card::Get if *only_data(raw, "get")? == Value::Bool(true) => Ok(Meaning::CardWanted),
        Card::Get => Err(Failure::invalid("message.parts[0].data")),
    }
}

#[cfg(test)]
mod tests;
