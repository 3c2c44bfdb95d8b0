//! Where the private keys lie. This build has the file store; a keychain store is refused.
//!
//! Spec: §3, D3.3

mod file;

pub(crate) use file::{clear_leftovers, erase_pairing, load, load_pairing, save, save_pairing};
