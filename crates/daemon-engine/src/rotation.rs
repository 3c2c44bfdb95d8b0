//! The encryption key is replaced on its schedule or when asked, and a replaced one is erased when its time is over.
//! Spec: §4 "Encryption-key rotation", §8.9, D3.22
//!
//! ```text
//! due or asked ─▶ write {pending} ─▶ append member.rekey ─┬─▶ the roster names it ─▶ write {current, retained}
//!                                          ▲              ├─▶ refused ─▶ write without {pending}
//!                                          └── next link ─┴─▶ unknown
//! retained, its time over, clock confirmed ─▶ write without it
//! ```
//!
//! The keys in memory are those of the file: each step is one write, and is done when the file says so. What comes next
//! follows from the keys and the roster alone, so that a process that dies anywhere goes on from there.

mod keys;

use messaging_core::code::{Code, Failure};
use messaging_core::ids::{EncKey, MachineId};
use messaging_core::keys::Identity;
use messaging_core::limits::RETAINED_KEYS;
use messaging_core::roster::Op;
use messaging_core::rotation;
use messaging_core::time::{Mono, Ms};
use messaging_ipc::error::Refusal;
use messaging_ipc::results::identity::Rotated;
use messaging_ipc::shapes::{DaemonAlarm, RotationView};

use crate::calls::CallKey;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::flows::{self, Errand};
use crate::history;
use crate::home::Ready;
use crate::identity::IdentityFile;
use crate::input::{Out, SaveToken};
use crate::ipc::Reply;
use crate::status;
use crate::work::{Halt, Step, Work};

/// A rotation and how far it is; what is not here is in the keys.
#[derive(Debug, Default)]
pub(crate) struct Rotation {
    /// The write under way.
    writing: Option<Writing>,
    /// Who asked and is told how it ended, by then at the latest.
    waiting: Vec<(Reply, Mono)>,
    /// The file may say something else than memory does: it is written again before anything else.
    doubt: bool,
    /// The pending key may have been published without an answer.
    unsure: bool,
    /// Nothing is begun or tried again before.
    rest_until: Mono,
    /// When to look whether something is due.
    look_at: Mono,
}

#[derive(Debug)]
struct Writing {
    token: SaveToken,
    keys: Box<IdentityFile>,
    act: Act,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Keeps a new key before it is published.
    Begin,
    /// Makes a published key the current one.
    Promote,
    /// Drops a key that was refused.
    Undo,
    /// Drops keys whose time is over.
    Erase,
    /// Says again what memory holds.
    Repeat,
}

/// What is to be done next.
enum Next {
    Write(Box<IdentityFile>, Act),
    Append(EncKey),
}

impl Rotation {
    /// A home that starts with a pending key does not know what became of it.
    pub(crate) fn new(keys: Option<&IdentityFile>) -> Self {
        Self { unsure: keys.is_some_and(|keys| keys.pending.is_some()), ..Self::default() }
    }

    /// Something that decides may have changed: it is looked at in this turn.
    pub(crate) fn changed(&mut self) {
        self.look_at = Mono(0);
    }

    /// The link is gone: what was sent may or may not have arrived, and is settled on the next one.
    pub(crate) fn unlinked(&mut self) {
        self.changed();
        if self.unsure {
            self.rest_until = Mono(0);
        }
    }

    /// When to look again.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        Some(self.look_at)
    }

    /// Forgets a call whose own input failed.
    pub(crate) fn forget(&mut self, call: &CallKey) {
        self.waiting.retain(|(reply, _)| !is_for(reply, call));
    }

    /// Whether a call is answered from here.
    pub(crate) fn works_on(&self, call: &CallKey) -> bool {
        self.waiting.iter().any(|(reply, _)| is_for(reply, call))
    }

    /// Writes of the store failed: a write of the file may have been lost with them, or its end may never be told.
    pub(crate) fn store_failed(&mut self) {
        self.doubt |= self.writing.take().is_some();
        self.unsure = true;
        self.changed();
    }
}

fn is_for(reply: &Reply, (conn, id): &CallKey) -> bool {
    reply.conn == *conn && reply.id == *id
}

/// Replaces the key now; the caller is told when the new one is the current one.
///
/// Errors: `invalid_state` with an alarm or when no more replaced keys can be kept, `no_identity`, `not_member`,
/// `relay_unavailable` while offline.
pub(crate) fn ask(engine: &mut DaemonEngine, reply: Reply, now: Mono) -> Step<()> {
    refuse_alarmed(engine)?;
    let keys = engine.ready()?.keys;
    if keys.pending.is_none() && keys.retained.len() >= RETAINED_KEYS {
        let words = "no more replaced keys can be kept; wait until one is erased";
        return Err(Halt::refused(Code::InvalidState, words));
    }
    if !engine.link.is_ready() {
        return Err(Halt::refused(Code::RelayUnavailable, "the relay is not connected"));
    }
    engine.rotation.waiting.push((reply, now.plus(ANSWER_MS)));
    engine.rotation.rest_until = Mono(0);
    engine.rotation.changed();
    Ok(())
}

