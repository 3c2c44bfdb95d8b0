//! The map: what the directory commits every person to, as a sparse Merkle tree of depth 256.
//! Spec: §15.5, W3, W4.19
//!
//! ```text
//! height 256   root
//!              ├── bit 0 of the key: 0 left, 1 right
//!   …          …            an empty subtree of height h has the fixed hash E[h]
//! height 0     H(00 ‖ key ‖ value)
//! ```
//!
//! [`MapProof`] is checked by anyone with a root; [`PersonMap`] is the whole tree, as a persistent value, and makes
//! the proofs. A path has all 256 levels, however few persons there are: there is no shortcut for a lone leaf.

mod hash;
mod proof;
mod tree;
mod value;

pub(super) use hash::node as hash_node;
pub use hash::{MapKey, NodeHash, empty_subtree};
pub use proof::{MapProof, map_root_from_proof, verify_map_proof};
pub use tree::{Changed, InOrder, LeafEdge, PersonMap, Split};
pub use value::{MapLeaf, MapValue, tombstone};
