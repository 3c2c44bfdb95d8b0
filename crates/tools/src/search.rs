//! `messaging_search`: lines of channels.
//! Spec: §11 "search", D7.3

use messaging_core::code::Code;
use messaging_core::random::Random;
use messaging_ipc::call::Search as Find;
use messaging_ipc::params::conv::Search as FindParams;
use messaging_ipc::scalars::{Count, Room as Chat};
use messaging_ipc::shapes::ChatLine;
use serde_json::{Value, json};

use crate::Tools;
use crate::address::Place;
use crate::arguments::Search;
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::room::Room;

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn search(
        &self,
        session: &Session,
        asked: Search,
    ) -> Result<Value, ToolError> {
        let places = match asked.with {
            Some(with) => {
                let place = self.place(with, session)?;
                self.admit(&place)?;
                vec![place]
            }
            None if self.options().persons => Vec::new(),
            None => self.options().channels.iter().cloned().map(Place::Channel).collect(),
        };
        if places.is_empty() && !self.options().persons {
            return Err(ToolError::new(Code::Forbidden, "no channel was opened to this agent"));
        }
        let mut rooms = Vec::new();
        for place in &places {
            rooms.push(Some(match place {
                Place::Own(person) | Place::Person(person) => Chat::Dm(person.clone()),
                Place::Channel(name) => Chat::Channel(name.clone()),
                Place::Agent(_) => {
                    return Err(ToolError::field(
                        "with",
                        "a channel; agents' mail is not searched",
                    ));
                }
            }));
        }
        if rooms.is_empty() {
            rooms.push(None);
        }
        let mut more = false;
        let mut hits: Vec<ChatLine> = Vec::new();
        for (at, conversation) in rooms.into_iter().enumerate() {
            let params = FindParams {
                query: asked.query.clone(),
                conversation,
                limit: Count::clamped(asked.limit.value()),
            };
            let found = match places.get(at) {
                Some(place) => self.ask_at::<Find>(&params, place, false).await?,
                None => self.ask::<Find>(&params).await?,
            };
            more |= found.more;
            hits.extend(found.hits);
        }
        hits.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.id.cmp(&a.id)));
        let mut room = Room::new(self.budget());
        let mut shown = Vec::new();
        for line in &hits {
            let hit = self.hit(line);
            if shown.len() >= asked.limit.as_usize() || !room.take(&hit) {
                more = true;
                break;
            }
            shown.push(hit);
        }
        Ok(json!({ "hits": shown, "more": more }))
    }
}
