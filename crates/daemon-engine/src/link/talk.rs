//! What the relay says, frame by frame: who may say what depends on how far the conversation is.
//! Spec: §7 "Connecting", "Other frames", "Welcome, client side"; W2.9

use messaging_core::code::Code;
use messaging_core::limits::{FRAME_BYTES, ROSTER_FRAME_BYTES};
use messaging_core::url::origin;
use messaging_store::StoreError;
use messaging_wire::{
    Challenge, ClientFrame, ErrorFrame, FrameError, Hello, Nack, RelayFrame, Welcome,
};

use super::{GREETING_MS, Phase, Wait, fail, roster, words};
use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::input::LinkId;
use crate::work::Work;
use crate::{appends, flows, inbound, outbox};

/// A text frame came.
pub(crate) fn frame(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    link: LinkId,
    text: &str,
) -> Result<(), StoreError> {
    if link != engine.link.id {
        return Ok(());
    }
    let frame = match RelayFrame::parse(text.as_bytes(), ROSTER_FRAME_BYTES) {
        Ok(frame) => frame,
        Err(FrameError::Shape { .. }) => {
            engine.link.report(work, "the relay sent a frame of a wrong shape");
            return Ok(());
        }
        Err(FrameError::NoFrame) => {
            return fail(engine, work, "the relay sent something that is no frame", Wait::Usual);
        }
    };
    if text.len() > FRAME_BYTES && !matches!(frame, RelayFrame::Roster(_)) {
        return fail(engine, work, "the relay sent too large a frame", Wait::Usual);
    }
    match (engine.link.phase, frame) {
        (Phase::Open { .. }, RelayFrame::Challenge(challenge)) => {
            challenged(engine, work, &challenge)
        }
        (Phase::Guest, frame) => flows::frame(engine, work, frame),
        (Phase::Greeting { .. }, RelayFrame::Welcome(welcome)) => welcomed(engine, work, welcome),
        (Phase::Open { .. } | Phase::Greeting { .. }, RelayFrame::Error(error)) => {
            refused(engine, work, &error);
            Ok(())
        }
        (Phase::Welcomed { .. }, frame) => served(engine, work, frame),
        _ => Ok(()),
    }
}

fn challenged(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    challenge: &Challenge,
) -> Result<(), StoreError> {
    let url = engine.link.guest.as_ref().or(engine.config.relay.as_ref());
    // A relay that names another origin could pass this hello on to it.
    if url.and_then(|url| origin(url.as_str())).as_deref() != Some(challenge.relay.as_str()) {
        return fail(engine, work, words::OTHER_ORIGIN, Wait::Long);
    }
    if engine.link.guest.is_some() {
        engine.link.become_phase(work, Phase::Guest);
        return flows::challenge(engine, work, challenge);
    }
    let hello = match engine.home.ready(engine.realm.roster()) {
        Ok(ready) => engine.realm.id().and_then(|team| {
            Hello::sign(challenge, team, work.wall(), &ready.keys.identity.signing).ok()
        }),
        Err(_) => None,
    };
    let Some(hello) = hello else {
        return fail(engine, work, "this machine cannot greet the relay", Wait::Long);
    };
    let text = ClientFrame::Hello(hello).print();
    engine.link.send(work, text);
    let by = work.mono().plus(GREETING_MS);
    engine.link.become_phase(work, Phase::Greeting { by });
    Ok(())
}

fn welcomed(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    welcome: Welcome,
) -> Result<(), StoreError> {
    work.log(LogEvent::RelayWelcome { head: welcome.head.seq });
    let at = work.mono();
    engine.link.become_phase(work, Phase::Welcomed { at, roster_first: true });
    engine.realm.set_online(welcome.online);
    roster::catch_up(engine, work, &welcome.head)
}

/// The roster is up to the welcome: envelopes may flow.
pub(super) fn ready(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    if let Phase::Welcomed { roster_first, .. } = &mut engine.link.phase {
        *roster_first = false;
    }
    engine.presence.linked();
    engine.outbox.linked();
    appends::linked(engine);
    engine.consent.look();
    engine.rotation.changed();
    inbound::resume(engine, work)
}

/// A refusal before the welcome, told in our own words. The close follows.
fn refused(engine: &mut DaemonEngine, work: &mut Work<'_, '_>, error: &ErrorFrame) {
    engine.link.report(work, words::of_hello(error.code));
}

fn served(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    frame: RelayFrame,
) -> Result<(), StoreError> {
    match frame {
        RelayFrame::Roster(page) => roster::page(engine, work, page),
        RelayFrame::RosterOk(ok) => appends::accepted(engine, work, &ok),
        RelayFrame::Ack(id) => outbox::acked(engine, work, &id),
        RelayFrame::Nack(nack) => nacked(engine, work, &nack),
        RelayFrame::Error(error) => {
            engine.link.report(work, words::of_error(error.code));
            Ok(())
        }
        RelayFrame::Deliver(deliver) => inbound::arrived(engine, work, deliver),
        RelayFrame::Peer(peer) => {
            engine.realm.peer(peer.machine, peer.online);
            Ok(())
        }
        RelayFrame::Challenge(_)
        | RelayFrame::Welcome(_)
        | RelayFrame::Pong(_)
        | RelayFrame::Unknown => Ok(()),
    }
}

fn nacked(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    nack: &Nack,
) -> Result<(), StoreError> {
    if engine.link.sync.as_ref().is_some_and(|sync| sync.req == nack.id) {
        let wait = if nack.code == Code::RateLimited { Wait::Long } else { Wait::Usual };
        return fail(engine, work, "the relay refused to send roster entries", wait);
    }
    if engine.appends.names(&nack.id) {
        return appends::refused(engine, work, nack);
    }
    outbox::nacked(engine, work, nack)
}
