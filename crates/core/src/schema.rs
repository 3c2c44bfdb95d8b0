//! JSON Schemas of the shapes that travel between machines.
//! Spec: §9, W2
//!
//! A schema describes; only the types check. Bounds that a schema cannot say (bytes of a canonical text, which ends a class
//! allows) are in [`limits`](crate::limits) and in the modules that check them.

use alloc::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::envelope::Shape;
use crate::ids::{Hash, MachineId, Sig};
use crate::roster::Op;
use crate::time::Ms;
use crate::version::Version;
use crate::{consent, delegation, payload, presence, receipt, relay_auth, ticket};

/// The schema of one type (2020-12), without the number formats that strict validators do not know.
#[must_use]
pub fn of<T: JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
    })
    .transform(&mut schema);
    schema
}

/// Every document by its name.
#[must_use]
pub fn documents() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("envelope", of::<Shape>().to_value()),
        ("payload-message", of::<payload::MessagePayload>().to_value()),
        ("payload-receipt", of::<receipt::Receipt>().to_value()),
        ("payload-presence", of::<presence::PresencePayload>().to_value()),
        ("payload-task-status", of::<payload::TaskStatusUpdate>().to_value()),
        ("payload-task-artifact", of::<payload::TaskArtifactUpdate>().to_value()),
        ("payload-task-cancel", of::<payload::TaskCancel>().to_value()),
        ("delegation-grant", of::<delegation::DelegationGrant>().to_value()),
        ("consent-grant", of::<consent::ConsentGrant>().to_value()),
        ("contact-card", of::<consent::ContactCard>().to_value()),
        ("roster-entry", of::<RosterEntry>().to_value()),
        ("roster-hello", of::<relay_auth::RosterHello>().to_value()),
        ("invite-ticket", of::<ticket::InviteTicket>().to_value()),
        ("team-card", of::<ticket::TeamCard>().to_value()),
        ("admit-card", of::<ticket::AdmitCard>().to_value()),
    ])
}

/// One entry of the roster. `prev` is null and `team` is absent exactly on a genesis, whose `seq` is 0.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only described: core::roster reads entries")]
struct RosterEntry {
    /// The protocol.
    v: Version,
    /// Its number in the chain.
    seq: u64,
    /// The hash of the entry before it.
    #[schemars(required)]
    prev: Option<Hash>,
    /// The team: the hash of its genesis.
    #[schemars(with = "Hash", default)]
    team: Option<Hash>,
    /// When it was signed.
    ts: Ms,
    /// Who signed it.
    by: MachineId,
    /// The signature of everything else.
    sig: Sig,
    /// What it does.
    #[serde(flatten)]
    op: Op,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn every_document_is_an_object_without_formats() {
        let documents = documents();
        assert_eq!(documents.len(), 15);
        for (name, document) in &documents {
            assert!(document["title"].is_string(), "{name}");
            assert!(!document.to_string().contains("\"format\""), "{name}");
        }
    }

    #[test]
    fn an_entry_lists_every_operation() {
        let text = documents()["roster-entry"].to_string();
        for op in ["genesis", "member.add", "member.remove", "member.role", "member.rekey"] {
            assert!(text.contains(op), "{op}");
        }
        for op in ["invite.create", "invite.revoke", "invite.redeem"] {
            assert!(text.contains(op), "{op}");
        }
    }
}
