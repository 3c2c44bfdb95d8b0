//! The map of persons: values, roots and proofs.

use messaging_core::code::Code;
use messaging_core::directory::{
    MapKey, MapLeaf, MapProof, MapValue, PersonMap, empty_subtree, map_root_from_proof, tombstone,
    verify_map_proof,
};
use messaging_core::ids::{Hash, HostedPerson};
use messaging_core::json;
use serde_json::{Value, json};

use super::Op;
use super::persons::shape;
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "empty_subtree" => empty,
        "map_value" => value,
        "map_root" => root,
        "map_prove" => prove,
        "map_root_from_proof" => root_from_proof,
        "map_verify" => verify,
        _ => return None,
    })
}

fn empty(args: &Args<'_>) -> Outcome {
    let height = usize::try_from(args.int("height")?).map_err(|_| Refusal::Case("height"))?;
    Ok(json!(Hash::from_bytes(empty_subtree(height))))
}

/// What a person's value is written as: the preimage, or `"tombstone"`.
fn digest(value: &Value) -> Result<[u8; 32], Refusal> {
    if value.as_str() == Some("tombstone") {
        return Ok(tombstone());
    }
    Ok(shape(json::decode::<MapValue>(value), "value")?.digest()?)
}

fn value(args: &Args<'_>) -> Outcome {
    Ok(json!(Hash::from_bytes(&digest(args.value("value")?)?)))
}

fn map(args: &Args<'_>) -> Result<PersonMap, Refusal> {
    let values = args.value("values")?.as_object().ok_or(Refusal::Case("values"))?;
    let mut map = PersonMap::new();
    // One after the other: the order must not matter.
    for (person, value) in values {
        let person = HostedPerson::parse(person).map_err(|_| Refusal::Case("values"))?;
        map = map.update([(MapKey::of(&person), digest(value)?)]).map;
    }
    Ok(map)
}

fn root(args: &Args<'_>) -> Outcome {
    Ok(json!(map(args)?.root()))
}

fn person(args: &Args<'_>) -> Result<HostedPerson, Refusal> {
    Ok(HostedPerson::parse(args.text("person")?)?)
}

fn prove(args: &Args<'_>) -> Outcome {
    Ok(json!(map(args)?.prove(&MapKey::of(&person(args)?))))
}

fn leaf(args: &Args<'_>) -> Result<MapLeaf, Refusal> {
    args.opt("value").map_or(Ok(MapLeaf::Absent), |value| digest(value).map(MapLeaf::Holds))
}

fn proof(args: &Args<'_>) -> Result<MapProof, Refusal> {
    shape(json::decode(args.value("proof")?), "proof")
}

fn root_from_proof(args: &Args<'_>) -> Outcome {
    Ok(json!(map_root_from_proof(&person(args)?, leaf(args)?, &proof(args)?)))
}

fn verify(args: &Args<'_>) -> Outcome {
    let holds = || -> Result<bool, Refusal> {
        let root = Hash::parse(args.text("root")?)?;
        Ok(verify_map_proof(&root, &person(args)?, leaf(args)?, &proof(args)?))
    };
    super::epochs::holds(holds())
}

/// The code by which a verifier that answers false is told.
pub(super) const FALSE: Code = Code::DirectoryInconsistent;
