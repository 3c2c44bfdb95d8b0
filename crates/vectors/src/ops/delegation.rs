//! Delegation: creating a grant, and verifying a chain.

use messaging_core::code::Failure;
use messaging_core::delegation::{GrantRequest, Hop, create_grant, grant_hash, verify_chain};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId, ScopeLabel, SessionAddress, Ulid};
use messaging_core::jcs;
use messaging_core::json;
use messaging_core::time::Ms;
use serde::Deserialize;
use serde_json::json;

use super::envelope::View;
use super::{Op, keys};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "delegation_create" => delegation_create,
        "delegation_verify" => delegation_verify,
        _ => return None,
    })
}

/// The members that a caller chooses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    realm: Hash,
    task: Ulid,
    from: SessionAddress,
    to: SessionAddress,
    by: MachineId,
    ts: Ms,
    exp: Option<Ms>,
    max_depth: Option<u8>,
    scope: Option<Vec<ScopeLabel>>,
}

fn delegation_create(args: &Args<'_>) -> Outcome {
    let fields: Fields = json::decode(args.value("fields")?).map_err(Failure::from)?;
    let key = keys::seed(args)?;
    if fields.by != *key.machine() {
        return Err(Failure::invalid("by").into());
    }
    let request = GrantRequest {
        realm: fields.realm,
        task: fields.task,
        from: &fields.from,
        to: &fields.to,
        ts: fields.ts,
        exp: fields.exp,
        max_depth: fields.max_depth,
        scope: fields.scope,
    };
    let now = json::decode::<Ms>(args.value("now")?).map_err(Failure::from)?;
    let grant = create_grant(&request, args.opt("parent"), &key, now)?;
    let signed = keys::signed(Domain::Delegation, &jcs::canonical_without(&grant, "sig")?)?;
    let hash = grant_hash(&grant)?;
    Ok(json!({"signed": signed, "grant": grant, "hash": hash}))
}

#[derive(Deserialize)]
struct HopArgument {
    device: MachineId,
    from: SessionAddress,
    to: SessionAddress,
    task: Ulid,
}

fn delegation_verify(args: &Args<'_>) -> Outcome {
    let hop: HopArgument = json::decode(args.value("hop")?).map_err(|_| Refusal::Case("hop"))?;
    let hop = Hop { device: &hop.device, from: &hop.from, to: &hop.to, task: &hop.task };
    let now = json::decode::<Ms>(args.value("now")?).map_err(|_| Refusal::Case("now"))?;
    let chain = args.value("chain")?;
    View::read(args)?.with(|view| Ok(json!(verify_chain(chain, view, &hop, now)?)))
}
