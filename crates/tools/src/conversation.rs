//! `messaging_read` of a conversation: a channel's lines, or what the session exchanged with an agent.
//! Spec: §11 "Conversations", D7.3

use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::Address;
use messaging_core::peer_text::{FenceKind, neutral};
use messaging_core::random::Random;
use messaging_ipc::call::ConvRead;
use messaging_ipc::params::conv::{PageCursor, Read as ReadParams};
use messaging_ipc::results::conv::ConvPage;
use messaging_ipc::scalars::{Conversation, Count, Room as Chat};
use messaging_ipc::shapes::{ChatLine, ConvEntry, Direction, EntryCursor, PeerRef};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::address::Place;
use crate::arguments::{Read, state_word};
use crate::fault::ToolError;
use crate::inbox::{cursor_of, entry_cursor};
use crate::link::{AgentLink, Session};
use crate::room::Room;
use crate::shown::{Author, from_of, put};

/// A place among lines: a line's number, and a byte of its text when a line is longer than an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineSpot {
    seq: u64,
    offset: usize,
}

impl LineSpot {
    fn cursor(self) -> String {
        b64::encode(format!("{}.{}", self.seq, self.offset).as_bytes())
    }

    fn parse(field: &str, cursor: &str) -> Result<Self, ToolError> {
        let read = || {
            let bytes = b64::decode(cursor).ok()?;
            let (seq, offset) = std::str::from_utf8(&bytes).ok()?.split_once('.')?;
            Some(Self { seq: seq.parse().ok()?, offset: offset.parse().ok()? })
        };
        read().ok_or_else(|| ToolError::field(field, "is not one that this tool gave"))
    }
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn conversation(
        &self,
        session: &Session,
        place: Place,
        asked: &Read,
    ) -> Result<Value, ToolError> {
        if asked.before.is_some() && asked.after.is_some() {
            return Err(ToolError::field("after", "not with before"));
        }
        match &place {
            Place::Agent(address) => {
                if asked.thread.is_some() {
                    return Err(ToolError::field("thread", "only of a channel"));
                }
                self.agent_entries(session, &place, address, asked).await
            }
            Place::Own(person) | Place::Person(person) => {
                let name = format!("person:{person}");
                self.lines(&place, Chat::Dm(person.clone()), name, asked).await
            }
            Place::Channel(channel) => {
                let name = format!("channel:{channel}");
                self.lines(&place, Chat::Channel(channel.clone()), name, asked).await
            }
        }
    }

    async fn lines(
        &self,
        place: &Place,
        chat: Chat,
        name: String,
        asked: &Read,
    ) -> Result<Value, ToolError> {
        let after =
            asked.after.as_ref().map(|cursor| LineSpot::parse("after", cursor)).transpose()?;
        let before =
            asked.before.as_ref().map(|cursor| LineSpot::parse("before", cursor)).transpose()?;
        // A cursor into a line begins with that line.
        let from =
            after.map(|spot| if spot.offset > 0 { spot.seq.saturating_sub(1) } else { spot.seq });
        let params = ReadParams {
            key: None,
            conversation: Conversation::Room(chat),
            thread: asked.thread,
            before: before.map(|spot| PageCursor::Line(spot.seq)),
            after: from.map(PageCursor::Line),
            limit: Some(Count::clamped(asked.limit.unwrap_or_default().value())),
        };
        let page = self.ask_at::<ConvRead>(&params, place, asked.thread.is_some()).await?;
        let ConvPage::Lines { lines, more, .. } = page else {
            return Err(ToolError::new(Code::Internal, "the daemon's answer is of another kind"));
        };
        let mut room = Room::new(self.budget());
        let mut shown = Vec::new();
        let mut rest = None;
        let mut all = true;
        let forward = after.is_some();
        let order: Box<dyn Iterator<Item = &ChatLine> + Send> =
            if forward { Box::new(lines.iter()) } else { Box::new(lines.iter().rev()) };
        for line in order {
            let start = match after {
                Some(spot) if spot.seq == line.seq => spot.offset,
                _ => 0,
            };
            match self.line(line, start, &mut room, shown.is_empty()) {
                Some((value, end)) => {
                    shown.push((line.seq, value));
                    if let Some(offset) = end {
                        rest = Some(LineSpot { seq: line.seq, offset });
                        all = shown.len() == lines.len();
                        break;
                    }
                }
                None => {
                    all = false;
                    break;
                }
            }
        }
        if !forward {
            shown.reverse();
        }
        let (first, last) = (shown.first().map(|(seq, _)| *seq), shown.last().map(|(seq, _)| *seq));
        let at = |seq: Option<u64>| seq.map(|seq| LineSpot { seq, offset: 0 }.cursor());
        let mut answer = Map::new();
        answer.insert("kind".into(), "lines".into());
        answer.insert("conversation".into(), name.into());
        let lines: Vec<Value> = shown.into_iter().map(|(_, value)| value).collect();
        answer.insert("lines".into(), lines.into());
        put(&mut answer, "before", at(first));
        put(&mut answer, "after", rest.map(LineSpot::cursor).or_else(|| at(last)));
        answer.insert("more".into(), (more || !all || rest.is_some()).into());
        Ok(Value::Object(answer))
    }

