//! Files what was opened: each kind by its own rules, the sender's binding to earlier traffic first.
//! Spec: §5 "Counterpart binding", §6.4, §6.6, §8.3; D3.8 steps 13 to 15

use messaging_core::a2a::Message;
use messaging_core::code::Code;
use messaging_core::delegation::Provenance;
use messaging_core::envelope::Envelope;
use messaging_core::ids::{PersonId, SessionName};
use messaging_core::json::utf16_cut;
use messaging_core::loop_guard::LoopGuard;
use messaging_core::meaning::Meaning;
use messaging_core::payload::{MessageKind, MessagePayload, Payload};
use messaging_core::presence::Tier;
use messaging_core::receipt::{Receipt, ReceiptStage};
use messaging_core::roster::Member;
use messaging_core::seal::Opened;
use messaging_core::stage::Stage;
use messaging_core::verify::Verified;
use messaging_store::StoreError;
use serde_json::Value;

use super::{line, not_yet, task};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::outbound::Target;
use crate::store::inbox::{self, InboxRow, ItemKind};
use crate::store::sessions::{self, SessionRow};
use crate::work::Work;
use crate::{ancestry, directory, receipts, stages, subscriptions, views};

/// A refusal's code, or done.
pub(super) type Filed = Result<(), Code>;

