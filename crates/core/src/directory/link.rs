//! A link request: how a device that the account service does not enrol asks a device of its person to let it in.
//! Spec: §15.3 "Approving a device by link", W2.11, W4.18, R13
//!
//! The request travels as a text or a picture that a person carries, and is believed only after they compared the six
//! digits, and the key's fingerprint, on both screens: twenty bits alone can be ground.

use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DeviceKind, signed};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{EncKey, Hash, Label, MachineId, Nonce16, Sig};
use crate::jcs::Canonical;
use crate::json;
use crate::keys::SigningKey;
use crate::limits::{CLOCK_SKEW_MS, LINK_TTL_MS};
use crate::ticket::TextForm;
use crate::time::Ms;
use crate::version::Version;

/// A device's signed request to be let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// The device that asks.
    pub device: MachineId,
    /// Its encryption key.
    pub enc: EncKey,
    /// The name it would have.
    pub label: Label,
    /// What it is.
    pub kind: DeviceKind,
    /// 16 random bytes, by which the device knows the approval again.
    pub nonce: Nonce16,
    /// Its clock.
    pub ts: Ms,
    /// Its signature of the rest.
    pub sig: Sig,
}

impl TextForm for LinkRequest {
    const PREFIX: &'static str = "messaging-link.";
}

impl LinkRequest {
    /// Reads a request. Neither its signature nor its time is looked at.
    ///
    /// Errors: `invalid_request`, also for a member of no known name.
    pub fn read(raw: &Value) -> Result<Self, Failure> {
        json::decode(raw).map_err(|_| Failure::invalid("link"))
    }

    /// Verifies it for a realm at `now`.
    ///
    /// Cost: one signature check. Errors: `binding_invalid` for another realm or a signature that is not the
    /// device's, `expired` for one older than [`LINK_TTL_MS`] or further ahead than the clock skew.
    pub fn verify(&self, realm: &Hash, now: Ms) -> Result<(), Failure> {
        if self.realm != *realm {
            return Err(Failure::new(Code::BindingInvalid, "link.realm"));
        }
        if !self.is_signed() {
            return Err(Failure::new(Code::BindingInvalid, "link.sig"));
        }
        if self.is_open_at(now) { Ok(()) } else { Err(Failure::new(Code::Expired, "link.ts")) }
    }

    /// Whether its device signed it. Cost: one signature check.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        signed::is_signed(&self.device, Domain::DeviceLink, self, &self.sig)
    }

    /// Whether it may be approved at a time.
    #[must_use]
    pub fn is_open_at(&self, at: Ms) -> bool {
        at.since(self.ts) <= LINK_TTL_MS && self.ts <= at.plus(CLOCK_SKEW_MS)
    }

    /// The six digits that a person compares on both screens.
    ///
    /// Errors: none for a request that was read or signed here.
    pub fn sas(&self) -> Result<String, Failure> {
        let [a, b, c, d, ..] = self.canonical()?.digest();
        Ok(format!("{:06}", u32::from_be_bytes([a, b, c, d]) % 1_000_000))
    }

    /// Its canonical text.
    ///
    /// Errors: `invalid_request` for a time past 2^53 − 1.
    pub fn canonical(&self) -> Result<Canonical, Failure> {
        signed::text(self)
    }
}

/// What a device asks with.
#[derive(Clone, Debug)]
pub struct LinkDraft<'a> {
    /// The realm.
    pub realm: Hash,
    /// The device's encryption key.
    pub enc: EncKey,
    /// The name it would have.
    pub label: &'a Label,
    /// What it is.
    pub kind: DeviceKind,
    /// 16 fresh random bytes.
    pub nonce: [u8; 16],
    /// The clock.
    pub ts: Ms,
}

impl LinkDraft<'_> {
    /// Signs it with the device's key.
    ///
    /// Errors: `invalid_request` for a time past 2^53 − 1.
    pub fn sign(&self, key: &SigningKey) -> Result<LinkRequest, Failure> {
        let mut request = LinkRequest {
            v: Version,
            realm: self.realm,
            device: *key.machine(),
            enc: self.enc,
            label: self.label.clone(),
            kind: self.kind,
            nonce: Nonce16::from_bytes(&self.nonce),
            ts: self.ts,
            sig: Sig::from_bytes(&[0; 64]),
        };
        request.sig = key.sign(Domain::DeviceLink, &signed::covered(&request)?);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::EncSecret;
    use serde_json::json;

    const TS: Ms = Ms(1_700_000_000_000);

    fn realm() -> Hash {
        Hash::parse("msOlRpxUxmLXqdiwyKS9eTdFq9c2FMLk_0uT8An4fYo").unwrap()
    }

    fn request() -> LinkRequest {
        let label = Label::parse("desk").unwrap();
        LinkDraft {
            realm: realm(),
            enc: *EncSecret::from_bytes([0x12; 32]).public(),
            label: &label,
            kind: DeviceKind::Laptop,
            nonce: [5; 16],
            ts: TS,
        }
        .sign(&SigningKey::from_seed(&[2; 32]))
        .unwrap()
    }

    #[test]
    fn the_digits_are_those_of_the_atlas() {
        assert_eq!(request().sas().unwrap(), "747242");
    }

    #[test]
    fn the_text_carries_the_very_request() {
        let text = request().encode().unwrap();
        assert!(text.starts_with("messaging-link."));
        assert_eq!(LinkRequest::decode(&format!(" {text}\r\n")), Ok(request()));
        assert!(LinkRequest::decode(&text.replacen("link", "card", 1)).is_err());
    }

    #[test]
    fn a_request_is_open_for_ten_minutes_and_the_skew_before() {
        for (now, good) in [
            (TS, true),
            (TS.plus(LINK_TTL_MS), true),
            (TS.plus(LINK_TTL_MS + 1), false),
            (TS.minus(CLOCK_SKEW_MS), true),
            (TS.minus(CLOCK_SKEW_MS + 1), false),
        ] {
            let expected = if good { Ok(()) } else { Err(Failure::new(Code::Expired, "link.ts")) };
            assert_eq!(request().verify(&realm(), now), expected, "{now}");
        }
    }

    #[test]
    fn another_realm_and_any_changed_member_are_refused() {
        let other = Hash::from_bytes(&[1; 32]);
        assert_eq!(request().verify(&other, TS).unwrap_err().code, Code::BindingInvalid);
        let raw = json!(request());
        for (member, value) in [
            ("enc", json!(EncKey::from_bytes(&[1; 32]))),
            ("label", json!("other")),
            ("kind", json!("server")),
            ("nonce", json!(Nonce16::from_bytes(&[6; 16]))),
            ("ts", json!(TS.plus(1))),
            ("device", json!(SigningKey::from_seed(&[1; 32]).machine())),
            ("sig", json!(Sig::from_bytes(&[0; 64]))),
        ] {
            let mut changed = raw.clone();
            changed[member] = value;
            let changed = LinkRequest::read(&changed).unwrap();
            assert_eq!(changed.verify(&realm(), TS).unwrap_err().code, Code::BindingInvalid);
        }
        let mut more = raw;
        more["more"] = json!(1);
        assert!(LinkRequest::read(&more).is_err(), "the object is strict");
    }
}
