//! What signatures of strict objects cover.
//! Spec: §15.3-§15.6, W3
//!
//! A strict object has no member that its type does not have, so the typed value has the canonical text of the value
//! that was received: signatures and hashes are made from it.

use serde::Serialize;

use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{MachineId, Sig};
use crate::jcs::{self, Canonical};
use crate::keys::PublicKey;

/// The canonical text of a value.
pub(super) fn text(value: &impl Serialize) -> Result<Canonical, Failure> {
    jcs::canonical(&jcs::to_value(value)?)
}

/// The canonical text of a value less its member `sig`: what its signature covers.
pub(super) fn covered(value: &impl Serialize) -> Result<Canonical, Failure> {
    jcs::canonical_without(&jcs::to_value(value)?, "sig")
}

/// Whether `by` is a usable key that signed `value` less its member `sig`. Cost: one signature check.
pub(super) fn is_signed(by: &MachineId, domain: Domain, value: &impl Serialize, sig: &Sig) -> bool {
    match (PublicKey::of(by), covered(value)) {
        (Some(key), Ok(text)) => key.verify(domain, &text, sig),
        _ => false,
    }
}
