//! Makes the files of `spec-vectors/`: our own known answers, from fixed seeds, byte for byte.
//!
//! Each case says in code what must come of it: a result that holds by the standard it tests, a
//! code, or a result that the file then pins. A case that gives anything else is not written.

mod binding;
mod book;
mod cards;
mod cast;
mod delegation;
mod directory;
mod envelope;
mod grants;
mod host;
mod jcs;
mod keys;
mod negative;
mod personview;
mod rfc;
mod roster;
mod signature;
mod wire;

pub use book::{Book, WriteError};

/// A file of `spec-vectors/`: its name, and its text.
pub type Written = (&'static str, String);

/// Makes every file.
///
/// Errors: the case that did not give what it must.
pub fn all() -> Result<Vec<Written>, WriteError> {
    [
        ("binding.json", binding::book as fn() -> Result<Book, WriteError>),
        ("cards.json", cards::book),
        ("delegation.json", delegation::book),
        ("directory.json", directory::book),
        ("envelope.json", envelope::book),
        ("grants.json", grants::book),
        ("host.json", host::book),
        ("jcs.json", jcs::book),
        ("keys.json", keys::book),
        ("negative.json", negative::book),
        ("personview.json", personview::book),
        ("rfc.json", rfc::book),
        ("roster.json", roster::book),
        ("signature.json", signature::book),
        ("wire.json", wire::book),
    ]
    .into_iter()
    .map(|(name, book)| Ok((name, book()?.print())))
    .collect()
}
