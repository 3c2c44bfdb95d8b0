//! The members of an envelope as they stand on the wire, before they were held against each other.
//! Spec: §5, W2.1

use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::{Class, Content, End, Envelope, Sealed, SealedType, check_ends};
use crate::b64;
use crate::bounded::only_true;
use crate::code::Failure;
use crate::ids::{EncKey, Hash, MachineId, Nonce12, PersonId, SessionName, Sig, Ulid};
use crate::presence::PresencePayload;
use crate::realm::Anchor;
use crate::time::Ms;
use crate::version::Version;

/// An envelope, member by member.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Envelope", transform = agree)]
pub(crate) struct Shape {
    /// The protocol.
    #[serde(rename = "v")]
    _v: Version,
    /// Unique per sending machine.
    pub(crate) id: Ulid,
    /// What the body holds.
    #[serde(rename = "type")]
    pub(crate) kind: EnvelopeType,
    /// The sender's realm.
    pub(crate) realm: Hash,
    /// Who sent it.
    pub(crate) from: End,
    /// Whom it is for.
    pub(crate) to: To,
    /// When it was sent.
    pub(crate) ts: Ms,
    /// Until when it is of use.
    pub(crate) exp: Ms,
    /// How the ends stand to each other: when sealed always, on presence never.
    pub(crate) class: Option<Class>,
    /// What the sender had seen of the realm.
    pub(crate) anchor: Anchor,
    /// The envelope it answers or belongs to; with a task's status and artifact always.
    pub(crate) reply_to: Option<Ulid>,
    /// Whether the body is sealed: always, but for presence.
    pub(crate) enc: Encoding,
    /// The seal's ephemeral public key: when sealed always, on presence never.
    pub(crate) epk: Option<EncKey>,
    /// The seal's nonce: when sealed always, on presence never.
    pub(crate) nonce: Option<Nonce12>,
    /// The sealed payload, or presence as it is.
    pub(crate) body: Body,
    /// The sending device's signature of everything else.
    pub(crate) sig: Sig,
}

impl Shape {
    /// Holds the members against each other. Errors: `invalid_request`.
    pub(crate) fn check(self) -> Result<(Envelope, Sig), Failure> {
        let Self {
            id,
            kind,
            realm,
            from,
            to,
            ts,
            exp,
            class,
            anchor,
            reply_to,
            enc,
            epk,
            nonce,
            body,
            sig,
            ..
        } = self;
        let content = match SealedType::of(kind) {
            Some(kind) => {
                let To::Device(to) = to else { return Err(Failure::invalid("to")) };
                if enc != Encoding::Sealed {
                    return Err(Failure::invalid("enc"));
                }
                if !matches!(body, Body::Sealed) {
                    return Err(Failure::invalid("body"));
                }
                let class = class.ok_or(Failure::invalid("class"))?;
                check_ends(kind, &from, &to, class, reply_to.as_ref())?;
                let epk = epk.ok_or(Failure::invalid("epk"))?;
                let nonce = nonce.ok_or(Failure::invalid("nonce"))?;
                Content::Sealed(Sealed { kind, to, class, reply_to, epk, nonce })
            }
            None => {
                let fits = to == To::Team
                    && enc == Encoding::Plain
                    && class.is_none()
                    && epk.is_none()
                    && nonce.is_none()
                    && reply_to.is_none();
                match body {
                    Body::Presence(presence) if fits => Content::Presence(*presence),
                    Body::Presence(_) => return Err(Failure::invalid("presence header")),
                    Body::Sealed => return Err(Failure::invalid("body")),
                }
            }
        };
        Ok((Envelope { id, realm, from, ts, exp, anchor, content }, sig))
    }
}

/// What the members of an envelope owe each other, as far as a schema can say it. [`Shape::check`] says all of it.
fn agree(schema: &mut Schema) {
    let presence = json!({
        "to": { "required": ["team"] }, "enc": { "const": "none" }, "body": { "type": "object" },
        "class": false, "epk": false, "nonce": false, "replyTo": false
    });
    let sealed = json!({
        "to": { "required": ["device"] }, "enc": { "const": "x25519-aes256gcm" }, "body": { "type": "string" }
    });
    let updates = json!({ "enum": ["task.status", "task.artifact"] });
    schema.insert(
        "allOf".into(),
        json!([
            {
                "if": { "properties": { "type": { "const": "presence" } } },
                "then": { "properties": presence },
                "else": { "properties": sealed, "required": ["class", "epk", "nonce"] }
            },
            { "if": { "properties": { "type": updates } }, "then": { "required": ["replyTo"] } }
        ]),
    );
}

