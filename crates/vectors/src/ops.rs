//! The kinds of cases: one function each, found by name.

use crate::args::{Args, Outcome};

mod connection;
mod consent;
mod delegation;
mod encodings;
mod envelope;
mod invites;
mod keys;
mod primitives;
mod roster;

/// One kind: arguments in, result or refusal out.
pub type Op = fn(&Args<'_>) -> Outcome;

/// The operation of this kind, if it is known.
///
/// Each module of `ops/` owns the kinds of one topic and lists them in its own `lookup`.
pub fn lookup(kind: &str) -> Option<Op> {
    encodings::lookup(kind)
        .or_else(|| keys::lookup(kind))
        .or_else(|| primitives::lookup(kind))
        .or_else(|| roster::lookup(kind))
        .or_else(|| invites::lookup(kind))
        .or_else(|| connection::lookup(kind))
        .or_else(|| envelope::lookup(kind))
        .or_else(|| delegation::lookup(kind))
        .or_else(|| consent::lookup(kind))
}
