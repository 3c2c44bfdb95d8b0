//! What the person is told about: lines, requests and alerts, each filed once with its source.
//! Spec: §8.2 "Notices", D3.27
//!
//! A notice's id derives from its source, so that whatever happens twice is told once. No text of a message is copied: who
//! asks for lines reads them from the transcript, cleaned and cut.

mod alarms;
mod devices;

use messaging_core::ids::{PersonId, SessionName, Ulid};
use messaging_core::peer_text::{PeerText, one_line};
use messaging_core::roster::Role;
use messaging_core::time::Ms;
use messaging_ipc::event::Event;
use messaging_ipc::results::notice::Counts;
use messaging_ipc::scalars::{Conversation, Room};
use messaging_ipc::shapes::{Notice, NoticeCategory, NoticeDevice, NoticeFrom, RemoveBy};
use messaging_store::{StoreError, View};

use crate::chats;
use crate::engine::DaemonEngine;
use crate::input::Out;
use crate::store::notices::{self, NoticeRow};
use crate::store::rooms::{Place, RoomKey};
use crate::store::{channels, lines};
use crate::work::Work;

pub(crate) use alarms::watch;
pub(crate) use devices::{begin, tell};

/// Files the notice of a line that was written for the person.
pub(crate) fn line(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
    room: RoomKey,
    from: &PersonId,
) -> Result<(), StoreError> {
    let row = NoticeRow {
        id: format!("m_{id}"),
        category: NoticeCategory::Message,
        place: Some(Place::Room(room)),
        person: Some(from.clone()),
        line: Some(*id),
        device: None,
        text: None,
        at: work.wall(),
    };
    file(engine, work, row)
}

/// Files the notice of something that waits for the person's answer: an ask or a suggestion of `agent`, or what a person
/// asks themself.
pub(crate) fn request(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    id: &Ulid,
    from: &PersonId,
    agent: Option<&SessionName>,
) -> Result<(), StoreError> {
    let place = match agent {
        Some(agent) => Place::Agent(from.clone(), agent.clone()),
        None => Place::Room(RoomKey::Dm(from.clone())),
    };
    let row = NoticeRow {
        id: format!("r_{id}"),
        category: NoticeCategory::Request,
        place: Some(place),
        person: Some(from.clone()),
        line: None,
        device: None,
        text: None,
        at: work.wall(),
    };
    file(engine, work, row)
}

/// The person answered what waited for them: they have seen the notice of it.
///
/// What ended without them, as an ask that expired, stays told.
pub(crate) fn answered(work: &mut Work<'_, '_>, id: &Ulid) -> Result<(), StoreError> {
    notices::ack(work.tx, &format!("r_{id}"), work.now.wall).map(drop)
}

/// What the person is warned of. `source` makes the id: `a_<source>`.
pub(crate) struct Alert {
    pub(crate) source: String,
    /// Whom it is about.
    pub(crate) person: Option<PersonId>,
    /// Which of the person's devices it is about.
    pub(crate) device: Option<NoticeDevice>,
    /// A fixed text of D1.8 or D3.27.
    pub(crate) text: String,
    pub(crate) at: Ms,
}

/// Files an alert.
pub(crate) fn alert(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    alert: Alert,
) -> Result<(), StoreError> {
    let row = NoticeRow {
        id: format!("a_{}", alert.source),
        category: NoticeCategory::Alert,
        place: None,
        person: alert.person,
        line: None,
        device: alert.device,
        text: Some(alert.text),
        at: alert.at,
    };
    file(engine, work, row)
}

fn file(engine: &DaemonEngine, work: &mut Work<'_, '_>, row: NoticeRow) -> Result<(), StoreError> {
    if !notices::file(work.tx, &row)? {
        return Ok(());
    }
    for (conn, with_lines) in engine.ipc.notice_followers() {
        let event = Event::Notice { notice: view(engine, work.tx, row.clone(), with_lines)? };
        work.wish(Out::IpcSend { conn, line: event.line(), answers: false });
    }
    Ok(())
}

/// A notice as clients see it; the start of a message's line when they asked for lines.
pub(crate) fn view(
    engine: &DaemonEngine,
    view: &View<'_>,
    row: NoticeRow,
    with_lines: bool,
) -> Result<Notice, StoreError> {
    let line = match (row.text, &row.line) {
        (Some(text), _) => Some(text),
        (None, Some(id)) if with_lines => {
            let line = lines::get(view, id)?;
            line.map(|line| one_line(first_line(&line.text), LINE_UNITS))
        }
        (None, _) => None,
    };
    Ok(Notice {
        id: row.id,
        category: row.category,
        conversation: match row.place {
            Some(place) => conversation(view, place)?,
            None => None,
        },
        from: row.person.as_ref().map(from),
        line,
        device: row.device.map(|device| as_of_now(engine, device)),
        at: row.at,
    })
}

/// The first line of a text that says something.
fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Who a person is as the realm verified them: in a team that is their name.
pub(crate) fn from(person: &PersonId) -> NoticeFrom {
    NoticeFrom { name: PeerText::new(person.as_str()), email: None, org: None }
}

fn conversation(view: &View<'_>, place: Place) -> Result<Option<Conversation>, StoreError> {
    Ok(match place {
        Place::Room(RoomKey::Dm(person)) => Some(Conversation::Room(Room::Dm(person))),
        Place::Room(RoomKey::Channel(id)) => {
            let name = channels::local_name(view, &id)?;
            name.map(|name| Conversation::Room(Room::Channel(name)))
        }
        Place::Agent(person, agent) => Some(Conversation::Agent { person, agent }),
    })
}

/// Whether the device is current now, and how this machine removes it.
fn as_of_now(engine: &DaemonEngine, mut device: NoticeDevice) -> NoticeDevice {
    device.current = engine.realm.member(&device.device).is_some();
    let admin = engine.ready().is_ok_and(|ready| ready.me.role == Role::Admin);
    device.remove = (admin && device.current).then_some(RemoveBy::Team);
    device
}

/// The person's counts.
pub(crate) fn counts(view: &View<'_>, now: Ms) -> Result<Counts, StoreError> {
    Ok(Counts { unread: chats::unread(view)?, requests: notices::requests(view, now)? })
}

/// The start of a message that a notice shows, UTF-16 units.
const LINE_UNITS: usize = 120;
