//! What both directions share: from a text to a named object, and what can be wrong with it.
//! Spec: W2.9, W4.1

use std::fmt;

use messaging_core::ids::Req;
use messaging_core::json::{self, Misshape};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};
use serde_json::{Map, Value};

/// A text that is no frame of its direction. It holds nothing of the text but an id to answer with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Not wire JSON, over the limit, or not an object with a string `t`.
    NoFrame,
    /// A known `t`, and members of another shape.
    Shape {
        /// The frame's name.
        t: &'static str,
        /// The id that a `nack` of it carries, when the frame has a readable one.
        id: Option<Req>,
        /// The member at fault.
        misshape: Misshape,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrame => f.write_str("invalid_request: frame"),
            Self::Shape { t, misshape, .. } => write!(f, "{misshape} in {t}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// One frame: its name and its object.
pub(crate) struct Named {
    pub(crate) t: String,
    pub(crate) object: Value,
}

impl Named {
    /// Reads a text of at most `max_bytes`.
    pub(crate) fn read(text: &[u8], max_bytes: usize) -> Result<Self, FrameError> {
        let object = json::parse(text, max_bytes).map_err(|_| FrameError::NoFrame)?;
        match object.get("t").and_then(Value::as_str) {
            Some(t) => Ok(Self { t: t.to_owned(), object }),
            None => Err(FrameError::NoFrame),
        }
    }

    /// The members as a type.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, Misshape> {
        json::decode(&self.object)
    }

    /// Takes the object at `member` out of the frame; what is left does not hold it.
    pub(crate) fn take_object(&mut self, member: &'static str) -> Result<Value, Misshape> {
        let taken = self.object.as_object_mut().and_then(|members| members.remove(member));
        match taken {
            Some(object @ Value::Object(_)) => Ok(object),
            _ => Err(misshape(member)),
        }
    }

    /// Whether the frame has a member.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.object.get(member).is_some()
    }

    /// The member `req`, when it can stand in a nack.
    pub(crate) fn req(&self) -> Option<Req> {
        self.object.as_object().and_then(|members| id_of(members, "req"))
    }
}

/// The member `name` of an object, when it can stand in a nack: an envelope's id has that grammar too.
pub(crate) fn id_of(members: &Map<String, Value>, name: &str) -> Option<Req> {
    members.get(name).and_then(Value::as_str).and_then(|id| Req::parse(id).ok())
}

/// A misshape at one of our own names.
pub(crate) fn misshape(path: &str) -> Misshape {
    Misshape { path: path.to_owned() }
}

/// Reads a member that is `true` or absent.
pub(crate) fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match bool::deserialize(deserializer)? {
        true => Ok(true),
        false => Err(serde::de::Error::custom("only true")),
    }
}
