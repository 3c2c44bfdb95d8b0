//! The divergence alarm: a member was shown another chain than this machine, and the signed envelope proves it.
//! Spec: §5 "Roster head check", D3.28

use messaging_core::envelope::{Checked, signed_head};
use messaging_core::ids::{Hash, MachineId, PersonId, Ulid};
use messaging_core::json;
use messaging_core::limits::FRAME_BYTES;
use messaging_core::roster::{HeadRelation, Roster};
use messaging_core::time::Ms;
use messaging_store::{StoreError, View};
use serde::{Deserialize, Serialize};

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::store::{evidence, kv};
use crate::work::Work;

/// One standing alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Divergence {
    /// Who signed the other head.
    pub(crate) device: MachineId,
    pub(crate) person: PersonId,
    /// Where the chains differ, at the latest.
    pub(crate) seq: u64,
    /// This chain's entry there.
    pub(crate) ours: Hash,
    /// The signer's.
    pub(crate) theirs: Hash,
    pub(crate) at: Ms,
    pub(crate) envelope_id: Ulid,
    /// The row of the proof.
    evidence: i64,
}

/// How many alarms stand at most; the first ones tell the story.
const KEPT: usize = 16;
/// How many of them one signer can raise: each new head of another history would be one more, and a hostile member could
/// otherwise leave no room for the others'.
const KEPT_OF_ONE: usize = 2;

/// The stored alarms that their evidence still proves.
pub(super) fn load(view: &View<'_>, roster: &Roster) -> Result<Vec<Divergence>, StoreError> {
    let Some(text) = kv::get(view, kv::DIVERGENCE)? else { return Ok(Vec::new()) };
    let stored: Vec<Divergence> = serde_json::from_str(&text).map_err(|_| StoreError::Corrupt)?;
    let mut standing = Vec::new();
    for alarm in stored {
        if let Some(envelope) = evidence::get(view, alarm.evidence)?
            && proves(&envelope, roster)
        {
            standing.push(alarm);
        }
    }
    Ok(standing)
}

/// Whether a kept envelope is signed by its sender and names a head that is not on this chain.
fn proves(envelope: &str, roster: &Roster) -> bool {
    let Ok(raw) = json::parse(envelope.as_bytes(), FRAME_BYTES) else { return false };
    let Some(team) = roster.team_id() else { return false };
    match signed_head(&raw, team) {
        Some(head) => matches!(roster.relation(&head), HeadRelation::Diverged { .. }),
        None => false,
    }
}

/// Raises the alarm for a verified envelope and keeps the envelope. One alarm stands for one signer and place, and few for
/// one signer.
pub(crate) fn raise(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    envelope: &Checked,
    seq: u64,
    ours: Hash,
    theirs: Hash,
) -> Result<(), StoreError> {
    let from = &envelope.envelope().from;
    let (device, person) = (from.device, from.person.clone());
    let standing = &engine.realm.divergence;
    let known =
        |alarm: &Divergence| alarm.device == device && alarm.seq == seq && alarm.theirs == theirs;
    let of_this_one = standing.iter().filter(|alarm| alarm.device == device).count();
    if standing.iter().any(known) || of_this_one >= KEPT_OF_ONE || standing.len() >= KEPT {
        return Ok(());
    }
    let kind = evidence::Kind::Diverged;
    let row = evidence::keep(work.tx, kind, work.wall(), envelope.text().as_str())?;
    work.log(LogEvent::RosterDiverged { seq, device });
    let envelope_id = envelope.envelope().id;
    let at = work.wall();
    let alarm = Divergence { device, person, seq, ours, theirs, at, envelope_id, evidence: row };
    engine.realm.divergence.push(alarm);
    let text = serde_json::to_string(&engine.realm.divergence).map_err(|_| StoreError::Other)?;
    kv::set(work.tx, kv::DIVERGENCE, &text)
}
