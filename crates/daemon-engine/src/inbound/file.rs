//! Files what was opened: each kind by its own rules, the sender's binding to earlier traffic first.
//! Spec: §5 "Counterpart binding", §6.4, §6.6, §8.3; D3.8 steps 13 to 15

use messaging_core::a2a::Message;
use messaging_core::code::Code;
use messaging_core::delegation::Provenance;
use messaging_core::envelope::Envelope;
use messaging_core::ids::{PersonId, SessionName};
use messaging_core::json::utf16_cut;
use messaging_core::meaning::Meaning;
use messaging_core::payload::{MessagePayload, Payload};
use messaging_core::presence::Tier;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::roster::Member;
use messaging_core::seal::Opened;
use messaging_core::stage::Stage;
use messaging_core::verify::Verified;
use messaging_store::StoreError;
use serde_json::Value;

use super::not_yet;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::inbox::{self, InboxRow, ItemKind};
use crate::store::sessions;
use crate::work::Work;
use crate::{receipts, stages, subscriptions};

/// A refusal's code, or done.
type Filed = Result<(), Code>;

/// Files one opened envelope. A refusal has written nothing.
pub(super) fn file(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    verified: &Verified<'_>,
    opened: &Opened,
) -> Result<Filed, StoreError> {
    let envelope = verified.envelope();
    match &opened.payload {
        Payload::Receipt(receipt) => {
            if !stages::receipt(engine, work, &envelope.from.device, receipt)? {
                return Ok(Err(Code::NotFound));
            }
            Ok(Ok(()))
        }
        // No task is known here, so nobody is its executor or its requester.
        Payload::TaskStatus(_) | Payload::TaskArtifact(_) | Payload::TaskCancel(_) => {
            Ok(Err(Code::NotFound))
        }
        Payload::Message(payload) => match opened.meaning(verified.checked()) {
            Some(Meaning::Mail { from, to }) => {
                mail(engine, work, envelope, opened, payload, [from, to])
            }
            // A roster realm has no message requests: everybody in it is of one team.
            Some(Meaning::Request { .. }) | None => Ok(Err(Code::InvalidRequest)),
            Some(other) => {
                if let Some(kind) = not_yet::refuses(&other) {
                    work.log(LogEvent::InboundNotYet { device: envelope.from.device, kind });
                }
                Ok(Err(Code::Refused))
            }
        },
    }
}

fn mail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    opened: &Opened,
    payload: &MessagePayload,
    [from, to]: [&SessionName; 2],
) -> Result<Filed, StoreError> {
    let message = &payload.message;
    if message.task_id.is_some() {
        // It goes on with a task, and no task of its sender's is known here.
        return Ok(Err(Code::NotFound));
    }
    let Some(sender) = engine.realm.member(&envelope.from.device).cloned() else {
        return Ok(Err(Code::NotMember));
    };
    // The person's consent (§6.9) has its place here, before anything tells which sessions exist.
    let own = engine.own().is_some_and(|(_, person)| person == envelope.from.person);
    let consent = if own { "self" } else { "guarded" };
    let Some(session) = sessions::by_name(work.tx, to)? else {
        return Ok(Err(Code::UnknownSession));
    };
    if inbox::by_id(work.tx, &envelope.id)?.is_some() {
        // Ids are random, so another machine chose this one to be mistaken for the item that has it.
        return Ok(Err(Code::InvalidRequest));
    }
    let text = with_provenance(&opened.raw, &sender, from).to_string();
    let bytes = text.len() as u64;
    let quota = engine.config.quota;
    let (items, held) = inbox::held_from(work.tx, &sender.machine)?;
    if quota.items.is_some_and(|most| items >= most)
        || quota.bytes.is_some_and(|most| held.saturating_add(bytes) > most)
    {
        return Ok(Err(Code::RateLimited));
    }
    // The loop guard (§8.3) has its place here, last before an item is made.
    let reply_to = envelope.sealed().and_then(|sealed| sealed.reply_to);
    let row = InboxRow {
        seq: 0,
        id: envelope.id,
        from_device: sender.machine,
        from_person: PersonId::from(&sender.person),
        from_label: sender.label,
        from_agent: Some(from.clone()),
        session: session.id,
        session_name: session.name.clone(),
        kind: ItemKind::Message,
        message_id: message.message_id.as_str().to_owned(),
        context_id: message.context().as_str().to_owned(),
        task_id: None,
        reply_to,
        preview: preview(message),
        attachments: attachments(message),
        consent: Some(consent.to_owned()),
        wake: payload.wake && session.tier == Tier::Push,
        chain: None,
        stage: Stage::Delivered,
        bytes,
        ts: envelope.ts,
        arrived_at: work.wall(),
        exp: envelope.exp,
    };
    inbox::insert(work.tx, &row, &text)?;
    let receipt = Receipt::of(envelope.id, ReceiptStage::Delivered);
    receipts::send(engine, work, &row.from_device, &receipt)?;
    if let Some(reply_to) = &reply_to {
        stages::replied(engine, work, &row.from_device, reply_to, None)?;
    }
    subscriptions::inbox(engine, work, &row)?;
    Ok(Ok(()))
}

/// The message as it is kept: what the peer wrote, and who it is by the realm, whatever the peer said about that.
///
/// Spec: §6.6
fn with_provenance(payload: &Value, sender: &Member, agent: &SessionName) -> Value {
    let mut message = payload.get("message").cloned().unwrap_or_default();
    let person = PersonId::from(&sender.person);
    Provenance::new(person, sender.machine, sender.label.clone(), Some(agent.clone()))
        .stamp(&mut message);
    message
}

/// The start of the text. Spec: D1.6 `preview`
fn preview(message: &Message) -> String {
    let text = message.texts().collect::<Vec<_>>().join("\n");
    utf16_cut(&text, PREVIEW_UNITS).to_owned()
}

fn attachments(message: &Message) -> u64 {
    let texts = message.texts().count();
    message.parts.len().saturating_sub(texts) as u64
}

/// The length of a preview, UTF-16 units.
const PREVIEW_UNITS: usize = 280;
