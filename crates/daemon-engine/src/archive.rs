//! A person's correspondence as a whole: mail is found by its words; mail and lines are read out once, from the first to the
//! last.
//! Spec: §8.2, docs/decisions/0013-a-senders-copy.md
//!
//! One call looks at a bounded number of messages, so that the daemon does other things in between; the caller goes on
//! from the cursor.

use messaging_core::b64;
use messaging_core::json::{self, utf16_cut};
use messaging_core::peer_text::PeerText;
use messaging_core::time::Ms;
use messaging_ipc::line::LINE_BYTES;
use messaging_ipc::results::archive::{Held, HeldMail, HeldPage, MailHits};
use messaging_ipc::scalars::Target;
use messaging_ipc::shapes::Direction;
use messaging_store::{StoreError, View};
use serde_json::Value;

use crate::chats::{self, Names};
use crate::store::archive::{self, ALL, Filter, MAIL, Place, Table};
use crate::store::{channels, inbox, lines, sent, sent_text};
use crate::tasks::view;
use crate::views;

/// What a call is about; none when that can be nothing, as with a channel that is not held.
pub(crate) fn filter<'a>(
    view: &View<'_>,
    with: Option<&'a Target>,
    since: Option<Ms>,
) -> Result<Option<Filter<'a>>, StoreError> {
    let since = since.unwrap_or_default();
    Ok(Some(match with {
        None => Filter { since, ..Filter::default() },
        Some(Target::Person(person)) => Filter { since, person: Some(person), ..Filter::default() },
        Some(Target::Agent(address)) => Filter {
            since,
            person: Some(&address.person),
            agent: Some(&address.session),
            label: address.label.as_ref(),
            channel: None,
        },
        Some(Target::Channel(name)) => match channels::by_local(view, name)? {
            Some(held) => Filter { since, channel: Some(held.record.id), ..Filter::default() },
            None => return Ok(None),
        },
    }))
}

/// Mail that holds every word of `query`, newest first.
pub(crate) fn search(
    view: &View<'_>,
    query: &str,
    filter: &Filter<'_>,
    mut from: Option<Place>,
    limit: usize,
) -> Result<MailHits, StoreError> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let (mut hits, mut looked, mut bytes) = (Vec::new(), 0, 0);
    loop {
        let places = archive::places(view, MAIL, filter, true, from.as_ref(), STEP)?;
        let last = places.len() < STEP;
        for place in places {
            if hits.len() == limit || looked >= LOOKS || bytes >= LOOK_BYTES {
                return Ok(MailHits { hits, cursor: cursor(from.as_ref()) });
            }
            if let Some((mut mail, message)) = load(view, &place)? {
                let text = message.as_ref().map(views::text).unwrap_or_default();
                looked += 1;
                bytes += text.len();
                if let Some(excerpt) = excerpt(&text, &words) {
                    mail.history = None;
                    mail.excerpt = Some(PeerText::new(excerpt));
                    hits.push(mail);
                }
            }
            from = Some(place);
        }
        if last {
            return Ok(MailHits { hits, cursor: None });
        }
    }
}

/// The next page of everything, oldest first.
pub(crate) fn page(
    view: &View<'_>,
    filter: &Filter<'_>,
    mut from: Option<Place>,
    limit: usize,
) -> Result<HeldPage, StoreError> {
    let places = archive::places(view, ALL, filter, false, from.as_ref(), limit)?;
    let mut names = Names::default();
    let mut full = places.len() == limit;
    let (mut entries, mut room) = (Vec::new(), PAGE_BYTES);
    for place in places {
        if let Some(entry) = held(view, &mut names, &place)? {
            let bytes = messaging_ipc::line::print(&entry).len();
            if bytes > room && !entries.is_empty() {
                full = true;
                break;
            }
            room = room.saturating_sub(bytes);
            entries.push(entry);
        }
        from = Some(place);
    }
    Ok(HeldPage { entries, cursor: if full { cursor(from.as_ref()) } else { None } })
}

/// What stands at a place, whole; none when it was swept meanwhile.
fn held(view: &View<'_>, names: &mut Names, place: &Place) -> Result<Option<Held>, StoreError> {
    if place.table == Table::Lines {
        let Some(row) = lines::get(view, &place.id)? else { return Ok(None) };
        let room = names.room(view, &row.room)?;
        return Ok(room.map(|room| Held::Line(chats::line(row, room))));
    }
    let Some((mut mail, message)) = load(view, place)? else { return Ok(None) };
    mail.message = message.as_ref().map(view::object).transpose()?;
    Ok(Some(Held::Mail(mail)))
}

