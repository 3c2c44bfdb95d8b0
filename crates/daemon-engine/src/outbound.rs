//! What this machine says: sealed, recorded and queued in one transaction.
//! Spec: §5 "Sealing", §8.2 `msg.send`, D3.5 steps 8, 10 and 11
//!
//! Nothing of the plaintext is kept: the record names the envelope, and the queued text is sealed.

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

use crate::budgets::Budget;
use crate::engine::DaemonEngine;
use crate::inbound;
use crate::outbox;
use crate::store::outbox::NewOutbox;
use crate::store::sent::{self, SentRow, Step as Stepped};
use crate::store::sessions::SessionRow;
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
    /// The whole payload, of the message's shape.
    pub(crate) payload: &'a Value,
}

/// A sealed envelope with what its row needs.
struct Sealed {
    id: Ulid,
    ts: Ms,
    exp: Ms,
    class: Class,
    envelope: SealedEnvelope,
}

/// Sends mail: its record in `accepted`, its sealed envelope in the outbox; or, to this very machine, delivered at once, and
/// then the record says how far it came.
///
/// Errors: `no_identity`, `not_member`; `no_recipients` for a device that is not current; `invalid_request`, `too_large`;
/// `rate_limited` for a full outbox, or for this machine's own budget of mail to itself. Nothing is written then.
pub(crate) fn mail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    mail: &Mail<'_>,
) -> Step<SentRow> {
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
        },
    )?;
    let id = sealed.id;
    let row = accepted(mail, &sealed);
    if !local {
        sent::insert(work.tx, &row)?;
        queue(engine, work, mail.to, SealedType::Message, &sealed)?;
        return Ok(row);
    }
    let checked = sealed.envelope.into_checked()?;
    sent::insert(work.tx, &row)?;
    inbound::local(engine, work, checked)?;
    sent::get(work.tx, &id)?.ok_or(Halt::Store(StoreError::Other))
}

/// Seals a letter and queues it. Errors: as [`mail`], but for the limits of what a session may send.
pub(crate) fn post(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    letter: &Letter<'_>,
) -> Step<Ulid> {
    let sealed = seal_letter(engine, work, letter)?;
    queue(engine, work, letter.to, letter.kind, &sealed)?;
    Ok(sealed.id)
}

fn accepted(mail: &Mail<'_>, sealed: &Sealed) -> SentRow {
    let stage = Stage::Accepted;
    SentRow {
        id: sealed.id,
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
        code: None,
        history: vec![Stepped { stage, code: None, at: sealed.ts }],
        ts: sealed.ts,
        exp: sealed.exp,
    }
}

fn seal_letter(
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
    let ts = work.wall();
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

fn queue(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &Target,
    kind: SealedType,
    sealed: &Sealed,
) -> Result<(), StoreError> {
    crate::store::outbox::insert(
        work.tx,
        &NewOutbox {
            id: &sealed.id,
            to_device: &to.device,
            to_person: &to.person,
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
