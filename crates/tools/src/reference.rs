//! How an agent names an item: by its id, by the end of it, or as the newest.
//! Spec: §11, D7.3

use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::random::Random;
use messaging_ipc::call::{InboxList, TaskList};
use messaging_ipc::params::inbox::ListItems;
use messaging_ipc::params::task::ListTasks;
use messaging_ipc::scalars::{Count, SessionKey, Str};
use messaging_ipc::shapes::{EntryCursor, InboxItem, InboxStage};
use serde::{Deserialize, Deserializer};

use crate::Tools;
use crate::fault::ToolError;
use crate::link::AgentLink;

/// A reference as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A whole id.
    Whole(Ulid),
    /// The last characters of one, four or more, in upper case.
    End(String),
    /// The newest item of the inbox.
    Last,
}

impl Reference {
    fn parse(text: &str) -> Option<Self> {
        if text == "last" {
            return Some(Self::Last);
        }
        let text = text.to_ascii_uppercase();
        if let Ok(id) = Ulid::parse(&text) {
            return Some(Self::Whole(id));
        }
        // Crockford's figures, which an id is made of.
        let figures = text.bytes().all(|b| b.is_ascii_alphanumeric() && !b"ILOU".contains(&b));
        (figures && (4..26).contains(&text.len())).then_some(Self::End(text))
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?)
            .ok_or_else(|| serde::de::Error::custom("an id, the end of one, or last"))
    }
}

/// Pages of a list that are looked through for the end of an id.
const PAGES: usize = 20;

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// The id that a reference names. `unseen` says whether `last` may be an item that was not shown yet.
    ///
    /// Errors: `not_found`; `invalid_request` for the end of several ids; `invalid_state` for an unseen `last`.
    pub(crate) async fn resolve(
        &self,
        field: &str,
        reference: Reference,
        key: &SessionKey,
        unseen: bool,
    ) -> Result<Ulid, ToolError> {
        match reference {
            Reference::Whole(id) => Ok(id),
            Reference::Last => {
                let newest = self.inbox_page(key, 1, None).await?.0.into_iter().next();
                let newest = newest.ok_or_else(|| {
                    ToolError::new(Code::NotFound, format!("{field}: the inbox is empty"))
                })?;
                if newest.stage == InboxStage::Delivered && !unseen {
                    let from = match &newest.from.address {
                        Some(address) => address.as_str(),
                        None => newest.from.person.as_str(),
                    };
                    let message = format!(
                        "a newer message arrived from {from}; read it first or name the id"
                    );
                    return Err(ToolError::new(Code::InvalidState, message));
                }
                Ok(newest.id)
            }
            Reference::End(end) => self.by_end(field, &end, key).await,
        }
    }

    async fn by_end(&self, field: &str, end: &str, key: &SessionKey) -> Result<Ulid, ToolError> {
        let mut found: Vec<Ulid> = Vec::new();
        let mut take = |id: &Ulid| {
            if id.as_str().ends_with(end) && !found.contains(id) {
                found.push(*id);
            }
        };
        self.state().sent.iter().for_each(&mut take);
        let mut before = None;
        for _ in 0..PAGES {
            let (items, more) = self.inbox_page(key, 200, before).await?;
            for item in &items {
                take(&item.id);
                item.task_id.iter().for_each(&mut take);
            }
            before = items.last().map(|item| EntryCursor { at: item.at, id: item.id });
            if !more || before.is_none() {
                break;
            }
        }
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = ListTasks {
                key: key.clone(),
                role: None,
                state: None,
                context_id: None,
                peer: None,
                updated_after: None,
                limit: Count::clamped(100),
                cursor,
            };
            let page = self.ask::<TaskList>(&params).await?;
            for task in &page.tasks {
                take(&task.id);
                take(&task.request_id);
            }
            cursor = page.next_cursor.and_then(|cursor| Str::new(cursor).ok());
            if cursor.is_none() {
                break;
            }
        }
        match found.as_slice() {
            [id] => Ok(*id),
            [] => {
                Err(ToolError::new(Code::NotFound, format!("{field} ends no id of this session")))
            }
            _ => Err(ToolError::field(field, "ends several ids; give more of its characters")),
        }
    }

    /// A page of the inbox, newest first, and whether more follow.
    async fn inbox_page(
        &self,
        key: &SessionKey,
        limit: u64,
        before: Option<EntryCursor>,
    ) -> Result<(Vec<InboxItem>, bool), ToolError> {
        let params = ListItems {
            key: key.clone(),
            unread_only: false,
            limit: Count::clamped(limit),
            before,
        };
        let page = self.ask::<InboxList>(&params).await?;
        Ok((page.items, page.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_an_id_the_end_of_one_or_last() {
        let id = Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        assert_eq!(Reference::parse("01arz3ndektsv4rrffq69g5fav"), Some(Reference::Whole(id)));
        assert_eq!(Reference::parse("g5fav"), Some(Reference::End("G5FAV".into())));
        assert_eq!(Reference::parse("last"), Some(Reference::Last));
        for bad in ["", "FAV", "G5FA-", "LAST", "01ARZ3NDEKTSV4RRFFQ69G5FAVX", "ILOU"] {
            assert_eq!(Reference::parse(bad), None, "{bad}");
        }
    }
}
