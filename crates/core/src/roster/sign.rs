//! Writing entries: an operation becomes the signed entry that extends a chain.
//! Spec: §4, W2.7, W3

use serde::Serialize;
use serde_json::Value;

use super::{Member, Op, Roster, RosterHead};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, Sig, TeamName};
use crate::jcs;
use crate::keys::SigningKey;
use crate::time::Ms;
use crate::version::Version;

/// Signs the entry that starts a team. The founder is the signer; its role must be admin.
///
/// Errors: `invalid_request` for a time past 2^53 − 1.
pub fn sign_genesis(
    name: &TeamName,
    founder: &Member,
    ts: Ms,
    key: &SigningKey,
) -> Result<Value, Failure> {
    let op = Op::Genesis { name: name.clone(), founder: founder.clone() };
    sign(None, &op, ts, key)
}

/// Signs the entry that does `op` after `head` of `team`.
///
/// Nothing about authority is checked here: whoever applies the entry does. Errors:
/// `invalid_request` for a genesis, which follows nothing, and for a time past 2^53 − 1.
pub fn sign_entry(
    team: &Hash,
    head: &RosterHead,
    op: &Op,
    ts: Ms,
    key: &SigningKey,
) -> Result<Value, Failure> {
    if matches!(op, Op::Genesis { .. }) {
        return Err(Failure::invalid("op"));
    }
    sign(Some((team, head)), op, ts, key)
}

impl Roster {
    /// Signs the entry that does `op` after this roster's head.
    ///
    /// Errors: `not_found` for a team that does not exist yet; otherwise as [`sign_entry`].
    pub fn sign_next(&self, op: &Op, ts: Ms, key: &SigningKey) -> Result<Value, Failure> {
        match (self.team_id(), self.head()) {
            (Some(team), Some(head)) => sign_entry(team, &head, op, ts, key),
            _ => Err(Failure::new(Code::NotFound, "team")),
        }
    }
}

fn sign(
    after: Option<(&Hash, &RosterHead)>,
    op: &Op,
    ts: Ms,
    key: &SigningKey,
) -> Result<Value, Failure> {
    let mut unsigned = Written {
        v: Version,
        seq: match after {
            None => 0,
            Some((_, head)) => head.seq.saturating_add(1),
        },
        prev: after.map(|(_, head)| &head.hash),
        team: after.map(|(team, _)| team),
        ts,
        by: key.machine(),
        op,
        sig: None,
    };
    let sig = key.sign_value(Domain::Roster, &jcs::to_value(&unsigned)?)?;
    unsigned.sig = Some(sig);
    jcs::to_value(&unsigned)
}

/// An entry as it is written: `prev` is null in a genesis, `team` absent.
#[derive(Serialize)]
struct Written<'a> {
    v: Version,
    seq: u64,
    prev: Option<&'a Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<&'a Hash>,
    ts: Ms,
    by: &'a MachineId,
    #[serde(flatten)]
    op: &'a Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<Sig>,
}
