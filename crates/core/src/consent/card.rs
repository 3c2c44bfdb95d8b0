//! A contact card as a shape, and what a card says of a grant.
//! Spec: §6.9 "Contact cards", W2.6

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AgentMailLevel;
use super::{AskLevel, ConsentGrant, EffectiveChat, EffectivePolicy, Relation};
use crate::code::Failure;
use crate::ids::{Hash, MachineId, PersonId, Sig, Ulid};
use crate::json;
use crate::time::Ms;
use crate::version::Version;

/// What one person tells another they may send. Signed over the raw value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactCard {
    /// The protocol.
    pub v: Version,
    /// The realm.
    pub realm: Hash,
    /// Whose card it is.
    pub from: PersonId,
    /// Whom it is for.
    pub to: PersonId,
    /// The device of `from` that signed it.
    pub by: MachineId,
    /// Rises with every card of the pair.
    pub seq: CardSeq,
    /// Signed at.
    pub ts: Ms,
    /// The grant it tells about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<Ulid>,
    /// What `to` may send.
    pub can: CardCan,
    /// `by`'s signature of the rest.
    pub sig: Sig,
}

/// What the holder of a card may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardCan {
    /// Lines.
    pub chat: bool,
    /// Lines by their agents.
    pub agent_mail: bool,
    /// Mail and tasks to agents.
    pub ask: AskLevel,
    /// Until when asks run unattended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_until: Option<Ms>,
}

/// The number of a card, which rises with every card that a person's devices send to another person.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CardSeq(pub u64);

impl ContactCard {
    /// Reads a card and checks the rules of its shape.
    ///
    /// Neither the size nor the signature is looked at. Errors: `invalid_request`.
    pub fn read(value: &Value) -> Result<Self, Failure> {
        let card: Self = json::decode(value)?;
        if card.from == card.to {
            return Err(Failure::invalid("card.to"));
        }
        if card.can.trusted_until.is_some() && card.can.ask != AskLevel::Open {
            return Err(Failure::invalid("card.can.trustedUntil"));
        }
        Ok(card)
    }
}

/// What a card says to somebody of this relation under this grant about them.
///
/// The grants of channels are not on a card, since who it is for knows their own channels; trust that ended is left out.
#[must_use]
pub fn card_can(relation: Relation, grant: Option<&ConsentGrant>, now: Ms) -> CardCan {
    let policy = EffectivePolicy::of(relation, grant, &[], now);
    CardCan {
        chat: matches!(policy.chat, EffectiveChat::Open | EffectiveChat::Muted),
        agent_mail: policy.agent_mail == AgentMailLevel::Open,
        ask: policy.ask,
        trusted_until: grant.and_then(|grant| grant.trusts_until(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: &str = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w";

    #[test]
    fn cards_keep_their_rules() {
        let card = |to: &str, can: Value| {
            ContactCard::read(&json!({
                "v": "messaging/1", "realm": KEY, "from": "bob", "to": to, "by": KEY, "seq": 1, "ts": 1, "can": can,
                "sig": "A".repeat(86)
            }))
        };
        let can = |ask: &str| json!({"chat": true, "agentMail": false, "ask": ask});
        assert!(card("alice", can("no")).is_ok());
        assert!(card("bob", can("no")).is_err());
        let mut trusted = can("open");
        trusted["trustedUntil"] = json!(5);
        assert!(card("alice", trusted.clone()).is_ok());
        trusted["ask"] = json!("request");
        assert!(card("alice", trusted).is_err());
        assert!(card("alice", json!({"chat": true, "ask": "no"})).is_err());
    }
}
