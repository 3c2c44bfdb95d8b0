//! `messaging_send`: mail, a task, or a line in a channel.
//! Spec: §11 "send", D7.3

use messaging_core::b64;
use messaging_core::bounded::List;
use messaging_core::code::Code;
use messaging_core::ids::{Address, Ulid};
use messaging_core::jcs;
use messaging_core::limits::PARTS_PER_MESSAGE;
use messaging_core::random::Random;
use messaging_core::stage::Stage;
use messaging_ipc::call::{MsgSend, TaskGet};
use messaging_ipc::params::msg::{ContactWish, OnBehalfOf, Send as SendParams};
use messaging_ipc::params::task::Get;
use messaging_ipc::scalars::{Printable, Target};
use messaging_ipc::shapes::{Part, SendResult, TaskOrMessage, TaskRecord, TaskRole};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::address::Place;
use crate::arguments::{Encoding, File, Outgoing};
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::notes;
use crate::shown::put;

/// Parts of a call: at least one, at most as many as a message may have.
pub(crate) type Parts = List<Part, 1, PARTS_PER_MESSAGE>;

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn send(
        &self,
        session: &Session,
        asked: Outgoing,
        call: &Value,
        arguments: &Value,
    ) -> Result<Value, ToolError> {
        let until = asked
            .wait
            .map(|wait| self.link().now().saturating_add(wait.value().saturating_mul(1_000)));
        let place = self.place(asked.to, session)?;
        let target = match &place {
            Place::Own(person) | Place::Person(person) => Target::Person(person.clone()),
            Place::Agent(address) => Target::Agent(address.clone()),
            Place::Channel(name) => Target::Channel(name.clone()),
        };
        let agent = match &place {
            Place::Agent(address) => Some(address),
            _ => None,
        };
        if asked.ask && agent.is_none() {
            return Err(ToolError::field("ask", "only an agent can be asked"));
        }
        if asked.wait.is_some() && agent.is_none() {
            return Err(ToolError::field("wait", "only an agent answers"));
        }
        if asked.request.is_some() && !matches!(place, Place::Own(_)) {
            return Err(ToolError::field("request", "only with to \"me\""));
        }
        if asked.files.as_ref().is_some_and(|files| !files.is_empty()) && agent.is_none() {
            return Err(ToolError::field("files", "only to an agent"));
        }
        if asked.on_behalf_of.is_some() && !asked.ask {
            return Err(ToolError::field("onBehalfOf", "only with ask"));
        }
        self.admit(&place)?;

        let text = Part::text(asked.text.into_string());
        let parts = parts(Some(text), asked.files.as_deref(), "files")?;
        let mut params = SendParams::new(session.key.clone(), target, parts);
        params.kind = asked.ask.then_some(TaskOrMessage::Task);
        params.idempotency_key = Some(match asked.key {
            Some(key) => key,
            None => self.derived_key(call, arguments)?,
        });
        params.request = asked.request.map(|wish| ContactWish { contact: wish.contact });
        if let Some(reference) = asked.reply_to {
            let id = self.resolve("replyTo", reference, &session.key, false).await?;
            let task = match agent {
                Some(_) => self.task_of(session, &id, TaskRole::Requester).await?,
                None => None,
            };
            match (task, agent) {
                (Some(task), Some(address)) => {
                    if asked.ask || !names(address, &task) {
                        let rule = "a follow-up goes to the agent that runs the task, without ask";
                        return Err(ToolError::field("replyTo", rule));
                    }
                    params.task_id = Some(task.id);
                }
                _ => params.reply_to = Some(id),
            }
        }
        if let Some(reference) = asked.on_behalf_of {
            let id = self.resolve("onBehalfOf", reference, &session.key, false).await?;
            let task = self.task_of(session, &id, TaskRole::Executor).await?.ok_or_else(|| {
                ToolError::new(Code::NotFound, "onBehalfOf names no task that this session runs")
            })?;
            if task.status.state.is_terminal() {
                return Err(ToolError::new(Code::InvalidState, "the task of onBehalfOf has ended"));
            }
            params.on_behalf_of =
                Some(OnBehalfOf { task_id: task.id, scope: None, max_depth: None });
        }
        let suggested = params.request.is_some();
        let referring = params.reply_to.is_some();
        let sent = self.ask_at::<MsgSend>(&params, &place, referring).await?;
        let result =
            sent.results.into_iter().next().ok_or_else(|| {
                ToolError::new(Code::Internal, "the daemon's answer has no result")
            })?;
        self.remember_sent(result.envelope_id);
        let shown = self.sent(&result, &place, asked.ask, suggested);
        match until {
            Some(until) => {
                self.awaited(session, &result, params.idempotency_key, until, shown).await
            }
            None => Ok(Value::Object(shown)),
        }
    }

    fn sent(
        &self,
        result: &SendResult,
        place: &Place,
        ask: bool,
        suggested: bool,
    ) -> Map<String, Value> {
        let line = !matches!(place, Place::Agent(_));
        let mut note = match (line, suggested) {
            (true, true) => notes::SUGGESTED.to_owned(),
            (true, false) => notes::POSTED.to_owned(),
            (false, _) => notes::of_send(result),
        };
        if ask && !matches!(result.stage, Stage::Rejected | Stage::Expired) {
            note = format!("{note} {}", notes::TASK);
        }
        let from = result.to.as_str();
        let mut shown = Map::new();
        shown.insert("to".into(), from.into());
        shown.insert("id".into(), result.envelope_id.as_str().into());
        shown.insert("stage".into(), json!(result.stage));
        shown.insert("messageId".into(), self.a2a_id_text(&result.message_id, from).into());
        shown.insert("contextId".into(), self.a2a_id(&result.context_id, from).into());
        put(&mut shown, "taskId", result.task_id.as_ref().map(Ulid::as_str));
        put(&mut shown, "code", result.code.map(messaging_core::code::Code::as_str));
        let expect = match result.stage {
            Stage::Held => Some(json!("on_consent")),
            _ => result.expect.map(|expect| json!(expect)),
        };
        put(&mut shown, "expect", expect);
        shown.insert("note".into(), note.into());
        shown
    }

    /// The session's task of a role, if the id names one.
    pub(crate) async fn task_of(
        &self,
        session: &Session,
        id: &Ulid,
        role: TaskRole,
    ) -> Result<Option<TaskRecord>, ToolError> {
        let params = Get { key: session.key.clone(), task_id: *id, role: Some(role) };
        match self.ask::<TaskGet>(&params).await {
            Ok(found) => Ok(Some(found.task)),
            Err(error) if error.code == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same for the same call of the same client, so that a repeated call sends once.
    fn derived_key(&self, call: &Value, arguments: &Value) -> Result<Printable<1, 128>, ToolError> {
        let of = json!({ "instance": self.options().instance, "id": call, "args": arguments });
        let wrong = || ToolError::new(Code::InvalidRequest, "the arguments are not wire JSON");
        let digest = jcs::canonical(&of).map_err(|_| wrong())?.digest();
        let text: String = b64::encode(&digest).chars().take(32).collect();
        Printable::parse(&format!("mcp-{text}")).map_err(|_| wrong())
    }
}

/// Whether an address names the executor of a task.
fn names(address: &Address, task: &TaskRecord) -> bool {
    task.peer.person == address.person
        && task.peer.agent.as_ref() == Some(&address.session)
        && address.label.as_ref().is_none_or(|label| *label == task.peer.label)
}

/// A text and files as parts.
pub(crate) fn parts(
    text: Option<Part>,
    files: Option<&[File]>,
    field: &str,
) -> Result<Parts, ToolError> {
    let mut parts: Vec<Part> = text.into_iter().collect();
    for (at, file) in files.unwrap_or_default().iter().enumerate() {
        if !Part::is_file_name(&file.name) {
            return Err(ToolError::field(&format!("{field}[{at}].name"), "a plain file name"));
        }
        let decoded;
        let bytes = match file.encoding {
            Encoding::Utf8 => file.content.as_bytes(),
            Encoding::Base64 => {
                decoded = b64::decode_standard(&file.content).map_err(|_| {
                    ToolError::field(&format!("{field}[{at}].content"), "standard base64")
                })?;
                decoded.as_slice()
            }
        };
        parts.push(Part::file(bytes, &file.name, file.media_type.as_deref()));
    }
    List::new(parts).map_err(|_| ToolError::field(field, "text or files"))
}
