//! Waking an agent's client when mail comes and no connection holds its session.
//! Spec: §8.6, D3.26, §12 "Wake bridge"
//!
//! What is decided here: for which mail, whom to call, how many at once, when again. The call itself is a wish
//! ([`Out::Wake`]), its end an input ([`In::Woken`](crate::In::Woken)). All of it is memory: what a restart forgets waits
//! for the client's next catch-up.
//!
//! There are two ways to a client: the host that its session named, and a command that the machine's person named for the
//! session in `config.json`. The person's word goes first.

mod opencode;

use std::collections::{BTreeMap, VecDeque};

use messaging_core::consent::EffectiveChat;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::time::{Mono, Now};
use messaging_ipc::params::session::Host;
use messaging_store::{Effects, StoreError, View};
use serde::Deserialize as _;

use crate::config::Config;
use crate::consent;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::input::Out;
use crate::store::inbox::{self, InboxRow};
use crate::store::sessions::{self, SessionId, SessionRow};
use crate::work::Work;

pub use opencode::{REGISTRATION_BYTES, Registration, wake_body, wake_path};

/// One attempt to wake a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WakeId(pub u64);

/// Whom to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeHost {
    /// An OpenCode service, by what the session said of it.
    Opencode {
        /// The service's process.
        pid: u32,
        /// The folder whose plugin is to be loaded.
        location: String,
        /// OpenCode's id of the session.
        session_id: String,
    },
    /// A command that the machine's person named in `config.json`.
    Command {
        /// The session's name.
        session: SessionName,
        /// What is run.
        command: WakeCommand,
    },
}

/// A program that wakes the client of a session: named by the machine's person, never by a peer or a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeCommand {
    /// The program, an absolute path, and its arguments. No shell reads them.
    pub argv: Vec<String>,
    /// The folder it runs in, an absolute path; the user's home when left out.
    pub folder: Option<String>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeEnd {
    /// The host took it.
    Done,
    /// No connection, or one that broke before an answer. Tried again.
    Unreachable,
    /// No answer in time, or the command did not end in time. Tried again when it was a host.
    TimedOut,
    /// The host answered with a 5xx. Tried again.
    ServerError,
    /// The command asked for another try (status 75). Tried again.
    AgainLater,
    /// The host answered with anything else.
    Refused,
    /// The host's registration is not there.
    NoRegistration,
    /// Somebody else may write the registration, or it is not a plain file.
    NotPrivate,
    /// The registration is not what it should be.
    Malformed,
    /// The host's process is another one, or gone.
    OtherProcess,
    /// The registration names another place than this machine.
    NotLoopback,
    /// The command is not there or cannot be started.
    NotStarted,
    /// Somebody else may write the command, or it is not a plain file.
    UnsafeCommand,
    /// The command ended with another status.
    Failed,
    /// The command was still running when its time was over.
    Killed,
}

impl WakeEnd {
    /// The word of the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::ServerError => "server_error",
            Self::AgainLater => "again_later",
            Self::Refused => "refused",
            Self::NoRegistration => "no_registration",
            Self::NotPrivate => "not_private",
            Self::Malformed => "malformed",
            Self::OtherProcess => "other_process",
            Self::NotLoopback => "not_loopback",
            Self::NotStarted => "not_started",
            Self::UnsafeCommand => "unsafe_command",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }

    /// Whether the same call may be made again.
    const fn is_passing(self) -> bool {
        matches!(self, Self::Unreachable | Self::TimedOut | Self::ServerError | Self::AgainLater)
    }
}

/// What waits to be told to clients that are away.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// Items of turns that are not committed yet.
    fresh: Vec<(SessionId, Ulid)>,
    lines: BTreeMap<SessionId, Line>,
    last_call: u64,
}

/// What waits for one session.
#[derive(Debug, Default)]
struct Line {
    ids: VecDeque<Ulid>,
    call: Option<Call>,
    /// The next call of this session is not made before.
    rest_until: Mono,
    /// How long the session is left alone after a call, ms.
    rest_ms: u64,
}

#[derive(Debug)]
struct Call {
    id: WakeId,
    ids: Vec<Ulid>,
    /// Tries that were made.
    tries: usize,
    /// When the next one is due; none while one is under way.
    again: Option<Mono>,
}

impl Call {
    fn is_under_way(&self) -> bool {
        self.again.is_none()
    }
}

impl Wakes {
    /// When something is due.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        if self.under_way() >= MAX_CALLS {
            // The end of a call is an input.
            return None;
        }
        self.lines.values().filter_map(Line::due).min()
    }

    fn under_way(&self) -> usize {
        let calls = self.lines.values().filter_map(|line| line.call.as_ref());
        calls.filter(|call| call.is_under_way()).count()
    }
}

impl Line {
    fn is_on(&self, call: WakeId) -> bool {
        self.call.as_ref().is_some_and(|made| made.id == call && made.is_under_way())
    }

    /// Somebody is there, or nobody can be called any more. A call that is under way ends by itself.
    fn forget_what_waits(&mut self) {
        self.ids.clear();
        match &mut self.call {
            Some(call) if call.is_under_way() => call.tries = usize::MAX,
            _ => self.call = None,
        }
    }

    /// Whether nothing is left to do, nor to remember.
    fn is_over(&self, now: Mono) -> bool {
        self.ids.is_empty() && self.call.is_none() && self.rest_until <= now
    }

