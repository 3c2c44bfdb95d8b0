//! Lines, posts and channel changes that arrive: the person's consent, the channel's rules, then the transcript.
//! Spec: §6.8 "Receiver rules", "Delivery"; D3.8 steps 14 and 15, D3.19, D3.20

use messaging_core::code::Code;
use messaging_core::consent::{Arrived, Decision};
use messaging_core::conv::{ChannelConv, ChannelOp};
use messaging_core::envelope::Envelope;
use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::json::utf16_cut;
use messaging_core::limits::CHAT_CHARS;
use messaging_core::payload::MessagePayload;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::roster::Member;
use messaging_ipc::shapes::Direction;
use messaging_store::StoreError;

use super::file::Filed;
use crate::chats::{self, Applied, NewLine};
use crate::engine::DaemonEngine;
use crate::store::lines;
use crate::store::rooms::RoomKey;
use crate::work::Work;
use crate::{consent, receipts};

/// Files a direct line (`conv` is none), or does what a channel operation asks.
pub(super) fn take(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    payload: &MessagePayload,
    conv: Option<&ChannelConv>,
) -> Result<Filed, StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(Err(Code::NotMember)) };
    let Some(sender) = engine.realm.member(&envelope.from.device).cloned() else {
        return Ok(Err(Code::NotMember));
    };
    let Ok(id) = Ulid::parse(payload.message.message_id.as_str()) else {
        return Ok(Err(Code::InvalidRequest));
    };
    let agent = envelope.from.agent.as_ref();
    let from = &envelope.from.person;
    let is_change = conv.is_some_and(|conv| conv.op != ChannelOp::Post);
    let what = if is_change { Arrived::Change } else { Arrived::Line { agent: agent.is_some() } };
    let silent = match consent::judge(engine, work.tx, from, &what, work.wall())? {
        Decision::Deliver { silent, .. } => silent,
        Decision::Refuse(code) => return Ok(Err(code)),
        // Only what asks for something is held.
        Decision::Hold => return Ok(Err(Code::Refused)),
    };
    let known = lines::get(work.tx, &id)?;
    let id = match (&known, conv) {
        (Some(line), Some(conv)) if is_change => {
            if line.notice && line.person == *from && line.room == RoomKey::Channel(conv.id) {
                return delivered(engine, work, envelope);
            }
            // Somebody filed another line under its id: that must not keep the change away.
            work.ulid()
        }
        _ => id,
    };
    let room = match conv {
        None => RoomKey::Dm(from.clone()),
        Some(conv) => match chats::apply(engine, work, envelope, &sender, conv, id)? {
            Ok(Applied::Post(room)) => room,
            Ok(Applied::Done) => return delivered(engine, work, envelope),
            Err(code) => return Ok(Err(code)),
        },
    };
    if known.is_some() {
        // Whoever sends it again changes nothing.
        return delivered(engine, work, envelope);
    }
    if agent.is_some() && *from != own && !engine.pace.take_agents(from, work.mono()) {
        return Ok(Err(Code::RateLimited));
    }
    let line = line_of(work, &own, envelope, &sender, payload, (id, room, silent));
    chats::file(engine, work, line)?;
    delivered(engine, work, envelope)
}

fn line_of(
    work: &Work<'_, '_>,
    own: &PersonId,
    envelope: &Envelope,
    sender: &Member,
    payload: &MessagePayload,
    (id, room, silent): (Ulid, RoomKey, bool),
) -> NewLine {
    let text = payload.message.texts().collect::<Vec<_>>().join("\n");
    let cut = utf16_cut(&text, CHAT_CHARS);
    let thread = payload.message.context_id.as_ref();
    let thread = thread.and_then(|thread| Ulid::parse(thread.as_str()).ok());
    let agent: Option<SessionName> = envelope.from.agent.clone();
    NewLine {
        direction: direction(own, &envelope.from.person, &room, agent.is_some()),
        truncated: cut.len() < text.len(),
        text: cut.to_owned(),
        room,
        person: envelope.from.person.clone(),
        device: sender.machine,
        label: Some(sender.label.clone()),
        agent,
        // The first line does not name itself.
        thread: thread.filter(|thread| *thread != id),
        id,
        notice: false,
        state: None,
        at: envelope.ts.min(work.wall()),
        silent,
    }
}

/// One's own lines are outgoing wherever they were written; what an agent writes to its own person is for them.
fn direction(own: &PersonId, from: &PersonId, room: &RoomKey, agent: bool) -> Direction {
    let to_oneself = matches!(room, RoomKey::Dm(person) if person == own);
    if from != own || (to_oneself && agent) { Direction::In } else { Direction::Out }
}

fn delivered(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
) -> Result<Filed, StoreError> {
    let receipt = Receipt::of(envelope.id, ReceiptStage::Delivered);
    receipts::send(engine, work, &envelope.from.device, &receipt)?;
    Ok(Ok(()))
}
