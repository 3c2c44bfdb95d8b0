//! Doubles for tests, vectors and simulations: an account service, and a directory that keeps its word.
//! Spec: §15.10, W9

#![allow(clippy::expect_used, reason = "a fixture fails loudly")]

mod issuer;
mod realm;

pub use issuer::{ISSUER, Issuer, RESOURCE, host_claims, person, realm};
pub use realm::{Realm, START, device, key};
