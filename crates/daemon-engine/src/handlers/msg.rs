//! `msg.send`: mail, a task request, or more about a task, from a session to an agent; or a line to a person or a channel.
//! Spec: §8.2 "msg.send", D1.7, D3.4, D3.5

mod draft;
mod line;
mod request;

use messaging_core::code::Code;
use messaging_core::ids::{Address, SessionAddress, Ulid};
use messaging_core::peer_text::PeerText;
use messaging_ipc::params::msg::Send;
use messaging_ipc::results::session::Sent;
use messaging_ipc::scalars::{Room, Target};
use messaging_ipc::shapes::{Expect, SendResult, TaskOrMessage};
use serde_json::{Map, Value, json};

use super::repeat::Repeat;
use super::{Answer, Call, Handled, field};
use crate::ancestry::{self, Ties};
use crate::directory;
use crate::engine::DaemonEngine;
use crate::outbound::{self, Target as Destination};
use crate::store::sessions::SessionRow;
use crate::store::tasks::TaskRow;
use crate::store::{inbox, sent};
use crate::tasks::{executor, follow_ups, requester};
use crate::work::{Halt, Step, Work};

use draft::Draft;

pub(super) use line::check_size;

/// Sends one message.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    call: &Call,
    params: Send,
) -> Handled<Sent> {
    let session = call.session()?;
    let address = match &params.to {
        Target::Agent(address) => address,
        Target::Person(person) => {
            let room = Room::Dm(person.clone());
            return line::send(engine, work, call, &room, &params);
        }
        Target::Channel(name) => {
            let room = Room::Channel(name.clone());
            return line::send(engine, work, call, &room, &params);
        }
    };
    if params.request.is_some() {
        return Err(field("request", "it goes with a line to one's own person"));
    }
    let kind = params.kind.unwrap_or(TaskOrMessage::Message);
    let about = about(work, session, &params, kind)?;
    let answered = answered_context(work, session, params.reply_to.as_ref())?;
    call.refuse_secrets(work)?;
    let key = params.idempotency_key.as_ref();
    let repeat = Repeat::new(&session.key_hash, key, "idempotencyKey", &asked(&params, kind))?;
    if let Some(first) = repeat.first(work)? {
        return Ok(Answer::Now(first));
    }
    let (to, expect) = whither(engine, work, address, &about, params.wake.unwrap_or(true))?;
    let ties = ties(&params, &about);
    let place = ancestry::place(engine, work, session, &to, &ties)?;
    let letter = Draft::new(work, session, &to, &params, &about, answered, place);
    let row = match about {
        About::Nothing => {
            let prepared = outbound::prepare(engine, work, &letter.mail(&letter.payload()))?;
            outbound::send(engine, work, prepared)?
        }
        About::Task(task) => {
            let message = letter.message();
            let room = follow_ups::Sent::prepare(work, task, &message)?;
            let prepared = outbound::prepare(engine, work, &letter.mail(&letter.payload()))?;
            room.write(work)?;
            outbound::send(engine, work, prepared)?
        }
        About::NewTask { parent } => request::send(engine, work, &letter, parent.as_ref())?,
    };
    // An agent is always there: the address names one.
    let agent = to.agent.as_ref().unwrap_or(&address.session);
    let result = Sent {
        results: vec![SendResult {
            to: SessionAddress::new(&to.person, agent, &to.label).to_string(),
            envelope_id: row.id,
            message_id: row.message_id,
            context_id: PeerText::new(row.context_id),
            task_id: row.task_id,
            stage: row.stage,
            code: row.code,
            expect: expect.filter(|_| !row.stage.is_final()),
        }],
    };
    repeat.remember(work, &result)?;
    Ok(Answer::Now(result))
}

/// What a message has to do with a task.
enum About {
    /// It is mail.
    Nothing,
    /// It goes on with a task that its session asked for.
    Task(TaskRow),
    /// It asks for one, on behalf of another that its session executes, or of its own accord.
    NewTask { parent: Option<TaskRow> },
}

