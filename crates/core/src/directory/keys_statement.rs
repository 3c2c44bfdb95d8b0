//! A keys statement: the encryption key of a hosted device, signed by the device.
//! Spec: §15.4, W2.11, W4.18
//!
//! It stands beside the log and not in it, so rotations do not grow the log; the map commits to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DeviceLog, signed};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{EncKey, Hash, HostedPerson, MachineId, Sig};
use crate::json;
use crate::keys::SigningKey;
use crate::limits::KEYS_STATEMENT_BYTES;
use crate::time::Ms;
use crate::version::Version;

/// The number of a keys statement, which rises with every statement of a device.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct KeysSeq(pub u64);

/// A device's word for its encryption key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeysStatement {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// Whose device it is.
    pub person: HostedPerson,
    /// The device.
    pub device: MachineId,
    /// The key to seal to.
    pub enc: EncKey,
    /// Its number.
    pub seq: KeysSeq,
    /// Signed at.
    pub ts: Ms,
    /// The device's signature of the rest.
    pub sig: Sig,
}

impl KeysStatement {
    /// Reads a statement: shape and size.
    ///
    /// Errors: `invalid_request`, also for a member of no known name; `too_large` over [`KEYS_STATEMENT_BYTES`].
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        let statement: Self = json::decode(raw).map_err(|_| Failure::invalid("statement"))?;
        if signed::text(&statement)?.len() > KEYS_STATEMENT_BYTES {
            return Err(Failure::new(Code::TooLarge, "statement"));
        }
        Ok(statement)
    }

    /// Verifies it against the log of its person: realm, person, a current device, its signature.
    ///
    /// How its number stands to a held statement is judged by whoever holds one. Cost: one signature check.
    /// Errors: `binding_invalid`.
    pub fn verify(&self, log: &DeviceLog) -> Result<(), Failure> {
        let invalid = |at| Err(Failure::new(Code::BindingInvalid, at));
        if self.realm != *log.realm() {
            return invalid("statement.realm");
        }
        if self.person != *log.person() {
            return invalid("statement.person");
        }
        if log.current(&self.device).is_none() {
            return invalid("statement.device");
        }
        if signed::is_signed(&self.device, Domain::DeviceKeys, self, &self.sig) {
            Ok(())
        } else {
            invalid("statement.sig")
        }
    }

    /// Verifies it as the directory does, which holds `held` for the device: the number must have risen.
    ///
    /// Errors: as [`verify`](Self::verify), then `invalid_request`.
    pub fn verify_newer(&self, log: &DeviceLog, held: Option<&Self>) -> Result<(), Failure> {
        self.verify(log)?;
        if held.is_some_and(|held| self.seq <= held.seq) {
            return Err(Failure::invalid("statement.seq"));
        }
        Ok(())
    }

    /// The hash that the map commits to, signature included.
    ///
    /// Errors: none for a statement that was read or signed here.
    pub fn hash(&self) -> Result<Hash, Failure> {
        Ok(signed::text(self)?.hash())
    }
}

/// What a new statement is to say.
#[derive(Clone, Debug)]
pub struct StatementDraft<'a> {
    /// The realm.
    pub realm: Hash,
    /// Whose device it is.
    pub person: &'a HostedPerson,
    /// The key to seal to.
    pub enc: EncKey,
    /// Higher than that of every statement before.
    pub seq: KeysSeq,
    /// The clock.
    pub ts: Ms,
}

impl StatementDraft<'_> {
    /// Signs it with the device's key.
    ///
    /// Errors: `invalid_request` for a time or number past 2^53 − 1.
    pub fn sign(&self, key: &SigningKey) -> Result<KeysStatement, Failure> {
        let mut statement = KeysStatement {
            v: Version,
            realm: self.realm,
            person: self.person.clone(),
            device: *key.machine(),
            enc: self.enc,
            seq: self.seq,
            ts: self.ts,
            sig: Sig::from_bytes(&[0; 64]),
        };
        statement.sig = key.sign(Domain::DeviceKeys, &signed::covered(&statement)?);
        Ok(statement)
    }
}
