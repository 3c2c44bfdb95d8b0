//! Making a grant: a root, or the next of a chain, never wider than its parent.
//! Spec: §6.7 "Grant", W4.10 `createGrant`

use alloc::vec::Vec;

use serde_json::{Value, json};

use super::DelegationGrant;
use crate::bounded::List;
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, ScopeLabel, SessionAddress, Sig, Ulid};
use crate::jcs;
use crate::json;
use crate::keys::SigningKey;
use crate::limits::{DELEGATION_DEPTH, TTL_MS};
use crate::time::Ms;

/// What a grant is to say. What is absent takes the widest value there is room for.
#[derive(Clone, Debug)]
pub struct GrantRequest<'a> {
    /// The realm.
    pub realm: Hash,
    /// The task asked for.
    pub task: Ulid,
    /// Who asks: a session of the signing machine.
    pub from: &'a SessionAddress,
    /// Who is asked.
    pub to: &'a SessionAddress,
    /// Signed at.
    pub ts: Ms,
    /// Ends at; absent is seven days after `ts`, or the parent's end when that is sooner.
    pub exp: Option<Ms>,
    /// The most grants of a chain, 1 to 4; absent is the parent's, or 4.
    pub max_depth: Option<u8>,
    /// What the work is for, at most 8 labels; absent is the parent's, or unrestricted.
    pub scope: Option<Vec<ScopeLabel>>,
}

/// Signs a grant: a root without `parent`, otherwise the one that follows it.
///
/// `parent` is the last grant of a chain that was verified before; its signature is not looked at again. Errors, in this
/// order: `invalid_request` for a bound out of range, or a parent that is no grant; `expired` under a parent that ended;
/// `forbidden` for a wider scope, a raised depth or a later end than the parent's; `invalid_request` for another realm
/// or another session than the one the parent asked, and for a life that is negative or over seven days.
pub fn create_grant(
    request: &GrantRequest<'_>,
    parent: Option<&Value>,
    key: &SigningKey,
    now: Ms,
) -> Result<Value, Failure> {
    if request.max_depth.is_some_and(|depth| !(1..=DELEGATION_DEPTH).contains(&depth.into())) {
        return Err(Failure::invalid("maxDepth"));
    }
    let scope = request.scope.clone().map(List::new).transpose();
    let scope = scope.map_err(|_| Failure::invalid("scope"))?;
    let above = match parent {
        None => None,
        Some(raw) => {
            let parent = json::decode::<DelegationGrant>(raw);
            Some((parent.map_err(|_| Failure::invalid("parent"))?, grant_hash(raw)?))
        }
    };
    let longest = request.ts.plus(TTL_MS);
    let mut grant = DelegationGrant {
        realm: request.realm,
        task: request.task,
        from: request.from.clone(),
        to: request.to.clone(),
        by: *key.machine(),
        ts: request.ts,
        exp: request.exp.unwrap_or(longest),
        max_depth: request.max_depth.unwrap_or(4),
        scope,
        parent: None,
        sig: Sig::from_bytes(&[0; 64]),
    };
    if let Some((parent, hash)) = above {
        if parent.exp <= now {
            return Err(Failure::new(Code::Expired, "parent.exp"));
        }
        grant.exp = request.exp.unwrap_or(longest.min(parent.exp));
        grant.max_depth = request.max_depth.unwrap_or(parent.max_depth);
        grant.scope = grant.scope.or_else(|| parent.scope.clone());
        grant.parent = Some(hash);
        grant.narrows(&parent)?;
        if grant.realm != parent.realm {
            return Err(Failure::invalid("realm"));
        }
        if grant.from != parent.to {
            return Err(Failure::invalid("from"));
        }
    }
    if grant.exp < grant.ts || grant.exp > longest {
        return Err(Failure::invalid("exp"));
    }
    let mut raw = jcs::to_value(&grant)?;
    let sig = key.sign(Domain::Delegation, &jcs::canonical_without(&raw, "sig")?);
    if let Some(members) = raw.as_object_mut() {
        members.insert("sig".into(), json!(sig));
    }
    Ok(raw)
}

/// The hash by which the next grant names this one: of all its members, `sig` and unknown ones included.
///
/// Errors: `invalid_request` for a value that does not canonicalize.
pub fn grant_hash(grant: &Value) -> Result<Hash, Failure> {
    Ok(jcs::canonical(grant)?.hash())
}

impl DelegationGrant {
    /// Whether this grant stays within the one before it: its scope a part of that one's, its depth no greater, its end
    /// no later.
    ///
    /// Errors: `forbidden`.
    pub(super) fn narrows(&self, before: &Self) -> Result<(), Failure> {
        let within = match (&self.scope, &before.scope) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(scope), Some(bound)) => scope.iter().all(|label| bound.contains(label)),
        };
        if !within {
            return Err(Failure::new(Code::Forbidden, "scope"));
        }
        if self.max_depth > before.max_depth {
            return Err(Failure::new(Code::Forbidden, "maxDepth"));
        }
        if self.exp > before.exp {
            return Err(Failure::new(Code::Forbidden, "exp"));
        }
        Ok(())
    }
}