    /// One line from a byte of its text on, and where it goes on. A line is cut only when it is the first of its answer.
    fn line(
        &self,
        line: &ChatLine,
        start: usize,
        room: &mut Room,
        may_cut: bool,
    ) -> Option<(Value, Option<usize>)> {
        let before = *room;
        let mut shown = self.line_head(line);
        let text = line.text.as_untrusted();
        let fits = room.take(&Value::Object(shown.clone()));
        let end = room.take_text(text, start, usize::MAX).filter(|_| fits);
        let Some(end) = end.filter(|end| *end == text.len() || may_cut) else {
            *room = before;
            return None;
        };
        let piece = text.get(start..end).unwrap_or_default();
        self.line_text(&mut shown, line, piece);
        let rest = (end < text.len()).then_some(end);
        if rest.is_some() || line.truncated.is_some() {
            shown.insert("truncated".into(), true.into());
        }
        Some((Value::Object(shown), rest))
    }

    fn line_head(&self, line: &ChatLine) -> Map<String, Value> {
        let mut from = Map::new();
        from.insert("person".into(), line.person.as_str().into());
        let agent = line.agent.as_ref();
        put(
            &mut from,
            "agent",
            agent.map(|name| self.fenced(name.as_str(), line.person.as_str(), FenceKind::Name)),
        );
        let mut shown = Map::new();
        shown.insert("id".into(), line.id.as_str().into());
        shown.insert("seq".into(), line.seq.into());
        shown.insert("at".into(), line.at.0.into());
        shown.insert("from".into(), Value::Object(from));
        shown.insert("author".into(), author_of(line).as_str().into());
        put(&mut shown, "thread", line.thread.as_ref().map(|id| id.as_str()));
        put(&mut shown, "notice", line.notice.map(|_| true));
        put(&mut shown, "state", line.state.map(|state| json!(state)));
        shown
    }

    fn line_text(&self, shown: &mut Map<String, Value>, line: &ChatLine, piece: &str) {
        let text = match author_of(line) {
            Author::Ours => neutral(piece),
            Author::Peer => self.fenced(piece, line.person.as_str(), FenceKind::Line),
        };
        shown.insert("text".into(), text.into());
    }

    /// A line among the hits of a search: its beginning, and where it stands.
    pub(crate) fn hit(&self, line: &ChatLine) -> Value {
        let mut shown = self.line_head(line);
        for member in ["seq", "author", "notice", "state"] {
            shown.remove(member);
        }
        let name = match &line.conversation {
            Chat::Dm(person) => format!("person:{person}"),
            Chat::Channel(name) => format!("channel:{name}"),
        };
        shown.insert("conversation".into(), name.into());
        let (start, whole) = crate::room::head(line.text.as_untrusted(), 1_500);
        self.line_text(&mut shown, line, start);
        if !whole {
            shown.insert("truncated".into(), true.into());
        }
        Value::Object(shown)
    }

