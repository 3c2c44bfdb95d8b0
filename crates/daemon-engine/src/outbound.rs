//! What this machine says: sealed, recorded and queued in one transaction.
//! Spec: §5 "Sealing", §8.2 `msg.send`, D3.5 steps 8, 10 and 11
//!
//! The record names the envelope, and the queued text is sealed. What an agent wrote is kept beside the record, for its
//! person, unless `retention.sentText` says otherwise.

use messaging_core::code::{Code, Failure};
use messaging_core::envelope::{Class, End, SealedType};
use messaging_core::ids::{Label, MachineId, PersonId, SessionName, Ulid};
use messaging_core::limits::TTL_MS;
use messaging_core::random;
use messaging_core::realm::Anchor;
use messaging_core::roster::Member;
use messaging_core::seal::{SealRequest, SealedEnvelope, seal};
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use messaging_ipc::error::Refusal;
use messaging_store::StoreError;
use serde_json::Value;

use crate::ancestry::Place;
use crate::budgets::Budget;
use crate::engine::DaemonEngine;
use crate::inbound;
use crate::outbox;
use crate::store::outbox::NewOutbox;
use crate::store::sent::{self, SentRow, Step as Stepped};
use crate::store::sent_text;
use crate::store::sessions::SessionRow;
use crate::store::tasks::TaskRow;
use crate::work::{Halt, Step, Work};

/// The session, or the device, that an envelope is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) person: PersonId,
    pub(crate) device: MachineId,
    pub(crate) label: Label,
    pub(crate) agent: Option<SessionName>,
}

impl Target {
    /// A member's device, or a session on it.
    pub(crate) fn of(member: &Member, agent: Option<SessionName>) -> Self {
        Self {
            person: PersonId::from(&member.person),
            device: member.machine,
            label: member.label.clone(),
            agent,
        }
    }
}

/// An envelope before it is sealed.
pub(crate) struct Letter<'a> {
    pub(crate) kind: SealedType,
    /// The session that writes; none when the device or the person does.
    pub(crate) from_agent: Option<&'a SessionName>,
    pub(crate) to: &'a Target,
    pub(crate) reply_to: Option<Ulid>,
    pub(crate) payload: &'a Value,
    /// When it is sent.
    pub(crate) at: Ms,
}

/// Mail from a session of this machine to an agent.
pub(crate) struct Mail<'a> {
    pub(crate) session: &'a SessionRow,
    /// The addressed session; `agent` is set.
    pub(crate) to: &'a Target,
    pub(crate) message_id: &'a str,
    pub(crate) context_id: &'a str,
    pub(crate) task_id: Option<Ulid>,
    pub(crate) reply_to: Option<Ulid>,
    /// What it goes back to.
    pub(crate) place: &'a Place,
    /// The whole payload, of the message's shape.
    pub(crate) payload: &'a Value,
}

/// A sealed envelope with what its row needs.
pub(crate) struct Sealed {
    pub(crate) id: Ulid,
    ts: Ms,
    pub(crate) exp: Ms,
    class: Class,
    envelope: SealedEnvelope,
}

/// Mail that is sealed, and not sent yet.
pub(crate) struct Prepared {
    /// Its record, in `accepted`.
    pub(crate) row: SentRow,
    place: Place,
    /// What it says, when that is kept.
    copy: Option<String>,
    sealed: Sealed,
}

/// Seals mail; nothing is written.
///
/// Errors: `no_identity`, `not_member`; `no_recipients` for a device that is not current; `invalid_request`, `too_large`;
/// `rate_limited` for a full outbox, or for this machine's own budget of mail to itself.
pub(crate) fn prepare(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    mail: &Mail<'_>,
) -> Step<Prepared> {
    let local = engine.home.machine.as_ref() == Some(&mail.to.device);
    if local {
        let wait = engine.budgets.wait(mail.to.device, Budget::Mail, work.mono());
        if wait > 0 {
            return Err(Refusal::rate_limited(wait).into());
        }
    } else {
        outbox::check_room(work.tx)?;
    }
    let sealed = seal_letter(
        engine,
        work,
        &Letter {
            kind: SealedType::Message,
            from_agent: Some(&mail.session.name),
            to: mail.to,
            reply_to: mail.reply_to,
            payload: mail.payload,
            at: work.wall(),
        },
    )?;
    let row = record(mail, sealed.id, sealed.ts, sealed.exp, (Stage::Accepted, None));
    let kept = engine.config.retention.sent_text;
    let copy = mail.payload.get("message").filter(|_| kept).map(Value::to_string);
    Ok(Prepared { row, place: mail.place.clone(), copy, sealed })
}

/// Records mail that this machine refuses to send: nothing is sealed, and nothing goes out.
pub(crate) fn refused(
    work: &mut Work<'_, '_>,
    mail: &Mail<'_>,
    code: Code,
) -> Result<SentRow, StoreError> {
    let at = work.wall();
    let row = record(mail, work.ulid(), at, at.plus(TTL_MS), (Stage::Rejected, Some(code)));
    sent::insert(work.tx, &row)?;
    sent::set_stage(work.tx, &row, Some(at))?;
    mail.place.write(work, &row.id, &row.context_id)?;
    Ok(row)
}

