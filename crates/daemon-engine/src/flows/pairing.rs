//! Keys that wait for a place in a team are made, kept and dropped here; nothing is told before their file says it.
//! Spec: §8.2 "Admitting a machine without a ticket", "Founding keys"; D3.3

use messaging_core::code::{Code, Failure};
use messaging_core::keys::Identity;
use messaging_core::ticket::{AdmitCard, TextForm};
use messaging_core::version::Version;
use messaging_ipc::error::Refusal;
use messaging_ipc::results::team::{PairCancelled, Paired, Prepared};

use super::guest;
use super::joining::check_free;
use crate::calls::CallKey;
use crate::engine::DaemonEngine;
use crate::home::Standing;
use crate::input::{Out, SaveToken};
use crate::ipc::Reply;
use crate::pairing::{PairingFile, Place, Purpose};
use crate::work::{Halt, Step, Work};

/// A write or an erasure of `pairing.json` that a caller waits for.
#[derive(Debug)]
pub(super) struct Keeping {
    token: SaveToken,
    reply: Reply,
    act: Act,
}

#[derive(Debug)]
enum Act {
    Write(Box<PairingFile>),
    Erase,
}

impl Keeping {
    /// Whether it will answer a call.
    pub(super) fn is_for(&self, (conn, id): &CallKey) -> bool {
        self.reply.conn == *conn && self.reply.id == *id
    }
}

/// The founding keys, when they wait already; else they are made, and the caller is told when they are on disk.
pub(crate) fn prepare(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
) -> Step<Option<Prepared>> {
    check_free(engine)?;
    match &engine.home.pairing {
        Some(PairingFile { purpose: Purpose::Found, keys }) => return Ok(Some(prepared(keys))),
        Some(_) => return Err(pairing_waits()),
        None => {}
    }
    keep(engine, work, reply, Purpose::Found);
    Ok(None)
}

/// The admit card of the keys that wait for this very place; else they are made, and the caller is told when they are on disk.
pub(crate) fn pair(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
    place: Place,
) -> Step<Option<Paired>> {
    check_free(engine)?;
    match &engine.home.pairing {
        Some(PairingFile { purpose: Purpose::Pair(held), keys }) if *held == place => {
            return Ok(Some(paired(keys, held)?));
        }
        Some(PairingFile { purpose: Purpose::Found, .. }) => return Err(founding_waits()),
        Some(_) => return Err(pairing_waits()),
        None => {}
    }
    keep(engine, work, reply, Purpose::Pair(place));
    Ok(None)
}

/// Drops the keys that wait. A claim that waits with them ends.
pub(crate) fn cancel(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
) -> Step<Option<PairCancelled>> {
    guest::leave_claim(engine, work);
    check_free(engine)?;
    if engine.home.pairing.is_none() {
        return Ok(Some(PairCancelled { cancelled: false }));
    }
    let token = engine.lifecycle.save_token();
    work.wish(Out::ErasePairing { token });
    engine.flows.keeping = Some(Keeping { token, reply, act: Act::Erase });
    Ok(None)
}

fn keep(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, reply: Reply, purpose: Purpose) {
    let pairing = Box::new(PairingFile { purpose, keys: Identity::generate(work.rng) });
    let token = engine.lifecycle.save_token();
    work.wish(Out::SavePairing { token, pairing: pairing.clone() });
    engine.flows.keeping = Some(Keeping { token, reply, act: Act::Write(pairing) });
}

/// A file write has ended.
pub(super) fn saved(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    token: SaveToken,
    ok: bool,
) {
    let Some(Keeping { reply, act, .. }) =
        engine.flows.keeping.take_if(|keeping| keeping.token == token)
    else {
        return;
    };
    if !ok {
        // What a failed erasure left is known, and what a failed write left has been told to nobody.
        return reply.refuse(work, Refusal::code(Code::Internal));
    }
    match act {
        Act::Write(pairing) => {
            match &pairing.purpose {
                Purpose::Found => reply.result(work, &prepared(&pairing.keys)),
                Purpose::Pair(place) => match paired(&pairing.keys, place) {
                    Ok(paired) => reply.result(work, &paired),
                    Err(failure) => reply.refuse(work, failure.into()),
                },
            }
            engine.home.pairing = Some(*pairing);
        }
        Act::Erase => {
            engine.home.pairing = None;
            reply.result(work, &PairCancelled { cancelled: true });
        }
    }
}

/// This machine has its place: keys that still wait are dropped. Should that fail, the next start does it.
pub(crate) fn outgrown(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) {
    let settled = engine.home.standing(engine.realm.roster()) == Standing::Member;
    if settled && engine.home.pairing.take().is_some() {
        let token = engine.lifecycle.save_token();
        work.wish(Out::ErasePairing { token });
    }
}

/// The keys that a team is founded with: those that wait for it.
///
/// Errors: `invalid_state` while keys wait for an admin.
pub(super) fn founding_keys(engine: &DaemonEngine) -> Step<Option<&PairingFile>> {
    match &engine.home.pairing {
        Some(PairingFile { purpose: Purpose::Pair(_), .. }) => Err(pairing_waits()),
        held => Ok(held.as_ref()),
    }
}

/// The keys that an admin may have admitted.
///
/// Errors: `invalid_state` without any, and while founding keys wait.
pub(super) fn waiting(engine: &DaemonEngine) -> Step<(&PairingFile, &Place)> {
    match &engine.home.pairing {
        Some(held) => Ok((held, held.place().ok_or_else(founding_waits)?)),
        None => {
            let words = "no keys wait for an admin here; begin with team.pair";
            Err(Halt::refused(Code::InvalidState, words))
        }
    }
}

fn prepared(keys: &Identity) -> Prepared {
    Prepared { machine: *keys.machine(), enc: *keys.enc.public() }
}

fn paired(keys: &Identity, place: &Place) -> Result<Paired, Failure> {
    let card = AdmitCard {
        v: Version,
        machine: *keys.machine(),
        enc: *keys.enc.public(),
        person: place.person.clone(),
        label: place.label.clone(),
    };
    let text = card.encode()?;
    let AdmitCard { machine, enc, person, label, .. } = card;
    Ok(Paired { card: text, machine, enc, person, label })
}

fn pairing_waits() -> Halt {
    let words = "keys wait for an admin already; claim their place, or cancel them first";
    Halt::refused(Code::InvalidState, words)
}

fn founding_waits() -> Halt {
    let words = "keys wait to found a team; found it, or cancel them first";
    Halt::refused(Code::InvalidState, words)
}
