//! The hashes of the map and of the epoch log.
//! Spec: §15.5, §15.6, W3
//!
//! A node is 65 bytes, of which SHA-256 makes two blocks; here they are laid out once, since a check of one map proof
//! is 257 of them and nothing else.

use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};

use crate::ids::{Hash, HostedPerson};

/// A hash of a tree, raw: trees hold too many for texts.
pub type NodeHash = [u8; 32];

/// A person's place in the map: 256 bits, the most significant bit of the first byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapKey(pub(super) NodeHash);

impl MapKey {
    /// A person's key.
    #[must_use]
    pub fn of(person: &HostedPerson) -> Self {
        Self(Sha256::digest(person.as_str().as_bytes()).into())
    }

    /// A key from its 32 bytes, as a store keeps it.
    #[must_use]
    pub fn from_bytes(bytes: NodeHash) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    #[must_use]
    pub fn to_bytes(self) -> NodeHash {
        self.0
    }

    /// The bit that chooses the child at depth `at`: bit 0 the root's.
    #[must_use]
    pub(super) fn bit(&self, at: usize) -> bool {
        self.0.get(at >> 3).is_some_and(|byte| byte & (0x80 >> (at & 7)) != 0)
    }

    /// How many leading bits two keys share; 256 for equal ones.
    #[must_use]
    pub(super) fn shared(&self, other: &Self) -> usize {
        for (at, (a, b)) in self.0.iter().zip(&other.0).enumerate() {
            let differ = (a ^ b).leading_zeros();
            if differ < 8 {
                return at.saturating_mul(8).saturating_add(differ as usize);
            }
        }
        DEPTH
    }
}

/// How many levels a path has.
pub(super) const DEPTH: usize = 256;

/// `H(00 ‖ key ‖ value)`.
#[must_use]
pub(super) fn leaf(key: &MapKey, value: &NodeHash) -> NodeHash {
    pair(0x00, &key.0, value)
}

/// `H(01 ‖ left ‖ right)`.
#[must_use]
pub(in super::super) fn node(left: &NodeHash, right: &NodeHash) -> NodeHash {
    pair(0x01, left, right)
}

/// The hash of a subtree without a leaf: `E[height]`, 0 for a leaf's place and 256 for a whole map.
///
/// A height past 256 counts as 256.
#[must_use]
pub fn empty_subtree(height: usize) -> &'static NodeHash {
    let (rows, _) = EMPTY.as_chunks::<32>();
    rows.get(height).unwrap_or(&EMPTY_ROOT)
}

/// The subtree one level up, on the path of `key`: the sibling is `sibling`, or empty.
#[must_use]
pub(super) fn up(key: &MapKey, height: usize, below: &NodeHash, sibling: &NodeHash) -> NodeHash {
    let at = DEPTH.saturating_sub(1).saturating_sub(height);
    if key.bit(at) { node(sibling, below) } else { node(below, sibling) }
}

/// The subtree at height `to` that holds nothing but the subtree `below` at height `from`, on the path of `key`.
#[must_use]
pub(super) fn climb(key: &MapKey, below: NodeHash, from: usize, to: usize) -> NodeHash {
    (from..to).fold(below, |below, height| up(key, height, &below, empty_subtree(height)))
}

/// SHA-256 of one byte and two hashes.
fn pair(prefix: u8, left: &NodeHash, right: &NodeHash) -> NodeHash {
    let mut blocks = [[0u8; 64]; 2];
    let [first, second] = &mut blocks;
    let [tag, head @ ..] = first;
    *tag = prefix;
    let (head_left, head_right) = head.split_at_mut(32);
    head_left.copy_from_slice(left);
    let (low, high) = right.split_at(31);
    head_right.copy_from_slice(low);
    let [last, end, .., length_high, length_low] = second;
    *last = high.first().copied().unwrap_or(0);
    *end = 0x80;
    // 65 bytes are 520 bits.
    *length_high = 0x02;
    *length_low = 0x08;
    let mut state = INITIAL;
    compress256(&mut state, &blocks);
    let mut out = [0; 32];
    let (words, _) = out.as_chunks_mut::<4>();
    for (word, value) in words.iter_mut().zip(state) {
        *word = value.to_be_bytes();
    }
    out
}

/// SHA-256's initial state (FIPS 180-4, 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// `E[0]` to `E[256]`, 32 bytes each; a test computes them again.
static EMPTY: &[u8; 257 * 32] = include_bytes!("empty.bin");
/// `E[256]`, the root of an empty map.
const EMPTY_ROOT: NodeHash = [
    0x9b, 0x97, 0x51, 0x7f, 0x25, 0x14, 0x07, 0x62, 0xb9, 0xe1, 0x87, 0xba, 0xe2, 0x3a, 0x31, 0xab,
    0x78, 0xa4, 0x23, 0x03, 0x54, 0xde, 0xce, 0x72, 0x0b, 0xbb, 0xef, 0xcf, 0xce, 0x8d, 0xe5, 0xa0,
];

/// A raw hash as its text.
#[must_use]
pub(in super::super) fn as_text(hash: &NodeHash) -> Hash {
    Hash::from_bytes(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn the_empty_subtrees_are_what_they_are_defined_to_be() {
        let mut expected: NodeHash = Sha256::digest([0x02]).into();
        for height in 0..=DEPTH {
            assert_eq!(*empty_subtree(height), expected, "{height}");
            let whole: Vec<u8> = [&[0x01], &expected[..], &expected[..]].concat();
            if height < DEPTH {
                expected = Sha256::digest(&whole).into();
            }
        }
        assert_eq!(EMPTY_ROOT, expected);
        assert_eq!(as_text(&expected).as_str(), "m5dRfyUUB2K54Ye64joxq3ikIwNU3s5yC7vvz86N5aA");
    }

    proptest! {
        #[test]
        fn a_node_is_sha_256_of_its_65_bytes(left: NodeHash, right: NodeHash) {
            let whole: Vec<u8> = [&[0x01], &left[..], &right[..]].concat();
            prop_assert_eq!(node(&left, &right), <NodeHash>::from(Sha256::digest(&whole)));
            let whole: Vec<u8> = [&[0x00], &left[..], &right[..]].concat();
            prop_assert_eq!(leaf(&MapKey(left), &right), <NodeHash>::from(Sha256::digest(&whole)));
        }

        #[test]
        fn shared_bits_are_counted_from_the_top(key: NodeHash, at in 0usize..256) {
            let mut other = key;
            other[at / 8] ^= 0x80 >> (at % 8);
            prop_assert_eq!(MapKey(key).shared(&MapKey(other)), at);
            prop_assert_eq!(MapKey(key).shared(&MapKey(key)), DEPTH);
            prop_assert!(MapKey(key).bit(at) != MapKey(other).bit(at));
        }
    }
}
