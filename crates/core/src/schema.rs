//! JSON Schemas of the wire shapes, derived from the types that read them.
//! Spec: W2
//!
//! A schema describes; the types decide. What a schema cannot say (text lengths in UTF-16 units, order, sizes in bytes
//! of JCS, signatures) is left out, so that a schema never refuses what the types take.

use alloc::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::a2a::{Artifact, Message, Part, Task, TaskStatus};
use crate::consent::{ConsentGrant, ContactCard};
use crate::conv::Conv;
use crate::delegation::{Chain, DelegationGrant, DelegationSummary, Provenance};
use crate::directory::{
    DeviceKind, EpochLeaf, EpochProof, EpochWitness, KeyRotation, KeysStatement, LinkRequest,
    MapProof, MapValue, TreeHead, UnbindReason,
};
use crate::envelope::Shape;
use crate::ids::{Hash, HostedPerson, Label, MachineId, Sig};
use crate::payload::{MessagePayload, TaskArtifactUpdate, TaskCancel, TaskStatusUpdate};
use crate::presence::PresencePayload;
use crate::receipt::Receipt;
use crate::relay_auth::{DirReadProof, HostedHello, RosterHello};
use crate::roster::{Op, RosterHead};
use crate::ticket::{AdmitCard, InviteTicket, TeamCard};
use crate::time::Ms;
use crate::version::Version;

/// Every schema by the name of its shape, JSON Schema 2020-12.
#[must_use]
pub fn schemas() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("admit-card", of::<AdmitCard>()),
        ("artifact", of::<Artifact>()),
        ("consent-grant", of::<ConsentGrant>()),
        ("contact-card", of::<ContactCard>()),
        ("conv", of::<Conv>()),
        ("delegation-chain", of::<Chain>()),
        ("delegation-grant", of::<DelegationGrant>()),
        ("delegation-summary", of::<DelegationSummary>()),
        ("device-log-entry", of::<DeviceLogEntry>()),
        ("dir-read-proof", of::<DirReadProof>()),
        ("envelope", of::<Shape>()),
        ("epoch-leaf", of::<EpochLeaf>()),
        ("epoch-proof", of::<EpochProof>()),
        ("epoch-witness", of::<EpochWitness>()),
        ("hosted-hello", of::<HostedHello>()),
        ("invite-ticket", of::<InviteTicket>()),
        ("key-rotation", of::<KeyRotation>()),
        ("keys-statement", of::<KeysStatement>()),
        ("link-request", of::<LinkRequest>()),
        ("map-proof", of::<MapProof>()),
        ("map-value", of::<MapValue>()),
        ("message", of::<Message>()),
        ("part", of::<Part>()),
        ("payload-message", of::<MessagePayload>()),
        ("payload-presence", of::<PresencePayload>()),
        ("payload-receipt", of::<Receipt>()),
        ("payload-task-artifact", of::<TaskArtifactUpdate>()),
        ("payload-task-cancel", of::<TaskCancel>()),
        ("payload-task-status", of::<TaskStatusUpdate>()),
        ("provenance", of::<Provenance>()),
        ("roster-entry", of::<RosterEntry>()),
        ("roster-head", of::<RosterHead>()),
        ("roster-hello", of::<RosterHello>()),
        ("task", of::<Task>()),
        ("task-status", of::<TaskStatus>()),
        ("team-card", of::<TeamCard>()),
        ("tree-head", of::<TreeHead>()),
    ])
}

/// The schema of one type of this protocol.
///
/// Member names are the wire's. An optional member is absent or of its type, never `null`, and no `format` is written:
/// validators do not know those of integers.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain).transform(&mut schema);
    schema.to_value()
}

/// Takes out what the derivation writes and the wire does not mean.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    let Some(members) = schema.as_object_mut() else { return };
    // An Option is written as "or null".
    let null = json!({ "type": "null" });
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            members.insert("type".into(), only);
        }
    }
    let optional = match members.get("anyOf") {
        Some(Value::Array(forms)) => match &forms[..] {
            [form, other] if *other == null => form.as_object().cloned(),
            _ => None,
        },
        _ => None,
    };
    if let Some(form) = optional {
        members.remove("anyOf");
        for (name, member) in form {
            members.entry(name).or_insert(member);
        }
    }
}