/// The rules between `kind`, `taskId` and `onBehalfOf`.
fn about(
    work: &Work<'_, '_>,
    session: &SessionRow,
    params: &Send,
    kind: TaskOrMessage,
) -> Step<About> {
    match (kind, &params.on_behalf_of, &params.task_id) {
        (TaskOrMessage::Message, Some(_), _) => Err(field("onBehalfOf", "it goes with kind task")),
        (TaskOrMessage::Task, _, Some(_)) => {
            Err(field("taskId", "a new task gets its id from the daemon"))
        }
        (TaskOrMessage::Message, None, None) => Ok(About::Nothing),
        (TaskOrMessage::Message, None, Some(task)) => {
            requester::open_of(work, session, task).map(About::Task)
        }
        (TaskOrMessage::Task, None, None) => Ok(About::NewTask { parent: None }),
        (TaskOrMessage::Task, Some(parent), None) => {
            let executed = executor::of(work, &parent.task_id)?;
            let parent = executed.filter(|row| row.session == session.id).ok_or_else(|| {
                Halt::refused(Code::NotFound, "onBehalfOf names no task that this session executes")
            })?;
            if parent.state.is_terminal() {
                let words = "the task that onBehalfOf names has ended";
                return Err(Halt::refused(Code::InvalidState, words));
            }
            Ok(About::NewTask { parent: Some(parent) })
        }
    }
}

/// What a message says of its own descent.
fn ties<'a>(params: &'a Send, about: &'a About) -> Ties<'a> {
    Ties {
        task: match about {
            About::Nothing => None,
            About::Task(row) => Some(row),
            About::NewTask { parent } => parent.as_ref(),
        },
        reply_to: params.reply_to.as_ref(),
        context: params.context_id.as_ref().map(|id| id.as_str()),
    }
}

/// Where a message goes, and when it will likely be seen there. What goes on with a task goes to its executor, known or not.
fn whither(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    address: &Address,
    about: &About,
    hint: bool,
) -> Step<(Destination, Option<Expect>)> {
    let About::Task(task) = about else {
        let found = directory::resolve(engine, work.tx, address)?;
        let expect = found.known.as_ref().map(|known| known.expect(hint));
        return Ok((found.target, expect));
    };
    let is_executor = address.person == task.peer_person
        && address.session == task.peer_agent
        && address.label.as_ref().is_none_or(|label| *label == task.peer_label);
    if !is_executor {
        return Err(field("to", "the task is executed by another agent"));
    }
    let to = Destination {
        person: task.peer_person.clone(),
        device: task.peer_device,
        label: task.peer_label.clone(),
        agent: Some(task.peer_agent.clone()),
    };
    let known = directory::listed_at(engine, work.tx, &to)?;
    let expect = known.as_ref().map(|known| known.expect(hint));
    Ok((to, expect))
}

/// The context of the message that this one answers: an item of this session's inbox, or an envelope that it sent.
fn answered_context(
    work: &Work<'_, '_>,
    session: &SessionRow,
    reply_to: Option<&Ulid>,
) -> Step<Option<String>> {
    let Some(id) = reply_to else { return Ok(None) };
    if let Some(item) = inbox::by_id(work.tx, id)?.filter(|item| item.session == session.id) {
        return Ok(Some(item.context_id));
    }
    match sent::get(work.tx, id)?.filter(|row| row.session == Some(session.id)) {
        Some(row) => Ok(Some(row.context_id)),
        None => Err(Halt::refused(Code::NotFound, "replyTo names nothing of this session")),
    }
}

/// What a repeated call must ask for again.
fn asked(params: &Send, kind: TaskOrMessage) -> Value {
    let mut asked = Map::new();
    asked.insert("to".into(), params.to.to_string().into());
    asked.insert("kind".into(), json!(kind));
    asked.insert("parts".into(), json!(params.parts));
    for (name, id) in [("taskId", &params.task_id), ("replyTo", &params.reply_to)] {
        if let Some(id) = id {
            asked.insert(name.into(), id.as_str().into());
        }
    }
    if let Some(context) = &params.context_id {
        asked.insert("contextId".into(), context.as_str().into());
    }
    Value::Object(asked)
}