    /// The ids of the call that is due, and the how-manieth try it is: those of them that still wait.
    fn next_call(
        &mut self,
        rows: &View<'_>,
        session: SessionId,
    ) -> Result<Option<(Vec<Ulid>, usize)>, StoreError> {
        let (tried, tries) = match self.call.take() {
            Some(call) => (call.ids, call.tries),
            None => (Vec::new(), 0),
        };
        let mut ids = Vec::new();
        for id in tried {
            if inbox::waits_for(rows, session, &id)? {
                ids.push(id);
            }
        }
        while tries == 0
            && ids.len() < MAX_IDS
            && let Some(id) = self.ids.pop_front()
        {
            if inbox::waits_for(rows, session, &id)? {
                ids.push(id);
            }
        }
        Ok((!ids.is_empty()).then_some((ids, tries + 1)))
    }

    fn due(&self) -> Option<Mono> {
        match &self.call {
            Some(call) => call.again,
            None => (!self.ids.is_empty()).then_some(self.rest_until),
        }
    }
}

/// An item was stored. If it asks for a wake and nobody is there to hear of it, its client is called once this turn is on
/// disk. Nothing of a person whose lines are muted wakes anybody.
pub(crate) fn arrived(
    engine: &mut DaemonEngine,
    work: &Work<'_, '_>,
    row: &InboxRow,
    session: &SessionRow,
) -> Result<(), StoreError> {
    if !row.wake || engine.ipc.holds(session) || host_of(engine, session).is_none() {
        return Ok(());
    }
    if let Some((_, own)) = engine.own() {
        let (_, policy) = consent::policy(engine, work.tx, &own, &row.from_person, work.wall())?;
        if policy.chat == EffectiveChat::Muted {
            return Ok(());
        }
    }
    engine.wakes.fresh.push((session.id, row.id));
    Ok(())
}

/// An attempt has ended.
pub(crate) fn ended(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: WakeId,
    end: WakeEnd,
) {
    let now = work.mono();
    let lines = &mut engine.wakes.lines;
    let Some(line) = lines.values_mut().find(|line| line.is_on(call)) else { return };
    let Some(mut made) = line.call.take() else { return };
    work.log(LogEvent::WakeCall { outcome: end.as_str(), ids: made.ids.len() as u64 });
    line.rest_until = now.plus(line.rest_ms);
    if end.is_passing()
        && let Some(wait) = RETRIES_MS.get(made.tries.saturating_sub(1))
    {
        made.again = Some(now.plus(*wait));
        line.call = Some(made);
    }
}

/// After a turn: what was committed joins what waits, and calls that are due are wished for.
pub(crate) fn settle(
    engine: &mut DaemonEngine,
    rows: &View<'_>,
    now: Now,
    committed: bool,
    out: &mut Effects<Out>,
) {
    let fresh = std::mem::take(&mut engine.wakes.fresh);
    if committed {
        for (session, id) in fresh {
            let line = engine.wakes.lines.entry(session).or_default();
            // What finds no room here waits for the client's catch-up.
            if line.ids.len() < MAX_WAITING {
                line.ids.push_back(id);
            }
        }
    }
    if engine.wakes.lines.is_empty() || engine.is_stopping() {
        return;
    }
    let sessions: Vec<SessionId> = engine.wakes.lines.keys().copied().collect();
    for session in sessions {
        // A store that cannot be read is met by the next turn.
        let Ok(row) = sessions::get(rows, session) else { return };
        let host = row
            .filter(|row| row.closed_at.is_none() && !engine.ipc.holds(row))
            .and_then(|row| host_of(engine, &row));
        let free = engine.wakes.under_way() < MAX_CALLS;
        let Some(line) = engine.wakes.lines.get_mut(&session) else { continue };
        let Some(host) = host else {
            line.forget_what_waits();
            continue;
        };
        if !free || line.due().is_none_or(|due| due > now.mono) {
            continue;
        }
        let Ok(next) = line.next_call(rows, session) else { return };
        if let Some((ids, tries)) = next {
            engine.wakes.last_call += 1;
            let id = WakeId(engine.wakes.last_call);
            line.rest_ms =
                if matches!(host, WakeHost::Command { .. }) { COMMAND_REST_MS } else { 0 };
            line.call = Some(Call { id, ids: ids.clone(), tries, again: None });
            out.push(Out::Wake { call: id, host, ids });
        }
    }
    engine.wakes.lines.retain(|_, line| !line.is_over(now.mono));
}

/// Whether somebody can be called for the session: what its presence says of it.
pub(crate) fn can_wake(config: &Config, row: &SessionRow) -> bool {
    config.wake_commands.contains_key(&row.name) || (row.host.is_some() && config.wake_bridge)
}

/// Whom to call for a session: the command that the person named for it, else the host that it named itself.
fn host_of(engine: &DaemonEngine, row: &SessionRow) -> Option<WakeHost> {
    let config = &engine.config;
    if let Some(command) = config.wake_commands.get(&row.name) {
        return Some(WakeHost::Command { session: row.name.clone(), command: command.clone() });
    }
    let host = row.host.as_ref().filter(|_| config.wake_bridge)?;
    let host = Host::deserialize(host).ok()?;
    Some(WakeHost::Opencode {
        pid: host.pid,
        location: host.location.as_str().to_owned(),
        session_id: host.session_id.as_str().to_owned(),
    })
}

/// Calls at once. Spec: D3.26
const MAX_CALLS: usize = 4;
/// Items that one call names. Spec: D3.26
const MAX_IDS: usize = 16;
/// Items that wait for calls of one session.
const MAX_WAITING: usize = 1_000;
/// Before the second, third and fourth try. Spec: D3.26
const RETRIES_MS: [u64; 3] = [1_000, 2_000, 4_000];
/// After a command: a client takes its time to start, and must not be started twice meanwhile.
const COMMAND_REST_MS: u64 = 60_000;
