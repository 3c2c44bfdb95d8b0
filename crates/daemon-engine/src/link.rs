//! The conversation with the relay: dial, challenge, hello, welcome, the roster first, then everything else.
//! Spec: §7 "Connecting", "Paging", "Welcome, client side"; D3.7, D3.28
//!
//! One link at a time. It serves this machine as a member, or a guest who has no place in a team yet (founding, joining):
//! then [`flows`](crate::flows) own the frames after the challenge.

mod roster;
mod talk;
mod twin;
mod words;

use messaging_core::ids::{RelayUrl, Req, Ulid};
use messaging_core::limits::{BACKOFF_MAX_MS, BACKOFF_MIN_MS, CLOCK_SKEW_MS, ROSTER_FRAME_BYTES};
use messaging_core::random;
use messaging_core::time::{Mono, Ms, Now};
use messaging_store::StoreError;
use messaging_wire::CloseCode;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::flows;
use crate::home::Standing;
use crate::input::{LinkFault, LinkId, Out};
use crate::work::Work;

pub(crate) use roster::{sync_for_append, sync_for_outbox, sync_to};
pub(crate) use talk::frame;
pub use twin::TWIN;
use twin::{TWIN_WAIT_MS, Twin};
pub use words::{Cause, cause_of};

/// The link.
#[derive(Debug)]
pub(crate) struct Link {
    id: LinkId,
    phase: Phase,
    /// Whom the link serves as a guest; none for the member's own link.
    guest: Option<RelayUrl>,
    /// Tries since the last welcome that lasted.
    tries: u32,
    /// Never dial before: the store could not hold what would come.
    rest_until: Mono,
    sync: Option<roster::Sync>,
    last_req: u64,
    /// When `phase` last changed between connected, connecting and offline.
    since: Ms,
    last_error: Option<LastError>,
    /// Whether another copy of this home fights for the link.
    twin: Twin,
}

/// Where the conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is nothing to dial.
    Off,
    /// Between two tries.
    Waiting { until: Mono },
    /// The shell is connecting.
    Dialing { by: Mono },
    /// Connected; the challenge is due.
    Open { by: Mono },
    /// A guest talks; `flows` keep the time.
    Guest,
    /// The hello is out; the welcome is due.
    Greeting { by: Mono },
    /// Welcomed; the roster may still be behind.
    Welcomed { at: Mono, roster_first: bool },
}

/// The last thing that went wrong, in our own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastError {
    pub(crate) words: &'static str,
    pub(crate) at: Ms,
}

/// What a client of this daemon is told about the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    Connected,
    Connecting,
    Offline,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            id: LinkId(0),
            phase: Phase::Off,
            guest: None,
            tries: 0,
            rest_until: Mono(0),
            sync: None,
            last_req: 0,
            since: Ms(0),
            last_error: None,
            twin: Twin::default(),
        }
    }
}

impl Link {
    /// What the link is, and since when.
    pub(crate) fn state(&self) -> (LinkState, Ms) {
        let state = match self.phase {
            Phase::Off | Phase::Waiting { .. } => LinkState::Offline,
            Phase::Dialing { .. } | Phase::Open { .. } | Phase::Guest | Phase::Greeting { .. } => {
                LinkState::Connecting
            }
            Phase::Welcomed { .. } => LinkState::Connected,
        };
        (state, self.since)
    }

    /// Whether the link has been welcomed for `ms` without a break.
    pub(crate) fn has_listened(&self, now: Mono, ms: u64) -> bool {
        matches!(self.phase, Phase::Welcomed { at, .. } if self.is_ready() && now.since(at) >= ms)
    }

