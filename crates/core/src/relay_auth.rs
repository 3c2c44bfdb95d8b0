//! Who is on a connection: the relay's challenge, and the proofs that answer it.
//! Spec: §7 "Connecting", "Relay id"; W2.9, W3, W4.24 `hello`
//!
//! Every proof signs the relay's origin and the nonce of its challenge, so a hostile relay can
//! pass none of them on, and none is good on a second connection. The signed members that the
//! challenge already holds are not sent again.

mod hello;
#[cfg(test)]
mod tests;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, Nonce32, Sig};
use crate::jcs::{self, Canonical};
use crate::keys::{PublicKey, SigningKey};
use crate::version::Version;

pub use hello::{Hello, HostedHello, RosterHello};

/// What a relay sends first on a connection, and every proof on it signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The relay's id: its origin, without a path.
    pub relay: String,
    /// 32 random bytes, used for one connection.
    pub nonce: Nonce32,
}

/// The proof of a device that reads the directory before `hello`. Spec: §7 "Directory frames"
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirReadProof {
    /// The device.
    pub device: MachineId,
    /// Its signature.
    pub sig: Sig,
}

impl DirReadProof {
    /// Signs a proof for one connection.
    ///
    /// Errors: none for a challenge that was received as a frame.
    pub fn sign(challenge: &Challenge, realm: &Hash, key: &SigningKey) -> Result<Self, Failure> {
        let device = *key.machine();
        let text = Self::text(challenge, realm, &device)?;
        Ok(Self { device, sig: key.sign(Domain::DirRead, &text) })
    }

    /// Checks the signature. Whether the device is one of the realm's is the caller's question.
    ///
    /// Errors: `bad_signature`.
    pub fn verify(&self, challenge: &Challenge, realm: &Hash) -> Result<(), Failure> {
        signed(
            &self.device,
            Domain::DirRead,
            &Self::text(challenge, realm, &self.device)?,
            &self.sig,
        )
    }

    /// What the proof signs.
    ///
    /// Errors: none for a challenge that was received as a frame.
    pub fn text(
        challenge: &Challenge,
        realm: &Hash,
        device: &MachineId,
    ) -> Result<Canonical, Failure> {
        #[derive(Serialize)]
        struct Signed<'a> {
            proto: Version,
            relay: &'a str,
            realm: &'a Hash,
            device: &'a MachineId,
            nonce: &'a Nonce32,
        }
        let Challenge { relay, nonce } = challenge;
        canonical(&Signed { proto: Version, relay, realm, device, nonce })
    }
}

/// The canonical form of what a proof signs.
fn canonical(signed: &impl Serialize) -> Result<Canonical, Failure> {
    jcs::canonical(&jcs::to_value(signed)?)
}

/// Whether `id` is a usable key that made the signature.
fn signed(id: &MachineId, domain: Domain, text: &Canonical, sig: &Sig) -> Result<(), Failure> {
    match PublicKey::of(id) {
        Some(key) if key.verify(domain, text, sig) => Ok(()),
        _ => Err(Failure::new(Code::BadSignature, "sig")),
    }
}
