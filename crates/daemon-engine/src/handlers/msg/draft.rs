//! A message as it will be sent: its ids, its context, and what is sealed.
//! Spec: §6.1, D3.5 "Defaults"

use messaging_core::delegation::PROVENANCE;
use messaging_core::ids::Ulid;
use messaging_ipc::params::msg::Send;
use serde_json::{Map, Value, json};

use super::About;
use crate::ancestry::Place;
use crate::outbound::{Mail, Target};
use crate::store::sessions::SessionRow;
use crate::work::Work;

/// A message with everything that its call left out.
pub(super) struct Draft<'a> {
    pub(super) session: &'a SessionRow,
    pub(super) to: &'a Target,
    pub(super) params: &'a Send,
    pub(super) message_id: String,
    pub(super) context_id: String,
    /// The task that it asks for, or goes on with.
    pub(super) task_id: Option<Ulid>,
    pub(super) reply_to: Option<Ulid>,
    place: Place,
}

impl<'a> Draft<'a> {
    /// `answered` is the context of the message that this one answers.
    pub(super) fn new(
        work: &mut Work<'_, '_>,
        session: &'a SessionRow,
        to: &'a Target,
        params: &'a Send,
        about: &About,
        answered: Option<String>,
        place: Place,
    ) -> Self {
        let message_id = match &params.message_id {
            Some(id) => id.as_str().to_owned(),
            None => work.ulid().to_string(),
        };
        let (task_id, reply_to, context) = match about {
            About::Nothing => (None, None, None),
            // What goes on with a task answers its request, unless the call names something else.
            About::Task(row) => (Some(row.id), Some(row.request_id), Some(&row.context_id)),
            About::NewTask { .. } => (Some(work.ulid()), None, None),
        };
        let context_id = match &params.context_id {
            Some(id) => id.as_str().to_owned(),
            None => answered.or(context.cloned()).unwrap_or_else(|| message_id.clone()),
        };
        let reply_to = params.reply_to.or(reply_to);
        Self { session, to, params, message_id, context_id, task_id, reply_to, place }
    }

    /// The A2A message.
    pub(super) fn message(&self) -> Value {
        let params = self.params;
        let mut message = Map::new();
        message.insert("messageId".into(), self.message_id.as_str().into());
        message.insert("contextId".into(), self.context_id.as_str().into());
        if let Some(task) = &self.task_id {
            message.insert("taskId".into(), task.as_str().into());
        }
        message.insert("role".into(), "ROLE_USER".into());
        message.insert("parts".into(), json!(params.parts));
        if let Some(metadata) = &params.metadata {
            let mut metadata = metadata.members().clone();
            // Provenance is the receiver's word.
            metadata.remove(PROVENANCE);
            message.insert("metadata".into(), Value::Object(metadata));
        }
        if let Some(extensions) = &params.extensions {
            message.insert("extensions".into(), json!(extensions));
        }
        if let Some(tasks) = &params.reference_task_ids {
            message.insert("referenceTaskIds".into(), json!(tasks));
        }
        Value::Object(message)
    }

    /// The payload of a message, as it is sealed.
    pub(super) fn payload(&self) -> Value {
        let mut payload = Map::new();
        payload.insert("kind".into(), "message".into());
        payload.insert("message".into(), self.message());
        if self.params.wake.unwrap_or(true) {
            payload.insert("wake".into(), true.into());
        }
        Value::Object(payload)
    }

    /// The letter that carries a payload.
    pub(super) fn mail<'d>(&'d self, payload: &'d Value) -> Mail<'d> {
        Mail {
            session: self.session,
            to: self.to,
            message_id: &self.message_id,
            context_id: &self.context_id,
            task_id: self.task_id,
            reply_to: self.reply_to,
            place: &self.place,
            payload,
        }
    }
}