    /// Whether envelopes may flow: welcomed as a member, with a roster that is up to the welcome.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Welcomed { roster_first: false, .. })
    }

    /// Whether the relay took this machine's clock as right at the welcome, and it has gone on evenly since.
    pub(crate) fn confirms_clock(&self, now: Now) -> bool {
        let Phase::Welcomed { at, .. } = self.phase else { return false };
        let even = self.since.plus(now.mono.since(at));
        even.distance(now.wall) <= CLOCK_SKEW_MS
    }

    /// Whether another copy of this home fights for the link.
    pub(crate) fn has_twin(&self, now: Mono) -> bool {
        self.twin.stands(now)
    }

    /// Since when another copy of this home is known to run, while it does.
    pub(crate) fn twin_since(&self, now: Mono) -> Option<Ms> {
        self.twin.since(now)
    }

    /// This machine's own word came back, and this home never said it: another copy did. The link is kept; should the other
    /// one take it, it is given way at once.
    pub(crate) fn heard_twin(&mut self, work: &mut Work<'_, '_>) {
        self.twin.heard(work.mono(), work.wall());
        self.report(work, twin::TWIN);
    }

    /// The last thing that went wrong.
    pub(crate) fn last_error(&self) -> Option<LastError> {
        self.last_error
    }

    /// Notes something worth telling, in our own words.
    pub(crate) fn report(&mut self, work: &mut Work<'_, '_>, words: &'static str) {
        self.last_error = Some(LastError { words, at: work.wall() });
        work.log(LogEvent::RelayError { reason: words });
    }

    /// Sends a frame on the present link.
    pub(crate) fn send(&self, work: &mut Work<'_, '_>, text: String) {
        work.wish(Out::LinkSend { link: self.id, text });
    }

    /// A request name that no other request of this process has.
    pub(crate) fn req(&mut self) -> Req {
        self.last_req += 1;
        Req::from(Ulid::from_parts(Ms(self.last_req), [0; 10]))
    }

    /// When the link wants to be looked at.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        let phase = match self.phase {
            Phase::Off | Phase::Guest => None,
            Phase::Waiting { until } => Some(until.max(self.rest_until)),
            Phase::Dialing { by } | Phase::Open { by } | Phase::Greeting { by } => Some(by),
            Phase::Welcomed { .. } => None,
        };
        phase.into_iter().chain(self.sync.as_ref().map(|sync| sync.by)).min()
    }

    fn become_phase(&mut self, work: &Work<'_, '_>, phase: Phase) {
        let before = self.state().0;
        self.phase = phase;
        if self.state().0 != before {
            self.since = work.wall();
        }
    }

    /// Dials for a guest. A link that is open is given up.
    pub(crate) fn guest(&mut self, work: &mut Work<'_, '_>, url: RelayUrl) {
        self.sync = None;
        self.guest = Some(url.clone());
        self.dial(work, url);
    }

    fn dial(&mut self, work: &mut Work<'_, '_>, url: RelayUrl) {
        self.id = LinkId(self.id.0 + 1);
        self.tries = self.tries.saturating_add(1);
        work.log(LogEvent::RelayConnecting { attempt: self.tries });
        work.wish(Out::Dial { link: self.id, url, max_frame: ROSTER_FRAME_BYTES });
        self.become_phase(work, Phase::Dialing { by: work.mono().plus(CONNECT_MS) });
    }

    /// The store failed: whatever the link was told last may not have happened. Everything starts again from the store.
    pub(crate) fn drop_for_store(&mut self, until: Mono, now: Ms) -> Option<LinkId> {
        self.rest_until = until;
        self.sync = None;
        let open = !matches!(self.phase, Phase::Off | Phase::Waiting { .. });
        if open {
            self.since = now;
        }
        if self.phase != Phase::Off {
            self.phase = Phase::Waiting { until };
        }
        self.guest = None;
        open.then_some(self.id)
    }
}

/// Begins or ends the member's link, as the home's standing demands. A guest is left alone.
pub(crate) fn settle(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if engine.link.guest.is_some() {
        return;
    }
    let serves = engine.home.standing(engine.realm.roster()) == Standing::Member
        && engine.config.relay.is_some();
    if serves && engine.link.phase == Phase::Off {
        let until = work.mono();
        engine.link.become_phase(work, Phase::Waiting { until });
    }
}

/// Ends guest talk and dials as a member, at once.
pub(crate) fn join_realm(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    hang_up(engine, work);
    engine.link.tries = 0;
    settle(engine, work);
}

/// Dials at once: the machine woke. A link that was up when it fell asleep is as good as dead, and only silence would tell.
/// A guest's conversation is left to its own time.
pub(crate) fn redial_now(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if engine.link.guest.is_some() {
        return;
    }
    if !matches!(engine.link.phase, Phase::Off | Phase::Waiting { .. }) {
        hang_up(engine, work);
        settle(engine, work);
    }
    if let Phase::Waiting { until } = &mut engine.link.phase {
        *until = work.now.mono;
    }
}

/// Ends guest talk, or the present link, without a word about it.
pub(crate) fn hang_up(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if !matches!(engine.link.phase, Phase::Off | Phase::Waiting { .. }) {
        work.wish(Out::LinkClose { link: engine.link.id });
    }
    engine.link.guest = None;
    engine.link.sync = None;
    engine.link.become_phase(work, Phase::Off);
    forget_link(engine);
}

/// Closes the link and dials no more: this machine was removed.
pub(crate) fn close_for_good(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    hang_up(engine, work);
    engine.link.report(work, "this machine was removed from its team");
}

