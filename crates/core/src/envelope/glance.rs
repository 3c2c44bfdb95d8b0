//! The little that can be told of an envelope whose type or version this program does not know.
//! Spec: §5 last paragraph, §9 `signedHead`, W4.3 step 0, R1

use serde_json::Value;

use super::EnvelopeType;
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, PersonId, Ulid};
use crate::json;
use crate::keys::PublicKey;
use crate::realm::{Anchor, RealmView};
use crate::roster::RosterHead;
use crate::version::Version;

/// A loose reading: enough to acknowledge a delivery, and to answer one that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its id.
    pub id: Ulid,
    /// The sending device, where it can be read.
    pub device: Option<MachineId>,
    /// Whether it is of an unknown type or a newer version: to be acknowledged, not to be taken for malformed.
    pub is_foreign: bool,
}

impl Glance {
    /// Looks at an envelope; `None` when it has no readable id.
    #[must_use]
    pub fn of(raw: &Value) -> Option<Self> {
        let id = Ulid::parse(raw.get("id")?.as_str()?).ok()?;
        let text = |name: &str| raw.get(name).and_then(Value::as_str);
        let newer = text("v").is_some_and(is_newer);
        let unknown = text("type").is_some_and(|kind| EnvelopeType::parse(kind).is_none());
        Some(Self { id, device: device(raw, "from"), is_foreign: newer || unknown })
    }

    /// The sender of an envelope that this program cannot understand, when it may be told so.
    ///
    /// Only when the envelope is of this realm, for this device, from a current device of its person, and signed by it:
    /// otherwise a relay could have refusals signed for every id that it has seen. Never fails otherwise than `None`.
    #[must_use]
    pub fn answerable(
        raw: &Value,
        view: &dyn RealmView,
        own: &MachineId,
    ) -> Option<(MachineId, PersonId)> {
        let realm = raw.get("realm").and_then(Value::as_str)?;
        if realm != view.realm().as_str() || device(raw, "to")? != *own {
            return None;
        }
        let from = device(raw, "from")?;
        let sender = view.device(&from)?;
        let person = raw.get("from")?.get("person").and_then(Value::as_str)?;
        let signed = view.public_key(&from)?.verify_value(Domain::Envelope, raw);
        (person == sender.person.as_str() && signed).then_some((from, sender.person))
    }
}

/// The roster head that an envelope of `realm` commits to, when its signature verifies under the device it claims.
///
/// Neither membership nor time is looked at, and it never fails otherwise than `None`. Cost: one signature check.
#[must_use]
pub fn signed_head(raw: &Value, realm: &Hash) -> Option<RosterHead> {
    match signed_anchor(raw, realm)? {
        Anchor::Roster { seq, hash } => Some(RosterHead { seq, hash }),
        Anchor::Epoch { .. } => None,
    }
}

/// What an envelope of `realm` says its sender had seen, in either kind of realm, when its signature verifies under the
/// device it claims. As [`signed_head`] otherwise.
#[must_use]
pub fn signed_anchor(raw: &Value, realm: &Hash) -> Option<Anchor> {
    if raw.get("realm").and_then(Value::as_str) != Some(realm.as_str()) {
        return None;
    }
    let anchor = json::decode(raw.get("anchor")?).ok()?;
    let key = PublicKey::of(&device(raw, "from")?)?;
    key.verify_value(Domain::Envelope, raw).then_some(anchor)
}

fn device(raw: &Value, end: &str) -> Option<MachineId> {
    MachineId::parse(raw.get(end)?.get("device")?.as_str()?).ok()
}

/// Whether a version is a later one of this protocol: `messaging/2` and above.
fn is_newer(v: &str) -> bool {
    let number = |text: &str| {
        let digits = text.strip_prefix("messaging/")?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        if plain { digits.parse::<u32>().ok() } else { None }
    };
    match (number(v), number(Version::TEXT)) {
        (Some(theirs), Some(ours)) => theirs > ours,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "01HF7YAT00BBBBBBBBBBBBBBBB";

    #[test]
    fn a_newer_version_or_an_unknown_type_is_foreign() {
        for (v, kind, foreign) in [
            ("messaging/1", "message", false),
            ("messaging/1", "presence", false),
            ("messaging/1", "reaction", true),
            ("messaging/2", "message", true),
            ("messaging/10", "later", true),
            ("messaging/0", "message", false),
            ("messaging/01", "message", false),
            ("messaging/-2", "message", false),
            ("other/2", "message", false),
        ] {
            let glance = Glance::of(&json!({"id": ID, "v": v, "type": kind})).unwrap();
            assert_eq!(glance.is_foreign, foreign, "{v} {kind}");
            assert_eq!(glance.device, None);
        }
        assert!(!Glance::of(&json!({"id": ID})).unwrap().is_foreign, "malformed, not foreign");
    }

    #[test]
    fn without_an_id_there_is_nothing_to_see() {
        for raw in
            [json!({}), json!({"id": 1}), json!({"id": "x"}), json!([]), json!("x"), json!(null)]
        {
            assert_eq!(Glance::of(&raw), None, "{raw}");
            assert_eq!(signed_head(&raw, &Hash::from_bytes(&[0; 32])), None);
        }
    }
}
