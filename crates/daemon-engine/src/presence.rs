//! Presence: what this machine tells of its sessions, and what the others told.
//! Spec: §6.5, D3.18

use messaging_core::bounded::{List, Str};
use messaging_core::code::Code;
use messaging_core::envelope::End;
use messaging_core::ids::PersonId;
use messaging_core::limits::{FEATURE_CHARS, PRESENCE_HEARTBEAT_MS, PRESENCE_INTERVAL_MS, TTL_MS};
use messaging_core::presence::{
    Activity, Draft, Features, PresencePayload, PresenceSeq, PresenceSession, PresenceText, TASKS,
    Tier,
};
use messaging_core::realm::Anchor;
use messaging_core::seal::{self, PresenceRequest};
use messaging_core::time::{Mono, Ms};
use messaging_core::verify::Verified;
use messaging_store::StoreError;
use messaging_wire::text;

use crate::config::Config;
use crate::engine::DaemonEngine;
use crate::store::sessions::{self, SessionRow};
use crate::store::{kv, presence};
use crate::wake;
use crate::work::Work;

/// When the next presence is due.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// A session changed since the last one, or the link is new.
    changed: bool,
    last_sent: Option<Mono>,
    linked: bool,
}

impl Presence {
    /// Something that presence tells has changed.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }

    /// The link is ready: the relay may know nothing of this machine.
    pub(crate) fn linked(&mut self) {
        self.linked = true;
        self.changed = true;
    }

    /// The link is gone.
    pub(crate) fn unlinked(&mut self) {
        self.linked = false;
    }

    /// When the next one is due, while the link is ready.
    pub(crate) fn deadline(&self) -> Option<Mono> {
        if !self.linked {
            return None;
        }
        let after = if self.changed { PRESENCE_INTERVAL_MS } else { PRESENCE_HEARTBEAT_MS };
        Some(self.last_sent.map_or(Mono(0), |at| at.plus(after)))
    }
}

/// Sends a presence when one is due. Its number is stored before it goes.
pub(crate) fn tend(engine: &mut DaemonEngine, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    let due = engine.presence.deadline().is_some_and(|at| at <= work.mono());
    if !due || !engine.link.is_ready() || engine.realm.sends_paused() {
        return Ok(());
    }
    engine.presence.changed = false;
    engine.presence.last_sent = Some(work.mono());
    // A store that was rolled back must not fall silent behind its own past: the clock lifts the number over it.
    let seq = kv::number(work.tx, kv::PRESENCE_SEQ)?.saturating_add(1).max(work.wall().0);
    kv::set(work.tx, kv::PRESENCE_SEQ, &seq.to_string())?;
    let rows = sessions::open(work.tx)?;
    let id = work.ulid();
    let Ok(ready) = engine.home.ready(engine.realm.roster()) else { return Ok(()) };
    let Some((realm, head)) = ready.roster.team_id().zip(ready.roster.head()) else {
        return Ok(());
    };
    let (kept, live): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.kept_at.is_some());
    let show = |rows: Vec<SessionRow>| rows.into_iter().map(|row| published(&engine.config, row));
    let payload = Draft {
        seq: PresenceSeq(seq),
        label: ready.me.label.clone(),
        live: show(live).collect(),
        kept: show(kept).collect(),
        features: features(),
        away: false,
    }
    .fit();
    let from =
        End { person: PersonId::from(&ready.me.person), device: ready.me.machine, agent: None };
    let ts = work.wall();
    let request = PresenceRequest {
        id,
        realm: *realm,
        from: &from,
        ts,
        exp: ts.plus(TTL_MS),
        anchor: Anchor::from(head),
        payload: &payload,
    };
    // What was fitted always has the right size; one that had not would not be sent.
    if let Ok(envelope) = seal::presence(&request, &ready.keys.identity.signing) {
        engine.link.send(work, text::presence(envelope.text.as_str()));
    }
    Ok(())
}

/// What this machine can do.
fn features() -> Features {
    List::first(PresenceFeature::new(TASKS).into_iter().collect())
}

type PresenceFeature = Str<1, FEATURE_CHARS>;

/// What a session looks like from outside.
pub(crate) fn published(config: &Config, row: SessionRow) -> PresenceSession {
    let kept = row.kept_at.is_some();
    let reachable = !kept || wake::can_wake(config, &row);
    let shared = |share: bool, text: Option<String>| {
        if share { text.and_then(|text| PresenceText::new(text).ok()) } else { None }
    };
    PresenceSession {
        agent: row.name,
        client: row.agent,
        state: if kept { Activity::Idle } else { row.state },
        tier: row.tier,
        since: row.since,
        kept,
        wake: row.tier == Tier::Push && reachable,
        repo: shared(config.share.repo, row.repo),
        branch: shared(config.share.branch, row.branch),
        doing: shared(config.share.doing && !kept, row.doing),
    }
}

/// Takes a presence that another machine sent. The last one counts; one with another label than the realm's is ignored.
///
/// Errors inside: `too_large`.
pub(crate) fn received(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    verified: &Verified<'_>,
) -> Result<Result<(), Code>, StoreError> {
    let envelope = verified.envelope();
    let body = match verified.presence() {
        Ok(Some(body)) => body,
        Ok(None) => return Ok(Err(Code::InvalidRequest)),
        Err(failure) => return Ok(Err(failure.code)),
    };
    let device = &envelope.from.device;
    if engine.home.machine.as_ref() == Some(device) {
        // Our own comes back only from a copy of this home, or from before this home was restored.
        let last = kv::number(work.tx, kv::PRESENCE_SEQ)?;
        if body.seq.0 > last && engine.was_up(envelope.ts) {
            engine.link.heard_twin(work);
        }
        return Ok(Ok(()));
    }
    let is_labelled = engine.realm.member(device).is_some_and(|member| member.label == body.label);
    let last = presence::last_seq(work.tx, device)?;
    if !is_labelled || last.is_some_and(|last| body.seq.0 <= last) {
        return Ok(Ok(()));
    }
    store(work, envelope.ts, &envelope.from, body)?;
    Ok(Ok(()))
}

fn store(
    work: &mut Work<'_, '_>,
    ts: Ms,
    from: &End,
    body: &PresencePayload,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(body).map_err(|_| StoreError::Other)?;
    let received_at = work.wall();
    presence::put(work.tx, &from.device, &from.person, body.seq.0, ts, &text, received_at)
}
