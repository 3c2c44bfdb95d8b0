//! The key directory: who a hosted person is, which devices are theirs, and the proofs that the directory cannot
//! tell two people two different stories.
//! Spec: §15.1-§15.8, W2.11, W2.12
//!
//! Everything here is a value or a verdict: a program that audits a directory needs this crate and nothing else.
//!
//! # Persons
//! [`person_id`] derives an account's id, [`DirectoryRealm`] names the realm, [`hosted_handle`] and [`email_org`] say
//! how a person is called and found.
//! # Devices
//! [`JellyToken`] is the account service's word for a device and [`JellyKeys`] finds the key it is signed with
//! ([`JellyKeyring`] says what to fetch for it);
//! [`DeviceLog`] is the person's append-only chain, [`LinkRequest`] a device that asks to be let in, and
//! [`KeysStatement`] the key to seal to.
//! # Proofs
//! [`PersonMap`] commits to every person and [`MapProof`] shows what it holds of one; [`MerkleLog`] is the history of
//! the map, [`TreeHead`] the signed word for it, and [`adopt_tree_head`] takes a newer one for an older.
//! [`verify_person_view`] puts all of it together.

mod device_log;
mod jelly_keys;
mod keyring;
mod keys_statement;
mod link;
mod map;
mod merkle_log;
mod mint;
mod naming;
mod person;
mod person_view;
mod realm;
mod signed;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod token;
mod tree_head;

pub use device_log::{
    Authority, BoundDevice, DeviceKind, DeviceLog, LogEntry, LogHead, LogOp, LogRules, LogSeq,
    Logged, Profile, UnbindReason, Vouch, sign_log_entry,
};
pub use jelly_keys::{JellyKey, JellyKeyArchive, JellyKeys, KeyWindow};
pub use keyring::{ArchivedKey, JellyKeyring, KeyDocument, Prepared};
pub use keys_statement::{KeysSeq, KeysStatement, StatementDraft};
pub use link::{LinkDraft, LinkRequest};
pub use map::{
    Changed, InOrder, LeafEdge, MapKey, MapLeaf, MapProof, MapValue, NodeHash, PersonMap, Split,
    empty_subtree, map_root_from_proof, tombstone, verify_map_proof,
};
pub use merkle_log::{MerkleLog, leaf_hash, verify_consistency, verify_inclusion};
pub use mint::{MintRefusal, mint_refusal};
pub use naming::{email_org, hosted_handle};
pub use person::person_id;
pub use person_view::{
    At, CommittedPerson, EpochWitness, Evidence, KeptHeads, PersonHead, PersonState, PersonView,
    VerifiedPerson, ViewFailure, check_succession, verify_person_head, verify_person_view,
};
pub use realm::{DirectoryRealm, directory_realm_id};
pub use token::{Claims, JellyToken, MintedBy};
pub use tree_head::{Adopted, EpochLeaf, EpochProof, KeyRotation, Path, TreeHead, adopt_tree_head};
