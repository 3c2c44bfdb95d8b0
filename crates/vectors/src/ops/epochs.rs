//! The epoch log: Merkle proofs, tree heads and their adoption.

use core::num::NonZeroU64;

use messaging_core::code::Code;
use messaging_core::directory::{
    EpochLeaf, EpochProof, KeyRotation, MerkleLog, Path, TreeHead, adopt_tree_head, leaf_hash,
    verify_consistency, verify_inclusion,
};
use messaging_core::ids::{Hash, MachineId};
use messaging_core::json;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::map::FALSE;
use super::persons::shape;
use super::{Op, keys};
use crate::args::{Args, Outcome, Refusal, hex_decode};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "merkle_root" => merkle_root,
        "merkle_prove_inclusion" => prove_inclusion,
        "merkle_prove_consistency" => prove_consistency,
        "merkle_verify_inclusion" => inclusion,
        "merkle_verify_consistency" => consistency,
        "epoch_leaf_hash" => epoch_leaf_hash,
        "sth_sign" => sth_sign,
        "sth_verify" => sth_verify,
        "epoch_proof_verify" => epoch_proof_verify,
        "adopt_sth" => adopt_sth,
        _ => return None,
    })
}

/// A verifier's answer: false, also for anything malformed, is a refusal.
pub(super) fn holds(answer: Result<bool, Refusal>) -> Outcome {
    match answer {
        Ok(true) => Ok(json!(true)),
        Ok(false) | Err(Refusal::Code(_)) => Err(FALSE.into()),
        Err(broken) => Err(broken),
    }
}

fn log(args: &Args<'_>) -> Result<MerkleLog, Refusal> {
    let mut log = MerkleLog::new();
    for leaf in args.list("leaves")? {
        let data = leaf.as_str().and_then(hex_decode).ok_or(Refusal::Case("leaves"))?;
        log.push(leaf_hash(&data));
    }
    Ok(log)
}

fn merkle_root(args: &Args<'_>) -> Outcome {
    Ok(json!(Hash::from_bytes(&log(args)?.root())))
}

fn path(hashes: Option<Vec<[u8; 32]>>) -> Outcome {
    let hashes = hashes.ok_or(FALSE)?;
    Ok(hashes.iter().map(|hash| json!(Hash::from_bytes(hash))).collect())
}

fn prove_inclusion(args: &Args<'_>) -> Outcome {
    let log = log(args)?;
    path(log.prove_inclusion(args.int("index")?, log.size()))
}

fn prove_consistency(args: &Args<'_>) -> Outcome {
    let log = log(args)?;
    path(log.prove_consistency(args.int("first")?, log.size()))
}

fn hash(args: &Args<'_>, name: &'static str) -> Result<[u8; 32], Refusal> {
    Ok(Hash::parse(args.text(name)?)?.to_bytes())
}

fn proof(args: &Args<'_>) -> Result<Vec<[u8; 32]>, Refusal> {
    let hashes = args
        .list("proof")?
        .iter()
        .map(|hash| Ok(Hash::parse(hash.as_str().ok_or(Refusal::Case("proof"))?)?.to_bytes()));
    hashes.collect()
}

fn inclusion(args: &Args<'_>) -> Outcome {
    let (index, size) = (args.int("index")?, args.int("size")?);
    let answer = || -> Result<bool, Refusal> {
        let (leaf, root) = (hash(args, "leafHash")?, hash(args, "root")?);
        Ok(verify_inclusion(index, size, &leaf, &proof(args)?, &root))
    };
    holds(answer())
}

fn consistency(args: &Args<'_>) -> Outcome {
    let (first, second) = (args.int("size1")?, args.int("size2")?);
    let answer = || -> Result<bool, Refusal> {
        let (old, new) = (hash(args, "root1")?, hash(args, "root2")?);
        Ok(verify_consistency(first, second, &old, &new, &proof(args)?))
    };
    holds(answer())
}

fn epoch_leaf_hash(args: &Args<'_>) -> Outcome {
    let leaf: EpochLeaf = shape(json::decode(args.value("leaf")?), "leaf")?;
    let data = leaf.data()?;
    Ok(json!({"data": data.as_str(), "hash": Hash::from_bytes(&leaf.hash()?)}))
}

fn sth_sign(args: &Args<'_>) -> Outcome {
    let (realm, root) = (Hash::parse(args.text("realm")?)?, Hash::parse(args.text("root")?)?);
    let size = NonZeroU64::new(args.int("size")?).ok_or(Refusal::Case("size"))?;
    let ts = Ms(args.int("ts")?);
    Ok(json!(TreeHead::sign(&realm, size, &root, ts, &keys::seed(args)?)?))
}

fn sth_verify(args: &Args<'_>) -> Outcome {
    let key = MachineId::parse(args.text("key")?);
    match (TreeHead::read(args.value("sth")?), key) {
        (Ok(sth), Ok(key)) if sth.is_signed_by(&key) => Ok(json!(true)),
        _ => Err(Code::BadSignature.into()),
    }
}

fn epoch_proof_verify(args: &Args<'_>) -> Outcome {
    let sth = TreeHead::read(args.value("sth")?).map_err(|_| Refusal::Case("sth"))?;
    EpochProof::read(args.value("proof")?)?.verify(&sth)?;
    Ok(json!(true))
}

fn adopt_sth(args: &Args<'_>) -> Outcome {
    let realm = Hash::parse(args.text("realm")?).map_err(|_| Refusal::Case("realm"))?;
    let trusted =
        MachineId::parse(args.text("trustedKey")?).map_err(|_| Refusal::Case("trustedKey"))?;
    let held = args.opt("held").map(TreeHead::read).transpose()?;
    let sth = TreeHead::read(args.value("sth")?)?;
    let consistency: Option<Path> =
        shape(args.opt("consistency").map(json::decode).transpose(), "consistency")?;
    let rotations: Result<Vec<KeyRotation>, _> = match args.opt("rotations") {
        None => Ok(Vec::new()),
        Some(Value::Array(rotations)) => rotations.iter().map(KeyRotation::read).collect(),
        Some(_) => return Err(Refusal::Case("rotations")),
    };
    let adopted =
        adopt_tree_head(&realm, &trusted, held.as_ref(), &sth, consistency.as_ref(), &rotations?)?;
    Ok(json!({"sth": adopted.sth, "key": adopted.key}))
}
