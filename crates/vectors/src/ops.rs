//! The kinds of cases: one function each, found by name.

use crate::args::{Args, Outcome};

mod bindings;
mod connection;
mod consent;
mod delegation;
mod encodings;
mod envelope;
mod epochs;
mod host;
mod invites;
mod keys;
mod map;
mod persons;
mod primitives;
mod roster;
mod views;

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
        .or_else(|| persons::lookup(kind))
        .or_else(|| map::lookup(kind))
        .or_else(|| epochs::lookup(kind))
        .or_else(|| bindings::lookup(kind))
        .or_else(|| views::lookup(kind))
        .or_else(|| host::lookup(kind))
}
