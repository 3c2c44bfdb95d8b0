//! A rotation: the only way in which the directory's epoch key changes.
//! Spec: §15.6 "Rotation", W2.11, W3

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, Sig};
use crate::jcs::{self, Canonical};
use crate::json;
use crate::keys::{PublicKey, SigningKey};
use crate::version::Version;

/// A statement by both keys that the new one signs from a size on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyRotation {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// The key that signed before.
    pub old: MachineId,
    /// The key that signs from [`from_size`](Self::from_size) on.
    pub new: MachineId,
    /// The size of the first tree head that the new key signs.
    pub from_size: u64,
    /// The old key's signature of the rest.
    pub sig_old: Sig,
    /// The new key's signature of the rest.
    pub sig_new: Sig,
}

impl KeyRotation {
    /// Reads a statement.
    ///
    /// Errors: `invalid_request`.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        json::decode(raw).map_err(|_| Failure::invalid("rotation"))
    }

    /// Signs a statement with both keys.
    ///
    /// Errors: `invalid_request` for a size past 2^53 − 1.
    pub fn sign(
        realm: &Hash,
        from_size: u64,
        old: &SigningKey,
        new: &SigningKey,
    ) -> Result<Self, Failure> {
        let none = Sig::from_bytes(&[0; 64]);
        let mut rotation = Self {
            v: Version,
            realm: *realm,
            old: *old.machine(),
            new: *new.machine(),
            from_size,
            sig_old: none,
            sig_new: none,
        };
        let text = rotation.covered()?;
        rotation.sig_old = old.sign(Domain::DirKey, &text);
        rotation.sig_new = new.sign(Domain::DirKey, &text);
        Ok(rotation)
    }

    /// Whether both keys signed it. Cost: two signature checks.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        let Ok(text) = self.covered() else { return false };
        [(&self.old, &self.sig_old), (&self.new, &self.sig_new)].into_iter().all(|(key, sig)| {
            PublicKey::of(key).is_some_and(|key| key.verify(Domain::DirKey, &text, sig))
        })
    }

    /// The statement without its two signatures.
    fn covered(&self) -> Result<Canonical, Failure> {
        let mut value = jcs::to_value(self)?;
        if let Some(members) = value.as_object_mut() {
            members.remove("sigOld");
            members.remove("sigNew");
        }
        jcs::canonical(&value)
    }
}
