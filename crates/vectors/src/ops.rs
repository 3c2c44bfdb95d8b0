//! The kinds of cases: one function each, found by name.

use crate::args::{Args, Outcome};

pub mod encodings;

/// One kind: arguments in, result or refusal out.
pub type Op = fn(&Args<'_>) -> Outcome;

/// The operation of this kind, if it is known.
///
/// A file of `ops/` owns a section's kinds and lists them in its own `lookup`.
pub fn lookup(kind: &str) -> Option<Op> {
    encodings::lookup(kind)
}
