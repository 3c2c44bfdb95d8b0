//! A line that is written here: its copies are sealed, then line, copies and envelopes are stored at once.
//! Spec: §6.8 "Wire", D3.6

use std::collections::BTreeSet;
use std::rc::Rc;

use messaging_core::channel::ChannelRecord;
use messaging_core::code::{Code, Failure};
use messaging_core::conv::{ChannelConv, ChannelOp, Conv};
use messaging_core::envelope::SealedType;
use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::jcs;
use messaging_core::limits::TTL_MS;
use messaging_ipc::error::Refusal;
use messaging_ipc::shapes::{Direction, LineState};
use messaging_store::StoreError;
use serde_json::{Map, Value, json};

use super::{NewLine, delivery, file};
use crate::engine::DaemonEngine;
use crate::outbound::{self, Letter, Sealed, Target};
use crate::outbox;
use crate::store::channels;
use crate::store::copies::{self, CopyRow, CopyState};
use crate::store::lines::LineRow;
use crate::store::rooms::RoomKey;
use crate::work::{Halt, Step, Work};

/// A line that the person, or one of their agents, writes.
pub(crate) struct Draft<'a> {
    pub(crate) room: &'a RoomKey,
    pub(crate) text: &'a str,
    /// The first line of its thread.
    pub(crate) thread: Option<Ulid>,
    /// The session that writes; none when the person does.
    pub(crate) agent: Option<&'a SessionName>,
}

/// Writes a line: it is filed, and goes to every machine that the room has.
///
/// Errors: `no_identity`, `not_member`; `not_found` for a channel that is gone; `rate_limited` for the pace of agents, the pace
/// of a machine and a full outbox. Nothing is written then.
pub(crate) fn write(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    draft: &Draft<'_>,
) -> Step<LineRow> {
    let ready = engine.ready()?;
    let (own, device, label) =
        (PersonId::from(&ready.me.person), ready.me.machine, ready.me.label.clone());
    let id = work.ulid();
    let (targets, conv) = match draft.room {
        RoomKey::Dm(person) => (machines(engine, [person]), None),
        RoomKey::Channel(channel) => {
            let held = channels::get(work.tx, channel)?
                .ok_or(Failure::new(Code::NotFound, "the channel is gone"))?;
            let conv = op(&held.record, ChannelOp::Post)?;
            (machines(engine, &held.record.persons), Some(conv))
        }
    };
    let others: BTreeSet<PersonId> =
        targets.iter().map(|to| &to.person).filter(|person| **person != own).cloned().collect();
    if draft.agent.is_some() {
        let wait = engine.pace.agents_wait(&others, work.mono());
        if wait > 0 {
            return Err(Refusal::rate_limited(wait).into());
        }
    }
    check_pace(engine, work, &targets)?;
    // What an agent writes to nobody's machine is held to the pace of one, too.
    let stays_here = draft.agent.is_some() && targets.is_empty();
    if stays_here {
        let wait = engine.pace.wait([&device], work.mono());
        if wait > 0 {
            return Err(Refusal::rate_limited(wait).into());
        }
        engine.pace.count(device, work.mono());
    }
    let payload = Rc::new(payload(&id, draft.text, draft.thread.as_ref(), conv));
    let letters = targets.into_iter().map(|to| (to, Rc::clone(&payload))).collect();
    let copies = seal(engine, work, draft.agent, letters);
    if draft.agent.is_some() {
        for person in &others {
            engine.pace.count_agents(person, work.mono());
        }
    }
    let to_oneself = matches!(draft.room, RoomKey::Dm(person) if *person == own);
    let at = work.wall();
    let row = file(
        engine,
        work,
        NewLine {
            id,
            room: draft.room.clone(),
            person: own,
            device,
            label: Some(label),
            agent: draft.agent.cloned(),
            // What an agent writes to its own person is for them to read.
            direction: if to_oneself && draft.agent.is_some() {
                Direction::In
            } else {
                Direction::Out
            },
            text: draft.text.to_owned(),
            thread: draft.thread,
            notice: false,
            truncated: false,
            state: (!others.is_empty()).then_some(LineState::Sent),
            at,
            silent: false,
        },
    )?;
    send(engine, work, &id, copies)?;
    Ok(row)
}

/// The current machines of these persons, but for this one.
pub(super) fn machines<'p>(
    engine: &DaemonEngine,
    persons: impl IntoIterator<Item = &'p PersonId>,
) -> Vec<Target> {
    let own = engine.home.machine;
    persons
        .into_iter()
        .flat_map(|person| engine.realm.machines_of(person))
        .filter(|member| Some(member.machine) != own)
        .map(|member| Target::of(member, None))
        .collect()
}