/// Files one opened envelope. A refusal has written nothing.
pub(super) fn file(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    verified: &Verified<'_>,
    opened: &Opened,
) -> Result<Filed, StoreError> {
    let envelope = verified.envelope();
    if let (Payload::Message(_), Some(item)) =
        (&opened.payload, inbox::by_id(work.tx, &envelope.id)?)
    {
        // The very item: its mark was forgotten before its time, as after a clock that went ahead and came back. Ids are
        // random, so another machine chose this one to be mistaken for the item that has it.
        let again = item.from_device == envelope.from.device;
        return Ok(if again { Ok(()) } else { Err(Code::InvalidRequest) });
    }
    match &opened.payload {
        Payload::Receipt(receipt) => {
            if !stages::receipt(engine, work, &envelope.from.device, receipt)? {
                return Ok(Err(Code::NotFound));
            }
            Ok(Ok(()))
        }
        Payload::TaskStatus(update) => task::status(engine, work, envelope, update, &opened.raw),
        Payload::TaskArtifact(update) => {
            task::artifact(engine, work, envelope, update, &opened.raw)
        }
        Payload::TaskCancel(cancel) => task::cancel(engine, work, envelope, cancel),
        Payload::Message(payload) => match opened.meaning(verified.checked()) {
            Some(Meaning::Mail { from, to }) => {
                let letter = Arrived { envelope, opened, payload, from, to };
                match &payload.message.task_id {
                    None => mail(engine, work, &letter),
                    Some(id) => task::follow_up(engine, work, &letter, id),
                }
            }
            Some(Meaning::Task { from, to, task: id, .. }) => {
                let letter = Arrived { envelope, opened, payload, from, to };
                task::request(engine, work, &letter, &id)
            }
            Some(Meaning::Line) => line::take(engine, work, envelope, payload, None),
            Some(Meaning::Channel(conv)) => line::take(engine, work, envelope, payload, Some(conv)),
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

/// A message from an agent to an agent.
pub(super) struct Arrived<'a> {
    pub(super) envelope: &'a Envelope,
    pub(super) opened: &'a Opened,
    pub(super) payload: &'a MessagePayload,
    pub(super) from: &'a SessionName,
    pub(super) to: &'a SessionName,
}

/// A message that consent and policy let in, before it is an item.
pub(super) struct Admitted {
    pub(super) sender: Member,
    pub(super) session: SessionRow,
    /// The message as it is kept.
    pub(super) message: Value,
    text: String,
    consent: &'static str,
}

fn mail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
) -> Result<Filed, StoreError> {
    match admit(engine, work, letter)? {
        Ok(admitted) => keep(engine, work, letter, admitted, None).map(Ok),
        Err(code) => Ok(Err(code)),
    }
}

/// Consent, then policy, in the order of §8.3. Nothing is written.
pub(super) fn admit(
    engine: &mut DaemonEngine,
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
) -> Result<Result<Admitted, Code>, StoreError> {
    let envelope = letter.envelope;
    let Some(sender) = engine.realm.member(&envelope.from.device).cloned() else {
        return Ok(Err(Code::NotMember));
    };
    // The person's consent (§6.9) has its place here, before anything tells which sessions exist.
    let own = engine.own().is_some_and(|(_, person)| person == envelope.from.person);
    let consent = if own { "self" } else { "guarded" };
    let Some(session) = sessions::by_name(work.tx, letter.to)? else {
        return Ok(Err(Code::UnknownSession));
    };
    if letter.payload.kind == MessageKind::Task && session.is_cli() {
        // A terminal cannot do tasks.
        return Ok(Err(Code::Refused));
    }
    let message = with_provenance(&letter.opened.raw, &sender, letter.from);
    let text = message.to_string();
    let quota = engine.config.quota;
    let (items, held) = inbox::held_from(work.tx, &sender.machine)?;
    if quota.items.is_some_and(|most| items >= most)
        || quota.bytes.is_some_and(|most| held.saturating_add(text.len() as u64) > most)
    {
        return Ok(Err(Code::RateLimited));
    }
    let guarded = !session.is_cli() && !is_terminal(engine, work, &sender, letter.from)?;
    let count =
        |guard: &mut LoopGuard| guard.count(&sender.machine, letter.from, letter.to, work.mono());
    // Last before an item is made; a chain that does not hold (§6.7) has been counted.
    if guarded && count(&mut engine.loop_guard).is_err() {
        return Ok(Err(Code::LoopGuard));
    }
    Ok(Ok(Admitted { sender, session, message, text, consent }))
}

/// Whether the sending session is a person's terminal, as far as its machine tells.
fn is_terminal(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    sender: &Member,
    agent: &SessionName,
) -> Result<bool, StoreError> {
    let from = Target::of(sender, Some(agent.clone()));
    let known = directory::listed_at(engine, work.tx, &from)?;
    Ok(known.is_some_and(|known| known.session.client.as_str() == "cli"))
}

/// Makes an item of what was let in, and tells its sender and its session. A task request brings the summary of its chain.
pub(super) fn keep(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
    admitted: Admitted,
    chain: Option<Value>,
) -> Result<(), StoreError> {
    let Arrived { envelope, payload, .. } = letter;
    let Admitted { sender, session, text, consent, .. } = admitted;
    let is_person = is_terminal(engine, work, &sender, letter.from)?;
    let message = &payload.message;
    let reply_to = envelope.sealed().and_then(|sealed| sealed.reply_to);
    let row = InboxRow {
        seq: 0,
        id: envelope.id,
        from_device: sender.machine,
        from_person: PersonId::from(&sender.person),
        from_label: sender.label,
        from_agent: Some(letter.from.clone()),
        session: session.id,
        session_name: session.name.clone(),
        kind: match payload.kind {
            MessageKind::Message => ItemKind::Message,
            MessageKind::Task => ItemKind::Task,
        },
        message_id: message.message_id.as_str().to_owned(),
        context_id: message.context().as_str().to_owned(),
        task_id: message.task_id,
        reply_to,
        preview: preview(message),
        attachments: attachments(message),
        consent: Some(consent.to_owned()),
        wake: payload.wake && session.tier == Tier::Push,
        chain,
        stage: Stage::Delivered,
        bytes: text.len() as u64,
        ts: envelope.ts,
        arrived_at: work.wall(),
        exp: envelope.exp,
    };
    inbox::insert(work.tx, &row, &text)?;
    ancestry::arrived(work, &row, letter.opened.raw.get("delegation"), is_person)?;
    let receipt = Receipt::of(envelope.id, ReceiptStage::Delivered);
    receipts::send(engine, work, &row.from_device, &receipt)?;
    if let Some(reply_to) = &reply_to {
        let task = message.task_id.as_ref();
        stages::replied(engine, work, &row.from_device, reply_to, task)?;
    }
    subscriptions::inbox(engine, work, &row)
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
    utf16_cut(&text, views::PREVIEW_UNITS).to_owned()
}

fn attachments(message: &Message) -> u64 {
    let texts = message.texts().count();
    message.parts.len().saturating_sub(texts) as u64
}
