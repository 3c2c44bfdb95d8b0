//! The eight tools with which an agent reads and writes messages, over a link that somebody else keeps.
//!
//! This crate knows nothing of sockets, processes or the protocol in which a host calls tools: it takes a tool's name
//! and arguments and gives its answer. Whatever another person wrote is fenced before it is in an answer.
//!
//! - [`Tools`] the tools of one session; [`Answer`] what a call gives.
//! - [`link`] what they need of the daemon; [`ToolError`] how they say no.
//! - [`schema`] what a host is told about them, [`instructions`] what its model is.
#![forbid(unsafe_code)]

mod address;
mod arguments;
mod awaited;
mod contacts;
mod conversation;
mod fault;
mod inbox;
pub mod link;
mod news;
mod notes;
mod parts;
mod read;
mod read_task;
mod reference;
mod room;
pub mod schema;
mod search;
mod send;
mod shown;
mod tasks;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use messaging_core::code::Code;
use messaging_core::ids::{ChannelName, Ulid};
use messaging_core::random::Random;
use messaging_core::{jcs, json};
use messaging_ipc::call::Call;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::address::{Place, ToolAddress};
use crate::link::{AgentLink, Session};
use crate::news::Changes;
use crate::read::Progress;

pub use fault::{ToolError, remedy};
pub use news::News;
pub use notes::{UNTRUSTED_SENTENCE, instructions};

/// The bytes of text that an answer takes at most, unless its client says otherwise.
pub const ANSWER_BYTES: usize = 24 * 1_024;
/// The least that can be said.
pub const LEAST_ANSWER_BYTES: usize = 16 * 1_024;

/// What one client's tools may do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The only channels they reach, by local name.
    pub channels: Vec<ChannelName>,
    /// Whether they reach conversations with persons. Never over MCP, which has no approval for one conversation.
    pub persons: bool,
    /// The most bytes of an answer's text.
    pub answer_bytes: usize,
    /// Tells one run of the client from another, for the keys of sends that name none.
    pub instance: String,
}

/// What a call gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The tool's result, or its refusal.
    pub result: Result<Value, ToolError>,
    /// What came in since the last answer that said so.
    pub news: Option<News>,
}

/// What is remembered between calls.
#[derive(Debug, Default)]
pub(crate) struct State {
    changes: Changes,
    progress: Progress,
    /// Envelopes that this client sent, the latest last.
    sent: Vec<Ulid>,
}

/// Envelopes that are remembered.
const SENT: usize = 500;

/// The tools of one session.
#[derive(Debug)]
pub struct Tools<L, R> {
    link: L,
    rng: Mutex<R>,
    options: Options,
    state: Mutex<State>,
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// The tools over a link. `rng` makes the fences' nonces.
    pub fn new(link: L, rng: R, options: Options) -> Self {
        Self { link, rng: Mutex::new(rng), options, state: Mutex::default() }
    }

    /// The link.
    pub fn link(&self) -> &L {
        &self.link
    }

    /// Calls a tool by its name; `None` when there is none of that name. `call` is the host's id of the call: the same
    /// call with the same arguments sends once.
    pub async fn call(&self, tool: &str, arguments: Value, call: &Value) -> Option<Answer> {
        schema::TOOLS.iter().find(|known| known.name == tool)?;
        let session = match self.link.session().await {
            Ok(session) => session,
            Err(error) => return Some(Answer { result: Err(error.into()), news: None }),
        };
        let result = self.dispatch(tool, arguments, call, &session).await;
        let news = self.news(&session).await;
        Some(Answer { result, news })
    }

