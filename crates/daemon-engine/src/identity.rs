//! This machine's private keys: the file they live in, and the same keys in memory.
//! Spec: §3, §4 "Encryption-key rotation", W2.8, D3.3

use std::fmt;

use messaging_core::b64;
use messaging_core::code::Failure;
use messaging_core::ids::{EncKey, MachineId};
use messaging_core::keys::{EncSecret, Identity, SigningKey};
use messaging_core::limits::RETAINED_KEYS;
use messaging_core::random::Random;
use messaging_core::time::Ms;
use messaging_core::version::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most bytes of `identity.json`.
pub const IDENTITY_BYTES: usize = 65_536;

/// The contents of `identity.json`: every private key of this machine.
///
/// Its `Debug` shows public halves only. The shell reads and writes the file; nothing else leaves this process.
#[derive(Clone)]
pub struct IdentityFile {
    /// The signing key and the current encryption key.
    pub identity: Identity,
    /// Retired encryption keys, newest first.
    pub retained: Vec<RetainedKey>,
    /// A new encryption key whose publication is not settled.
    pub pending: Option<PendingKey>,
}

/// A retired encryption key, kept for what was sealed before everybody saw its successor.
#[derive(Clone, Debug)]
pub struct RetainedKey {
    /// The key.
    pub secret: EncSecret,
    /// When it is erased.
    pub until: Ms,
}

/// A new encryption key that the realm may or may not name yet.
#[derive(Clone, Debug)]
pub struct PendingKey {
    /// The key.
    pub secret: EncSecret,
    /// When it was made.
    pub at: Ms,
}

impl IdentityFile {
    /// Fresh keys.
    #[must_use]
    pub fn generate(rng: &mut (impl Random + ?Sized)) -> Self {
        Self { identity: Identity::generate(rng), retained: Vec::new(), pending: None }
    }

    /// Reads the object of `identity.json`. Unknown members are ignored.
    ///
    /// Spec: W2.8. Errors: `invalid_request`, naming the member; also for a keychain store, which this build does not
    /// have, and for a public half that is not its private half's.
    pub fn read(value: &Value) -> Result<Self, Failure> {
        if value.get("store").is_some() {
            return Err(Failure::invalid("store (this build has no keychain store)"));
        }
        if value.get("v").and_then(Value::as_str) != Some(Version::TEXT) {
            return Err(Failure::invalid("v"));
        }
        let signing = SigningKey::from_seed(&secret(value, "signingKey", "signingKey")?);
        if value.get("machine").and_then(Value::as_str) != Some(signing.machine().as_str()) {
            return Err(Failure::invalid("machine"));
        }
        let enc = pair(value, ["enc", "encKey"])?;
        let mut retained = Vec::new();
        if let Some(list) = value.get("retained") {
            let list = list.as_array().filter(|list| list.len() <= RETAINED_KEYS);
            for key in list.ok_or(Failure::invalid("retained"))? {
                let until = time(key, "until").ok_or(Failure::invalid("retained[].until"))?;
                let secret = pair(key, ["retained[].enc", "retained[].encKey"])?;
                retained.push(RetainedKey { secret, until });
            }
        }
        let pending = match value.get("pending") {
            None => None,
            Some(key) => {
                // Either name is a pending key's time; this program writes `at`.
                let at = time(key, "at").or_else(|| time(key, "since"));
                let at = at.ok_or(Failure::invalid("pending.at"))?;
                let secret = pair(key, ["pending.enc", "pending.encKey"])?;
                Some(PendingKey { secret, at })
            }
        };
        Ok(Self { identity: Identity { signing, enc }, retained, pending })
    }

    /// The object of `identity.json`, private keys included: for the identity's own file only.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let seed = self.identity.signing.seed();
        let file = File {
            v: Version::TEXT,
            machine: self.machine(),
            enc: self.identity.enc.public(),
            signing_key: b64::encode(seed.as_slice()),
            enc_key: private(&self.identity.enc),
            retained: self
                .retained
                .iter()
                .map(|key| Retained {
                    enc: key.secret.public(),
                    enc_key: private(&key.secret),
                    until: key.until,
                })
                .collect(),
            pending: self.pending.as_ref().map(|key| Pending {
                enc: key.secret.public(),
                enc_key: private(&key.secret),
                at: key.at,
            }),
        };
        // A struct of texts and numbers always serialises.
        serde_json::to_value(file).unwrap_or_default()
    }

    /// The machine these keys are.
    #[must_use]
    pub fn machine(&self) -> &MachineId {
        self.identity.machine()
    }

    /// The keys that may open an envelope at `now`: the current one, then the retired ones, newest first, then one
    /// whose publication is not settled.
    pub(crate) fn opening_keys(&self, now: Ms) -> Vec<&EncSecret> {
        let retired = self.retained.iter().filter(|key| key.until > now).map(|key| &key.secret);
        let pending = self.pending.iter().map(|key| &key.secret);
        std::iter::once(&self.identity.enc).chain(retired).chain(pending).collect()
    }

    /// Whether the private half of `enc` is here.
    #[must_use]
    pub fn holds(&self, enc: &EncKey) -> bool {
        self.identity.enc.public() == enc
            || self.retained.iter().any(|key| key.secret.public() == enc)
            || self.pending.iter().any(|key| key.secret.public() == enc)
    }
}

