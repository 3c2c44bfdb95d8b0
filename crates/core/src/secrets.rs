//! Credentials in what is about to be sent: which kind, and in which field.
//! Spec: §8.7, D3.25
//!
//! The detector is a guard against accidents. It knows the formats that providers issue: a fixed prefix, an alphabet
//! and a length, and for most a tail that mixes digits, lower and upper case as an issued key does and a placeholder
//! does not. It has no model, keeps nothing, and never gives back what it found.

mod detect;
mod kinds;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde_json::Value;

use crate::b64;
use crate::code::Failure;

pub use kinds::Kind;

/// A credential stands in a field. Its `Display` is the message to the sender: the field and the kind, never the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The field that holds it: the name of a parameter, or `parts[1]`.
    pub field: String,
    /// What it is.
    pub kind: Kind,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} holds {}; nothing was sent", self.field, self.kind.words())
    }
}

/// Looks for a credential in the parameters of a call, but for those named in `skip`.
///
/// Every string is read, values and names of members at any depth, and the bytes of every `raw` as lossy UTF-8. The
/// parameters are read by name, a string by the detectors in their order; the first that is found counts. The names of
/// the parameters themselves are taken to be declared ones: call this after the shape was checked.
///
/// A `raw` that is no standard base64 is `invalid_request`, except inside `data` and `metadata`: there the name is the
/// sender's own and may stand for anything. Cost: linear in the size of the parameters; they are nested no deeper than
/// wire JSON may be.
pub fn scan(params: &Value, skip: &[&str]) -> Result<Option<Found>, Failure> {
    let Value::Object(members) = params else {
        let kind = walk(params, Ground::Ours)?;
        return Ok(kind.map(|kind| Found { field: "params".to_owned(), kind }));
    };
    for (name, value) in members.iter().filter(|(name, _)| !skip.contains(&name.as_str())) {
        // A name that is itself a credential must not become the field that is told.
        if let Some(kind) = find(name) {
            return Ok(Some(Found { field: "params".to_owned(), kind }));
        }
        match value {
            Value::Array(parts) if name == "parts" => {
                for (index, part) in parts.iter().enumerate() {
                    if let Some(kind) = walk(part, Ground::Ours)? {
                        return Ok(Some(Found { field: format!("parts[{index}]"), kind }));
                    }
                }
            }
            value => {
                if let Some(kind) = member(name, value, Ground::Ours)? {
                    return Ok(Some(Found { field: name.clone(), kind }));
                }
            }
        }
    }
    Ok(None)
}

/// The credential in a text, if it holds one: of several kinds the first in the order of [`Kind`].
///
/// Cost: linear in the text.
#[must_use]
pub fn find(text: &str) -> Option<Kind> {
    detect::find(text.as_bytes())
}

/// Whose names the members have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// The protocol's.
    Ours,
    /// The sender's, inside `data` or `metadata`.
    Theirs,
}

fn walk(value: &Value, ground: Ground) -> Result<Option<Kind>, Failure> {
    match value {
        Value::String(text) => Ok(find(text)),
        Value::Array(items) => {
            for item in items {
                if let Some(kind) = walk(item, ground)? {
                    return Ok(Some(kind));
                }
            }
            Ok(None)
        }
        Value::Object(members) => {
            for (name, value) in members {
                if let Some(kind) = find(name) {
                    return Ok(Some(kind));
                }
                if let Some(kind) = member(name, value, ground)? {
                    return Ok(Some(kind));
                }
            }
            Ok(None)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(None),
    }
}

/// Reads the value of a member.
fn member(name: &str, value: &Value, ground: Ground) -> Result<Option<Kind>, Failure> {
    match value {
        Value::String(text) if name == "raw" => {
            if let Some(kind) = find(text) {
                return Ok(Some(kind));
            }
            match b64::decode_standard(text) {
                Ok(bytes) => Ok(find(&String::from_utf8_lossy(&bytes))),
                Err(_) if ground == Ground::Theirs => Ok(None),
                Err(_) => Err(Failure::invalid("raw")),
            }
        }
        value if name == "data" || name == "metadata" => walk(value, Ground::Theirs),
        value => walk(value, ground),
    }
}

#[cfg(test)]
mod tests;
