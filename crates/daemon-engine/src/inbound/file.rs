//! Files what was opened: each kind by its own rules, the sender's binding to earlier traffic first.
//! Spec: §5 "Counterpart binding", §6.4, §6.6, §6.9 "Enforcement", §8.3; D3.8 steps 13 to 15, D3.10

use messaging_core::a2a::Message;
use messaging_core::code::Code;
use messaging_core::consent::{self, ConsentClass, Decision};
use messaging_core::delegation::Provenance;
use messaging_core::envelope::Envelope;
use messaging_core::ids::{MachineId, PersonId, SessionName, Ulid};
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

use super::{line, task};
use crate::consent::holds::{self, Asked};
use crate::consent::{cards, chain_persons, judge, sync};
use crate::engine::DaemonEngine;
use crate::outbound::Target;
use crate::store::inbox::{self, InboxRow, ItemKind};
use crate::store::sessions::{self, SessionRow};
use crate::store::{held, sent, suggestions};
use crate::work::Work;
use crate::{ancestry, directory, receipts, stages, subscriptions, views, wake};

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
    if let Payload::Message(_) = &opened.payload
        && let Some(device) = holder(work, &envelope.id)?
    {
        // The very item: its mark was forgotten before its time, as after a clock that went ahead and came back. Ids are
        // random, so another machine chose this one to be mistaken for what has it.
        let again = device == Some(envelope.from.device);
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
                let letter = Arrived {
                    envelope,
                    wire: verified.checked().raw(),
                    raw: &opened.raw,
                    payload,
                    from,
                    to,
                };
                match &payload.message.task_id {
                    None => mail(engine, work, &letter),
                    Some(id) => task::follow_up(engine, work, &letter, id),
                }
            }
            Some(Meaning::Task { from, to, task: id, .. }) => {
                let letter = Arrived {
                    envelope,
                    wire: verified.checked().raw(),
                    raw: &opened.raw,
                    payload,
                    from,
                    to,
                };
                task::request(engine, work, &letter, &id)
            }
            Some(Meaning::Line) => line::take(engine, work, envelope, payload, None),
            Some(Meaning::Channel(conv)) => line::take(engine, work, envelope, payload, Some(conv)),
            Some(Meaning::Sync { grants, .. }) => {
                sync::receive(engine, work, envelope, grants)?;
                Ok(Ok(()))
            }
            // Whatever becomes of them, cards are answered with nothing.
            Some(Meaning::Card(card)) => cards::receive(engine, work, envelope, card).map(Ok),
            Some(Meaning::CardWanted) => cards::wanted(engine, work, envelope).map(Ok),
            // A roster realm has no message requests: everybody in it is of one team.
            Some(Meaning::Request { .. }) | None => Ok(Err(Code::InvalidRequest)),
        },
    }
}

/// Which machine sent what is kept under an envelope's id; none within for something of this machine's own.
fn holder(work: &Work<'_, '_>, id: &Ulid) -> Result<Option<Option<MachineId>>, StoreError> {
    if let Some(item) = inbox::by_id(work.tx, id)? {
        return Ok(Some(Some(item.from_device)));
    }
    if let Some(held) = held::by_id(work.tx, id)? {
        return Ok(Some(Some(held.device)));
    }
    Ok(suggestions::get(work.tx, id)?.map(|_| None))
}

/// A message from an agent to an agent.
pub(super) struct Arrived<'a> {
    pub(super) envelope: &'a Envelope,
    /// The envelope as it arrived.
    pub(super) wire: &'a Value,
    /// What was sealed in it.
    pub(super) raw: &'a Value,
    pub(super) payload: &'a MessagePayload,
    pub(super) from: &'a SessionName,
    pub(super) to: &'a SessionName,
}

impl Arrived<'_> {
    /// The ask that the person is to answer, of what is for this session.
    pub(super) fn asked(&self, session: &SessionRow) -> Asked<'_> {
        Asked {
            envelope: self.envelope,
            wire: self.wire,
            payload: self.raw,
            message: self.payload,
            kind: kind(self.payload),
            session: session.id,
            from: self.from,
            to: self.to,
        }
    }
}

/// What the person's consent makes of a message to an agent, once the policy let it in.
pub(super) enum Verdict {
    /// It becomes an item.
    In(Admitted),
    /// The person is asked first.
    Hold { sender: Member, session: SessionRow },
    /// It is refused.
    Refuse(Code),
}

/// A message that consent and policy let in, before it is an item.
pub(super) struct Admitted {
    pub(super) sender: Member,
    pub(super) session: SessionRow,
    /// The message as it is kept.
    pub(super) message: Value,
    text: String,
    class: ConsentClass,
}

fn mail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
) -> Result<Filed, StoreError> {
    match admit(engine, work, letter, Tie::ByReply)? {
        Verdict::In(admitted) => keep(engine, work, letter, admitted, None, true).map(Ok),
        Verdict::Hold { session, .. } => holds::keep(engine, work, &letter.asked(&session)),
        Verdict::Refuse(code) => Ok(Err(code)),
    }
}