/// Sends what was prepared: its record, its sealed envelope in the outbox; or, to this very machine, delivered at once, and
/// then the record says how far it came.
pub(crate) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    prepared: Prepared,
) -> Step<SentRow> {
    let Prepared { row, place, copy, sealed } = prepared;
    if !engine.is_me(&row.to_device) {
        place.write(work, &row.id, &row.context_id)?;
        record_sent(work, &row, copy.as_deref())?;
        let to = (&row.to_device, &row.to_person);
        queue(engine, work, to, SealedType::Message, &sealed)?;
        return Ok(row);
    }
    let checked = sealed.envelope.into_checked()?;
    place.write(work, &row.id, &row.context_id)?;
    record_sent(work, &row, copy.as_deref())?;
    inbound::local(engine, work, checked)?;
    sent::get(work.tx, &row.id)?.ok_or(Halt::Store(StoreError::Other))
}

fn record_sent(
    work: &mut Work<'_, '_>,
    row: &SentRow,
    copy: Option<&str>,
) -> Result<(), StoreError> {
    sent::insert(work.tx, row)?;
    match copy {
        Some(message) => sent_text::insert(work.tx, &row.id, message),
        None => Ok(()),
    }
}

/// Queues a sealed update or cancel of a task, with a record of how far it gets. No session hears of that.
pub(crate) fn post_about(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &Target,
    kind: SealedType,
    task: &TaskRow,
    sealed: Sealed,
) -> Result<(), StoreError> {
    let stage = Stage::Accepted;
    let row = SentRow {
        id: sealed.id,
        session: None,
        session_name: None,
        to_person: to.person.clone(),
        to_device: to.device,
        to_label: to.label.clone(),
        to_agent: None,
        r#type: kind,
        message_id: String::new(),
        context_id: task.context_id.clone(),
        task_id: Some(task.id),
        reply_to: Some(task.request_id),
        stage,
        code: None,
        history: vec![Stepped { stage, code: None, at: work.wall() }],
        ts: sealed.ts,
        exp: sealed.exp,
    };
    sent::insert(work.tx, &row)?;
    queue(engine, work, (&to.device, &to.person), kind, &sealed)
}

/// Seals a letter and queues it. Errors: as [`prepare`], but for the limits of what a session may send.
pub(crate) fn post(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Letter<'_>,
) -> Step<Ulid> {
    let sealed = seal_letter(engine, work, letter)?;
    queue(engine, work, (&letter.to.device, &letter.to.person), letter.kind, &sealed)?;
    Ok(sealed.id)
}

fn record(
    mail: &Mail<'_>,
    id: Ulid,
    ts: Ms,
    exp: Ms,
    (stage, code): (Stage, Option<Code>),
) -> SentRow {
    SentRow {
        id,
        session: Some(mail.session.id),
        session_name: Some(mail.session.name.clone()),
        to_person: mail.to.person.clone(),
        to_device: mail.to.device,
        to_label: mail.to.label.clone(),
        to_agent: mail.to.agent.clone(),
        r#type: SealedType::Message,
        message_id: mail.message_id.to_owned(),
        context_id: mail.context_id.to_owned(),
        task_id: mail.task_id,
        reply_to: mail.reply_to,
        stage,
        code,
        history: vec![Stepped { stage, code, at: ts }],
        ts,
        exp,
    }
}

/// Seals a letter; nothing is written.
///
/// Errors: `no_identity`, `not_member`, `no_recipients`, `invalid_request`, `too_large`.
pub(crate) fn seal_letter(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Letter<'_>,
) -> Result<Sealed, Failure> {
    let ready = engine.home.ready(engine.realm.roster())?;
    let gone = Failure::new(Code::NoRecipients, "that machine is no member of the team");
    let recipient = ready.roster.member(&letter.to.device).ok_or(gone)?;
    let (realm, head) = ready.roster.team_id().zip(ready.roster.head()).ok_or(gone)?;
    let from = End {
        person: PersonId::from(&ready.me.person),
        device: ready.me.machine,
        agent: letter.from_agent.cloned(),
    };
    let to = End {
        person: letter.to.person.clone(),
        device: letter.to.device,
        agent: letter.to.agent.clone(),
    };
    let id = work.ulid();
    let ts = letter.at;
    let exp = ts.plus(TTL_MS);
    let request = SealRequest {
        id,
        kind: letter.kind,
        realm: *realm,
        from: &from,
        to: &to,
        ts,
        exp,
        anchor: Anchor::from(head),
        reply_to: letter.reply_to,
        payload: letter.payload,
        recipient: recipient.enc,
        identity: &ready.keys.identity.signing,
    };
    let envelope = seal(&request, random::bytes(work.rng), random::bytes(work.rng))?;
    // A person's message requests come with the hosted realms; between others the ends decide.
    let class = if from.person == to.person { Class::Own } else { Class::Contact };
    Ok(Sealed { id, ts, exp, class, envelope })
}

/// Puts what was sealed into the outbox.
pub(crate) fn queue(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    (device, person): (&MachineId, &PersonId),
    kind: SealedType,
    sealed: &Sealed,
) -> Result<(), StoreError> {
    crate::store::outbox::insert(
        work.tx,
        &NewOutbox {
            id: &sealed.id,
            to_device: device,
            to_person: person,
            r#type: kind,
            class: sealed.class,
            created_at: sealed.ts,
            exp: sealed.exp,
            envelope: sealed.envelope.text.as_str(),
        },
    )?;
    engine.outbox.added();
    Ok(())
}
