//! `messaging_tasks`, `messaging_task_update` and `messaging_task_cancel`.
//! Spec: §11 "tasks", "task_update", D7.3

use messaging_core::bounded::{List, Str};
use messaging_core::code::Code;
use messaging_core::ids::{Address, SessionAddress};
use messaging_core::random::Random;
use messaging_ipc::call::{ContactsList, TaskCancel as Cancel, TaskList, TaskUpdate as Update};
use messaging_ipc::params::Nothing;
use messaging_ipc::params::task::{
    ArtifactParam, Cancel as CancelParams, ListTasks, Update as UpdateParams,
};
use messaging_ipc::scalars::Count;
use messaging_ipc::shapes::{Part, TaskListItem, TaskRole};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::address::Place;
use crate::arguments::{Role, TaskCancel, TaskUpdate, Tasks, state_word};
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::notes;
use crate::room::Room;
use crate::send::parts;
use crate::shown::{from_of, put};

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn tasks(&self, session: &Session, asked: Tasks) -> Result<Value, ToolError> {
        let peer = match asked.with.clone() {
            None => None,
            Some(with) => match self.place(with, session)? {
                Place::Agent(address) => Some(self.whole_address(&address).await?),
                _ => return Err(ToolError::field("with", "an agent")),
            },
        };
        let state = asked.state.map(|state| List::new(state.states())).transpose();
        let mut params = ListTasks {
            key: session.key.clone(),
            role: asked.role.map(|role| match role {
                Role::Mine => TaskRole::Requester,
                Role::Asked => TaskRole::Executor,
            }),
            state: state.map_err(|_| ToolError::field("state", "a state"))?,
            context_id: None,
            peer,
            updated_after: None,
            limit: Count::clamped(asked.limit.value()),
            cursor: asked.cursor.clone(),
        };
        let mut page = self.ask::<TaskList>(&params).await?;
        let mut room = Room::new(self.budget());
        let mut shown = Vec::new();
        for task in &page.tasks {
            let value = self.listed(session, task);
            if !room.take(&value) {
                break;
            }
            shown.push((task.id, value));
        }
        if shown.len() < page.tasks.len() {
            // The daemon's cursor stands behind its page: a page of what fits has one behind that.
            params.limit = Count::clamped(u64::try_from(shown.len()).unwrap_or(1));
            page = self.ask::<TaskList>(&params).await?;
            let fits = page.tasks.iter().map(|task| (task.id, self.listed(session, task)));
            shown = fits.collect();
        }
        for (id, _) in &shown {
            self.looked_at(id);
        }
        let tasks: Vec<Value> = shown.into_iter().map(|(_, value)| value).collect();
        let mut answer = Map::new();
        answer.insert("tasks".into(), tasks.into());
        answer.insert("total".into(), page.total.into());
        put(&mut answer, "cursor", page.next_cursor);
        Ok(Value::Object(answer))
    }

    fn listed(&self, session: &Session, task: &TaskListItem) -> Value {
        let title = task.title.as_untrusted();
        let mut shown =
            self.task_head(session, &task.id, task.role, &task.peer, title, &task.status);
        put(&mut shown, "chain", self.chain(task.chain.as_ref(), from_of(&task.peer)));
        shown.insert("createdAt".into(), task.created_at.0.into());
        shown.insert("updatedAt".into(), task.updated_at.0.into());
        Value::Object(shown)
    }

    /// An address with its label, which the list of contacts knows.
    async fn whole_address(&self, address: &Address) -> Result<SessionAddress, ToolError> {
        if let Some(label) = &address.label {
            return Ok(SessionAddress::new(&address.person, &address.session, label));
        }
        let listed = self.ask::<ContactsList>(&Nothing {}).await?;
        let mut found = listed
            .entries
            .into_iter()
            .filter(|entry| entry.person == address.person && entry.agent == address.session);
        match (found.next(), found.next()) {
            (Some(entry), None) => Ok(entry.address),
            (Some(_), Some(_)) => {
                Err(ToolError::new(Code::AmbiguousAddress, "with names agents on several machines"))
            }
            (None, _) => {
                Err(ToolError::new(Code::UnknownAddress, "with names no agent known here"))
            }
        }
    }

    pub(crate) async fn task_update(
        &self,
        session: &Session,
        asked: TaskUpdate,
    ) -> Result<Value, ToolError> {
        if asked.state.is_none() && asked.artifact.is_none() {
            return Err(ToolError::field("state", "a state, an artifact or both"));
        }
        if asked.text.is_some() && asked.state.is_none() {
            return Err(ToolError::field("text", "only with state"));
        }
        if (asked.append || asked.last.is_some()) && asked.artifact.is_none() {
            return Err(ToolError::field("append", "append and last go with an artifact"));
        }
        let message = match asked.text {
            Some(text) => Some(parts(Some(Part::text(text.into_string())), None, "text")?),
            None => None,
        };
        let artifact = match asked.artifact {
            Some(artifact) => {
                let text = artifact.text.map(|text| Part::text(text.into_string()));
                let name = artifact.name.map(|name| Str::new(name.into_string())).transpose();
                Some(ArtifactParam {
                    artifact_id: artifact.id,
                    name: name.map_err(|_| ToolError::field("artifact.name", "too long"))?,
                    description: None,
                    parts: parts(text, artifact.files.as_deref(), "artifact.files")?,
                    metadata: None,
                    extensions: None,
                })
            }
            None => None,
        };
        let params = UpdateParams {
            key: session.key.clone(),
            task_id: self.resolve("taskId", asked.task_id, &session.key, false).await?,
            state: asked.state.map(|state| state.0),
            message,
            artifact,
            append: asked.append,
            last_chunk: asked.last,
            metadata: None,
        };
        let task = self.ask::<Update>(&params).await?.task;
        Ok(json!({
            "taskId": task.id.as_str(), "state": state_word(task.status.state), "note": notes::UPDATED,
        }))
    }

    pub(crate) async fn task_cancel(
        &self,
        session: &Session,
        asked: TaskCancel,
    ) -> Result<Value, ToolError> {
        let reason = asked.reason.map(|reason| Str::new(reason.into_string())).transpose();
        let params = CancelParams {
            key: session.key.clone(),
            task_id: self.resolve("taskId", asked.task_id, &session.key, false).await?,
            reason: reason.map_err(|_| ToolError::field("reason", "too long"))?,
        };
        let done = self.ask::<Cancel>(&params).await?;
        let note = if done.sent { notes::CANCEL_SENT } else { notes::CANCEL_NOT };
        Ok(json!({
            "taskId": done.task.id.as_str(), "state": state_word(done.task.status.state),
            "sent": done.sent, "note": note,
        }))
    }
}
