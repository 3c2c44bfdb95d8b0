//! Heads, rotations and epoch proofs: what is adopted, and that every changed byte is refused.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::super::merkle_log::MerkleLog;
use super::*;

const AT: Ms = Ms(1_700_000_000_000);

fn key(number: u8) -> SigningKey {
    SigningKey::from_seed(&[number; 32])
}

fn realm() -> Hash {
    Hash::parse("msOlRpxUxmLXqdiwyKS9eTdFq9c2FMLk_0uT8An4fYo").unwrap()
}

fn empty() -> Hash {
    Hash::from_bytes(super::super::map::empty_subtree(256))
}

fn leaf(epoch: u64) -> EpochLeaf {
    EpochLeaf { epoch, ts: AT.plus(epoch * 5_000), map_root: empty(), prev_map_root: empty() }
}

fn log(size: u64) -> MerkleLog {
    MerkleLog::of((0..size).map(|epoch| leaf(epoch).hash().unwrap()))
}

fn head(size: u64, by: u8) -> TreeHead {
    let root = Hash::from_bytes(&log(size).root());
    let size = NonZeroU64::new(size).unwrap();
    TreeHead::sign(&realm(), size, &root, leaf(size.get() - 1).ts, &key(by)).unwrap()
}

fn path(hashes: Option<Vec<NodeHash>>) -> Path {
    List::new(hashes.unwrap().iter().map(Hash::from_bytes).collect()).unwrap()
}

fn consistency(first: u64, size: u64) -> Path {
    path(log(size).prove_consistency(first, size))
}

fn proof(index: u64, size: u64) -> EpochProof {
    let inclusion = path(log(size).prove_inclusion(index, size));
    EpochProof { index, leaf: leaf(index), inclusion }
}

fn rotation(from_size: u64, old: u8, new: u8) -> KeyRotation {
    KeyRotation::sign(&realm(), from_size, &key(old), &key(new)).unwrap()
}

fn adopt(
    trusted: u8,
    held: Option<&TreeHead>,
    sth: &TreeHead,
    rotations: &[KeyRotation],
) -> Result<MachineId, &'static str> {
    let proof = held.map(|held| consistency(held.size.get(), sth.size.get().max(held.size.get())));
    adopt_tree_head(&realm(), key(trusted).machine(), held, sth, proof.as_ref(), rotations)
        .map(|adopted| adopted.key)
        .map_err(|failure| {
            assert_eq!(failure.code, Code::DirectoryInconsistent);
            failure.at
        })
}

#[test]
fn the_first_head_of_a_realm_is_that_of_the_atlas() {
    let sth = head(1, 3);
    let leaf = EpochLeaf { ts: AT, ..leaf(0) };
    assert_eq!(Hash::from_bytes(&MerkleLog::of([leaf.hash().unwrap()]).root()), sth.root);
    assert_eq!(sth.root.as_str(), "r45JE1Ou4yzeM2r-x4C24zpIXV2m-wti_DR1utYVLow");
    assert_eq!(
        sth.sig.as_str(),
        "VwO2AlmIaqLSkFLkwQz4W0Bt-OfA7c2CW-HBm65t_ulCzGXb-lLlGPommJYtCm0AV5b66jCNGj7QObFnZL9lBg"
    );
    assert_eq!(sth.anchor(), Anchor::Epoch { size: 1, root: sth.root });
}

#[test]
fn a_head_is_adopted_when_it_extends_the_held_one_and_not_otherwise() {
    let held = head(4, 3);
    assert_eq!(adopt(3, None, &held, &[]), Ok(*key(3).machine()));
    assert_eq!(adopt(3, Some(&held), &head(9, 3), &[]), Ok(*key(3).machine()));
    assert_eq!(adopt(3, Some(&held), &held, &[]), Ok(*key(3).machine()));
    assert_eq!(adopt(3, Some(&held), &head(3, 3), &[]), Err("sth.size"));
    assert_eq!(adopt(3, Some(&held), &head(9, 4), &[]), Err("sth.sig"));
    let root = Hash::from_bytes(&[1; 32]);
    let fork = |size: u64, ts| {
        TreeHead::sign(&realm(), NonZeroU64::new(size).unwrap(), &root, ts, &key(3)).unwrap()
    };
    assert_eq!(adopt(3, Some(&held), &fork(4, held.ts), &[]), Err("consistency"));
    assert_eq!(adopt(3, Some(&held), &fork(9, held.ts), &[]), Err("consistency"));
    assert_eq!(adopt(3, Some(&held), &fork(9, held.ts.minus(1)), &[]), Err("sth.ts"));
    let other = TreeHead::sign(&root, held.size, &held.root, held.ts, &key(3)).unwrap();
    assert_eq!(adopt(3, None, &other, &[]), Err("sth.realm"));
    let none = adopt_tree_head(&realm(), key(3).machine(), Some(&held), &head(9, 3), None, &[]);
    assert_eq!(none.unwrap_err().at, "consistency");
}

