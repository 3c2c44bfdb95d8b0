//! The key directory's trees: persons, the map, the epoch log, tree heads and their adoption.

mod heads;
mod log;
mod map;
mod persons;

use super::book::{Book, WriteError};

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Persons and realms of a key directory, the map of persons, the epoch log at odd sizes, \
         tree heads, and chains of rotations (section 15).",
    );
    persons::write(&mut book)?;
    map::write(&mut book)?;
    log::write(&mut book)?;
    heads::write(&mut book)?;
    Ok(book)
}
