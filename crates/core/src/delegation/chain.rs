//! The ordered verifier of chains, and the chain that a sender makes.
//! Spec: §6.7 "Verification", W4.10 `verifyChain`
//!
//! | step | what                                                                | refusal           |
//! |------|---------------------------------------------------------------------|-------------------|
//! | 1    | one to four grants, their shape, I-JSON                             | `invalid_request` |
//! | 2    | 8 KiB of canonical text                                             | `too_large`       |
//! | 3.1  | of each grant, the root first: the realm                            | `invalid_request` |
//! | 3.2  | its time window                                                     | `expired`         |
//! | 3.3  | its signer is a current device, the one that `from` names           | `not_member`      |
//! | 3.4  | its signature, over the raw value                                   | `bad_signature`   |
//! | 3.5  | a root has no parent; a later one starts where the one before ended | `invalid_request` |
//! | 3.6  | it is no wider than the one before                                  | `forbidden`       |
//! | 4    | no more grants than the smallest `maxDepth`                         | `forbidden`       |
//! | 5    | no session twice                                                    | `forbidden`       |
//! | 6    | the last grant is the one of this hop                               | `forbidden`       |

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde_json::Value;

use super::{Chain, DelegationGrant, DelegationSummary, GrantRequest, create_grant, grant_hash};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, SessionAddress, Ulid};
use crate::jcs;
use crate::json;
use crate::keys::SigningKey;
use crate::limits::{DELEGATION_BYTES, DELEGATION_DEPTH};
use crate::realm::RealmView;
use crate::time::Ms;
use crate::verify::check_window;

/// The hop that a chain arrived on, as the envelope and its payload say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop<'a> {
    /// The machine that sent it.
    pub device: &'a MachineId,
    /// The session that asks.
    pub from: &'a SessionAddress,
    /// The session that is asked.
    pub to: &'a SessionAddress,
    /// The task.
    pub task: &'a Ulid,
}

/// Verifies a chain; the first step that fails decides the code.
///
/// `chain` is the raw value: signatures and hashes cover members that this release does not know. Cost: one signature
/// check a grant. Errors: as the table above.
pub fn verify_chain(
    chain: &Value,
    view: &dyn RealmView,
    hop: &Hop<'_>,
    now: Ms,
) -> Result<DelegationSummary, Failure> {
    let shape = Failure::invalid("delegation");
    let grants: Chain = json::decode(chain).map_err(|_| shape)?;
    if jcs::canonical(chain)?.len() > DELEGATION_BYTES {
        return Err(Failure::new(Code::TooLarge, "delegation"));
    }
    let mut before: Option<(&DelegationGrant, Hash)> = None;
    for (grant, raw) in grants.iter().zip(chain.as_array().ok_or(shape)?) {
        check_grant(grant, raw, view, now)?;
        check_place(grant, before.as_ref())?;
        before = Some((grant, grant_hash(raw)?));
    }
    let summary = DelegationSummary::of(&grants).ok_or(shape)?;
    if summary.depth > summary.max_depth {
        return Err(Failure::new(Code::Forbidden, "delegation.maxDepth"));
    }
    let sessions: BTreeSet<&SessionAddress> = summary.addresses.iter().collect();
    if sessions.len() != summary.addresses.len() {
        return Err(Failure::new(Code::Forbidden, "delegation.to"));
    }
    check_hop(grants.last().ok_or(shape)?, hop)?;
    Ok(summary)
}

/// Steps 3.1 to 3.4: what a grant says for itself.
fn check_grant(
    grant: &DelegationGrant,
    raw: &Value,
    view: &dyn RealmView,
    now: Ms,
) -> Result<(), Failure> {
    if grant.realm != *view.realm() {
        return Err(Failure::invalid("delegation.realm"));
    }
    check_window(grant.ts, grant.exp, now)
        .map_err(|Failure { code, .. }| Failure::new(code, "delegation.exp"))?;
    let signer = view.device(&grant.by).is_some_and(|device| {
        device.person.as_str() == grant.from.person() && device.label.as_str() == grant.from.label()
    });
    if !signer {
        return Err(Failure::new(Code::NotMember, "delegation.by"));
    }
    let signed =
        view.public_key(&grant.by).is_some_and(|key| key.verify_value(Domain::Delegation, raw));
    if signed { Ok(()) } else { Err(Failure::new(Code::BadSignature, "delegation.sig")) }
}

/// Steps 3.5 and 3.6: how a grant follows the one before.
fn check_place(
    grant: &DelegationGrant,
    before: Option<&(&DelegationGrant, Hash)>,
) -> Result<(), Failure> {
    match before {
        None if grant.parent.is_some() => Err(Failure::invalid("delegation.parent")),
        None => Ok(()),
        Some((before, _)) if grant.from != before.to => Err(Failure::invalid("delegation.from")),
        Some((_, hash)) if grant.parent != Some(*hash) => {
            Err(Failure::invalid("delegation.parent"))
        }
        Some((before, _)) => grant.narrows(before),
    }
}

/// Step 6.
fn check_hop(last: &DelegationGrant, hop: &Hop<'_>) -> Result<(), Failure> {
    for (fits, at) in [
        (last.by == *hop.device, "delegation.by"),
        (last.from == *hop.from, "delegation.from"),
        (last.to == *hop.to, "delegation.to"),
        (last.task == *hop.task, "delegation.task"),
    ] {
        if !fits {
            return Err(Failure::new(Code::Forbidden, at));
        }
    }
    Ok(())
}

/// Makes the chain that a task request carries: `held` and one more grant, or a root alone.
///
/// The whole is verified against the sender's own view before it leaves, so that a chain which grew too long, came round
/// to a session it passed, ended, or lost a signer in the meantime is refused here and not at the other end. Errors: as
/// [`create_grant`], then as [`verify_chain`].
pub fn extend_chain(
    held: Option<&Value>,
    request: &GrantRequest<'_>,
    key: &SigningKey,
    view: &dyn RealmView,
    now: Ms,
) -> Result<(Value, DelegationSummary), Failure> {
    let mut grants = match held {
        None => Vec::new(),
        Some(held) => held.as_array().cloned().ok_or(Failure::invalid("delegation"))?,
    };
    if held.is_some() && grants.is_empty() {
        return Err(Failure::invalid("delegation"));
    }
    let next = create_grant(request, grants.last(), key, now)?;
    // Four grants are a full chain: a fifth is no broken shape of the caller's making, but one hop too far.
    if grants.len() >= DELEGATION_DEPTH {
        return Err(Failure::new(Code::Forbidden, "delegation.maxDepth"));
    }
    grants.push(next);
    let chain = Value::Array(grants);
    let hop =
        Hop { device: key.machine(), from: request.from, to: request.to, task: &request.task };
    let summary = verify_chain(&chain, view, &hop, now)?;
    Ok((chain, summary))
}
