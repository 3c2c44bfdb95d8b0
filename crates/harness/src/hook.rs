//! A hook: called by a harness at a moment of an agent's work, it says what is new, and is gone.
//! Spec: §11 "After-tool delivery", "Clients"
//!
//! It never fails and never waits: whatever goes wrong, it says nothing and succeeds. It makes no session; it acts as the one
//! of the MCP server that the same harness started ([`seat`]).

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use messaging_client::blocking::Blocking;
use messaging_client::{ClientError, Place, Socket};
use messaging_core::bounded::List;
use messaging_core::ids::{Address, PersonId, SessionAddress, Ulid};
use messaging_core::random::Random;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::call::{InboxAck, InboxList, SessionRegister, SessionUpdate, TaskGet, TaskList};
use messaging_ipc::params::inbox::{Ack, AckStage, ListItems};
use messaging_ipc::params::session::{Register, Update};
use messaging_ipc::params::task::{Get, ListTasks};
use messaging_ipc::scalars::{Count, Nullable, Secret};
use messaging_ipc::shapes::{InboxItem, InboxStage, SessionState, TaskListItem, TaskRole};
use messaging_runtime::clock;
use messaging_runtime::entropy::SystemRandom;
use serde_json::Value;

use crate::input::{Event, Harness, Moment};
use crate::note::{self, Budget};
use crate::seat::{self, Found, Record};
use crate::shown::{Held, look};

/// How long the daemon has for everything that a hook asks.
pub const PATIENCE: Duration = Duration::from_millis(150);
/// After which a hook ends whatever keeps it: a harness that does not end its input, a disk that stands still.
const END: Duration = Duration::from_millis(1_500);
/// The most bytes of input that are read.
const INPUT_BYTES: u64 = 64 * 1_024 * 1_024;
/// Items that are looked at.
const LOOK: u64 = 100;
/// How often a stop is held until the person writes again.
const HOLDS: u32 = 3;

/// What the person chose for their hooks.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much is said at a time.
    pub budget: Budget,
    /// Whether a turn's end may be held.
    pub hold_stop: bool,
    /// Whose items hold it too: a person's, or one agent's.
    pub hold_from: Vec<Sender>,
}

/// Somebody who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A person and all their agents.
    Person(PersonId),
    /// One agent.
    Agent(Address),
}

impl Sender {
    /// `person`, or `person/agent[@label]`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains('/') {
            Address::parse(text).ok().map(Self::Agent)
        } else {
            PersonId::parse(text).ok().map(Self::Person)
        }
    }

    fn wrote(&self, item: &InboxItem) -> bool {
        match self {
            Self::Person(person) => item.from.person == *person,
            Self::Agent(address) => {
                item.from.person == address.person
                    && item.from.agent.as_ref() == Some(&address.session)
                    && address.label.as_ref().is_none_or(|label| *label == item.from.label)
            }
        }
    }
}

/// Runs a hook on the process's standard streams. It returns, or ends the process with success.
pub fn run(harness: Harness, place: Option<&Place>, options: &Options) {
    // A panic is no word to a harness either.
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
    let printing = std::sync::Arc::new(AtomicBool::new(false));
    let guard = std::sync::Arc::clone(&printing);
    std::thread::spawn(move || {
        std::thread::sleep(END);
        // Half a document must not leave: who prints already goes on.
        if !guard.swap(true, Ordering::SeqCst) {
            std::process::exit(0);
        }
    });
    let began = Began { wall: clock::wall(), until: Instant::now() + PATIENCE };
    let mut input = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut input).is_ok();
    let (Some(place), true) = (place, read) else { return };
    let Some(event) = harness.read(&input) else { return };
    // What the harness took to write its input is not the daemon's time.
    let began = Began { until: Instant::now() + PATIENCE, ..began };
    let print = |document: &Value| {
        if printing.swap(true, Ordering::SeqCst) {
            return false;
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{document}").and_then(|()| out.flush()).is_ok()
    };
    Hook { harness, place, options, event, began }.act(&seat::around, print, &mut SystemRandom);
}

/// When a hook began, and when it has to be done with the daemon.
#[derive(Clone, Copy)]
struct Began {
    wall: Ms,
    until: Instant,
}

struct Hook<'a> {
    harness: Harness,
    place: &'a Place,
    options: &'a Options,
    event: Event,
    began: Began,
}

/// What the hook found out before it speaks.
struct Known {
    address: Option<SessionAddress>,
    items: Vec<InboxItem>,
    tasks: Vec<TaskListItem>,
    unread: u64,
    /// Whether there are more than were looked at.
    more: bool,
}

