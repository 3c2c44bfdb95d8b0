//! `msg.send`: a session writes to an agent, a person or a channel.
//! Spec: §8.2 "msg.send", D1.7 row 7

use messaging_core::ids::{ScopeLabel, Ulid};
use messaging_core::limits::{A2A_ID_CHARS, DELEGATION_SCOPES, PARTS_PER_MESSAGE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keyed;
use crate::scalars::{Count, Email, List, Metadata, Printable, SessionKey, Str, Target};
use crate::shapes::{Part, TaskOrMessage};

/// One send. What else may stand beside `to` depends on whether it names an agent, and is judged by the handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Send {
    /// The sending session.
    pub key: SessionKey,
    /// An address, a person, or `#` and a channel's local name.
    pub to: Target,
    /// Mail or a task; `message` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskOrMessage>,
    /// What is sent.
    pub parts: List<Part, 1, PARTS_PER_MESSAGE>,
    /// The A2A context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<Printable<1, A2A_ID_CHARS>>,
    /// The task that a message follows up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// The A2A message id; a fresh ULID when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Printable<1, A2A_ID_CHARS>>,
    /// The envelope, or the line, that this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Ulid>,
    /// The A2A metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The A2A extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<List<Str<1, 256>, 0, 32>>,
    /// The A2A references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_task_ids: Option<List<Str<1, A2A_ID_CHARS>, 0, 32>>,
    /// Delegates on behalf of a task that this session executes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<OnBehalfOf>,
    /// Whether to ask for a wake; true when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<bool>,
    /// Makes a repeated call return the first call's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Printable<1, 128>>,
    /// On a line to the own person: the wish that they contact somebody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ContactWish>,
}

impl Send {
    /// A send of `parts` with everything optional left out.
    pub fn new(key: SessionKey, to: Target, parts: List<Part, 1, PARTS_PER_MESSAGE>) -> Self {
        Self {
            key,
            to,
            kind: None,
            parts,
            context_id: None,
            task_id: None,
            message_id: None,
            reply_to: None,
            metadata: None,
            extensions: None,
            reference_task_ids: None,
            on_behalf_of: None,
            wake: None,
            idempotency_key: None,
            request: None,
        }
    }
}

/// The task that a delegation extends, and how it narrows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OnBehalfOf {
    /// A task that this session executes.
    pub task_id: Ulid,
    /// What the delegation is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<List<ScopeLabel, 0, DELEGATION_SCOPES>>,
    /// How deep it may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<Count<1, 4, 4>>,
}

/// Whom an agent wishes its person to contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactWish {
    /// Their email.
    pub contact: Email,
}

keyed!(Send);