    async fn agent_entries(
        &self,
        session: &Session,
        place: &Place,
        address: &Address,
        asked: &Read,
    ) -> Result<Value, ToolError> {
        let cursor = |field: &str, cursor: &Option<messaging_core::bounded::Str<1, 128>>| {
            cursor
                .as_ref()
                .map(|cursor| entry_cursor(field, cursor).map(PageCursor::Entry))
                .transpose()
        };
        let forward = asked.after.is_some();
        let params = ReadParams {
            key: Some(session.key.clone()),
            conversation: Conversation::Agent {
                person: address.person.clone(),
                agent: address.session.clone(),
            },
            thread: None,
            before: cursor("before", &asked.before)?,
            after: cursor("after", &asked.after)?,
            limit: Some(Count::clamped(asked.limit.unwrap_or_default().value())),
        };
        let page = self.ask_at::<ConvRead>(&params, place, false).await?;
        let ConvPage::Agent { conversation, entries, more } = page else {
            return Err(ToolError::new(Code::Internal, "the daemon's answer is of another kind"));
        };
        let mut room = Room::new(self.budget());
        let mut shown = Vec::new();
        let count = entries.len();
        let order: Box<dyn Iterator<Item = &ConvEntry> + Send> =
            if forward { Box::new(entries.iter()) } else { Box::new(entries.iter().rev()) };
        for entry in order {
            let (at, value) = self.entry(entry);
            if !room.take(&value) {
                break;
            }
            shown.push((at, value));
        }
        let all = shown.len() == count;
        if !forward {
            shown.reverse();
        }
        let mut answer = Map::new();
        answer.insert("kind".into(), "agent".into());
        answer.insert("conversation".into(), conversation.to_string().into());
        put(&mut answer, "before", shown.first().map(|(at, _)| cursor_of(at)));
        put(&mut answer, "after", shown.last().map(|(at, _)| cursor_of(at)));
        let entries: Vec<Value> = shown.into_iter().map(|(_, value)| value).collect();
        answer.insert("entries".into(), entries.into());
        answer.insert("more".into(), (more || !all).into());
        Ok(Value::Object(answer))
    }

    fn entry(&self, entry: &ConvEntry) -> (EntryCursor, Value) {
        let mut shown = Map::new();
        let head = |shown: &mut Map<String, Value>,
                    kind: &str,
                    id: &messaging_core::ids::Ulid,
                    at: u64,
                    direction: Direction,
                    author: Author,
                    peer: &PeerRef| {
            shown.insert("type".into(), kind.into());
            shown.insert("id".into(), id.as_str().into());
            shown.insert("at".into(), at.into());
            shown.insert("direction".into(), json!(direction));
            shown.insert("author".into(), author.as_str().into());
            shown.insert("label".into(), peer.label.as_str().into());
        };
        match entry {
            ConvEntry::Mail {
                id, at, direction, peer, preview, attachments, stage, code, ..
            } => {
                let author = if *direction == Direction::In { Author::Peer } else { Author::Ours };
                head(&mut shown, "mail", id, at.0, *direction, author, peer);
                let preview = preview.as_ref().filter(|_| author == Author::Peer);
                put(
                    &mut shown,
                    "preview",
                    preview.map(|text| {
                        self.fenced(text.as_untrusted(), from_of(peer), FenceKind::Preview)
                    }),
                );
                put(&mut shown, "attachments", *attachments);
                shown.insert("stage".into(), json!(stage));
                put(&mut shown, "code", code.map(Code::as_str));
                (EntryCursor { at: *at, id: *id }, Value::Object(shown))
            }
            ConvEntry::Task { id, at, direction, peer, title, state, .. } => {
                let author = if *direction == Direction::Out { Author::Ours } else { Author::Peer };
                head(&mut shown, "task", id, at.0, *direction, author, peer);
                let title = self.text(title.as_untrusted(), author, from_of(peer), FenceKind::Task);
                shown.insert("title".into(), title.into());
                shown.insert("titleAuthor".into(), author.as_str().into());
                shown.insert("state".into(), state_word(*state).into());
                (EntryCursor { at: *at, id: *id }, Value::Object(shown))
            }
        }
    }
}

/// A notice is the daemon's and quotes names; a line of this side is ours.
fn author_of(line: &ChatLine) -> Author {
    match line.direction {
        Direction::Out if line.notice.is_none() => Author::Ours,
        _ => Author::Peer,
    }
}