impl Hook<'_> {
    fn act(
        &self,
        around: &dyn Fn(&Place) -> Vec<Found>,
        print: impl FnOnce(&Value) -> bool,
        rng: &mut impl Random,
    ) {
        let daemon = match Blocking::connect(self.place, Socket::Agent, self.began.until) {
            Ok(daemon) => daemon,
            Err(error) => {
                if let Some(notice) = self.notice(&error) {
                    print(&self.harness.context(&self.event, notice));
                }
                return;
            }
        };
        let Some(found) = choose(around(self.place), &self.event) else { return };
        // Whatever fails from here on, the next event tries again.
        let _ = self.speak(daemon, &found.record, &found.shown, print, rng);
    }

    /// What an agent that begins is told when there is no daemon: once, since a conversation begins once.
    fn notice(&self, error: &ClientError) -> Option<&'static str> {
        let begins = self.event.moment == Moment::Start { afresh: true };
        // A home in which no daemon ever ran is somebody who does not use it.
        let is_set_up = self.place.folder().exists();
        let is_down =
            matches!(error, ClientError::Unavailable(_)) && Instant::now() < self.began.until;
        (begins && is_set_up && is_down).then_some(
            "Messaging is set up but its daemon does not run, so nobody can reach you. Your person can start it with \
             `messaging daemon start`.",
        )
    }

    fn speak(
        &self,
        mut daemon: Blocking,
        record: &Record,
        shown: &Path,
        print: impl FnOnce(&Value) -> bool,
        rng: &mut impl Random,
    ) -> Option<()> {
        let moment = &self.event.moment;
        let registered = daemon.call::<SessionRegister>(&self.registration(record)?).ok()?;
        if moment.is_persons() {
            // The person acts: what the agent does from now on is on a new beginning.
            daemon.call::<SessionUpdate>(&busy(record)).ok()?;
        }
        let mut held = Held::open(shown)?;
        if matches!(moment, Moment::Start { .. })
            || held.shown.conversation.as_ref() != Some(&self.event.conversation)
        {
            held.shown.begin(&self.event.conversation, self.began.wall);
        }
        let taken = held.shown.confirm(self.began.wall.0)?;
        if moment.is_persons() {
            held.shown.holds = 0;
        }
        hand(&mut daemon, record, taken)?;
        let known = Known { address: registered.address, ..self.look(&mut daemon, record, &held)? };
        let said = self.say(&mut daemon, record, &mut held, &known, rng);
        // First the words, then the memory of them: who dies in between says them again.
        let out = match said {
            Some(document) if !print(&document) => return None,
            Some(_) => clock::wall().0.max(self.began.wall.0 + 1),
            None => 0,
        };
        if !held.shown.offered.is_empty() || held.shown.tasks_offered.is_some() {
            held.shown.offered_at = out;
        }
        held.save().ok()
    }

    /// The words of this moment, if there are any, and in `held` what they show.
    fn say(
        &self,
        daemon: &mut Blocking,
        record: &Record,
        held: &mut Held,
        known: &Known,
        rng: &mut impl Random,
    ) -> Option<Value> {
        let waiting: Vec<&InboxItem> =
            known.items.iter().rev().filter(|item| item.stage == InboxStage::Delivered).collect();
        let person = known.address.as_ref().and_then(|me| PersonId::parse(me.person()).ok());
        let all = if known.more { known.unread } else { u64::try_from(waiting.len()).ok()? };
        let mut write = |held: &mut Held, items: &[&InboxItem], tasks: &[TaskListItem]| {
            let pushed = u64::try_from(held.shown.offered.len()).ok()?;
            let waits = all.saturating_sub(pushed);
            let note = note::write(items, tasks, waits, person.as_ref(), self.options.budget, rng)?;
            held.shown.offered.extend(&note.items);
            held.shown.tasks_offered = tasks
                .get(..note.tasks)
                .and_then(|shown| shown.iter().map(|task| task.updated_at).max());
            Some(note.text)
        };
        match &self.event.moment {
            Moment::Start { .. } => {
                held.shown.introduced = true;
                let text = note::introduction(known.address.as_ref(), known.unread);
                Some(self.harness.context(&self.event, &text))
            }
            Moment::Tool { ours: true } => None,
            Moment::Prompt(_) | Moment::Tool { .. } => {
                // What came as a prompt of its own is in front of the model already.
                let prompt = match &self.event.moment {
                    Moment::Prompt(text) => text.as_str(),
                    _ => "",
                };
                let (pushed, rest): (Vec<&InboxItem>, Vec<&InboxItem>) =
                    waiting.into_iter().partition(|item| prompt.contains(item.id.as_str()));
                held.shown.offered.extend(pushed.iter().map(|item| item.id));
                let first = !std::mem::replace(&mut held.shown.introduced, true);
                let introduction = first.then(|| note::introduction(known.address.as_ref(), 0));
                let note = write(held, &rest, &known.tasks);
                let text: Vec<String> = introduction.into_iter().chain(note).collect();
                (!text.is_empty()).then(|| self.harness.context(&self.event, &text.join("\n\n")))
            }
            Moment::Stop { going_on } => {
                let may = self.options.hold_stop && !going_on && held.shown.holds < HOLDS;
                let reasons: Vec<&InboxItem> = waiting
                    .into_iter()
                    .filter(|item| may && self.holds(daemon, record, item))
                    .collect();
                let text = write(held, &reasons, &[])?;
                held.shown.holds += 1;
                Some(self.harness.hold(&text))
            }
        }
    }

    /// Whether an item is a reason not to stop: the answer that a task of this session waits for, or from whom the person
    /// chose.
    fn holds(&self, daemon: &mut Blocking, record: &Record, item: &InboxItem) -> bool {
        if self.options.hold_from.iter().any(|sender| sender.wrote(item)) {
            return true;
        }
        let Some(task_id) = item.task_id else { return false };
        let get = Get { key: record.key.clone(), task_id, role: Some(TaskRole::Executor) };
        daemon.call::<TaskGet>(&get).is_ok_and(|found| {
            found.task.status.state == TaskState::InputRequired && found.task.request_id != item.id
        })
    }

    fn registration(&self, record: &Record) -> Option<Register> {
        let is_busy = matches!(self.event.moment, Moment::Prompt(_) | Moment::Tool { .. });
        let ticket = match &record.ticket_file {
            Some(path) => Some(Secret::parse(std::fs::read_to_string(path).ok()?.trim()).ok()?),
            None => None,
        };
        Some(Register {
            key: record.key.clone(),
            agent: record.agent.clone(),
            name: Some(record.name.clone()),
            tier: Some(record.tier),
            state: Some(if is_busy { SessionState::Busy } else { SessionState::Idle }),
            repo: None,
            branch: None,
            doing: None,
            features: None,
            host: None,
            ticket,
        })
    }

    fn look(&self, daemon: &mut Blocking, record: &Record, held: &Held) -> Option<Known> {
        let list = ListItems {
            key: record.key.clone(),
            unread_only: true,
            limit: Count::clamped(LOOK),
            before: None,
        };
        let page = daemon.call::<InboxList>(&list).ok()?;
        let tells = matches!(self.event.moment, Moment::Prompt(_) | Moment::Tool { ours: false });
        let tasks = match held.shown.tasks.filter(|_| tells) {
            Some(since) => changed_tasks(daemon, record, since)?,
            None => Vec::new(),
        };
        Some(Known {
            address: None,
            items: page.items,
            tasks,
            unread: page.unread,
            more: page.more,
        })
    }
}

