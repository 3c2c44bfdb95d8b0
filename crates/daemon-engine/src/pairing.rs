//! Keys that wait for a place in a team, and the file they lie in until they have it.
//! Spec: §8.2 "Admitting a machine without a ticket", "Founding keys"; D3.3

use std::fmt;

use messaging_core::b64;
use messaging_core::code::Failure;
use messaging_core::ids::{Hash, Label, MachineId, RelayUrl, RosterPerson};
use messaging_core::keys::{Identity, SigningKey};
use messaging_core::version::Version;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::identity::{IdentityFile, pair, private, secret};

/// The contents of `pairing.json`: fresh private keys and what they are for. Its `Debug` shows public halves only.
#[derive(Clone)]
pub struct PairingFile {
    /// What the keys wait for.
    pub purpose: Purpose,
    /// The keys.
    pub keys: Identity,
}

/// What keys wait for; a home waits for one thing at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To found a team.
    Found,
    /// To be admitted by an admin.
    Pair(Place),
}

/// The place that an admin may give to the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The relay's connect URL.
    pub relay: RelayUrl,
    /// The team.
    pub team: Hash,
    /// The person.
    pub person: RosterPerson,
    /// The machine's label.
    pub label: Label,
}

impl PairingFile {
    /// Reads the object of `pairing.json`. Unknown members are ignored.
    ///
    /// Errors: `invalid_request`, naming the member; also for a public half that is not its private half's.
    pub fn read(value: &Value) -> Result<Self, Failure> {
        if value.get("v").and_then(Value::as_str) != Some(Version::TEXT) {
            return Err(Failure::invalid("v"));
        }
        let signing = SigningKey::from_seed(&secret(value, "signingKey", "signingKey")?);
        if value.get("machine").and_then(Value::as_str) != Some(signing.machine().as_str()) {
            return Err(Failure::invalid("machine"));
        }
        let enc = pair(value, ["enc", "encKey"])?;
        let purpose = match value.get("purpose").and_then(Value::as_str) {
            Some(FOUND) => Purpose::Found,
            Some(PAIR) => Purpose::Pair(Place {
                relay: member(value, "relay")?,
                team: member(value, "team")?,
                person: member(value, "person")?,
                label: member(value, "label")?,
            }),
            _ => return Err(Failure::invalid("purpose")),
        };
        Ok(Self { purpose, keys: Identity { signing, enc } })
    }

    /// The object of `pairing.json`, private keys included: for the pairing's own file only.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let seed = self.keys.signing.seed();
        let mut value = json!({
            "v": Version::TEXT,
            "machine": self.machine(),
            "enc": self.keys.enc.public(),
            "signingKey": b64::encode(seed.as_slice()),
            "encKey": private(&self.keys.enc),
        });
        let purpose = match &self.purpose {
            Purpose::Found => json!({"purpose": FOUND}),
            Purpose::Pair(Place { relay, team, person, label }) => json!({
                "purpose": PAIR, "relay": relay, "team": team, "person": person, "label": label,
            }),
        };
        if let (Value::Object(members), Value::Object(more)) = (&mut value, purpose) {
            members.extend(more);
        }
        value
    }

    /// The machine that these keys would be.
    #[must_use]
    pub fn machine(&self) -> &MachineId {
        self.keys.machine()
    }

    /// The same keys as those of a machine in a team.
    pub(crate) fn identity(&self) -> IdentityFile {
        IdentityFile { identity: self.keys.clone(), retained: Vec::new(), pending: None }
    }

    /// The place the keys wait for, when it is an admin's to give.
    pub(crate) fn place(&self) -> Option<&Place> {
        match &self.purpose {
            Purpose::Pair(place) => Some(place),
            Purpose::Found => None,
        }
    }
}

impl fmt::Debug for PairingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairingFile")
            .field("purpose", &self.purpose)
            .field("machine", self.machine())
            .field("enc", self.keys.enc.public())
            .finish()
    }
}

fn member<T: DeserializeOwned>(value: &Value, name: &'static str) -> Result<T, Failure> {
    let found = value.get(name).ok_or(Failure::invalid(name))?;
    T::deserialize(found).map_err(|_| Failure::invalid(name))
}

const FOUND: &str = "found";
const PAIR: &str = "pair";

#[cfg(test)]
mod tests {
    use messaging_core::testing::SeededRandom;

    use super::*;

    fn both() -> [PairingFile; 2] {
        let place = Place {
            relay: "wss://relay.example/v1/connect".parse().unwrap(),
            team: Hash::from_bytes(&[1; 32]),
            person: "bob".parse().unwrap(),
            label: "desk".parse().unwrap(),
        };
        [Purpose::Found, Purpose::Pair(place)].map(|purpose| PairingFile {
            purpose,
            keys: Identity::generate(&mut SeededRandom::new(3)),
        })
    }

    #[test]
    fn what_is_written_is_read_again() {
        for file in both() {
            let again = PairingFile::read(&file.to_value()).unwrap();
            assert_eq!(again.to_value(), file.to_value());
            assert_eq!(again.purpose, file.purpose);
        }
    }

    #[test]
    fn a_missing_or_foreign_member_is_named() {
        let [found, pair] = both();
        for name in ["v", "machine", "enc", "signingKey", "encKey", "purpose"] {
            let mut value = found.to_value();
            value.as_object_mut().unwrap().remove(name);
            assert_eq!(PairingFile::read(&value).unwrap_err().at, name);
        }
        for name in ["relay", "team", "person", "label"] {
            let mut value = pair.to_value();
            value[name] = json!(7);
            assert_eq!(PairingFile::read(&value).unwrap_err().at, name);
        }
        let other = Identity::generate(&mut SeededRandom::new(4));
        let mut value = pair.to_value();
        value["enc"] = json!(other.enc.public());
        assert_eq!(PairingFile::read(&value).unwrap_err().at, "enc");
    }

    #[test]
    fn debug_shows_no_private_half() {
        for file in both() {
            let (text, value) = (format!("{file:?}"), file.to_value());
            for member in ["signingKey", "encKey"] {
                assert!(!text.contains(value[member].as_str().unwrap()), "{text}");
            }
            assert!(text.contains(file.machine().as_str()));
        }
    }
}
