//! `messaging_read`: one item, or one conversation.
//! Spec: §11 "read", D7.3, R16

use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::peer_text::FenceKind;
use messaging_core::random::Random;
use messaging_ipc::call::{InboxGet, ItemRead, TaskGet};
use messaging_ipc::params::inbox::{GetItem, ReadItem};
use messaging_ipc::params::task::Get;
use messaging_ipc::results::inbox::{InboxEntry, ItemRead as Item};
use messaging_ipc::shapes::{Content, InboxStage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::arguments::Read;
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::notes;
use crate::parts::{Section, Spot};
use crate::room::Room;
use crate::shown::{Author, from_of, put};

/// How far each part of a message was shown: what was read in pieces counts as read when all of it was.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    messages: Vec<(Ulid, Vec<usize>)>,
}

/// Messages whose progress is kept in mind.
const MESSAGES: usize = 64;

impl Progress {
    /// Takes note that a part was shown from `start` to `end`.
    fn shown(&mut self, id: &Ulid, part: usize, start: usize, end: usize) {
        let at = self.messages.iter().position(|(known, _)| known == id);
        let entry = match at {
            Some(at) => self.messages.get_mut(at),
            None => {
                if self.messages.len() >= MESSAGES {
                    self.messages.remove(0);
                }
                self.messages.push((*id, Vec::new()));
                self.messages.last_mut()
            }
        };
        if let Some((_, parts)) = entry {
            if parts.len() <= part {
                parts.resize(part.saturating_add(1), 0);
            }
            if let Some(reached) = parts.get_mut(part)
                && start <= *reached
            {
                *reached = end.max(*reached);
            }
        }
    }

    /// Whether every part of a message was shown to its end.
    fn whole(&self, id: &Ulid, lengths: &[usize]) -> bool {
        let reached = self.messages.iter().find(|(known, _)| known == id);
        let parts = reached.map_or(&[][..], |(_, parts)| parts.as_slice());
        lengths.iter().enumerate().all(|(at, length)| parts.get(at).unwrap_or(&0) >= length)
    }
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn read(&self, session: &Session, asked: Read) -> Result<Value, ToolError> {
        let paged = asked.part.is_some() || asked.offset.is_some() || asked.cursor.is_some();
        let rooms = asked.thread.is_some()
            || asked.before.is_some()
            || asked.after.is_some()
            || asked.limit.is_some();
        match (asked.id.clone(), asked.with.clone()) {
            (Some(reference), None) => {
                if rooms {
                    return Err(ToolError::field(
                        "with",
                        "thread, before, after and limit go with it",
                    ));
                }
                let id = self.resolve("id", reference, &session.key, true).await?;
                let start = spot(&asked)?;
                self.read_id(session, &id, start).await
            }
            (None, Some(with)) => {
                if paged {
                    return Err(ToolError::field("id", "part, offset and cursor go with it"));
                }
                let place = self.place(with, session)?;
                self.admit(&place)?;
                self.conversation(session, place, &asked).await
            }
            _ => Err(ToolError::field("id", "exactly one of id and with")),
        }
    }

    async fn read_id(&self, session: &Session, id: &Ulid, start: Spot) -> Result<Value, ToolError> {
        let params = GetItem { key: session.key.clone(), id: *id, message: true };
        match self.ask::<InboxGet>(&params).await {
            Ok(entry) => return self.message(session, entry, start).await,
            Err(error) if error.code == Code::NotFound => {}
            Err(error) => return Err(error),
        }
        let params = Get { key: session.key.clone(), task_id: *id, role: None };
        match self.ask::<TaskGet>(&params).await {
            Ok(found) => return Ok(self.task(session, &found.task, start)),
            Err(error) if error.code == Code::NotFound => {}
            Err(error) => return Err(error),
        }
        let params = ReadItem { key: session.key.clone(), id: *id };
        match self.ask::<ItemRead>(&params).await? {
            Item::Sent { envelope_id, to, stage, code, history, .. } => {
                let history: Vec<Value> = history
                    .iter()
                    .map(|step| {
                        let mut shown = Map::new();
                        shown.insert("stage".into(), json!(step.stage));
                        put(&mut shown, "code", step.code.map(Code::as_str));
                        shown.insert("at".into(), step.at.0.into());
                        Value::Object(shown)
                    })
                    .collect();
                let mut shown = Map::new();
                shown.insert("kind".into(), "delivery".into());
                shown.insert("id".into(), envelope_id.as_str().into());
                shown.insert("to".into(), to.into());
                shown.insert("stage".into(), json!(stage));
                put(&mut shown, "code", code.map(Code::as_str));
                shown.insert("history".into(), history.into());
                shown.insert("note".into(), notes::of_stage(stage, code).into());
                Ok(Value::Object(shown))
            }
            // It arrived between two calls: it is there to be read again.
            Item::Received { .. } => {
                Err(ToolError::new(Code::Internal, "the item moved; read it again"))
            }
        }
    }