/// A home with an alarm publishes no key. Spec: §8.9
pub(crate) fn refuse_alarmed(engine: &DaemonEngine) -> Step<()> {
    let words = match status::alarm(engine) {
        Some(DaemonAlarm::Restored) => "this device runs from an older copy; replace it first",
        Some(DaemonAlarm::KeysMissing) => "this machine's keys are missing; restore identity.json",
        None => return Ok(()),
    };
    Err(Halt::refused(Code::InvalidState, words))
}

/// How the rotation stands, for `daemon.status`.
pub(crate) fn view(engine: &DaemonEngine) -> Option<RotationView> {
    let keys = engine.home.keys.as_ref()?;
    let days = engine.config.rotate_enc_days.unwrap_or(0);
    let ready = engine.ready().ok().filter(|_| status::alarm(engine).is_none());
    Some(RotationView {
        days: u64::from(days),
        next_at: ready.and_then(|ready| due(&ready, days)),
        retained: keys.retained.len() as u64,
    })
}

/// When the current key is due; never while the realm names another one, or with the schedule off.
fn due(ready: &Ready<'_>, days: u16) -> Option<Ms> {
    if days == 0 || ready.keys.identity.enc.public() != &ready.me.enc {
        return None;
    }
    let machine = &ready.me.machine;
    let published = match last_rekey(ready) {
        Some((at, _)) => at,
        None => history::stays(ready.roster).get(machine)?.since,
    };
    Some(rotation::due(machine, published, days))
}

/// Does what is due.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let now = work.mono();
    if now < engine.rotation.look_at {
        return;
    }
    refuse_late(engine, work);
    let answer_by = engine.rotation.waiting.iter().map(|(_, by)| *by).min();
    engine.rotation.look_at = now.plus(LOOK_MS).min(answer_by.unwrap_or(now.plus(LOOK_MS)));
    if engine.rotation.writing.is_some() {
        return;
    }
    match next(engine, work) {
        Some(Next::Write(keys, act)) => write(engine, work, keys, act),
        Some(Next::Append(enc)) => {
            let Some(machine) = engine.home.machine else { return };
            flows::append(engine, work, Op::MemberRekey { machine, enc }, Errand::Rotate);
        }
        None => {}
    }
}

/// Whoever asked and saw the link go is not left waiting for the next one.
fn refuse_late(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let now = work.mono();
    for (reply, by) in std::mem::take(&mut engine.rotation.waiting) {
        if by <= now {
            let words = "the relay did not answer; what was begun is settled when it is back";
            reply.refuse(work, Refusal::new(Code::RelayUnavailable, words));
        } else {
            engine.rotation.waiting.push((reply, by));
        }
    }
}

/// What follows from the keys and the roster.
fn next(engine: &DaemonEngine, work: &mut Work<'_, '_>) -> Option<Next> {
    let ready = engine.ready().ok()?;
    let (keys, named, now) = (ready.keys, &ready.me.enc, work.wall());
    let rests = work.mono() < engine.rotation.rest_until;
    if engine.rotation.doubt {
        return (!rests).then(|| Next::Write(Box::new(keys.clone()), Act::Repeat));
    }
    let connected = engine.link.is_ready();
    if named != keys.identity.enc.public() {
        // Of a retired key only an up-to-date roster says that it is the one after all.
        let is_pending = keys.pending.as_ref().is_some_and(|key| key.secret.public() == named);
        if (is_pending || connected)
            && !rests
            && let Some(keys) = keys::promoted(keys, named, now)
        {
            return Some(Next::Write(Box::new(keys), Act::Promote));
        }
    }
    if !connected || status::alarm(engine).is_some() || flows::rotates(engine) {
        return None;
    }
    if let Some(pending) = &keys.pending {
        if was_cut_off(&ready, pending.at) {
            let keys = keys::undone(keys, engine.rotation.unsure, now);
            return Some(Next::Write(Box::new(keys), Act::Undo));
        }
        return (!rests).then(|| Next::Append(*pending.secret.public()));
    }
    // A clock that went wrong must not erase what is still needed.
    if !rests
        && engine.link.confirms_clock(work.now)
        && let Some(keys) = keys::erased(keys, named, now)
    {
        return Some(Next::Write(Box::new(keys), Act::Erase));
    }
    let days = engine.config.rotate_enc_days.unwrap_or(0);
    let is_due = due(&ready, days).is_some_and(|due| due <= now);
    let asked = !engine.rotation.waiting.is_empty();
    if (is_due && !rests || asked) && keys.retained.len() < RETAINED_KEYS {
        let secret = Identity::generate(work.rng).enc;
        // An admin's clock may be ahead: what is made after that rekey is later than it.
        let at = last_rekey(&ready).map_or(now, |(at, _)| now.max(at));
        let keys = keys::with_pending(keys, secret, at);
        return Some(Next::Write(Box::new(keys), Act::Begin));
    }
    None
}

