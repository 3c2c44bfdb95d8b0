//! Lines found by what they say: every term must occur somewhere in the folded text.
//! Spec: §8.2 `search`, D3.20
//!
//! A term of three or more characters is looked up in the index of trigrams as a quoted phrase, so that nothing in it is
//! query syntax. A shorter one is looked for in the newest lines themselves, and where it is rare, as the trigrams that
//! begin with it: a text ends with two line feeds in the index, so that each of its characters begins one. In a small room
//! every line is looked at.

use messaging_store::{StoreError, View, params};

use super::{COLUMNS, LineRow, read};
use crate::store::columns::stored;
use crate::store::rooms::RoomKey;

/// A folded text as the index has it.
pub(super) fn indexed(fold: &str) -> String {
    format!("{fold}\n\n")
}

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
        let phrases: Vec<String> = long.map(|term| phrase(term)).collect();
        (!phrases.is_empty()).then(|| phrases.join(" AND "))
    }

    /// The longest term.
    fn longest(&self) -> &str {
        self.0.iter().max_by_key(|term| term.chars().count()).map_or("", String::as_str)
    }
}

/// A text as the index takes it for a text.
fn phrase(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// At most `limit` lines that hold every term, newest first; those of one room when it is named.
pub(crate) fn find(
    view: &View<'_>,
    terms: &Terms,
    room: Option<&RoomKey>,
    limit: usize,
) -> Result<Vec<LineRow>, StoreError> {
    let mut finding = Finding { view, terms, room, limit, found: Vec::new() };
    let small = match room {
        Some(room) => !is_large(view, room)?,
        None => false,
    };
    match terms.phrases() {
        _ if small => finding.look(u64::MAX, u32::MAX).map(drop)?,
        Some(phrases) => finding.ask(&phrases, u64::MAX)?,
        None => {
            if let Some(rest) = finding.look(u64::MAX, RECENT)? {
                match finding.trigrams()? {
                    Some(trigrams) if trigrams.is_empty() => {}
                    Some(trigrams) => finding.ask(&trigrams, rest)?,
                    // It begins too many: it is not rare.
                    None => finding.look(rest, u32::MAX).map(drop)?,
                }
            }
        }
    }
    Ok(finding.found)
}

/// What is found so far.
struct Finding<'v> {
    view: &'v View<'v>,
    terms: &'v Terms,
    room: Option<&'v RoomKey>,
    limit: usize,
    found: Vec<LineRow>,
}

impl Finding<'_> {
    /// Looks at so many lines below a number. Returns the number below which the rest is, when that matters.
    fn look(&mut self, below: u64, lines: u32) -> Result<Option<u64>, StoreError> {
        let (mut looked, mut last) = (0, 0);
        let (kind, id) = (self.room.map(RoomKey::kind), self.room.map(RoomKey::id));
        let of_room = if self.room.is_some() { "room_kind = ?3 AND room_id = ?4 AND" } else { "" };
        let Self { view, terms, limit, found, .. } = self;
        view.each(
            &format!(
                "SELECT {COLUMNS}, fold FROM lines WHERE {of_room} seq < ?1 AND (?3 IS NULL OR ?4 IS NOT NULL)
                 ORDER BY seq DESC LIMIT ?2"
            ),
            params![stored(below), lines, kind, id],
            |row| {
                looked += 1;
                last = u64::try_from(row.get::<_, i64>(SEQ)?).unwrap_or(0);
                if terms.are_in(row.get_ref(FOLD)?.as_str()?) {
                    found.push(read(row)?);
                }
                Ok(found.len() < *limit)
            },
        )?;
        Ok((looked == lines && found.len() < *limit).then_some(last))
    }

    /// Asks the index, for what is below a number.
    fn ask(&mut self, query: &str, below: u64) -> Result<(), StoreError> {
        let (kind, id) = (self.room.map(RoomKey::kind), self.room.map(RoomKey::id));
        let Self { view, terms, limit, found, .. } = self;
        view.each(
            &format!(
                "SELECT {COLUMNS}, lines.fold FROM lines_found JOIN lines ON seq = lines_found.rowid
                 WHERE lines_found MATCH ?1 AND lines_found.rowid < ?2
                   AND (?3 IS NULL OR (room_kind = ?3 AND room_id = ?4))
                 ORDER BY lines_found.rowid DESC"
            ),
            params![query, stored(below), kind, id],
            |row| {
                // The text may hold the trigrams of a term and not the short terms beside it.
                if terms.are_in(row.get_ref(FOLD)?.as_str()?) {
                    found.push(read(row)?);
                }
                Ok(found.len() < *limit)
            },
        )
    }

    /// The query for every trigram that begins with the longest term, which is a short one; none when they are too many.
    fn trigrams(&self) -> Result<Option<String>, StoreError> {
        let mut trigrams = Vec::new();
        self.view.each(
            "SELECT term FROM lines_terms WHERE term >= ?1 AND term < ?1 || char(1114111) LIMIT ?2",
            params![self.terms.longest(), MOST_TRIGRAMS + 1],
            |row| {
                trigrams.push(phrase(&row.get::<_, String>(0)?));
                Ok(true)
            },
        )?;
        let few = trigrams.len() <= MOST_TRIGRAMS as usize;
        Ok(few.then(|| trigrams.join(" OR ")))
    }
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

/// Where a line's number stands in [`COLUMNS`].
const SEQ: usize = 1;
/// Where the folded text stands behind [`COLUMNS`].
const FOLD: usize = 18;
/// Lines that a short term is looked for in, before the index is asked.
const RECENT: u32 = 2_000;
/// Trigrams that the index is asked for at once.
const MOST_TRIGRAMS: u32 = 400;
/// Characters of an entry of the index.
const TRIGRAM: usize = 3;
/// Lines of a room that are looked through one by one.
const SMALL_ROOM: u32 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folded_text_stands_behind_the_columns() {
        let columns: Vec<&str> = COLUMNS.split(',').map(str::trim).collect();
        assert_eq!((columns.len(), columns[SEQ]), (FOLD, "seq"));
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
