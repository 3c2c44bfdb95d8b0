//! `person.*`: what the person says, and whether a window of theirs is open.
//! Spec: §8.2 "Chats", D1.7, D3.6

use messaging_ipc::params::conv::PersonSend;
use messaging_ipc::params::daemon::Attached;
use messaging_ipc::results::Done;
use messaging_ipc::results::conv::LineSent;
use messaging_ipc::scalars::Room;
use serde_json::json;

use super::msg::check_size;
use super::repeat::Repeat;
use super::{Answer, Call, Handled, conv};
use crate::ancestry;
use crate::chats::{self, Draft};
use crate::engine::DaemonEngine;
use crate::work::Work;

/// Writes the person's own line.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: PersonSend,
) -> Handled<LineSent> {
    let key = chats::find(engine, work.tx, &params.conversation)?;
    let thread = conv::thread(work, &key, params.thread.as_ref())?;
    let text = params.text.as_str();
    check_size(text)?;
    call.refuse_secrets(work)?;
    let asked = json!({ "room": params.conversation, "thread": thread, "text": text });
    let repeat = Repeat::new("person", params.client_id.as_ref(), "clientId", &asked)?;
    if let Some(first) = repeat.first(work)? {
        return Ok(Answer::Now(first));
    }
    let draft = Draft { room: &key, text, thread, agent: None };
    let row = chats::write(engine, work, &draft)?;
    let own = engine.own().map(|(_, person)| Room::Dm(person));
    if own.as_ref() == Some(&params.conversation) {
        ancestry::person_spoke(work)?;
    }
    let conversation = params.conversation.clone();
    let result = LineSent { id: row.id, conversation, seq: row.seq, at: row.at };
    repeat.remember(work, &result)?;
    Ok(Answer::Now(result))
}

/// Whether a window of the person is visible: it matters under a host only, and changes nothing elsewhere.
pub(super) fn attached(
    _: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: Attached,
) -> Handled<Done> {
    Ok(Answer::Now(Done::OK))
}
