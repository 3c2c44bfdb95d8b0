//! One good envelope of every kind: sealed, verified, opened.

mod edges;
mod kinds;

use super::book::{Book, WriteError};
use super::cast::Cast;

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Envelopes of every kind: sealed with fixed randomness, received, opened with a replaced \
         key, and the heads they commit to (section 5).",
    );
    let mut cast = Cast::new(&mut book)?;
    kinds::write(&mut book, &mut cast)?;
    edges::write(&mut book, &mut cast)?;
    Ok(book)
}
