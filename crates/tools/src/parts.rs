//! Parts of messages and artifacts as an agent reads them, piece by piece when they are long.
//! Spec: D7.3 `read`, §11 "Authors"

use messaging_core::b64;
use messaging_core::peer_text::FenceKind;
use messaging_core::random::Random;
use messaging_ipc::shapes::{A2aObject, Content};
use serde_json::{Map, Value};

use crate::Tools;
use crate::link::AgentLink;
use crate::room::Room;
use crate::shown::Author;

/// The most bytes of one part's content in one answer.
const PER_PART: usize = 65_536;

/// Parts of one author, with the members that stand beside them.
pub(crate) struct Section<'a> {
    pub(crate) author: Author,
    pub(crate) from: &'a str,
    pub(crate) kind: FenceKind,
    pub(crate) object: &'a A2aObject,
    pub(crate) beside: Map<String, Value>,
}

/// A place in a list of sections: the section, the part in it, and the byte of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) section: usize,
    pub(crate) part: usize,
    pub(crate) offset: usize,
}

impl Spot {
    /// The place as a cursor.
    pub(crate) fn cursor(self) -> String {
        b64::encode(format!("{}.{}.{}", self.section, self.part, self.offset).as_bytes())
    }

    /// The place of a cursor.
    pub(crate) fn parse(cursor: &str) -> Option<Self> {
        let bytes = b64::decode(cursor).ok()?;
        let mut numbers = std::str::from_utf8(&bytes).ok()?.split('.').map(|n| n.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { section: next()?, part: next()?, offset: next()? })
    }
}

/// What was shown of some sections.
pub(crate) struct Filled {
    /// For each section with something to show: its number, and its parts.
    pub(crate) shown: Vec<(usize, Vec<Value>)>,
    /// Where to go on; `None` when all was shown.
    pub(crate) next: Option<Spot>,
}

/// The text of a part that is shown piece by piece, and its member's name.
struct Body<'a> {
    kind: &'static str,
    member: &'static str,
    text: std::borrow::Cow<'a, str>,
    bytes: Option<usize>,
}

fn body(content: Content<'_>) -> Body<'_> {
    use std::borrow::Cow;
    match content {
        Content::Text(text) => {
            Body { kind: "text", member: "text", text: Cow::Borrowed(text), bytes: None }
        }
        Content::Url(url) => {
            Body { kind: "url", member: "url", text: Cow::Borrowed(url), bytes: None }
        }
        Content::Data(data) => {
            let text = Cow::Owned(messaging_core::json::print(data));
            Body { kind: "data", member: "data", text, bytes: None }
        }
        Content::Raw(raw) => {
            let bytes = b64::decode_standard(raw).unwrap_or_default();
            let length = bytes.len();
            // Bytes that are no text are counted, not shown.
            let text = String::from_utf8(bytes).unwrap_or_default();
            Body { kind: "file", member: "content", text: Cow::Owned(text), bytes: Some(length) }
        }
    }
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// Shows sections from `start` on, as far as there is room.
    pub(crate) fn fill(&self, sections: &[Section<'_>], start: Spot, room: &mut Room) -> Filled {
        let mut shown = Vec::new();
        for (number, section) in sections.iter().enumerate().skip(start.section) {
            let first = if number == start.section { start.part } else { 0 };
            let mut parts = Vec::new();
            if !room.take(&Value::Object(section.beside.clone())) {
                let next = Spot { section: number, part: first, offset: 0 };
                return Filled { shown, next: Some(next) };
            }
            for (at, (content, members)) in section.object.parts().enumerate().skip(first) {
                let here = Spot { section: number, part: at, offset: 0 };
                let offset = if here == (Spot { offset: 0, ..start }) { start.offset } else { 0 };
                let (part, next) = match self.part(section, content, members, offset, room) {
                    Some((part, end)) => (Some(part), end.map(|offset| Spot { offset, ..here })),
                    None => (None, Some(Spot { offset, ..here })),
                };
                parts.extend(part);
                if let Some(next) = next {
                    shown.push((number, parts));
                    return Filled { shown, next: Some(next) };
                }
            }
            shown.push((number, parts));
        }
        Filled { shown, next: None }
    }

    /// One part from a byte of its text on, and where it goes on. `None` when there is no room for any of it.
    fn part(
        &self,
        section: &Section<'_>,
        content: Content<'_>,
        members: &Map<String, Value>,
        offset: usize,
        room: &mut Room,
    ) -> Option<(Value, Option<usize>)> {
        let show = |text: &str, kind| self.text(text, section.author, section.from, kind);
        let body = body(content);
        let mut part = Map::new();
        part.insert("author".into(), section.author.as_str().into());
        part.insert("type".into(), body.kind.into());
        for (member, name) in [("filename", "name"), ("mediaType", "mediaType")] {
            if let Some(text) = members.get(member).and_then(Value::as_str) {
                part.insert(name.into(), show(text, FenceKind::Name).into());
            }
        }
        if let Some(bytes) = body.bytes {
            part.insert("bytes".into(), bytes.into());
        }
        let start = at_character(&body.text, offset);
        let before = *room;
        if !room.take(&Value::Object(part.clone())) {
            return None;
        }
        let binary = body.bytes.is_some_and(|bytes| bytes > 0) && body.text.is_empty();
        if binary {
            return Some((Value::Object(part), None));
        }
        let Some(end) = room.take_text(&body.text, start, PER_PART) else {
            *room = before;
            return None;
        };
        let piece = body.text.get(start..end).unwrap_or_default();
        part.insert(body.member.into(), show(piece, section.kind).into());
        if start > 0 {
            part.insert("offset".into(), start.into());
        }
        let rest = end < body.text.len();
        if rest {
            part.insert("truncated".into(), true.into());
            part.insert("next".into(), end.into());
        }
        Some((Value::Object(part), rest.then_some(end)))
    }
}

/// The last place at or before `offset` at which a character begins.
fn at_character(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        let spot = Spot { section: 3, part: 0, offset: 65_536 };
        assert_eq!(Spot::parse(&spot.cursor()), Some(spot));
        for bad in ["", "x", "AAAA", "MS4y"] {
            assert_eq!(Spot::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_offset_inside_a_character_goes_back_to_its_beginning() {
        assert_eq!(at_character("aé", 2), 1);
        assert_eq!(at_character("aé", 9), 3);
    }
}