/// The type of an envelope.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum EnvelopeType {
    /// See [`SealedType::Message`].
    #[serde(rename = "message")]
    Message,
    /// See [`SealedType::Receipt`].
    #[serde(rename = "receipt")]
    Receipt,
    /// The sessions of a machine.
    #[serde(rename = "presence")]
    Presence,
    /// See [`SealedType::TaskStatus`].
    #[serde(rename = "task.status")]
    TaskStatus,
    /// See [`SealedType::TaskArtifact`].
    #[serde(rename = "task.artifact")]
    TaskArtifact,
    /// See [`SealedType::TaskCancel`].
    #[serde(rename = "task.cancel")]
    TaskCancel,
}

impl EnvelopeType {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match SealedType::of(self) {
            Some(kind) => kind.as_str(),
            None => "presence",
        }
    }

    /// The type of a name; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "presence" => Some(Self::Presence),
            _ => SealedType::parse(text).map(Self::from),
        }
    }
}

impl SealedType {
    /// The type, unless it is presence.
    pub(crate) const fn of(kind: EnvelopeType) -> Option<Self> {
        match kind {
            EnvelopeType::Message => Some(Self::Message),
            EnvelopeType::Receipt => Some(Self::Receipt),
            EnvelopeType::TaskStatus => Some(Self::TaskStatus),
            EnvelopeType::TaskArtifact => Some(Self::TaskArtifact),
            EnvelopeType::TaskCancel => Some(Self::TaskCancel),
            EnvelopeType::Presence => None,
        }
    }
}

impl From<SealedType> for EnvelopeType {
    fn from(kind: SealedType) -> Self {
        match kind {
            SealedType::Message => Self::Message,
            SealedType::Receipt => Self::Receipt,
            SealedType::TaskStatus => Self::TaskStatus,
            SealedType::TaskArtifact => Self::TaskArtifact,
            SealedType::TaskCancel => Self::TaskCancel,
        }
    }
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Encoding {
    /// Sealed to one device.
    #[serde(rename = "x25519-aes256gcm")]
    Sealed,
    /// Readable.
    #[serde(rename = "none")]
    Plain,
}

/// Whom an envelope is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// One device.
    Device(End),
    /// Every member, or whoever the directory relay counts as the sender's audience.
    Team,
}

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Either {
            #[serde(default, with = "only_true")]
            team: bool,
            person: Option<PersonId>,
            device: Option<MachineId>,
            agent: Option<SessionName>,
        }
        match Either::deserialize(deserializer)? {
            Either { team: true, person: None, device: None, agent: None } => Ok(Self::Team),
            Either { team: false, person: Some(person), device: Some(device), agent } => {
                Ok(Self::Device(End { person, device, agent }))
            }
            _ => Err(de::Error::custom("one form")),
        }
    }
}

impl JsonSchema for To {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "To".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "allOf": [generator.subschema_for::<End>()], "properties": { "team": false } },
                {
                    "type": "object",
                    "properties": { "team": { "const": true }, "person": false, "device": false, "agent": false },
                    "required": ["team"]
                }
            ]
        })
    }
}

/// A body, as far as it can be read unopened. The text of a sealed one stays where it is.
pub(crate) enum Body {
    /// Base64url of any length: too short a text fails when it is opened.
    Sealed,
    /// Presence.
    Presence(alloc::boxed::Box<PresencePayload>),
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;

        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = Body;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sealed body or presence")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Body, E> {
                if b64::is_canonical(text) { Ok(Body::Sealed) } else { Err(E::custom("base64url")) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Body, A::Error> {
                PresencePayload::deserialize(MapAccessDeserializer::new(map))
                    .map(|presence| Body::Presence(presence.into()))
            }
        }

        deserializer.deserialize_any(BodyVisitor)
    }
}

impl JsonSchema for Body {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Body".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                {
                    "type": "string",
                    "pattern": "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$"
                },
                generator.subschema_for::<PresencePayload>()
            ]
        })
    }
}