/// What ties a message to earlier traffic of this machine. Spec: R3, D3.10 "answer"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// It goes on with a task that this machine runs for its sender.
    FollowUp,
    /// Nothing, unless it replies to an envelope that this machine sent to the sender's machine.
    ByReply,
}

/// Consent, then policy, in the order of §8.3. Nothing is written.
pub(super) fn admit(
    engine: &mut DaemonEngine,
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
    tie: Tie,
) -> Result<Verdict, StoreError> {
    let envelope = letter.envelope;
    let Some(sender) = engine.realm.member(&envelope.from.device).cloned() else {
        return Ok(Verdict::Refuse(Code::NotMember));
    };
    // Before anything tells which sessions exist.
    let chain = chain_persons(letter.payload);
    let what = if tie == Tie::FollowUp || replies(work, letter)? {
        consent::Arrived::Answer { chain: &chain }
    } else {
        consent::Arrived::Ask { chain: &chain }
    };
    let class = match judge(engine, work.tx, &envelope.from.person, &what, work.wall())? {
        Decision::Deliver { class, .. } => class,
        Decision::Refuse(code) => return Ok(Verdict::Refuse(code)),
        // Nor has a held one been counted by the loop guard.
        Decision::Hold => {
            return Ok(match session_for(work, letter)? {
                Ok(session) => Verdict::Hold { sender, session },
                Err(code) => Verdict::Refuse(code),
            });
        }
    };
    Ok(match enter(engine, work, letter, sender, class)? {
        Ok(admitted) => Verdict::In(admitted),
        Err(code) => Verdict::Refuse(code),
    })
}

/// Whether a message replies to an envelope that this machine sent to the sender's machine.
fn replies(work: &Work<'_, '_>, letter: &Arrived<'_>) -> Result<bool, StoreError> {
    let Some(about) = letter.envelope.sealed().and_then(|sealed| sealed.reply_to) else {
        return Ok(false);
    };
    let sent = sent::get(work.tx, &about)?;
    Ok(sent.is_some_and(|sent| sent.to_device == letter.envelope.from.device))
}

/// The session that a message is for.
fn session_for(
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
) -> Result<Result<SessionRow, Code>, StoreError> {
    Ok(match sessions::by_name(work.tx, letter.to)? {
        None => Err(Code::UnknownSession),
        // A terminal cannot do tasks.
        Some(session) if letter.payload.kind == MessageKind::Task && session.is_cli() => {
            Err(Code::Refused)
        }
        Some(session) => Ok(session),
    })
}

/// The inbound policy of §8.3, for what consent delivers. Nothing is written but the loop guard's count.
pub(super) fn enter(
    engine: &mut DaemonEngine,
    work: &Work<'_, '_>,
    letter: &Arrived<'_>,
    sender: Member,
    class: ConsentClass,
) -> Result<Result<Admitted, Code>, StoreError> {
    let session = match session_for(work, letter)? {
        Ok(session) => session,
        Err(code) => return Ok(Err(code)),
    };
    let message = with_provenance(letter.raw, &sender, letter.from);
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
    Ok(Ok(Admitted { sender, session, message, text, class }))
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

/// Makes an item of what was let in, and tells its sender, when they are to be told, and its session. A task request brings
/// the summary of its chain.
pub(super) fn keep(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Arrived<'_>,
    admitted: Admitted,
    chain: Option<Value>,
    tells: bool,
) -> Result<(), StoreError> {
    let Arrived { envelope, payload, .. } = letter;
    let Admitted { sender, session, text, class, .. } = admitted;
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
        kind: kind(payload),
        message_id: message.message_id.as_str().to_owned(),
        context_id: message.context().as_str().to_owned(),
        task_id: message.task_id,
        reply_to,
        preview: preview(message),
        attachments: attachments(message),
        consent: Some(class.as_str().to_owned()),
        wake: payload.wake && session.tier == Tier::Push,
        chain,
        stage: Stage::Delivered,
        bytes: text.len() as u64,
        ts: envelope.ts,
        arrived_at: work.wall(),
        exp: envelope.exp,
    };
    inbox::insert(work.tx, &row, &text)?;
    ancestry::arrived(work, &row, letter.raw.get("delegation"), is_person)?;
    if tells {
        let receipt = Receipt::of(envelope.id, ReceiptStage::Delivered);
        receipts::send(engine, work, &row.from_device, &receipt)?;
    }
    if let Some(reply_to) = &reply_to {
        let task = message.task_id.as_ref();
        stages::replied(engine, work, &row.from_device, reply_to, task)?;
    }
    subscriptions::inbox(engine, work, &row)?;
    wake::arrived(engine, work, &row, &session)
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

fn kind(payload: &MessagePayload) -> ItemKind {
    match payload.kind {
        MessageKind::Message => ItemKind::Message,
        MessageKind::Task => ItemKind::Task,
    }
}

/// The start of the text. Spec: D1.6 `preview`
pub(crate) fn preview(message: &Message) -> String {
    let text = message.texts().collect::<Vec<_>>().join("\n");
    utf16_cut(&text, views::PREVIEW_UNITS).to_owned()
}

fn attachments(message: &Message) -> u64 {
    let texts = message.texts().count();
    message.parts.len().saturating_sub(texts) as u64
}