    async fn message(
        &self,
        session: &Session,
        entry: InboxEntry,
        start: Spot,
    ) -> Result<Value, ToolError> {
        let item = &entry.item;
        let message = entry.message.unwrap_or_default();
        let from = from_of(&item.from).to_owned();
        let mut shown = self.item(session, item);
        // The item says what it is in `type`, since `kind` says what is read.
        let kind = shown.insert("kind".into(), "message".into());
        shown.insert("type".into(), kind.unwrap_or_default());
        let mut room = Room::new(self.budget());
        room.take(&Value::Object(shown.clone()));
        let section = Section {
            author: Author::Peer,
            from: &from,
            kind: FenceKind::Message,
            object: &message,
            beside: Map::new(),
        };
        let filled = self.fill(&[section], start, &mut room);
        let lengths: Vec<usize> = message.parts().map(|(content, _)| length(content)).collect();
        let whole = {
            let mut state = self.state();
            let stop = filled.next.unwrap_or(Spot { section: 1, ..Spot::default() });
            for (at, length) in lengths.iter().enumerate() {
                let first = at == start.part;
                let reached = stop.section > 0 || at < stop.part;
                let end = if reached {
                    *length
                } else if at == stop.part {
                    stop.offset
                } else {
                    0
                };
                if at >= start.part && end > 0 {
                    state.progress.shown(&item.id, at, if first { start.offset } else { 0 }, end);
                }
            }
            state.progress.whole(&item.id, &lengths)
        };
        let parts: Vec<Value> = filled.shown.into_iter().flat_map(|(_, parts)| parts).collect();
        shown.insert("parts".into(), parts.into());
        if let Some(next) = filled.next {
            shown.insert("truncated".into(), true.into());
            shown.insert("cursor".into(), next.cursor().into());
        }
        // The result is built: now the sender may hear of it, of no more than what was shown.
        if whole {
            let params = ReadItem { key: session.key.clone(), id: item.id };
            self.ask::<ItemRead>(&params).await?;
        } else if item.stage == InboxStage::Delivered {
            self.hand(session, vec![item.id]).await?;
        }
        Ok(Value::Object(shown))
    }
}

/// Where a call asks to begin.
fn spot(asked: &Read) -> Result<Spot, ToolError> {
    let from_parts = asked.part.is_some() || asked.offset.is_some();
    match &asked.cursor {
        Some(_) if from_parts => Err(ToolError::field("cursor", "without part and offset")),
        Some(cursor) => Spot::parse(cursor)
            .ok_or_else(|| ToolError::field("cursor", "is not one that this tool gave")),
        None => Ok(Spot {
            section: 0,
            part: asked.part.map_or(0, |part| part.as_usize()),
            offset: asked.offset.map_or(0, |offset| offset.as_usize()),
        }),
    }
}

/// How many bytes of a part are shown when all of it is.
fn length(content: Content<'_>) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Url(url) => url.len(),
        Content::Data(data) => messaging_core::json::print(data).len(),
        Content::Raw(raw) => messaging_core::b64::decode_standard(raw)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map_or(0, |text| text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_was_not_read() {
        let id = Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        let mut progress = Progress::default();
        assert!(progress.whole(&id, &[0, 0]));
        progress.shown(&id, 0, 0, 10);
        progress.shown(&id, 1, 50, 100);
        assert!(!progress.whole(&id, &[10, 100]));
        progress.shown(&id, 1, 0, 60);
        assert!(!progress.whole(&id, &[10, 100]));
        progress.shown(&id, 1, 60, 100);
        assert!(progress.whole(&id, &[10, 100]));
        let memory = serde_json::to_value(&progress).unwrap();
        let recalled: Progress = messaging_core::json::decode(&memory).unwrap();
        assert!(recalled.whole(&id, &[10, 100]) && !recalled.whole(&id, &[11, 100]));
    }
}