#[test]
fn keys_change_by_statements_of_both_in_their_order() {
    let held = head(4, 3);
    let (first, second) = (rotation(6, 3, 4), rotation(8, 4, 5));
    let both = [first.clone(), second.clone()];
    assert_eq!(
        adopt(3, Some(&held), &head(7, 4), core::slice::from_ref(&first)),
        Ok(*key(4).machine())
    );
    assert_eq!(adopt(3, Some(&held), &head(9, 5), &both), Ok(*key(5).machine()));
    assert_eq!(adopt(4, Some(&head(7, 4)), &head(9, 5), &both), Ok(*key(5).machine()));
    assert_eq!(adopt(5, Some(&head(9, 5)), &head(10, 5), &both), Ok(*key(5).machine()));
    assert_eq!(adopt(3, None, &head(9, 5), &both), Ok(*key(5).machine()));

    let swapped = [second.clone(), first.clone()];
    assert_eq!(adopt(3, Some(&held), &head(9, 5), &swapped), Err("rotation.old"));
    assert_eq!(adopt(3, Some(&held), &head(9, 5), &[second]), Err("rotation.old"));
    assert_eq!(adopt(3, Some(&held), &head(9, 3), core::slice::from_ref(&first)), Err("sth.sig"));
    for from in [3, 4, 10] {
        let rotations = [rotation(from, 3, 4)];
        assert_eq!(adopt(3, Some(&held), &head(9, 4), &rotations), Err("rotation.fromSize"));
    }
    let level = [rotation(6, 3, 4), rotation(6, 4, 5)];
    assert_eq!(adopt(3, Some(&held), &head(9, 5), &level), Err("rotation.fromSize"));
    let mut exchanged = first;
    core::mem::swap(&mut exchanged.sig_old, &mut exchanged.sig_new);
    assert_eq!(adopt(3, Some(&held), &head(9, 4), &[exchanged]), Err("rotation.sig"));
}

#[test]
fn an_epoch_proof_proves_its_own_leaf_only() {
    for size in [1, 2, 3, 7, 8, 13] {
        let sth = head(size, 3);
        for index in 0..size {
            let good = proof(index, size);
            assert_eq!(good.verify(&sth), Ok(()));
            let mut other = good.clone();
            other.leaf.epoch += 1;
            assert_eq!(other.verify(&sth).unwrap_err().at, "epochProof.leaf.epoch");
            other.index += 1;
            assert_eq!(other.verify(&sth).unwrap_err().at, "epochProof.inclusion");
            assert_eq!(sth.verify_last(&good).is_ok(), index == size - 1);
        }
    }
}

#[test]
fn the_last_leaf_is_of_the_time_of_its_head() {
    let late = TreeHead::sign(&realm(), head(3, 3).size, &head(3, 3).root, AT, &key(3)).unwrap();
    assert_eq!(late.verify_last(&proof(2, 3)).unwrap_err().at, "head.leaf.ts");
}

/// Every text that differs from a good one by one bit of one byte and still reads as JSON.
fn flipped(good: &Value) -> Vec<Value> {
    let text = good.to_string();
    let mut out = Vec::new();
    for at in 0..text.len() {
        for bit in [0, 1, 2, 5] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            if let Ok(value) = json::parse(&bytes, 1 << 20)
                && value != *good
            {
                out.push(value);
            }
        }
    }
    out
}

#[test]
fn every_changed_byte_of_a_head_a_proof_and_a_statement_is_refused() {
    let (held, sth) = (head(4, 3), head(9, 4));
    let rotation = rotation(6, 3, 4);
    let judge = |sth: &TreeHead, rotation: &KeyRotation| {
        adopt(3, Some(&held), sth, core::slice::from_ref(rotation))
    };
    assert!(judge(&sth, &rotation).is_ok());
    for changed in flipped(&json!(sth)) {
        let good =
            TreeHead::read(&changed).is_ok_and(|changed| changed.is_signed_by(key(4).machine()));
        assert!(!good, "{changed}");
    }
    for changed in flipped(&json!(rotation)) {
        let good = KeyRotation::read(&changed).is_ok_and(|changed| judge(&sth, &changed).is_ok());
        assert!(!good, "{changed}");
    }
    for changed in flipped(&json!(proof(5, 9))) {
        let good = EpochProof::read(&changed).is_ok_and(|changed| changed.verify(&sth).is_ok());
        assert!(!good, "{changed}");
    }
    for changed in flipped(&json!(consistency(4, 9))) {
        let Ok(proof) = json::decode::<Path>(&changed) else { continue };
        let adopted = adopt_tree_head(
            &realm(),
            key(3).machine(),
            Some(&held),
            &sth,
            Some(&proof),
            core::slice::from_ref(&rotation),
        );
        assert!(adopted.is_err(), "{changed}");
    }
}
