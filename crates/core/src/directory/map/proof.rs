//! A map proof, and its check.
//! Spec: §15.5 "map proof", W2.11, W4.19
//!
//! A check is one hash a level: its cost is the same for every proof, and no proof can make it more.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::hash::{self, DEPTH, MapKey, NodeHash, empty_subtree};
use super::value::MapLeaf;
use crate::b64;
use crate::code::Failure;
use crate::ids::{Hash, HostedPerson};

/// The siblings of a person's path, from the leaf up, less the empty ones.
///
/// Holding one means that it is well formed: as many siblings as bits, and none of them empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapProof {
    /// Bit `h` is set when the sibling at height `h` is not empty.
    bitmap: NodeHash,
    /// Those siblings, bottom up.
    siblings: Vec<NodeHash>,
}

impl MapProof {
    /// A proof of these siblings, bottom up, each with its height, which rises.
    pub(super) fn of(siblings: impl Iterator<Item = (usize, NodeHash)>) -> Self {
        let mut bitmap = [0; 32];
        let siblings = siblings
            .map(|(height, sibling)| {
                if let Some(byte) = bitmap.get_mut(height >> 3) {
                    *byte |= 0x80 >> (height & 7);
                }
                sibling
            })
            .collect();
        Self { bitmap, siblings }
    }

    /// Reads a proof's parts.
    ///
    /// Errors: `invalid_request` for a malformed one: another count of siblings than of bits, or a sibling that is
    /// the empty subtree of its height.
    pub fn new(bitmap: NodeHash, siblings: Vec<NodeHash>) -> Result<Self, Failure> {
        let proof = Self { bitmap, siblings };
        let set: u32 = proof.bitmap.iter().map(|byte| byte.count_ones()).sum();
        if usize::try_from(set) != Ok(proof.siblings.len()) {
            return Err(Failure::invalid("mapProof.siblings"));
        }
        let mut named = proof.siblings.iter();
        for height in (0..DEPTH).filter(|height| proof.names(*height)) {
            if named.next() == Some(empty_subtree(height)) {
                return Err(Failure::invalid("mapProof.siblings"));
            }
        }
        Ok(proof)
    }

    fn names(&self, height: usize) -> bool {
        self.bitmap.get(height >> 3).is_some_and(|byte| byte & (0x80 >> (height & 7)) != 0)
    }

    /// The root of the map that holds `leaf` on the path of `key`. Cost: 257 hashes.
    #[must_use]
    pub fn root(&self, key: &MapKey, leaf: MapLeaf) -> NodeHash {
        let bottom = match leaf {
            MapLeaf::Holds(value) => hash::leaf(key, &value),
            MapLeaf::Absent => *empty_subtree(0),
        };
        let mut siblings = self.siblings.iter();
        (0..DEPTH).fold(bottom, |below, height| {
            let empty = empty_subtree(height);
            let sibling = if self.names(height) { siblings.next().unwrap_or(empty) } else { empty };
            hash::up(key, height, &below, sibling)
        })
    }
}

/// The root of the map that a proof leads to. Cost: 257 hashes.
#[must_use]
pub fn map_root_from_proof(person: &HostedPerson, leaf: MapLeaf, proof: &MapProof) -> Hash {
    hash::as_text(&proof.root(&MapKey::of(person), leaf))
}

/// Whether the map of `root` holds `leaf` for a person. Cost: 257 hashes.
#[must_use]
pub fn verify_map_proof(
    root: &Hash,
    person: &HostedPerson,
    leaf: MapLeaf,
    proof: &MapProof,
) -> bool {
    map_root_from_proof(person, leaf, proof) == *root
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wire {
    bitmap: Hash,
    siblings: Siblings,
}

/// Hashes on the wire, read to bytes at once: a proof may hold 256.
struct Siblings(Vec<NodeHash>);

impl Serialize for MapProof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let siblings = Siblings(self.siblings.clone());
        Wire { bitmap: Hash::from_bytes(&self.bitmap), siblings }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MapProof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire { bitmap, siblings } = Wire::deserialize(deserializer)?;
        Self::new(bitmap.to_bytes(), siblings.0).map_err(de::Error::custom)
    }
}

impl JsonSchema for MapProof {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "MapProof".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

impl JsonSchema for Siblings {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Siblings".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let hash = generator.subschema_for::<Hash>();
        schemars::json_schema!({ "type": "array", "items": hash, "maxItems": DEPTH })
    }
}

impl Serialize for Siblings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|sibling| b64::encode(sibling)))
    }
}

impl<'de> Deserialize<'de> for Siblings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> de::Visitor<'de> for Read {
            type Value = Siblings;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("hashes")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Siblings, A::Error> {
                let mut siblings = Vec::with_capacity(items.size_hint().unwrap_or(0).min(DEPTH));
                while let Some(Sibling(sibling)) = items.next_element()? {
                    if siblings.len() >= DEPTH {
                        return Err(de::Error::custom("siblings"));
                    }
                    siblings.push(sibling);
                }
                Ok(Siblings(siblings))
            }
        }
        deserializer.deserialize_seq(Read)
    }
}

struct Sibling(NodeHash);

impl<'de> Deserialize<'de> for Sibling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = Sibling;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a hash")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Sibling, E> {
                b64::decode_array(text).map(Sibling).map_err(E::custom)
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Sibling, E> {
                self.visit_str(&text)
            }
        }
        deserializer.deserialize_str(Read)
    }
}
