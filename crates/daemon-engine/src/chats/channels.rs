//! Channels: what changes here goes to every machine of every member, and what arrives is judged and applied.
//! Spec: §6.8, W4.14, D3.19
//!
//! A change files a notice line, which this daemon writes from the change's own fields.

use std::rc::Rc;

use messaging_core::channel::{self, ChannelRecord, FORGET_MS, Facts, Verdict};
use messaging_core::code::{Code, Failure};
use messaging_core::conv::{ChannelConv, ChannelOp, Persons};
use messaging_core::envelope::Envelope;
use messaging_core::ids::{ChannelName, PersonId, Ulid};
use messaging_core::limits::CHANNELS;
use messaging_core::roster::{Member, Role};
use messaging_core::time::Ms;
use messaging_ipc::error::Refusal;
use messaging_ipc::event::{ConvChange, Event};
use messaging_ipc::scalars::{Room, True};
use messaging_ipc::shapes::Direction;
use messaging_store::StoreError;
use serde_json::Value;

use super::post::{self, Copy};
use super::{NewLine, file};
use crate::engine::DaemonEngine;
use crate::outbound::Target;
use crate::store::channels::{self, ChannelRow};
use crate::store::rooms::{self, RoomKey};
use crate::store::{kv, lines, notices};
use crate::subscriptions;
use crate::work::{Halt, Step, Work};

/// Founds a channel with these persons beside one's own.
///
/// Errors: `invalid_request` for a name that is held, too many channels, and persons that are no list of others; `not_found`
/// for somebody who is not in the team; `rate_limited` for the pace.
pub(crate) fn create(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    name: ChannelName,
    others: &[PersonId],
) -> Step<RoomKey> {
    let own = own(engine)?;
    if channels::by_local(work.tx, &name)?.is_some() {
        return Err(Refusal::field("name", "a channel is held under this name").into());
    }
    if channels::count(work.tx)? >= CHANNELS {
        return Err(Refusal::field("name", "this machine holds as many channels as it may").into());
    }
    let mut persons = vec![PersonId::from(&own.person)];
    persons.extend_from_slice(others);
    let persons = listed(persons)?;
    all_in_team(engine, others)?;
    let record = ChannelRecord {
        id: work.ulid(),
        name: name.clone(),
        creator: PersonId::from(&own.person),
        persons: persons.to_vec(),
    };
    let targets = post::machines(engine, &record.persons);
    post::check_pace(engine, work, &targets)?;
    let change = work.ulid();
    let op = ChannelOp::Create { persons, creator: record.creator.clone() };
    let copies = sealed(engine, work, &change, &record, vec![(targets, op)])?;
    let room = RoomKey::Channel(record.id);
    let text = format!("{} created #{name}", record.creator);
    channels::insert(work.tx, &ChannelRow { record, local: name, created_at: work.wall() })?;
    tell(engine, work, change, &room, text, copies)?;
    Ok(room)
}

/// Invites persons into a channel: its members hear of them, and they get the whole record.
///
/// Errors: `not_found` for a channel that is not held and somebody who is not in the team; `invalid_request` for a member, and
/// past the limit; `rate_limited` for the pace.
pub(crate) fn invite(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    local: &ChannelName,
    persons: &[PersonId],
) -> Step<RoomKey> {
    let own = PersonId::from(&own(engine)?.person);
    let held = held(work, local)?;
    let persons = listed(persons.to_vec())?;
    all_in_team(engine, &persons)?;
    let (record, added) =
        held.record.invite(&own, &persons).map_err(|failure| match failure.code {
            Code::Forbidden => Halt::refused(Code::Forbidden, "you are no member of this channel"),
            _ => Refusal::field("persons", "a channel has at most 32 persons").into(),
        })?;
    if added.len() != persons.len() {
        return Err(Refusal::field("persons", "one of them is a member").into());
    }
    let members = post::machines(engine, &held.record.persons);
    let invited = post::machines(engine, persons.iter());
    let everybody: Vec<Target> = members.iter().chain(&invited).cloned().collect();
    post::check_pace(engine, work, &everybody)?;
    let change = work.ulid();
    let still: Vec<PersonId> =
        record.persons.iter().filter(|person| post::admissible(engine, person)).cloned().collect();
    let whole = ChannelOp::Create { persons: listed(still)?, creator: record.creator.clone() };
    let text = format!("{own} added {}", names(&persons));
    let letters = vec![(members, ChannelOp::Invite { persons }), (invited, whole)];
    let copies = sealed(engine, work, &change, &record, letters)?;
    let room = RoomKey::Channel(record.id);
    channels::set_persons(work.tx, &record)?;
    tell(engine, work, change, &room, text, copies)?;
    Ok(room)
}

