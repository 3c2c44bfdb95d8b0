//! A grant whose signer the person removed: what another device of theirs may keep of it.
//! Spec: §6.9 "Signers" `resignGrant`, W4.11

use alloc::string::String;

use serde_json::{Map, Value, json};

use super::{ConsentGrant, Levels, VerifiedGrant, sign_grant};
use crate::code::Failure;
use crate::jcs;
use crate::keys::SigningKey;
use crate::time::Ms;
use crate::version::Version;

/// What a re-sign gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Resigned {
    /// The grant by its new signer; `None` when nothing of it is left.
    pub grant: Option<VerifiedGrant>,
    /// The levels that lapsed and wait for the person.
    pub lapsed: Levels,
}

/// Signs a grant anew with `key`, a current device of its person.
///
/// Levels that restrict are kept and those that widen lapse: a device that was stolen may have set them. With `all`, for
/// a device that was replaced and not lost, everything is kept, members of later versions included. The id and the time
/// stay, so a re-sign never overrides a later change. Errors: `invalid_request` when `now` is before the grant was signed.
pub fn resign(
    grant: &VerifiedGrant,
    key: &SigningKey,
    now: Ms,
    all: bool,
) -> Result<Resigned, Failure> {
    let levels = grant.levels();
    let (kept, lapsed) =
        if all { (levels, Levels::default()) } else { (levels.restricting(), levels.widening()) };
    if kept.is_empty() {
        return Ok(Resigned { grant: None, lapsed });
    }
    let mut fields = if all {
        grant.raw().as_object().cloned().unwrap_or_default()
    } else {
        let mut fields = place(grant);
        fields.extend(jcs::to_value(&kept)?.as_object().cloned().unwrap_or_default());
        fields
    };
    fields.insert("by".into(), json!(key.machine()));
    fields.insert("resignedAt".into(), json!(now));
    Ok(Resigned { grant: Some(sign_grant(Value::Object(fields), key)?), lapsed })
}

/// Signs with `key` that nothing is left of a grant: a clear in its place in the order of merging, signed anew.
///
/// It tells the person's other devices what lapsed, since one that never heard of the grant holds what it had replaced.
/// Errors: as [`resign`].
pub fn sign_lapse(
    place_of: &ConsentGrant,
    key: &SigningKey,
    now: Ms,
) -> Result<VerifiedGrant, Failure> {
    let mut fields = place(place_of);
    fields.insert("by".into(), json!(key.machine()));
    fields.insert("resignedAt".into(), json!(now));
    sign_grant(Value::Object(fields), key)
}

/// What a grant is about and where it stands among the others, without a level.
fn place(grant: &ConsentGrant) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("v".into(), json!(Version));
    fields.insert("realm".into(), json!(grant.realm));
    fields.insert("id".into(), json!(grant.id));
    fields.insert("person".into(), json!(grant.person));
    fields.insert("ts".into(), json!(grant.ts));
    fields.insert("subject".into(), json!(grant.subject));
    fields
}
