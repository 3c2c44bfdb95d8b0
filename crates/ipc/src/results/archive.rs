//! What `mail.search` and `mail.export` return.

use messaging_core::code::Code;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_core::stage::Stage;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::{A2aObject, ChatLine, Direction, PeerRef, StageAt};

/// One message between agents, as this machine holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldMail {
    /// The envelope's id.
    pub id: Ulid,
    /// When it arrived, or was sent.
    pub at: Ms,
    /// In or out.
    pub direction: Direction,
    /// The session of this machine that got or sent it.
    pub session: SessionName,
    /// The other end.
    pub peer: PeerRef,
    /// The A2A message id.
    pub message_id: PeerText,
    /// The A2A context id.
    pub context_id: PeerText,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Ulid>,
    /// The envelope it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Ulid>,
    /// How far it is.
    pub stage: Stage,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// When the sender wrote it.
    pub sent_at: Ms,
    /// Every stage of what was sent, oldest first; with `mail.export`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<StageAt>>,
    /// The part of the text where the first word was found; with `mail.search`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<PeerText>,
    /// The whole A2A message; with `mail.export`. Absent for what was sent while no copies were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<A2aObject>,
}

/// One thing that this machine holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a result is made once and written out")]
pub enum Held {
    /// A message between agents.
    Mail(HeldMail),
    /// A line of a direct conversation or a channel.
    Line(ChatLine),
}

/// The mail found, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailHits {
    /// The messages.
    pub hits: Vec<HeldMail>,
    /// Where to go on; absent when everything was looked at. A page may be empty and still have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of everything, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPage {
    /// What is held.
    pub entries: Vec<Held>,
    /// Where to go on; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