/// Removes persons from a channel: they are told, too.
///
/// Errors: `not_found` for a channel that is not held and somebody who is no member; `forbidden` for who is neither its creator
/// nor an admin; `invalid_request` for oneself; `rate_limited` for the pace.
pub(crate) fn remove(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    local: &ChannelName,
    persons: &[PersonId],
) -> Step<RoomKey> {
    let me = own(engine)?;
    let (own, admin) = (PersonId::from(&me.person), me.role == Role::Admin);
    let held = held(work, local)?;
    if !held.record.has(&own) {
        return Err(Halt::refused(Code::NotFound, "you are no member of this channel"));
    }
    let persons = listed(persons.to_vec())?;
    let record =
        held.record.remove(&own, admin, &persons).map_err(|failure| match failure.code {
            Code::Forbidden => Halt::refused(
                Code::Forbidden,
                "only the channel's creator and the team's admins remove somebody",
            ),
            Code::NotFound => {
                Halt::refused(Code::NotFound, "one of them is no member of the channel")
            }
            _ => Refusal::field("persons", "one leaves a channel oneself").into(),
        })?;
    let targets = post::machines(engine, &held.record.persons);
    post::check_pace(engine, work, &targets)?;
    let change = work.ulid();
    let text = format!("{own} removed {}", names(&persons));
    let letters = vec![(targets, ChannelOp::Remove { persons })];
    let copies = sealed(engine, work, &change, &record, letters)?;
    let room = RoomKey::Channel(record.id);
    channels::set_persons(work.tx, &record)?;
    tell(engine, work, change, &room, text, copies)?;
    Ok(room)
}

/// Leaves a channel: every member hears it, one's own other machines too, and nothing of it stays here.
///
/// Errors: `not_found` for a channel that is not held; `rate_limited` for the pace.
pub(crate) fn leave(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    local: &ChannelName,
) -> Step<()> {
    let own = PersonId::from(&own(engine)?.person);
    let held = held(work, local)?;
    let targets = post::machines(engine, &held.record.persons);
    post::check_pace(engine, work, &targets)?;
    let change = work.ulid();
    let letters = vec![(targets, ChannelOp::Leave)];
    let copies = sealed(engine, work, &change, &held.record, letters)?;
    // There is no line of it here that a copy could tell about.
    post::send_unrecorded(engine, work, copies)?;
    forget(engine, work, &held, &own)?;
    Ok(())
}

fn own(engine: &DaemonEngine) -> Result<Member, Failure> {
    engine.ready().map(|ready| ready.me.clone())
}

fn held(work: &Work<'_, '_>, local: &ChannelName) -> Step<ChannelRow> {
    channels::by_local(work.tx, local)?
        .ok_or_else(|| Halt::refused(Code::NotFound, "no channel is held under this name"))
}

fn listed(persons: Vec<PersonId>) -> Result<Persons, Halt> {
    Persons::new(persons)
        .map_err(|_| Refusal::field("persons", "1 to 32 persons, none of them twice").into())
}

fn all_in_team(engine: &DaemonEngine, persons: &[PersonId]) -> Step<()> {
    if persons.iter().all(|person| post::admissible(engine, person)) {
        Ok(())
    } else {
        Err(post::no_person())
    }
}

/// Seals what each group of machines is told.
fn sealed(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    change: &Ulid,
    record: &ChannelRecord,
    letters: Vec<(Vec<Target>, ChannelOp)>,
) -> Step<Vec<Copy>> {
    let mut all: Vec<(Target, Rc<Value>)> = Vec::new();
    for (targets, op) in letters {
        let word = op.as_str();
        let payload = Rc::new(post::payload(change, word, None, Some(post::op(record, op)?)));
        all.extend(targets.into_iter().map(|to| (to, Rc::clone(&payload))));
    }
    Ok(post::seal(engine, work, None, all))
}

/// Files this machine's own notice of its change, and sends it.
fn tell(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    change: Ulid,
    room: &RoomKey,
    text: String,
    copies: Vec<Copy>,
) -> Result<(), Halt> {
    let me = own(engine)?;
    notice(engine, work, (change, work.wall()), room.clone(), &me, text)?;
    post::send(engine, work, &change, copies)?;
    Ok(())
}

/// The line about a change that `by` made.
fn notice(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    (id, at): (Ulid, Ms),
    room: RoomKey,
    by: &Member,
    text: String,
) -> Result<(), StoreError> {
    let person = PersonId::from(&by.person);
    let is_own = engine.own().is_some_and(|(_, own)| own == person);
    let line = NewLine {
        id,
        room,
        person,
        device: by.machine,
        label: Some(by.label.clone()),
        agent: None,
        direction: if is_own { Direction::Out } else { Direction::In },
        text,
        thread: None,
        notice: true,
        truncated: false,
        state: None,
        at,
        silent: true,
    };
    file(engine, work, line).map(drop)
}

/// What an operation that arrived asks of the caller.
pub(crate) enum Applied {
    /// It is done.
    Done,
    /// A line is to be filed in this room.
    Post(RoomKey),
}

