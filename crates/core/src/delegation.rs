//! Delegation: who asked whom to do what, and how far it may go; and the provenance of a message.
//! Spec: §6.6, §6.7, W2.5, W4.10
//!
//! A task request carries a chain of signed grants, the root first. [`create_grant`] makes the next one and
//! [`extend_chain`] the whole chain, checked as its receiver will; [`verify_chain`] is that check, and what is kept of a
//! chain that passed is its [`DelegationSummary`].

mod chain;
mod grant;

use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounded::List;
use crate::ids::{
    Hash, Label, MachineId, PersonId, ScopeLabel, SessionAddress, SessionName, Sig, Ulid,
};
use crate::limits::{DELEGATION_DEPTH, DELEGATION_SCOPES};
use crate::time::Ms;

pub use chain::{Hop, extend_chain, verify_chain};
pub use grant::{GrantRequest, create_grant, grant_hash};

/// One hop's statement: `from` asks `to` to run `task`. Signed and hashed over the raw value, unknown members included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationGrant {
    /// The realm.
    pub realm: Hash,
    /// The task asked for.
    pub task: Ulid,
    /// Who asks.
    pub from: SessionAddress,
    /// Who is asked.
    pub to: SessionAddress,
    /// The machine that signs: the one `from` names.
    pub by: MachineId,
    /// Signed at.
    pub ts: Ms,
    /// Ends at.
    pub exp: Ms,
    /// The most grants that a chain through this one may hold, 1 to 4.
    #[serde(deserialize_with = "depth")]
    #[schemars(schema_with = "depth_schema")]
    pub max_depth: u8,
    /// What the work is for. Absent is unrestricted, empty the narrowest; a label twice counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<List<ScopeLabel, 0, DELEGATION_SCOPES>>,
    /// The hash of the grant before, except on a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Hash>,
    /// `by`'s signature of the rest.
    pub sig: Sig,
}

/// A chain of grants, root first.
pub type Chain = List<DelegationGrant, 1, DELEGATION_DEPTH>;

/// What is kept and shown of a verified chain. It never travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationSummary {
    /// The root first, the executor last.
    pub addresses: Vec<SessionAddress>,
    /// The number of grants.
    pub depth: u8,
    /// The smallest of the grants' bounds.
    pub max_depth: u8,
    /// The last grant's scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<ScopeLabel>>,
    /// The earliest end.
    pub exp: Ms,
}

impl DelegationSummary {
    /// The summary of a chain, whose grants are not verified here; `None` for an empty one.
    #[must_use]
    pub fn of(grants: &[DelegationGrant]) -> Option<Self> {
        let (root, last) = (grants.first()?, grants.last()?);
        let mut addresses = Vec::with_capacity(grants.len().saturating_add(1));
        addresses.push(root.from.clone());
        addresses.extend(grants.iter().map(|grant| grant.to.clone()));
        Some(Self {
            addresses,
            depth: u8::try_from(grants.len()).ok()?,
            max_depth: grants.iter().map(|grant| grant.max_depth).min()?,
            scope: last.scope.as_ref().map(|scope| scope.to_vec()),
            exp: grants.iter().map(|grant| grant.exp).min()?,
        })
    }

    /// Whose sessions the chain went through: the root's person first, the executor's last, repeated where a person is.
    pub fn persons(&self) -> impl Iterator<Item = &str> {
        self.addresses.iter().map(SessionAddress::person)
    }
}

/// Who sent a message, as this machine verified it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The sender.
    pub person: PersonId,
    /// The sending machine.
    pub device: MachineId,
    /// That machine's label.
    pub label: Label,
    /// The agent that wrote it; absent when the person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionName>,
    /// The agent's qualified address, or the person alone.
    pub from: From,
}

/// The end that [`Provenance`] names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum From {
    /// An agent.
    Session(SessionAddress),
    /// A person.
    Person(PersonId),
}

/// Where provenance stands in a message's metadata.
pub const PROVENANCE: &str = "urn:messaging:ext:provenance:v1";

impl Provenance {
    /// The provenance of a message that `person`'s `device` sent.
    #[must_use]
    pub fn new(
        person: PersonId,
        device: MachineId,
        label: Label,
        agent: Option<SessionName>,
    ) -> Self {
        let from = match &agent {
            Some(agent) => From::Session(SessionAddress::new(&person, agent, &label)),
            None => From::Person(person.clone()),
        };
        Self { person, device, label, agent, from }
    }

