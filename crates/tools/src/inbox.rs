//! `messaging_inbox`: what waits for the session.
//! Spec: §11 "inbox", D7.3

use messaging_core::bounded::List;
use messaging_core::ids::Ulid;
use messaging_core::peer_text::FenceKind;
use messaging_core::random::Random;
use messaging_core::time::Ms;
use messaging_core::{b64, json as wire};
use messaging_ipc::call::{InboxAck, InboxList};
use messaging_ipc::params::inbox::{Ack, AckStage, ListItems};
use messaging_ipc::scalars::Count;
use messaging_ipc::shapes::{EntryCursor, InboxItem, InboxStage};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::address::Place;
use crate::arguments::Inbox;
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::room::Room;
use crate::shown::{consent_of, from_of, put};

/// Pages of the daemon's that one call looks through for items of one sender.
const PAGES: usize = 10;

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn inbox(&self, session: &Session, asked: Inbox) -> Result<Value, ToolError> {
        let from = asked.from.map(|from| self.place(from, session)).transpose()?;
        if matches!(from, Some(Place::Channel(_))) {
            return Err(ToolError::field("from", "a person or an agent"));
        }
        let mut before =
            asked.cursor.as_ref().map(|cursor| entry_cursor("cursor", cursor)).transpose()?;
        let mut room = Room::new(self.budget());
        let mut items = Vec::new();
        let mut handed = Vec::new();
        let mut more = true;
        let mut unread = 0;
        'pages: for _ in 0..PAGES {
            let params = ListItems {
                key: session.key.clone(),
                unread_only: asked.unread,
                limit: Count::clamped(if from.is_some() { 200 } else { asked.limit.value() }),
                before: before.clone(),
            };
            let page = self.ask::<InboxList>(&params).await?;
            unread = page.unread;
            more = page.more;
            for item in &page.items {
                let wanted = from.as_ref().is_none_or(|from| is_from(item, from));
                if wanted {
                    let shown = Value::Object(self.item(session, item));
                    if items.len() >= asked.limit.as_usize() || !room.take(&shown) {
                        more = true;
                        break 'pages;
                    }
                    items.push(shown);
                    if item.stage == InboxStage::Delivered {
                        handed.push(item.id);
                    }
                }
                before = Some(EntryCursor { at: item.at, id: item.id });
            }
            if from.is_none() || !more || page.items.is_empty() {
                break;
            }
        }
        self.hand(session, handed).await?;
        let mut answer = Map::new();
        answer.insert("items".into(), items.into());
        answer.insert("unread".into(), unread.into());
        answer.insert("more".into(), more.into());
        put(&mut answer, "cursor", before.filter(|_| more).map(|at| cursor_of(&at)));
        Ok(Value::Object(answer))
    }

    /// Says that items were handed to the agent: those of a result that is built, and no others.
    pub(crate) async fn hand(&self, session: &Session, ids: Vec<Ulid>) -> Result<(), ToolError> {
        for some in ids.chunks(100) {
            if let Ok(ids) = List::new(some.to_vec()) {
                let params = Ack { key: session.key.clone(), ids, stage: AckStage::HandedToAgent };
                self.ask::<InboxAck>(&params).await?;
            }
        }
        Ok(())
    }

    /// The members of an item.
    pub(crate) fn item(&self, session: &Session, item: &InboxItem) -> Map<String, Value> {
        let from = from_of(&item.from);
        let mut shown = Map::new();
        shown.insert("id".into(), item.id.as_str().into());
        shown.insert("kind".into(), json!(item.kind));
        shown.insert("from".into(), self.peer(&item.from));
        let preview = self.fenced(item.preview.as_untrusted(), from, FenceKind::Preview);
        shown.insert("preview".into(), preview.into());
        shown.insert("attachments".into(), item.attachments.into());
        let consent = consent_of(session, &item.from.person, item.consent);
        shown.insert("consent".into(), consent);
        shown.insert("stage".into(), json!(item.stage));
        shown.insert("messageId".into(), self.a2a_id(&item.message_id, from).into());
        shown.insert("contextId".into(), self.a2a_id(&item.context_id, from).into());
        put(&mut shown, "taskId", item.task_id.as_ref().map(Ulid::as_str));
        put(&mut shown, "replyTo", item.reply_to.as_ref().map(Ulid::as_str));
        shown.insert("at".into(), item.at.0.into());
        put(&mut shown, "chain", self.chain(item.chain.as_ref(), from));
        shown
    }
}

fn is_from(item: &InboxItem, from: &Place) -> bool {
    match from {
        Place::Own(person) | Place::Person(person) => item.from.person == *person,
        Place::Agent(address) => {
            item.from.person == address.person
                && item.from.agent.as_ref() == Some(&address.session)
                && address.label.as_ref().is_none_or(|label| *label == item.from.label)
        }
        Place::Channel(_) => false,
    }
}

/// The place of an entry as a cursor.
pub(crate) fn cursor_of(at: &EntryCursor) -> String {
    b64::encode(wire::print(&json!({"at": at.at.0, "id": at.id.as_str()})).as_bytes())
}

/// The place of a cursor.
pub(crate) fn entry_cursor(field: &str, cursor: &str) -> Result<EntryCursor, ToolError> {
    let read = || {
        let bytes = b64::decode(cursor).ok()?;
        let value = wire::parse(&bytes, 256).ok()?;
        Some(EntryCursor {
            at: Ms(value.get("at")?.as_u64()?),
            id: Ulid::parse(value.get("id")?.as_str()?).ok()?,
        })
    };
    read().ok_or_else(|| ToolError::field(field, "is not one that this tool gave"))
}