/// Judges an operation that `sender` sent, and applies it. A refusal has written nothing.
pub(crate) fn apply(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Envelope,
    sender: &Member,
    conv: &ChannelConv,
    change: Ulid,
) -> Result<Result<Applied, Code>, StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(Err(Code::NotMember)) };
    let held = channels::get(work.tx, &conv.id)?;
    let names_held = channels::local_names(work.tx)?;
    let by = PersonId::from(&sender.person);
    let verdict = channel::judge(
        conv,
        &Facts {
            own: &own,
            sender: &by,
            admin: sender.role == Role::Admin,
            held: held.as_ref().map(|held| &held.record),
            left: channels::was_left(work.tx, &conv.id, work.wall())?,
            count: names_held.len(),
            taken: &|name| names_held.contains(name),
            admissible: &|person| post::admissible(engine, person),
        },
    );
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(failure) => return Ok(Err(failure.code)),
    };
    let room = RoomKey::Channel(conv.id);
    let text = match verdict {
        Verdict::Post => return Ok(Ok(Applied::Post(room))),
        Verdict::Deleted => {
            if let Some(held) = &held {
                forget(engine, work, held, &by)?;
            }
            return Ok(Ok(Applied::Done));
        }
        Verdict::Created { record, local } => {
            // Who brings somebody into a channel that another person founded has invited them.
            let text = if record.creator == by {
                format!("{by} created #{local}")
            } else {
                format!("{by} added {own}")
            };
            channels::insert(work.tx, &ChannelRow { record, local, created_at: work.wall() })?;
            text
        }
        Verdict::Invited { record, added } => {
            channels::set_persons(work.tx, &record)?;
            match &conv.op {
                ChannelOp::Invite { persons } if added.is_empty() => {
                    format!("{by} added {}", names(persons))
                }
                _ => format!("{by} added {}", names(&added)),
            }
        }
        Verdict::Left { record } => {
            channels::set_persons(work.tx, &record)?;
            format!("{by} left")
        }
        Verdict::Removed { record, removed } => {
            channels::set_persons(work.tx, &record)?;
            format!("{by} removed {}", names(&removed))
        }
    };
    let at = envelope.ts.min(work.wall());
    notice(engine, work, (change, at), room, sender, text)?;
    Ok(Ok(Applied::Done))
}

/// Deletes a channel that this person is out of, with all that was said in it, and remembers that they are. Many lines go in
/// steps, with [`forget_rest`]; nobody is shown a line of a channel that is not held.
fn forget(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    held: &ChannelRow,
    by: &PersonId,
) -> Result<(), StoreError> {
    let room = RoomKey::Channel(held.record.id);
    lines::forget_room(work.tx, &room, LINES_AT_ONCE)?;
    rooms::forget_cursor(work.tx, &room)?;
    notices::forget_room(work.tx, &room)?;
    channels::delete(work.tx, &held.record.id)?;
    channels::remember_left(work.tx, &held.record.id, work.now.wall.plus(FORGET_MS))?;
    let seq = lines::next_seq(work.tx)?;
    kv::set(work.tx, kv::CHAT_DELETED_SEQ, &seq.to_string())?;
    let event = Event::Conv {
        conversation: Room::Channel(held.local.clone()),
        id: None,
        person: by.clone(),
        seq,
        change: ConvChange::Channel,
        deleted: Some(True),
    };
    subscriptions::conv(engine, work, &event);
    Ok(())
}

/// Deletes some of the lines that channels left behind. Returns whether there may be more.
pub(crate) fn forget_rest(work: &mut Work<'_, '_>) -> Result<bool, StoreError> {
    Ok(lines::forget_left(work.tx, LINES_AT_ONCE)? == LINES_AT_ONCE)
}

/// A machine left the roster: a person who has none any more is in no channel.
pub(crate) fn drop_gone(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    person: &PersonId,
) -> Result<(), StoreError> {
    if post::admissible(engine, person) {
        return Ok(());
    }
    for held in channels::all(work.tx)? {
        if held.record.has(person) {
            channels::set_persons(work.tx, &held.record.without(std::slice::from_ref(person)))?;
        }
    }
    Ok(())
}

/// Persons in a sentence.
fn names(persons: &[PersonId]) -> String {
    let shown: Vec<&str> = persons.iter().take(SHOWN).map(PersonId::as_str).collect();
    let text = shown.join(", ");
    match persons.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Lines of a channel that are deleted in one turn.
const LINES_AT_ONCE: usize = 1_000;
/// Persons that a sentence names.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_five_persons_and_counts_the_rest() {
        let persons = |n: usize| -> Vec<PersonId> {
            (0..n).map(|n| PersonId::parse(&format!("p{n}")).unwrap()).collect()
        };
        assert_eq!(names(&persons(1)), "p0");
        assert_eq!(names(&persons(5)), "p0, p1, p2, p3, p4");
        assert_eq!(names(&persons(8)), "p0, p1, p2, p3, p4 and 3 more");
    }
}
