//! Bob, who grants, his devices, and what he says.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::vec::Vec;

use crate::consent::{GrantDraft, Levels, Subject, VerifiedGrant};
use crate::ids::{Hash, PersonId, Ulid};
use crate::keys::SigningKey;
use crate::limits::TRUST_MAX_MS;
use crate::time::Ms;

pub(super) const NOW: Ms = Ms(1_790_000_000_000);
pub(super) const ID: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";

pub(super) fn realm() -> Hash {
    Hash::from_bytes(&[4; 32])
}

pub(super) fn person(name: &str) -> PersonId {
    PersonId::parse(name).unwrap()
}

pub(super) fn device(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

pub(super) fn levels(value: Value) -> Levels {
    serde_json::from_value(value).unwrap()
}

/// Bob's grant about Alice, signed by a device of his.
pub(super) fn grant(said: Value, by: &SigningKey) -> VerifiedGrant {
    about(&Subject::Person(person("alice")), levels(said), NOW, by)
}

pub(super) fn about(subject: &Subject, levels: Levels, ts: Ms, by: &SigningKey) -> VerifiedGrant {
    let bob = person("bob");
    let id = Ulid::parse(ID).unwrap();
    GrantDraft { realm: realm(), id, person: &bob, ts, subject, levels }.sign(by).unwrap()
}

/// Every combination of levels that a grant about another person may have, trust `until` a while after [`NOW`].
pub(super) fn any_levels() -> impl Strategy<Value = Levels> {
    let chat =
        prop::sample::select(Vec::from([None, Some("open"), Some("muted"), Some("blocked")]));
    let mail = prop::sample::select(Vec::from([None, Some("open"), Some("blocked")]));
    let ask = prop::sample::select(Vec::from([None, Some("open"), Some("request"), Some("no")]));
    let trust = prop::option::of(1..=TRUST_MAX_MS);
    (chat, mail, ask, trust).prop_map(|(chat, mail, ask, trust)| {
        let mut said = json!({});
        for (name, level) in [("chat", chat), ("agentMail", mail), ("ask", ask)] {
            if let Some(level) = level {
                said[name] = json!(level);
            }
        }
        if let (Some("open"), Some(trust)) = (ask, trust) {
            said["trustedUntil"] = json!(NOW.plus(trust));
        }
        levels(said)
    })
}
