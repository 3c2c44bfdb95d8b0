//! Receipts: the recipient's signed word on how far an envelope came.
//! Spec: §6.4, W2.3

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::code::{Code, Failure};
use crate::ids::Ulid;
use crate::json;
use crate::stage::Stage;

/// A receipt. Its time is that of the envelope that carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = code_with_rejected)]
pub struct Receipt {
    /// The id of the envelope it is about.
    #[serde(rename = "ref")]
    pub reference: Ulid,
    /// How far that envelope came.
    pub stage: ReceiptStage,
    /// Why it was refused: with `rejected` always, otherwise never. A code of a later release reads as `internal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

fn code_with_rejected(schema: &mut Schema) {
    let rejected = json!({ "properties": { "stage": { "const": "rejected" } } });
    schema.insert("if".into(), rejected);
    schema.insert("then".into(), json!({ "required": ["code"] }));
    schema.insert("else".into(), json!({ "properties": { "code": false } }));
}

/// The stages that a recipient can attest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStage {
    /// Stored durably.
    Delivered,
    /// Held for the person to answer.
    Held,
    /// Handed to the agent.
    HandedToAgent,
    /// Read.
    Read,
    /// Refused, with a code.
    Rejected,
}

impl From<ReceiptStage> for Stage {
    fn from(stage: ReceiptStage) -> Self {
        match stage {
            ReceiptStage::Delivered => Self::Delivered,
            ReceiptStage::Held => Self::Held,
            ReceiptStage::HandedToAgent => Self::HandedToAgent,
            ReceiptStage::Read => Self::Read,
            ReceiptStage::Rejected => Self::Rejected,
        }
    }
}

impl Receipt {
    /// A receipt of a stage other than `rejected`; with `Rejected` it says `internal`.
    #[must_use]
    pub fn of(reference: Ulid, stage: ReceiptStage) -> Self {
        match stage {
            ReceiptStage::Rejected => Self::rejected(reference, Code::Internal),
            _ => Self { reference, stage, code: None },
        }
    }

    /// A refusal. A code that may not travel says `internal`.
    #[must_use]
    pub fn rejected(reference: Ulid, code: Code) -> Self {
        let code = if code.on_wire() { code } else { Code::Internal };
        Self { reference, stage: ReceiptStage::Rejected, code: Some(code) }
    }
}

impl<'de> Deserialize<'de> for Receipt {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            #[serde(rename = "ref")]
            reference: Ulid,
            stage: ReceiptStage,
            code: Option<Code>,
        }
        let Shape { reference, stage, code } = Shape::deserialize(deserializer)?;
        if code.is_some() != (stage == ReceiptStage::Rejected) {
            return Err(serde::de::Error::custom(Failure::invalid("code")));
        }
        Ok(Self { reference, stage, code })
    }
}

impl Receipt {
    /// Reads a receipt's payload.
    ///
    /// Errors: `invalid_request`.
    pub fn read(payload: &serde_json::Value) -> Result<Self, Failure> {
        Ok(json::decode(payload)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn receipt(stage: &str, code: Option<&str>) -> Value {
        let mut value = json!({"ref": "01HF7YAT00AAAAAAAAAAAAAAAA", "stage": stage});
        if let Some(code) = code {
            value["code"] = json!(code);
        }
        value
    }

    #[test]
    fn a_code_goes_with_rejected_and_with_nothing_else() {
        for stage in ["delivered", "held", "handed_to_agent", "read"] {
            let value = receipt(stage, None);
            assert_eq!(serde_json::to_value(Receipt::read(&value).unwrap()).unwrap(), value);
            assert!(Receipt::read(&receipt(stage, Some("refused"))).is_err());
        }
        let value = receipt("rejected", Some("refused"));
        assert_eq!(serde_json::to_value(Receipt::read(&value).unwrap()).unwrap(), value);
        assert!(Receipt::read(&receipt("rejected", None)).is_err());
        assert_eq!(
            Receipt::read(&receipt("rejected", Some("later_code"))).unwrap().code,
            Some(Code::Internal)
        );
        assert!(Receipt::read(&receipt("rejected", Some("Refused"))).is_err());
        let mut null = receipt("delivered", None);
        null["code"] = Value::Null;
        assert!(Receipt::read(&null).is_err());
    }

    #[test]
    fn a_relays_stage_is_not_a_recipients_word() {
        for stage in ["accepted", "relayed", "replied", "expired", ""] {
            assert!(Receipt::read(&receipt(stage, None)).is_err(), "{stage}");
        }
        assert!(Receipt::read(&json!({"ref": "x", "stage": "read"})).is_err());
        assert!(Receipt::read(&json!({"stage": "read"})).is_err());
    }

    #[test]
    fn a_code_that_may_not_travel_is_not_sent() {
        let id = Ulid::parse("01HF7YAT00AAAAAAAAAAAAAAAA").unwrap();
        assert_eq!(Receipt::rejected(id, Code::SecretRefused).code, Some(Code::Internal));
        assert_eq!(Receipt::rejected(id, Code::LoopGuard).code, Some(Code::LoopGuard));
        assert_eq!(Receipt::of(id, ReceiptStage::Read).code, None);
    }
}
