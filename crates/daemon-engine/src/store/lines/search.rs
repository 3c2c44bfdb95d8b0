//! Lines found by what they say: every term must occur somewhere in the folded text.
//! Spec: §8.2 `search`, D3.20
//!
//! A term of three or more characters is looked up in the index of trigrams as a quoted phrase, so that nothing in it is
//! query syntax. A shorter one is looked for in the newest lines themselves, and where it is rare, as the trigrams that
//! begin with it: a text ends with two line feeds in the index, so that each of its characters begins one. In a small room
//! every line is looked at. No walk is longer than what one call may look at: whoever asks is told that there is more.

use std::collections::BTreeSet;

use messaging_core::ids::Ulid;
use messaging_store::{Row, StoreError, View, params};

use super::{COLUMNS, LineRow, read};
use crate::store::channels;
use crate::store::columns::{Read, stored};
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

/// How much one walk over lines may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    pub(crate) lines: u32,
    /// Bytes of text, before the line that goes past them.
    pub(crate) bytes: usize,
}

impl Looks {
    /// What a call may look at, so that the daemon does other things in between.
    pub(crate) const ONE_CALL: Self = Self { lines: 20_000, bytes: 8 << 20 };

    /// Whether there is room for a line of so many bytes, which is taken.
    fn take(&mut self, bytes: usize) -> bool {
        if self.lines == 0 || self.bytes == 0 {
            return false;
        }
        self.lines -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }
}

/// At most `limit` lines that hold every term, newest first; those of one room when it is named. Says too whether lines were
/// left that nobody looked at.
pub(crate) fn find(
    view: &View<'_>,
    terms: &Terms,
    room: Option<&RoomKey>,
    limit: usize,
    looks: Looks,
) -> Result<(Vec<LineRow>, bool), StoreError> {
    let channels = channels::ids(view)?;
    let mut finding = Finding { view, terms, room, channels, limit, looks, found: Vec::new() };
    let small = match room {
        Some(room) => !is_large(view, room)?,
        None => false,
    };
    let phrases = terms.phrases();
    let rest = match &phrases {
        Some(_) if !small => Some(u64::MAX),
        _ => finding.look(u64::MAX, if small { u32::MAX } else { RECENT })?,
    };
    let left = match (rest, phrases) {
        (None, _) => false,
        (Some(rest), Some(phrases)) => finding.ask(&phrases, rest)?,
        (Some(rest), None) => match finding.trigrams()? {
            Some(trigrams) if trigrams.is_empty() => false,
            Some(trigrams) => finding.ask(&trigrams, rest)?,
            // It begins too many: it is not rare.
            None => finding.look(rest, u32::MAX)?.is_some(),
        },
    };
    Ok((finding.found, left))
}

/// What is found so far.
struct Finding<'v> {
    view: &'v View<'v>,
    terms: &'v Terms,
    room: Option<&'v RoomKey>,
    /// The channels that are held. Lines of others are on their way out.
    channels: BTreeSet<Ulid>,
    limit: usize,
    looks: Looks,
    found: Vec<LineRow>,
}

impl Finding<'_> {
    /// Takes a line that holds every term, when its room is one of those asked for.
    fn take(&mut self, row: &Row<'_>) -> Read<()> {
        let line = read(row)?;
        let asked = match (self.room, &line.room) {
            (Some(room), of) => of == room,
            (None, RoomKey::Channel(id)) => self.channels.contains(id),
            (None, RoomKey::Dm(_)) => true,
        };
        if asked {
            self.found.push(line);
        }
        Ok(())
    }

    /// Looks at so many lines below a number. Returns the number below which the rest is, when that matters.
    fn look(&mut self, below: u64, lines: u32) -> Result<Option<u64>, StoreError> {
        let mut looks = Looks { lines: lines.min(self.looks.lines), ..self.looks };
        let (mut last, mut all) = (below, true);
        let (kind, id) = (self.room.map(RoomKey::kind), self.room.map(RoomKey::id));
        let of_room = if self.room.is_some() { "room_kind = ?2 AND room_id = ?3 AND" } else { "" };
        self.view.each(
            &format!(
                "SELECT {COLUMNS}, fold FROM lines WHERE {of_room} seq < ?1 AND (?2 IS NULL OR ?3 IS NOT NULL)
                 ORDER BY seq DESC"
            ),
            params![stored(below), kind, id],
            |row| {
                let fold = row.get_ref(FOLD)?.as_str()?;
                all = looks.take(fold.len());
                if !all {
                    return Ok(false);
                }
                last = u64::try_from(row.get::<_, i64>(SEQ)?).unwrap_or(0);
                if self.terms.are_in(fold) {
                    self.take(row)?;
                }
                Ok(self.found.len() < self.limit)
            },
        )?;
        Ok((!all).then_some(last))
    }

    /// Asks the index, for what is below a number. Returns whether it knows more than could be looked at.
    fn ask(&mut self, query: &str, below: u64) -> Result<bool, StoreError> {
        let (mut looks, mut all) = (self.looks, true);
        self.view.each(
            &format!(
                "SELECT {COLUMNS}, lines.fold FROM lines_found JOIN lines ON seq = lines_found.rowid
                 WHERE lines_found MATCH ?1 AND lines_found.rowid < ?2 ORDER BY lines_found.rowid DESC"
            ),
            params![query, stored(below)],
            |row| {
                let fold = row.get_ref(FOLD)?.as_str()?;
                all = looks.take(fold.len());
                // The text may hold the trigrams of a term and not the short terms beside it.
                if all && self.terms.are_in(fold) {
                    self.take(row)?;
                }
                Ok(all && self.found.len() < self.limit)
            },
        )?;
        Ok(!all)
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
