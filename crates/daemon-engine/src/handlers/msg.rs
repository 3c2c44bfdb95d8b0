//! `msg.send`: mail from a session to an agent.
//! Spec: §8.2 "msg.send", D1.7, D3.4, D3.5

use messaging_core::code::Code;
use messaging_core::delegation::PROVENANCE;
use messaging_core::ids::{SessionAddress, Ulid};
use messaging_core::jcs;
use messaging_core::limits::TTL_MS;
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_ipc::params::msg::Send;
use messaging_ipc::results::session::Sent;
use messaging_ipc::scalars::Target;
use messaging_ipc::shapes::{SendResult, TaskOrMessage};
use messaging_store::StoreError;
use serde_json::{Map, Value, json};

use super::later::not_in_this_build;
use super::{Answer, Call, Handled, field};
use crate::directory;
use crate::engine::DaemonEngine;
use crate::outbound::{self, Mail};
use crate::store::idempotency::{self, Used};
use crate::store::sessions::SessionRow;
use crate::store::{inbox, sent};
use crate::work::{Halt, Step, Work};

/// Sends one message.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Send,
) -> Handled<Sent> {
    let session = call.session()?;
    let Target::Agent(address) = &params.to else { return Err(not_in_this_build()) };
    if params.request.is_some() {
        return Err(field("request", "it goes with a line to one's own person"));
    }
    let kind = params.kind.unwrap_or(TaskOrMessage::Message);
    check_task(&params, kind)?;
    let answered = answered_context(work, session, params.reply_to.as_ref())?;
    let asked = asked(&params, kind)?;
    if let Some(first) = first_result(work, session, &params, &asked)? {
        return Ok(Answer::Now(first));
    }
    let found = directory::resolve(engine, work.tx, address)?;
    let expect = found.known.as_ref().map(|known| known.expect(params.wake.unwrap_or(true)));
    let target = found.target;
    let message_id = match &params.message_id {
        Some(id) => id.as_str().to_owned(),
        None => work.ulid().to_string(),
    };
    let context_id = match (&params.context_id, answered) {
        (Some(id), _) => id.as_str().to_owned(),
        (None, Some(context)) => context,
        (None, None) => message_id.clone(),
    };
    let payload = payload(&params, &message_id, &context_id);
    let row = outbound::mail(
        engine,
        work,
        &Mail {
            session,
            to: &target,
            message_id: &message_id,
            context_id: &context_id,
            task_id: None,
            reply_to: params.reply_to,
            payload: &payload,
        },
    )?;
    // An agent is always there: the address names one.
    let agent = target.agent.as_ref().unwrap_or(&address.session);
    let result = Sent {
        results: vec![SendResult {
            to: SessionAddress::new(&target.person, agent, &target.label).to_string(),
            envelope_id: row.id,
            message_id,
            context_id: PeerText::new(context_id),
            task_id: None,
            stage: row.stage,
            code: row.code,
            expect: expect.filter(|_| !matches!(row.stage, Stage::Rejected | Stage::Expired)),
        }],
    };
    remember(work, session, &params, asked, &result)?;
    Ok(Answer::Now(result))
}

/// The rules between `kind`, `taskId` and `onBehalfOf`. Tasks themselves come with a later release, so no task is known.
fn check_task(params: &Send, kind: TaskOrMessage) -> Step<()> {
    match kind {
        TaskOrMessage::Message if params.on_behalf_of.is_some() => {
            Err(field("onBehalfOf", "it goes with kind task"))
        }
        TaskOrMessage::Task if params.task_id.is_some() => {
            Err(field("taskId", "a new task gets its id from the daemon"))
        }
        TaskOrMessage::Task => Err(not_in_this_build()),
        TaskOrMessage::Message if params.task_id.is_some() => {
            Err(Halt::refused(Code::NotFound, "no such task of this session"))
        }
        TaskOrMessage::Message => Ok(()),
    }
}

/// The context of the message that this one answers: an item of this session's inbox, or an envelope that it sent.
fn answered_context(
    work: &Work<'_, '_>,
    session: &SessionRow,
    reply_to: Option<&Ulid>,
) -> Step<Option<String>> {
    let Some(id) = reply_to else { return Ok(None) };
    if let Some(item) = inbox::by_id(work.tx, id)?.filter(|item| item.session == session.id) {
        return Ok(Some(item.context_id));
    }
    match sent::get(work.tx, id)?.filter(|row| row.session == Some(session.id)) {
        Some(row) => Ok(Some(row.context_id)),
        None => Err(Halt::refused(Code::NotFound, "replyTo names nothing of this session")),
    }
}

/// The hash of what a repeated call must ask for again.
fn asked(params: &Send, kind: TaskOrMessage) -> Step<String> {
    let mut asked = Map::new();
    asked.insert("to".into(), params.to.to_string().into());
    asked.insert("kind".into(), json!(kind));
    asked.insert("parts".into(), json!(params.parts));
    for (name, id) in [("taskId", &params.task_id), ("replyTo", &params.reply_to)] {
        if let Some(id) = id {
            asked.insert(name.into(), id.as_str().into());
        }
    }
    if let Some(context) = &params.context_id {
        asked.insert("contextId".into(), context.as_str().into());
    }
    Ok(jcs::canonical(&Value::Object(asked))?.hash().to_string())
}

/// The result of the first call with this key.
fn first_result(
    work: &Work<'_, '_>,
    session: &SessionRow,
    params: &Send,
    asked: &str,
) -> Step<Option<Sent>> {
    let Some(key) = &params.idempotency_key else { return Ok(None) };
    match idempotency::get(work.tx, &session.key_hash, key.as_str(), work.wall())? {
        None => Ok(None),
        Some(used) if used.hash == asked => {
            let result = serde_json::from_str(&used.result).map_err(|_| StoreError::Corrupt)?;
            Ok(Some(result))
        }
        Some(_) => Err(field("idempotencyKey", "it was used for another message")),
    }
}

fn remember(
    work: &mut Work<'_, '_>,
    session: &SessionRow,
    params: &Send,
    asked: String,
    result: &Sent,
) -> Result<(), StoreError> {
    let Some(key) = &params.idempotency_key else { return Ok(()) };
    let result = serde_json::to_string(result).map_err(|_| StoreError::Other)?;
    let until = work.wall().plus(TTL_MS);
    let used = Used { hash: asked, result };
    idempotency::put(work.tx, &session.key_hash, key.as_str(), &used, until)
}

/// The payload of mail, as it is sealed.
fn payload(params: &Send, message_id: &str, context_id: &str) -> Value {
    let mut message = Map::new();
    message.insert("messageId".into(), message_id.into());
    message.insert("contextId".into(), context_id.into());
    message.insert("role".into(), "ROLE_USER".into());
    message.insert("parts".into(), json!(params.parts));
    if let Some(metadata) = &params.metadata {
        let mut metadata = metadata.members().clone();
        // Provenance is the receiver's word.
        metadata.remove(PROVENANCE);
        message.insert("metadata".into(), Value::Object(metadata));
    }
    if let Some(extensions) = &params.extensions {
        message.insert("extensions".into(), json!(extensions));
    }
    if let Some(tasks) = &params.reference_task_ids {
        message.insert("referenceTaskIds".into(), json!(tasks));
    }
    let mut payload = Map::new();
    payload.insert("kind".into(), "message".into());
    payload.insert("message".into(), Value::Object(message));
    if params.wake.unwrap_or(true) {
        payload.insert("wake".into(), true.into());
    }
    Value::Object(payload)
}