    /// Writes itself into a message's metadata, over whatever the sender put there.
    ///
    /// A message that is no object stays as it is; metadata that is no object is replaced.
    pub fn stamp(&self, message: &mut Value) {
        let (Some(message), Ok(own)) = (message.as_object_mut(), serde_json::to_value(self)) else {
            return;
        };
        let metadata = message.entry("metadata").or_insert(Value::Null);
        if !metadata.is_object() {
            *metadata = Value::Object(serde_json::Map::new());
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert(PROVENANCE.into(), own);
        }
    }
}

fn depth<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        depth if (1..=DELEGATION_DEPTH).contains(&usize::from(depth)) => Ok(depth),
        _ => Err(serde::de::Error::custom("depth")),
    }
}

fn depth_schema(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": DELEGATION_DEPTH })
}

#[cfg(test)]
mod tests {
    mod chains;
    mod fixture;
    mod properties;

    use super::*;
    use crate::json::decode;
    use serde_json::json;

    fn grant() -> Value {
        json!({
            "realm": "SeGw5ik9q0MAP2h015KS9Y0HgNDdu7_OGEPhRLiJU5g", "task": "01HF7YAT00AAAAAAAAAAAAAAAA",
            "from": "bob/api@desk", "to": "alice/api@laptop", "by": "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w",
            "ts": 1, "exp": 2, "maxDepth": 4, "sig": "A".repeat(86)
        })
    }

    fn with(name: &str, member: Value) -> Value {
        let mut value = grant();
        value[name] = member;
        value
    }

    #[test]
    fn grants_keep_their_shape() {
        for value in [
            grant(),
            with("scope", json!([])),
            with("scope", json!(["read", "repo:x/y"])),
            with("scope", json!(["read", "read"])),
            with("parent", json!("SeGw5ik9q0MAP2h015KS9Y0HgNDdu7_OGEPhRLiJU5g")),
        ] {
            assert_eq!(
                serde_json::to_value(decode::<DelegationGrant>(&value).unwrap()).unwrap(),
                value
            );
        }
        assert!(decode::<DelegationGrant>(&with("later", json!(1))).is_ok());
        for name in ["realm", "task", "from", "to", "by", "ts", "exp", "maxDepth", "sig"] {
            let mut value = grant();
            value.as_object_mut().unwrap().remove(name);
            assert_eq!(decode::<DelegationGrant>(&value).unwrap_err().path, name);
        }
        for (name, member) in [
            ("from", json!("bob/api")),
            ("to", json!("alice")),
            ("maxDepth", json!(0)),
            ("maxDepth", json!(5)),
            ("scope", json!(null)),
            ("scope", json!(["Read"])),
            ("scope", json!(std::vec!["x"; 9])),
            ("parent", json!("")),
        ] {
            assert!(decode::<DelegationGrant>(&with(name, member)).is_err(), "{name}");
        }
    }

    #[test]
    fn chains_hold_one_to_four_grants() {
        for (count, fits) in [(0, false), (1, true), (4, true), (5, false)] {
            assert_eq!(decode::<Chain>(&json!(std::vec![grant(); count])).is_ok(), fits);
        }
    }

    #[test]
    fn provenance_overwrites_what_the_peer_wrote() {
        let bob = PersonId::parse("bob").unwrap();
        let device = MachineId::from_bytes(&[7; 32]);
        let desk = Label::parse("desk").unwrap();
        let agent = SessionName::parse("api").unwrap();
        let own = Provenance::new(bob.clone(), device, desk.clone(), Some(agent));
        assert_eq!(serde_json::to_value(&own).unwrap()["from"], "bob/api@desk");
        let mut message = json!({"metadata": {PROVENANCE: {"person": "alice"}, "k": 1}});
        own.stamp(&mut message);
        assert_eq!(message["metadata"]["k"], 1);
        assert_eq!(message["metadata"][PROVENANCE]["person"], "bob");
        let person = Provenance::new(bob, device, desk, None);
        let mut plain = json!({"metadata": "no object"});
        person.stamp(&mut plain);
        assert_eq!(plain["metadata"][PROVENANCE]["from"], "bob");
        assert_eq!(plain["metadata"][PROVENANCE].get("agent"), None);
    }
}