    async fn dispatch(
        &self,
        tool: &str,
        arguments: Value,
        call: &Value,
        session: &Session,
    ) -> Result<Value, ToolError> {
        json::check(&arguments)
            .map_err(|_| ToolError::new(Code::InvalidRequest, "the arguments are not wire JSON"))?;
        match tool {
            "messaging_contacts" => self.contacts(session, decode(&arguments)?).await,
            "messaging_send" => self.send(session, decode(&arguments)?, call, &arguments).await,
            "messaging_inbox" => self.inbox(session, decode(&arguments)?).await,
            "messaging_read" => self.read(session, decode(&arguments)?).await,
            "messaging_search" => self.search(session, decode(&arguments)?).await,
            "messaging_tasks" => self.tasks(session, decode(&arguments)?).await,
            "messaging_task_update" => self.task_update(session, decode(&arguments)?).await,
            _ => self.task_cancel(session, decode(&arguments)?).await,
        }
    }

    /// What is remembered between calls, for a process that takes this one's place.
    pub fn memory(&self) -> Value {
        let state = self.state();
        serde_json::json!({ "sent": state.sent, "progress": state.progress })
    }

    /// Takes up what another process remembered. What is not understood is not remembered.
    pub fn recall(&self, memory: &Value) {
        let mut state = self.state();
        if let Some(sent) = memory.get("sent").and_then(|sent| json::decode(sent).ok()) {
            state.sent = sent;
        }
        if let Some(progress) = memory.get("progress").and_then(|known| json::decode(known).ok()) {
            state.progress = progress;
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn budget(&self) -> usize {
        self.options.answer_bytes.max(LEAST_ANSWER_BYTES)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one statement, so a panic elsewhere cannot have left half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn rng(&self) -> MutexGuard<'_, R> {
        self.rng.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn remember_sent(&self, id: Ulid) {
        let mut state = self.state();
        if state.sent.len() >= SENT {
            state.sent.remove(0);
        }
        state.sent.push(id);
    }

    /// One call of the daemon.
    pub(crate) async fn ask<C: Call>(&self, params: &C::Params) -> Result<C::Result, ToolError> {
        let unreadable = || ToolError::new(Code::Internal, "the daemon's answer could not be read");
        let params = jcs::to_value(params)
            .map_err(|_| ToolError::new(Code::InvalidRequest, "the arguments are not wire JSON"))?;
        let result = self.link.call(C::METHOD, params).await?;
        json::decode(&result).map_err(|_| unreadable())
    }

    /// As [`ask`](Self::ask), for a call about an address: what the daemon does not know by that address is
    /// `unknown_address`. With a reference beside the address, only what names the address is.
    pub(crate) async fn ask_at<C: Call>(
        &self,
        params: &C::Params,
        place: &Place,
        referring: bool,
    ) -> Result<C::Result, ToolError> {
        self.ask::<C>(params).await.map_err(|error| {
            let unknown = match error.code {
                Code::NoRecipients => true,
                Code::NotFound => !referring && !matches!(place, Place::Agent(_)),
                _ => false,
            };
            if unknown {
                ToolError::new(
                    Code::UnknownAddress,
                    "no person, agent or channel of that address is known here",
                )
            } else {
                error
            }
        })
    }

    /// An address with `me` resolved.
    pub(crate) fn place(
        &self,
        address: ToolAddress,
        session: &Session,
    ) -> Result<Place, ToolError> {
        address
            .place(session.person().as_ref())
            .ok_or_else(|| ToolError::new(Code::NoIdentity, "this device has no identity yet"))
    }

    /// Whether these tools reach a conversation at all, before the daemon is asked.
    pub(crate) fn admit(&self, place: &Place) -> Result<(), ToolError> {
        let allowed = match place {
            Place::Agent(_) => true,
            Place::Own(_) | Place::Person(_) => self.options.persons,
            Place::Channel(name) => self.options.channels.contains(name),
        };
        if allowed {
            return Ok(());
        }
        let message = match place {
            Place::Channel(_) => "that channel was not opened to this agent",
            _ => "conversations with persons are not open to this agent",
        };
        Err(ToolError::new(Code::Forbidden, message))
    }
}

fn decode<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolError> {
    Ok(json::decode(arguments)?)
}
