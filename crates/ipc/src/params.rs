//! The parameters of every method, one module for each noun.
//! Spec: D1.7
//!
//! Parameters are strict: every member is declared, nested ones too, and a member nobody declared is
//! `invalid_request` before the handler runs. [`decode`] is the only way from a request to a value.

pub mod archive;
pub mod channel;
pub mod consent;
pub mod conv;
pub mod daemon;
pub mod device;
pub mod identity;
pub mod inbox;
pub mod msg;
pub mod notice;
pub mod people;
pub mod session;
pub mod task;
pub mod team;

use messaging_core::json::{self, Misshape};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scalars::SessionKey;

/// The parameters of one method.
pub trait Params: Serialize + DeserializeOwned + JsonSchema {
    /// The rules between members, which no member's own type can hold.
    ///
    /// Errors: the path of the member at fault.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// The session key that the call is scoped to, if it names one.
    fn key(&self) -> Option<&SessionKey> {
        None
    }
}

/// Reads a request's `params`; left out means `{}`.
///
/// Errors: a [`Misshape`] that names the member at fault, never the text of the request.
pub fn decode<P: Params>(params: Option<&Value>) -> Result<P, Misshape> {
    let empty = Value::Object(serde_json::Map::new());
    let params: P = json::decode(params.unwrap_or(&empty))?;
    match params.check() {
        Ok(()) => Ok(params),
        Err(path) => Err(Misshape { path: path.to_owned() }),
    }
}

/// A method that takes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Params for Nothing {}

/// A method that takes a session key alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyOnly {
    /// The session.
    pub key: SessionKey,
}

impl Params for KeyOnly {
    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }
}

/// [`Params::key`] for parameters whose `key` is required.
macro_rules! keyed {
    ($($name:ident),+) => {$(
        impl $crate::params::Params for $name {
            fn key(&self) -> Option<&$crate::scalars::SessionKey> {
                Some(&self.key)
            }
        }
    )+};
}
pub(crate) use keyed;