/// Tasks that the session asked for and that came to a point where it has something to do.
fn changed_tasks(daemon: &mut Blocking, record: &Record, since: Ms) -> Option<Vec<TaskListItem>> {
    let states = TaskState::ALL
        .into_iter()
        .filter(|state| !matches!(state, TaskState::Submitted | TaskState::Working));
    let list = ListTasks {
        key: record.key.clone(),
        role: Some(TaskRole::Requester),
        state: List::new(states.collect::<Vec<_>>()).ok(),
        context_id: None,
        peer: None,
        updated_after: Some(Ms(since.0.saturating_add(1))),
        limit: Count::clamped(20),
        cursor: None,
    };
    let mut tasks = daemon.call::<TaskList>(&list).ok()?.tasks;
    tasks.sort_by_key(|task| task.updated_at);
    Some(tasks)
}

fn busy(record: &Record) -> Update {
    Update {
        key: record.key.clone(),
        state: Some(SessionState::Busy),
        tier: None,
        repo: Nullable::Absent,
        branch: Nullable::Absent,
        doing: Nullable::Absent,
    }
}

/// Says that items were handed to the agent.
fn hand(daemon: &mut Blocking, record: &Record, ids: Vec<Ulid>) -> Option<()> {
    for some in ids.chunks(100) {
        let ids = List::new(some.to_vec()).ok()?;
        let ack = Ack { key: record.key.clone(), ids, stage: AckStage::HandedToAgent };
        match daemon.call::<InboxAck>(&ack) {
            // An item may be gone by now: then nobody waits to hear of it.
            Ok(_) | Err(ClientError::Refused(_)) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// The session that an event belongs to, of those whose servers the same harness runs.
///
/// A harness that runs several agents in one process has several: then only one that is known to be this conversation's is
/// taken, or the one that has no conversation yet when a conversation begins. In doubt, none.
fn choose(found: Vec<Found>, event: &Event) -> Option<Found> {
    let mut free = Vec::new();
    let mut taken = Vec::new();
    for seat in found {
        match look(&seat.shown).conversation {
            Some(conversation) if conversation == event.conversation => return Some(seat),
            Some(_) => taken.push(seat),
            None => free.push(seat),
        }
    }
    let begins = match event.moment {
        Moment::Start { afresh } => Some(afresh),
        _ => None,
    };
    match (free.len(), taken.len(), begins) {
        (1, 0, _) | (1, _, Some(true)) => free.pop(),
        // The process went on to another conversation.
        (0, 1, Some(false)) => taken.pop(),
        _ => None,
    }
}

#[cfg(test)]
#[path = "hook_tests.rs"]
mod tests;