/// An entry of a roster: the members that every entry has, and those of its operation.
struct RosterEntry;

impl JsonSchema for RosterEntry {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "RosterEntry".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hash = generator.subschema_for::<Hash>();
        json_schema!({
            "type": "object",
            "properties": {
                "v": generator.subschema_for::<Version>(),
                "seq": { "type": "integer", "minimum": 0 },
                "ts": generator.subschema_for::<Ms>(),
                "by": generator.subschema_for::<MachineId>(),
                "sig": generator.subschema_for::<Sig>()
            },
            "required": ["v", "op", "seq", "prev", "ts", "by", "sig"],
            "allOf": [generator.subschema_for::<Op>()],
            "if": { "properties": { "op": { "const": "genesis" } } },
            "then": { "properties": { "seq": { "const": 0 }, "prev": { "const": null }, "team": false } },
            "else": { "properties": { "seq": { "minimum": 1 }, "prev": hash, "team": hash }, "required": ["team"] }
        })
    }
}

/// An entry of a device log, whose operation decides which members there are.
struct DeviceLogEntry;

impl JsonSchema for DeviceLogEntry {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "DeviceLogEntry".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hash = generator.subschema_for::<Hash>();
        let device = generator.subschema_for::<MachineId>();
        let authority = |kind: &str, members: Value, required: Value| json!({ "properties": { "kind": { "const": kind } }, "allOf": [{ "properties": members, "required": required }] });
        let link = generator.subschema_for::<LinkRequest>();
        json_schema!({
            "type": "object",
            "properties": {
                "v": generator.subschema_for::<Version>(),
                "realm": hash,
                "person": generator.subschema_for::<HostedPerson>(),
                "seq": { "type": "integer", "minimum": 0 },
                "prev": { "anyOf": [{ "const": null }, hash] },
                "ts": generator.subschema_for::<Ms>(),
                "op": { "enum": ["bind", "attest", "unbind"] },
                "device": device,
                "label": generator.subschema_for::<Label>(),
                "kind": generator.subschema_for::<DeviceKind>(),
                "reason": generator.subschema_for::<UnbindReason>(),
                "authority": { "type": "object", "required": ["kind"], "anyOf": [
                    authority("jelly", json!({ "token": { "type": "string" } }), json!(["token"])),
                    authority("device", json!({ "approver": device, "link": link }), json!(["approver", "link"])),
                    authority("service", json!({}), json!([])),
                    authority("self", json!({}), json!([])),
                ] },
                "by": device,
                "sig": generator.subschema_for::<Sig>()
            },
            "required": ["v", "realm", "person", "seq", "prev", "ts", "op", "device", "authority", "by", "sig"],
            "additionalProperties": false
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    /// Every object in `value` with its path.
    fn walk(value: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
        visit(path, value);
        match value {
            Value::Object(members) => {
                members
                    .iter()
                    .for_each(|(name, member)| walk(member, &format!("{path}/{name}"), visit));
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(n, item)| walk(item, &format!("{path}/{n}"), visit)),
            _ => {}
        }
    }

    #[test]
    fn no_schema_takes_null_for_an_absent_member_or_writes_a_format() {
        for (name, schema) in schemas() {
            let mut found: Vec<String> = Vec::new();
            walk(&schema, name, &mut |path, value| {
                if value.get("format").is_some() || value == "null" {
                    found.push(path.into());
                }
            });
            assert_eq!(found, Vec::<String>::new());
        }
    }

    #[test]
    fn every_reference_resolves_and_every_shape_is_described() {
        for (name, schema) in schemas() {
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
            walk(&schema, name, &mut |path, value| {
                if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                    let pointer = target.strip_prefix('#').unwrap_or("none");
                    assert!(schema.pointer(pointer).is_some(), "{path}: {target}");
                }
            });
        }
    }

    #[test]
    fn the_envelopes_schema_names_every_member() {
        let schema = of::<Shape>();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let all = "anchor body class enc epk exp from id nonce realm replyTo sig to ts type v";
        assert_eq!(names, all.split(' ').collect::<Vec<_>>());
        let required = "anchor body enc exp from id realm sig to ts type v";
        let mut written: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        written.sort_unstable();
        assert_eq!(written, required.split(' ').collect::<Vec<_>>());
    }
}
