//! The results of every method, one module for each noun.
//! Spec: D1.7
//!
//! Results are open when read: a later release may add optional members.

pub mod archive;
pub mod conv;
pub mod daemon;
pub mod device;
pub mod identity;
pub mod inbox;
pub mod notice;
pub mod people;
pub mod request;
pub mod session;
pub mod task;
pub mod team;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::True;

/// A method that has nothing to say but that it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Always true; a failure is an error.
    pub ok: True,
}

impl Done {
    /// The one value.
    pub const OK: Self = Self { ok: True };
}
