//! Lines found by what they say: every term must occur somewhere in the folded text.
//! Spec: §8.2 `search`, D3.20
//!
//! A term of three or more characters is looked up in the index of trigrams as a quoted phrase, so that nothing in it is
//! query syntax. Shorter ones, and every term of a small room, are looked for in the text itself.

use messaging_store::{StoreError, View, params};

use super::{COLUMNS, LineRow, read};
use crate::store::rooms::RoomKey;

/// What is looked for: folded terms, none of them empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms(Vec<String>);

impl Terms {
    /// The terms of a folded query, which whitespace divides; none when there is nothing to look for.
    pub(crate) fn of(fold: &str) -> Option<Self> {
        let terms: Vec<String> = fold.split_whitespace().map(str::to_owned).collect();
        (!terms.is_empty()).then_some(Self(terms))
    }

    /// Whether every term occurs in a folded text.
    pub(crate) fn are_in(&self, fold: &str) -> bool {
        self.0.iter().all(|term| fold.contains(term.as_str()))
    }

    /// The query of the index; none when no term is long enough for it.
    fn phrases(&self) -> Option<String> {
        let long = self.0.iter().filter(|term| term.chars().count() >= TRIGRAM);
        let phrases: Vec<String> =
            long.map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect();
        (!phrases.is_empty()).then(|| phrases.join(" AND "))
    }
}

/// At most `limit` lines that hold every term, newest first; those of one room when it is named.
pub(crate) fn find(
    view: &View<'_>,
    terms: &Terms,
    room: Option<&RoomKey>,
    limit: usize,
) -> Result<Vec<LineRow>, StoreError> {
    let mut found = Vec::new();
    let mut see = |row: &messaging_store::Row<'_>| {
        // The text may hold the trigrams of a term and not the short terms beside it.
        if terms.are_in(row.get_ref(FOLD)?.as_str()?) {
            found.push(read(row)?);
        }
        Ok(found.len() < limit)
    };
    match (terms.phrases(), room) {
        (Some(phrases), None) => view.each(
            &format!(
                "SELECT {COLUMNS}, lines.fold FROM lines_found JOIN lines ON seq = lines_found.rowid
                 WHERE lines_found MATCH ?1 ORDER BY lines_found.rowid DESC"
            ),
            params![phrases],
            &mut see,
        )?,
        (Some(phrases), Some(room)) if is_large(view, room)? => view.each(
            &format!(
                "SELECT {COLUMNS}, lines.fold FROM lines_found JOIN lines ON seq = lines_found.rowid
                 WHERE lines_found MATCH ?1 AND room_kind = ?2 AND room_id = ?3 ORDER BY lines_found.rowid DESC"
            ),
            params![phrases, room.kind(), room.id()],
            &mut see,
        )?,
        (_, Some(room)) => view.each(
            &format!(
                "SELECT {COLUMNS}, fold FROM lines WHERE room_kind = ?1 AND room_id = ?2 ORDER BY seq DESC"
            ),
            params![room.kind(), room.id()],
            &mut see,
        )?,
        (None, None) => view.each(
            &format!("SELECT {COLUMNS}, fold FROM lines ORDER BY seq DESC"),
            (),
            &mut see,
        )?,
    }
    Ok(found)
}

/// Whether looking through a room costs more than asking the index.
fn is_large(view: &View<'_>, room: &RoomKey) -> Result<bool, StoreError> {
    let past = view.row(
        "SELECT 1 FROM lines WHERE room_kind = ?1 AND room_id = ?2 LIMIT 1 OFFSET ?3",
        params![room.kind(), room.id(), SMALL_ROOM],
        |_| Ok(()),
    )?;
    Ok(past.is_some())
}

/// Where the folded text stands behind [`COLUMNS`].
const FOLD: usize = 18;
/// Characters of an entry of the index.
const TRIGRAM: usize = 3;
/// Lines of a room that are looked through one by one.
const SMALL_ROOM: u32 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folded_text_stands_behind_the_columns() {
        assert_eq!(COLUMNS.split(',').count(), FOLD);
    }

    #[test]
    fn terms_are_quoted_whatever_they_hold() {
        let phrases = |fold: &str| Terms::of(fold).unwrap().phrases();
        assert_eq!(
            phrases("one-two \"or\" not*").as_deref(),
            Some("\"one-two\" AND \"\"\"or\"\"\" AND \"not*\"")
        );
        assert_eq!(phrases("日本 ab"), None);
        assert_eq!(Terms::of(" \t"), None);
    }
}