/// Whether an admin replaced this machine's key after a rotation began: that is not undone by finishing it.
fn was_cut_off(ready: &Ready<'_>, began: Ms) -> bool {
    last_rekey(ready).is_some_and(|(at, by)| by != ready.me.machine && at > began)
}

/// When this machine's key was last replaced in the roster, and by whom.
fn last_rekey(ready: &Ready<'_>) -> Option<(Ms, MachineId)> {
    let rekey = ready.roster.latest_rekey(&ready.me.machine)?;
    let entry = ready.roster.entries().get(usize::try_from(rekey.seq).ok()?)?;
    Some((entry.ts(), rekey.by))
}

fn write(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, keys: Box<IdentityFile>, act: Act) {
    let token = engine.lifecycle.save_token();
    work.wish(Out::SaveIdentity { token, identity: keys.clone() });
    engine.rotation.writing = Some(Writing { token, keys, act });
}

/// A file write has ended.
pub(crate) fn saved(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    ok: bool,
) {
    let Some(Writing { keys, act, .. }) =
        engine.rotation.writing.take_if(|writing| writing.token == token)
    else {
        return;
    };
    engine.rotation.changed();
    if !ok {
        // Whether the file changed is not known: nothing is built on it before it says what memory holds.
        engine.rotation.doubt = true;
        engine.rotation.rest_until = work.mono().plus(SHORT_REST_MS);
        work.log(LogEvent::RotateFailed { reason: "identity.json could not be written" });
        if act != Act::Erase {
            tell(engine, work, &Refusal::code(Code::Internal));
        }
        return;
    }
    engine.rotation.doubt = false;
    match act {
        Act::Begin => engine.rotation.unsure = false,
        Act::Promote => {
            work.log(LogEvent::RotateDone {});
            engine.rotation.unsure = false;
            engine.rotation.rest_until = Mono(0);
            let rotated = Rotated {
                enc: *keys.identity.enc.public(),
                until: keys.retained.first().map_or(work.wall(), |key| key.until),
            };
            for (reply, _) in std::mem::take(&mut engine.rotation.waiting) {
                reply.result(work, &rotated);
            }
        }
        Act::Undo => {
            engine.rotation.unsure = false;
            let words = "an admin replaced this machine's key meanwhile; rotate again";
            tell(engine, work, &Refusal::new(Code::InvalidState, words));
        }
        Act::Erase | Act::Repeat => {}
    }
    engine.home.keys = Some(*keys);
}

/// The append of the new key failed; a success shows in the roster.
pub(crate) fn refused(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, failure: Failure) {
    let now = work.mono();
    engine.rotation.changed();
    let is_unknown = matches!(failure.code, Code::RelayUnavailable | Code::Internal);
    let rest = match failure.code {
        Code::RelayUnavailable | Code::Internal | Code::RosterConflict => SHORT_REST_MS,
        _ => LONG_REST_MS,
    };
    engine.rotation.rest_until = now.plus(rest);
    work.log(LogEvent::RotateFailed { reason: failure.at });
    tell(engine, work, &failure.into());
    if is_unknown {
        engine.rotation.unsure = true;
    } else if let (None, Some(keys)) = (&engine.rotation.writing, &engine.home.keys) {
        let keys = keys::undone(keys, engine.rotation.unsure, work.wall());
        write(engine, work, Box::new(keys), Act::Undo);
    }
}

fn tell(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, refusal: &Refusal) {
    for (reply, _) in std::mem::take(&mut engine.rotation.waiting) {
        reply.refuse(work, refusal.clone());
    }
}

/// How long a caller waits for the relay.
const ANSWER_MS: u64 = 25_000;
/// How often the clock is looked at.
const LOOK_MS: u64 = 60_000;
/// After something that may work soon.
const SHORT_REST_MS: u64 = 60_000;
/// After a refusal.
const LONG_REST_MS: u64 = 3_600_000;
