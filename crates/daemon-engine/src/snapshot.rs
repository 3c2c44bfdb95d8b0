//! A copy of the home that is taken while the daemon works, held for whoever asked, and let go.
//! Spec: §8.2 "Backups", D3.24
//!
//! The shell copies on a thread of its own, so no turn waits for it; here stands only whether there is one. A copy that a
//! process left behind is deleted by the next one's start, before this begins.

use messaging_core::code::Code;
use messaging_core::time::{Mono, Ms};
use messaging_ipc::error::Refusal;
use messaging_ipc::results::daemon::{SnapshotFile, Snapshotted};

use crate::calls::CallKey;
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::input::{Out, SaveToken};
use crate::ipc::Reply;
use crate::store::LAYOUT;
use crate::work::{Halt, Step, Work};

/// The copy that there is, or that is on its way.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    held: Option<Held>,
    /// Who waits until it is gone.
    leaving: Option<(SaveToken, Reply)>,
}

#[derive(Debug)]
struct Held {
    token: SaveToken,
    at: Ms,
    until: Mono,
    /// Who waits for it, until it is whole.
    asked: Option<Reply>,
}

/// A copy that is whole, as its manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The folder it lies in.
    pub folder: String,
    /// Its files.
    pub files: Vec<SnapshotFile>,
}

impl Snapshot {
    /// When it is let go by itself.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.held.as_ref().map(|held| held.until)
    }

    /// Whether a call is answered from here.
    pub(crate) fn works_on(&self, call: &CallKey) -> bool {
        let waits = |reply: &Reply| reply.conn == call.0 && reply.id == call.1;
        self.held.as_ref().and_then(|held| held.asked.as_ref()).is_some_and(waits)
            || self.leaving.as_ref().is_some_and(|(_, reply)| waits(reply))
    }

    /// A call's own input failed: what it wished for never left.
    pub(crate) fn forget(&mut self, call: &CallKey) {
        let waits = |reply: &Reply| reply.conn == call.0 && reply.id == call.1;
        self.held.take_if(|held| held.asked.as_ref().is_some_and(waits));
        self.leaving.take_if(|(_, reply)| waits(reply));
    }
}

/// Begins a copy; the caller is told when it is whole.
///
/// Errors: `invalid_state` while there is one.
pub(crate) fn take(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, reply: Reply) -> Step<()> {
    if engine.snapshot.held.is_some() || engine.snapshot.leaving.is_some() {
        let words = "a snapshot is held already; let it go first";
        return Err(Halt::refused(Code::InvalidState, words));
    }
    let token = engine.lifecycle.save_token();
    let at = work.wall();
    work.wish(Out::TakeSnapshot { token, at });
    let until = work.mono().plus(HOLD_MS);
    engine.snapshot.held = Some(Held { token, at, until, asked: Some(reply) });
    Ok(())
}

/// Lets the copy go; the caller is told when it is gone. `false`: there is none.
///
/// Errors: `invalid_state` while it is not whole yet, or goes already.
pub(crate) fn done(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, reply: Reply) -> Step<bool> {
    let is_under_way = engine.snapshot.held.as_ref().is_some_and(|held| held.asked.is_some());
    if is_under_way || engine.snapshot.leaving.is_some() {
        let words = "the snapshot is being taken or let go; wait until it is";
        return Err(Halt::refused(Code::InvalidState, words));
    }
    if engine.snapshot.held.take().is_none() {
        return Ok(false);
    }
    let token = drop_it(engine, work);
    engine.snapshot.leaving = Some((token, reply));
    Ok(true)
}

/// The copy is whole, or could not be made.
pub(crate) fn taken(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    copied: Option<Copied>,
) {
    let Some(held) = engine.snapshot.held.as_mut().filter(|held| held.token == token) else {
        return;
    };
    let (asked, at) = (held.asked.take(), held.at);
    let Some(Copied { folder, files }) = copied else {
        engine.snapshot.held = None;
        if let Some(reply) = asked {
            let words = "the snapshot could not be written; nothing of it is left";
            reply.refuse(work, Refusal::new(Code::Internal, words));
        }
        return;
    };
    held.until = work.mono().plus(HOLD_MS);
    work.log(LogEvent::SnapshotHeld {
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
    });
    if let Some(reply) = asked {
        let store_schema = u64::from(LAYOUT.schema);
        let until = work.wall().plus(HOLD_MS);
        reply.result(work, &Snapshotted::Held { folder, files, store_schema, at, until });
    }
}

/// Something was deleted.
pub(crate) fn saved(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    ok: bool,
) {
    let Some((_, reply)) = engine.snapshot.leaving.take_if(|(leaving, _)| *leaving == token) else {
        return;
    };
    if ok {
        reply.result(work, &Snapshotted::Released { released: true });
    } else {
        let words = "the snapshot could not be deleted; the next start does it";
        reply.refuse(work, Refusal::new(Code::Internal, words));
    }
}

/// Lets it go when its hour is over.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if engine.snapshot.deadline().is_some_and(|until| until <= work.mono()) {
        release(engine, work);
    }
}

/// Lets it go, whether it is whole or not. Whoever waits for it is told that it will not come.
pub(crate) fn release(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    if let Some(held) = engine.snapshot.held.take() {
        if let Some(reply) = held.asked {
            let words = "the snapshot was let go before it was whole";
            reply.refuse(work, Refusal::new(Code::DaemonUnavailable, words));
        }
        drop_it(engine, work);
    }
}

fn drop_it(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> SaveToken {
    let token = engine.lifecycle.save_token();
    work.log(LogEvent::SnapshotReleased {});
    work.wish(Out::DropSnapshot { token });
    token
}

/// How long a copy is held.
const HOLD_MS: u64 = 3_600_000;