/// A message and what it says, if that is kept; none when it was swept meanwhile.
fn load(view: &View<'_>, place: &Place) -> Result<Option<(HeldMail, Option<Value>)>, StoreError> {
    match place.table {
        Table::Inbox => {
            let Some(row) = inbox::by_id(view, &place.id)? else { return Ok(None) };
            let message = inbox::message(view, row.seq)?;
            let peer = views::peer(
                &row.from_person,
                row.from_device,
                &row.from_label,
                row.from_agent.as_ref(),
            );
            let mail = HeldMail {
                id: row.id,
                at: row.arrived_at,
                direction: Direction::In,
                session: row.session_name,
                peer,
                message_id: PeerText::new(row.message_id),
                context_id: PeerText::new(row.context_id),
                task_id: row.task_id,
                reply_to: row.reply_to,
                stage: row.stage,
                code: None,
                sent_at: row.ts,
                history: None,
                excerpt: None,
                message: None,
            };
            Ok(Some((mail, message)))
        }
        Table::Sent => {
            let Some(row) = sent::get(view, &place.id)? else { return Ok(None) };
            let history = views::history(&row);
            let peer =
                views::peer(&row.to_person, row.to_device, &row.to_label, row.to_agent.as_ref());
            let Some(session) = row.session_name else { return Ok(None) };
            let mail = HeldMail {
                id: row.id,
                at: row.ts,
                direction: Direction::Out,
                session,
                peer,
                message_id: PeerText::new(row.message_id),
                context_id: PeerText::new(row.context_id),
                task_id: row.task_id,
                reply_to: row.reply_to,
                stage: row.stage,
                code: row.code,
                sent_at: row.ts,
                history: Some(history),
                excerpt: None,
                message: None,
            };
            Ok(Some((mail, sent_text::get(view, &place.id)?)))
        }
        Table::Lines => Ok(None),
    }
}

/// The part of a text around the first of the words, when it holds all of them.
fn excerpt(text: &str, words: &[String]) -> Option<String> {
    let folded = text.to_lowercase();
    let first = words.first()?;
    if !words.iter().all(|word| folded.contains(word.as_str())) {
        return None;
    }
    // Folding may change lengths: the place is counted in characters, and an excerpt need not be exact.
    let before = folded.get(..folded.find(first.as_str())?)?.chars().count();
    let from = before.saturating_sub(BEFORE_CHARS);
    let cut: String = text.chars().skip(from).collect();
    let start = if from > 0 { "…" } else { "" };
    Some(format!("{start}{}", utf16_cut(&cut, views::PREVIEW_UNITS)))
}

/// A place as callers carry it.
fn cursor(place: Option<&Place>) -> Option<String> {
    let text = serde_json::to_vec(place?).ok()?;
    Some(b64::encode(&text))
}

/// The place that a caller brings back; none when it is none.
pub(crate) fn place(cursor: &str) -> Option<Place> {
    json::decode(&json::parse(&b64::decode(cursor).ok()?, CURSOR_BYTES).ok()?).ok()
}

/// A place as text, with room to spare.
const CURSOR_BYTES: usize = 128;
/// Places that are read at once.
const STEP: usize = 200;
/// Messages that one search looks at.
const LOOKS: usize = 2_000;
/// Bytes of text that one search looks at, before the message that goes past it.
const LOOK_BYTES: usize = 8 << 20;
/// Bytes of one page: a line less what stands around it.
const PAGE_BYTES: usize = LINE_BYTES - 1_048_576;
/// How much of a text an excerpt shows before what was found.
const BEFORE_CHARS: usize = 40;

#[cfg(test)]
mod tests {
    use messaging_core::ids::Ulid;

    use super::*;

    #[test]
    fn an_excerpt_shows_what_was_found_whatever_the_words_are() {
        let words = |query: &str| -> Vec<String> {
            query.split_whitespace().map(str::to_lowercase).collect()
        };
        let text =
            format!("{} the İstanbul build-server* is \"green\" again 🌱 שלום", "x ".repeat(60));
        for query in ["GREEN", "build-server* green", "\"green\"", "🌱", "שלום", "istanbul-no-more"]
        {
            let found = excerpt(&text, &words(query));
            assert_eq!(found.is_some(), query != "istanbul-no-more", "{query}");
        }
        let found = excerpt(&text, &words("green")).unwrap();
        assert!(found.starts_with('…') && found.contains("green"));
        assert_eq!(excerpt("short", &words("short")).unwrap(), "short");
        assert_eq!(excerpt("", &words("x")), None);
    }

    #[test]
    fn a_cursor_comes_back_and_nothing_else_is_one() {
        let id = Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        for table in [Table::Inbox, Table::Sent, Table::Lines] {
            let at = Place { at: Ms(5), id, table };
            assert_eq!(place(&cursor(Some(&at)).unwrap()), Some(at));
        }
        let twice = format!(r#"{{"at":5,"at":6,"id":"{id}","table":"s"}}"#);
        assert_eq!(place(&b64::encode(twice.as_bytes())), None, "not what JSON is on the wire");
        assert_eq!(place("x"), None);
        assert_eq!(place(&b64::encode(b"{}")), None);
    }
}