impl fmt::Debug for IdentityFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityFile")
            .field("machine", self.machine())
            .field("enc", self.identity.enc.public())
            .field("retained", &self.retained.len())
            .field("pending", &self.pending.is_some())
            .finish()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    v: &'static str,
    machine: &'a MachineId,
    enc: &'a EncKey,
    signing_key: String,
    enc_key: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retained: Vec<Retained<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Retained<'a> {
    enc: &'a EncKey,
    enc_key: String,
    until: Ms,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pending<'a> {
    enc: &'a EncKey,
    enc_key: String,
    at: Ms,
}

pub(crate) fn private(secret: &EncSecret) -> String {
    b64::encode(secret.to_bytes().as_slice())
}

pub(crate) fn secret(value: &Value, member: &str, at: &'static str) -> Result<[u8; 32], Failure> {
    let text = value.get(member).and_then(Value::as_str).ok_or(Failure::invalid(at))?;
    b64::decode_array(text).map_err(|_| Failure::invalid(at))
}

pub(crate) fn pair(
    value: &Value,
    [public_at, private_at]: [&'static str; 2],
) -> Result<EncSecret, Failure> {
    let key = EncSecret::from_bytes(secret(value, "encKey", private_at)?);
    match value.get("enc").and_then(Value::as_str) {
        Some(text) if text == key.public().as_str() => Ok(key),
        _ => Err(Failure::invalid(public_at)),
    }
}

fn time(value: &Value, member: &str) -> Option<Ms> {
    Ms::deserialize(value.get(member)?).ok()
}

#[cfg(test)]
mod tests {
    use messaging_core::testing::SeededRandom;
    use serde_json::json;

    use super::*;

    fn file() -> IdentityFile {
        let mut rng = SeededRandom::new(1);
        let mut file = IdentityFile::generate(&mut rng);
        for n in 0..2_u64 {
            let secret = Identity::generate(&mut rng).enc;
            file.retained.push(RetainedKey { secret, until: Ms(100 * (n + 1)) });
        }
        file.pending = Some(PendingKey { secret: Identity::generate(&mut rng).enc, at: Ms(7) });
        file
    }

    #[test]
    fn what_is_written_is_read_again() {
        let file = file();
        let again = IdentityFile::read(&file.to_value()).unwrap();
        assert_eq!(again.to_value(), file.to_value());
        assert_eq!(again.machine(), file.machine());
    }

    #[test]
    fn a_pending_key_may_name_its_time_either_way() {
        let mut value = file().to_value();
        let at = value["pending"].as_object_mut().unwrap().remove("at").unwrap();
        assert_eq!(IdentityFile::read(&value).unwrap_err().at, "pending.at");
        value["pending"]["since"] = at;
        assert_eq!(IdentityFile::read(&value).unwrap().pending.unwrap().at, Ms(7));
    }

    #[test]
    fn a_public_half_that_is_not_its_private_half_is_refused() {
        let other = IdentityFile::generate(&mut SeededRandom::new(2)).to_value();
        for (member, at) in [("machine", "machine"), ("enc", "enc"), ("v", "v")] {
            let mut value = file().to_value();
            value[member] =
                if member == "v" { json!("messaging/2") } else { other[member].clone() };
            assert_eq!(IdentityFile::read(&value).unwrap_err().at, at);
        }
        let mut value = file().to_value();
        value["retained"][1]["enc"] = other["enc"].clone();
        assert_eq!(IdentityFile::read(&value).unwrap_err().at, "retained[].enc");
    }

    #[test]
    fn a_keychain_store_and_too_many_keys_are_refused() {
        let mut value = file().to_value();
        value["store"] = json!("keychain");
        assert!(IdentityFile::read(&value).unwrap_err().at.contains("keychain"));
        let mut value = file().to_value();
        let key = value["retained"][0].clone();
        value["retained"] = json!(vec![key; RETAINED_KEYS + 1]);
        assert_eq!(IdentityFile::read(&value).unwrap_err().at, "retained");
    }

    #[test]
    fn opening_keys_are_current_first_and_forget_what_ended() {
        let file = file();
        let keys =
            |now| file.opening_keys(Ms(now)).iter().map(|key| *key.public()).collect::<Vec<_>>();
        assert_eq!(keys(0).len(), 4);
        assert_eq!(&keys(0)[0], file.identity.enc.public());
        assert_eq!(&keys(0)[1], file.retained[0].secret.public());
        assert_eq!(keys(100).len(), 3);
        assert_eq!(keys(1_000).len(), 2);
        assert!(file.holds(file.retained[1].secret.public()));
        assert!(
            !file.holds(IdentityFile::generate(&mut SeededRandom::new(9)).identity.enc.public())
        );
    }

    #[test]
    fn debug_shows_no_private_half() {
        let file = file();
        let text = format!("{file:?}");
        let value = file.to_value();
        for member in ["signingKey", "encKey"] {
            assert!(!text.contains(value[member].as_str().unwrap()), "{text}");
        }
        assert!(text.contains(file.machine().as_str()));
    }
}
