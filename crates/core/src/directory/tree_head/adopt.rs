//! Adopting a tree head: when a client takes the directory's word in place of an older one.
//! Spec: §15.6 "Adopting an STH", W4.21
//!
//! | step | what                                                              | refusal                  |
//! |------|-------------------------------------------------------------------|--------------------------|
//! | 2    | the realm                                                         | `directory_inconsistent` |
//! | 3    | rotations lead from the trusted key, each above the one before    | `directory_inconsistent` |
//! | 4    | the reached key signed it                                         | `directory_inconsistent` |
//! | 5    | neither smaller nor older than the held one                       | `directory_inconsistent` |
//! | 6    | the held log is a start of its log                                | `directory_inconsistent` |
//!
//! Whoever is refused keeps what was given: the two signed heads and the statements are the evidence.

use super::super::merkle_log::verify_consistency;
use super::rotation::KeyRotation;
use super::{Path, TreeHead, raw_path};
use crate::code::{Code, Failure};
use crate::ids::{Hash, MachineId};

/// What a client trusts after it adopted a tree head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The tree head.
    pub sth: TreeHead,
    /// The key that signed it, trusted from now on. Every key ever trusted is kept beside it.
    pub key: MachineId,
}

fn inconsistent(at: &'static str) -> Failure {
    Failure::new(Code::DirectoryInconsistent, at)
}

/// Judges a tree head against the one held. `trusted` is the key that signed that one, or the realm's pinned key.
///
/// Cost: one signature check, two a rotation. Errors: `directory_inconsistent`, as the table of this module.
pub fn adopt_tree_head(
    realm: &Hash,
    trusted: &MachineId,
    held: Option<&TreeHead>,
    sth: &TreeHead,
    consistency: Option<&Path>,
    rotations: &[KeyRotation],
) -> Result<Adopted, Failure> {
    if sth.realm != *realm {
        return Err(inconsistent("sth.realm"));
    }
    let held_size = held.map_or(0, |held| held.size.get());
    let key = reached(realm, trusted, held_size, sth.size.get(), rotations)?;
    if !sth.is_signed_by(&key) {
        return Err(inconsistent("sth.sig"));
    }
    if let Some(held) = held {
        if sth.size < held.size {
            return Err(inconsistent("sth.size"));
        }
        if sth.ts < held.ts {
            return Err(inconsistent("sth.ts"));
        }
        let proof = consistency.map(raw_path).unwrap_or_default();
        let (old, new) = (held.root.to_bytes(), sth.root.to_bytes());
        if !verify_consistency(held_size, sth.size.get(), &old, &new, &proof) {
            return Err(inconsistent("consistency"));
        }
    }
    Ok(Adopted { sth: sth.clone(), key })
}

/// The key that rotations reach from the trusted one; those up to it are applied already.
fn reached(
    realm: &Hash,
    trusted: &MachineId,
    held_size: u64,
    size: u64,
    rotations: &[KeyRotation],
) -> Result<MachineId, Failure> {
    let applied = rotations.iter().rposition(|rotation| rotation.new == *trusted);
    let ahead = rotations.get(applied.map_or(0, |at| at.saturating_add(1))..).unwrap_or_default();
    let (mut key, mut above) = (*trusted, held_size);
    for rotation in ahead {
        if rotation.realm != *realm {
            return Err(inconsistent("rotation.realm"));
        }
        if rotation.old != key {
            return Err(inconsistent("rotation.old"));
        }
        if rotation.from_size <= above || rotation.from_size > size {
            return Err(inconsistent("rotation.fromSize"));
        }
        if !rotation.is_signed() {
            return Err(inconsistent("rotation.sig"));
        }
        (key, above) = (rotation.new, rotation.from_size);
    }
    Ok(key)
}