/// Whether one more envelope may go to each of these machines now.
///
/// Errors: `rate_limited`, with when to try again.
pub(super) fn check_pace(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    targets: &[Target],
) -> Step<()> {
    if targets.is_empty() {
        return Ok(());
    }
    let wait = engine.pace.wait(targets.iter().map(|to| &to.device), work.mono());
    if wait > 0 {
        return Err(Refusal::rate_limited(wait).into());
    }
    outbox::check_room(work.tx)
}

/// What an operation on a channel says beside its message.
pub(super) fn op(record: &ChannelRecord, op: ChannelOp) -> Result<Value, Failure> {
    let conv = ChannelConv { id: record.id, name: record.name.clone(), op };
    jcs::to_value(&Conv::Channel(conv))
}

/// What is sealed for a machine.
pub(super) fn payload(id: &Ulid, text: &str, thread: Option<&Ulid>, conv: Option<Value>) -> Value {
    let mut message = Map::new();
    message.insert("messageId".into(), id.as_str().into());
    message.insert("role".into(), "ROLE_USER".into());
    message.insert("parts".into(), json!([{ "text": text }]));
    if let Some(thread) = thread {
        message.insert("contextId".into(), thread.as_str().into());
    }
    let mut payload = Map::new();
    payload.insert("kind".into(), "message".into());
    payload.insert("message".into(), Value::Object(message));
    if let Some(conv) = conv {
        payload.insert("conv".into(), conv);
    }
    Value::Object(payload)
}

/// One envelope to one machine, or why there is none.
pub(super) struct Copy {
    to: Target,
    sealed: Result<Sealed, Code>,
}

/// Seals each letter; nothing is written. A machine to which nothing can be sealed refuses its copy, and nobody else's.
pub(super) fn seal(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    agent: Option<&SessionName>,
    letters: Vec<(Target, Rc<Value>)>,
) -> Vec<Copy> {
    let at = work.wall();
    letters
        .into_iter()
        .map(|(to, payload)| {
            let letter = Letter {
                kind: SealedType::Message,
                from_agent: agent,
                to: &to,
                reply_to: None,
                payload: &payload,
                at,
            };
            let sealed = outbound::seal_letter(engine, work, &letter);
            Copy { sealed: sealed.map_err(|failure| failure.code), to }
        })
        .collect()
}

/// Queues the copies of a line or of a change, and records them with it.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    line: &Ulid,
    copies: Vec<Copy>,
) -> Result<(), StoreError> {
    let mut failed = BTreeSet::new();
    for Copy { to, sealed } in copies {
        let (envelope, state, code, exp) = match &sealed {
            Ok(sealed) => (sealed.id, CopyState::Sent, None, sealed.exp),
            Err(code) => {
                failed.insert(to.person.clone());
                (work.ulid(), CopyState::Rejected, Some(*code), work.wall().plus(TTL_MS))
            }
        };
        let row = CopyRow {
            envelope,
            line: *line,
            person: to.person.clone(),
            device: to.device,
            state,
            code,
            exp,
        };
        copies::insert(work.tx, &row)?;
        queue(engine, work, &to, sealed)?;
    }
    for person in failed {
        delivery::review(engine, work, line, &person)?;
    }
    Ok(())
}

/// Queues copies that nothing is recorded of.
pub(super) fn send_unrecorded(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    copies: Vec<Copy>,
) -> Result<(), StoreError> {
    copies.into_iter().try_for_each(|Copy { to, sealed }| queue(engine, work, &to, sealed))
}

fn queue(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    to: &Target,
    sealed: Result<Sealed, Code>,
) -> Result<(), StoreError> {
    engine.pace.count(to.device, work.mono());
    match sealed {
        Ok(sealed) => {
            let recipient = (&to.device, &to.person);
            outbound::queue(engine, work, recipient, SealedType::Message, &sealed)
        }
        Err(_) => Ok(()),
    }
}

/// A person of the realm, as somebody to write to.
///
/// Errors: `not_found` for a person without a current machine.
pub(super) fn admissible(engine: &DaemonEngine, person: &PersonId) -> bool {
    engine.realm.machines_of(person).next().is_some()
}

/// The refusal of a person who is not in the realm.
pub(super) fn no_person() -> Halt {
    Halt::refused(Code::NotFound, "no such person is in the team")
}