/// Does what is due.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let now = work.mono();
    match engine.link.phase {
        Phase::Off => settle(engine, work),
        Phase::Waiting { .. } | Phase::Guest | Phase::Welcomed { .. } => {}
        Phase::Dialing { by } | Phase::Open { by } | Phase::Greeting { by } => {
            if by <= now {
                fail(engine, work, "the relay did not answer in time", Wait::Usual)?;
            }
        }
    }
    if engine.link.sync.as_ref().is_some_and(|sync| sync.by <= now) {
        fail(engine, work, "the relay did not send roster entries in time", Wait::Usual)?;
    }
    if let Phase::Waiting { until } = engine.link.phase
        && until.max(engine.link.rest_until) <= now
    {
        match (&engine.config.relay, engine.home.standing(engine.realm.roster())) {
            (Some(url), Standing::Member) => engine.link.dial(work, url.clone()),
            _ => engine.link.become_phase(work, Phase::Off),
        }
    }
    Ok(())
}

/// The WebSocket is open.
pub(crate) fn up(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, link: LinkId) {
    if link == engine.link.id && matches!(engine.link.phase, Phase::Dialing { .. }) {
        let by = work.mono().plus(GREETING_MS);
        engine.link.become_phase(work, Phase::Open { by });
    }
}

/// The link is gone.
pub(crate) fn down(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    link: LinkId,
    close: Option<u16>,
    why: LinkFault,
) -> Result<(), StoreError> {
    if link != engine.link.id || matches!(engine.link.phase, Phase::Off | Phase::Waiting { .. }) {
        return Ok(());
    }
    work.log(LogEvent::RelayClosed { code: close.map(u32::from) });
    let code = close.and_then(CloseCode::of);
    let told = matches!(code, Some(CloseCode::AuthFailed | CloseCode::Protocol | CloseCode::Full))
        && engine.link.last_error.is_some_and(|error| error.at >= engine.link.since);
    let is_twin =
        code == Some(CloseCode::Replaced) && engine.link.twin.replaced(work.mono(), work.wall());
    if is_twin {
        engine.link.report(work, twin::TWIN);
    } else if !told {
        engine.link.report(work, words::of_close(code, why));
    }
    let wait = match code {
        Some(CloseCode::Replaced) if is_twin => Wait::Twin,
        Some(CloseCode::AuthFailed | CloseCode::Removed | CloseCode::Replaced) => Wait::Long,
        _ => Wait::Usual,
    };
    lost(engine, work, wait)
}

/// How long to wait before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The usual backoff.
    Usual,
    /// At least 15 s: the same answer would come again.
    Long,
    /// Twenty minutes and more: each try ends the link of the other copy.
    Twin,
}

/// Gives the link up for a reason of our own.
fn fail(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    words: &'static str,
    wait: Wait,
) -> Result<(), StoreError> {
    engine.link.report(work, words);
    work.wish(Out::LinkClose { link: engine.link.id });
    lost(engine, work, wait)
}

/// A link that the relay answers nothing on is worth nothing.
pub(crate) fn give_up(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    words: &'static str,
) -> Result<(), StoreError> {
    fail(engine, work, words, Wait::Usual)
}

/// What the link carried is in doubt, and the next try is set.
fn lost(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, wait: Wait) -> Result<(), StoreError> {
    if let Phase::Welcomed { at, .. } = engine.link.phase
        && work.mono().since(at) >= STABLE_MS
    {
        engine.link.tries = 0;
    }
    let was_guest = engine.link.guest.take().is_some();
    engine.link.sync = None;
    forget_link(engine);
    let until = work.mono().plus(backoff(engine.link.tries, wait, work));
    engine.link.become_phase(work, Phase::Waiting { until });
    if was_guest {
        engine.link.become_phase(work, Phase::Off);
        flows::down(engine, work)?;
    }
    Ok(())
}

/// Forgets what only holds for one link.
pub(crate) fn forget_link(engine: &mut DaemonEngine) {
    engine.outbox.unlinked();
    engine.inbound.unlinked();
    engine.presence.unlinked();
    engine.appends.unlinked();
    engine.rotation.unlinked();
    engine.realm.set_online([]);
}

/// Full jitter over a doubling bound. Spec: W1.3 "client backoff"
fn backoff(tries: u32, wait: Wait, work: &mut Work<'_, '_>) -> u64 {
    let doublings = tries.saturating_sub(1).min(10);
    let bound = (BACKOFF_MIN_MS << doublings).min(BACKOFF_MAX_MS);
    let usual = random::below(work.rng, bound + 1);
    match wait {
        Wait::Usual => usual,
        Wait::Long => usual.max(LONG_WAIT_MS),
        Wait::Twin => TWIN_WAIT_MS + random::below(work.rng, TWIN_WAIT_MS),
    }
}

/// For the shell to connect.
const CONNECT_MS: u64 = 30_000;
/// For the relay to say its next word before the welcome; its own limit for a hello is 10 s.
const GREETING_MS: u64 = 15_000;
/// A welcome that lasted this long starts the backoff afresh.
const STABLE_MS: u64 = 30_000;
/// After a close that will only repeat itself.
const LONG_WAIT_MS: u64 = 15_000;
