//! The envelope: a header that everybody on the way reads, and a body that only its recipient opens.
//! Spec: §5, W2.1
//!
//! ```text
//! JCS(envelope) ─ less sig ──────▶ what the sender signs
//!               ─ less body, sig ▶ the header: what the seal authenticates
//! ```
//!
//! An envelope from outside becomes [`Checked`]: its shape holds, and the exact value that arrived is kept. Whether it
//! is to be believed is [`verify`](crate::verify)'s question, what it says is [`seal`](crate::seal)'s.

mod checked;
#[cfg(test)]
pub(crate) mod fixture;
mod glance;
mod shape;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::Failure;
use crate::ids::{EncKey, Hash, MachineId, Nonce12, PersonId, SessionName, Ulid};
use crate::presence::PresencePayload;
use crate::realm::Anchor;
use crate::time::Ms;

pub use checked::Checked;
pub use glance::{Glance, signed_anchor, signed_head};
pub(crate) use shape::{Encoding, Shape};
pub use shape::{EnvelopeType, To};

/// The header of an envelope whose shape was checked, and what kind of body it has.
///
/// Members that this protocol does not know are not here; they are signed and authenticated all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Its id, unique per sending machine.
    pub id: Ulid,
    /// The realm of the sender.
    pub realm: Hash,
    /// Who sent it.
    pub from: End,
    /// When.
    pub ts: Ms,
    /// Until when it is of use.
    pub exp: Ms,
    /// What its sender had seen of the realm.
    pub anchor: Anchor,
    /// What it carries.
    pub content: Content,
}

/// What an envelope carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A sealed payload for one device.
    Sealed(Sealed),
    /// Presence, for the whole realm to read.
    Presence(PresencePayload),
}

/// The header members that only a sealed envelope has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The type of the payload.
    pub kind: SealedType,
    /// The device it is sealed to.
    pub to: End,
    /// How its two ends stand to each other.
    pub class: Class,
    /// The envelope it answers or belongs to.
    pub reply_to: Option<Ulid>,
    /// The public half of the key that was made for this seal.
    pub epk: EncKey,
    /// The seal's nonce.
    pub nonce: Nonce12,
}

impl Envelope {
    /// The type as the wire has it.
    #[must_use]
    pub fn kind(&self) -> EnvelopeType {
        match &self.content {
            Content::Sealed(sealed) => sealed.kind.into(),
            Content::Presence(_) => EnvelopeType::Presence,
        }
    }

    /// The members of a sealed envelope.
    #[must_use]
    pub fn sealed(&self) -> Option<&Sealed> {
        match &self.content {
            Content::Sealed(sealed) => Some(sealed),
            Content::Presence(_) => None,
        }
    }

    /// Whom a sealed envelope is for.
    #[must_use]
    pub fn to(&self) -> Option<&End> {
        self.sealed().map(|sealed| &sealed.to)
    }
}

/// One end of an envelope: a device of a person, and perhaps an agent's session on it.
///
/// Without `agent` it is the person, or the device acting for the person.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct End {
    /// The person.
    pub person: PersonId,
    /// The device.
    pub device: MachineId,
    /// The session that wrote, or is addressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionName>,
}

/// How the two ends of a sealed envelope stand to each other.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Two devices of one person.
    #[serde(rename = "self")]
    Own,
    /// A message request to another person.
    Request,
    /// Anything else between two persons.
    Contact,
}

impl Class {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::Request => "request",
            Self::Contact => "contact",
        }
    }
}

/// The type of a sealed envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedType {
    /// Mail, a task request, or anything a person or an agent says.
    Message,
    /// How far an envelope came.
    Receipt,
    /// A task's state.
    TaskStatus,
    /// A task's result.
    TaskArtifact,
    /// A task's end, wished for.
    TaskCancel,
}

impl SealedType {
    /// Every type.
    pub const ALL: [SealedType; 5] =
        [Self::Message, Self::Receipt, Self::TaskStatus, Self::TaskArtifact, Self::TaskCancel];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Receipt => "receipt",
            Self::TaskStatus => "task.status",
            Self::TaskArtifact => "task.artifact",
            Self::TaskCancel => "task.cancel",
        }
    }

    /// The type of a name; `None` for `presence` and for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Whether a refusal of it is answered with a receipt. Spec: W4.3
    #[must_use]
    pub const fn is_answered(self) -> bool {
        !matches!(self, Self::Receipt)
    }
}

/// Whether the ends of a sealed envelope agree with its type and class. Spec: W2.1 "Header shape check"
///
/// Errors: `invalid_request`.
pub(crate) fn check_ends(
    kind: SealedType,
    from: &End,
    to: &End,
    class: Class,
    reply_to: Option<&Ulid>,
) -> Result<(), Failure> {
    let own = from.person == to.person;
    let class_fits = match class {
        Class::Own => own,
        Class::Contact => !own,
        Class::Request => {
            let persons_only = from.agent.is_none() && to.agent.is_none();
            kind == SealedType::Message && !own && persons_only && reply_to.is_none()
        }
    };
    if !class_fits {
        return Err(Failure::invalid("class"));
    }
    if kind == SealedType::Message && to.agent.is_some() && from.agent.is_none() {
        return Err(Failure::invalid("from.agent"));
    }
    let update = matches!(kind, SealedType::TaskStatus | SealedType::TaskArtifact);
    if update && reply_to.is_none() {
        return Err(Failure::invalid("replyTo"));
    }
    Ok(())
}
