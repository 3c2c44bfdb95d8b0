//! A request to do a task: its chain, the requester's record, and the message.
//! Spec: §6.1, §6.7, §8.2 "onBehalfOf", D3.5 step 9, D3.16

use messaging_core::code::{Code, Failure};
use messaging_core::delegation::{DelegationSummary, GrantRequest, extend_chain};
use messaging_core::ids::{PersonId, ScopeLabel, SessionAddress, Ulid};
use messaging_core::jcs;
use messaging_core::stage::Stage;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::shapes::{Content, TaskRole};
use messaging_store::StoreError;
use serde_json::Value;

use super::draft::Draft;
use crate::engine::DaemonEngine;
use crate::outbound;
use crate::store::sent::SentRow;
use crate::store::tasks::{self as rows, Contents, Delivery, TaskRow};
use crate::tasks::{self, requester};
use crate::work::{Halt, Step, Work};

/// Asks for a task. A chain that the recipient would refuse is not sent: the task is rejected here.
///
/// Errors: those of [`outbound::prepare`]; nothing is written then.
pub(super) fn send(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    draft: &Draft<'_>,
    parent: Option<&TaskRow>,
) -> Step<SentRow> {
    // A request has its task's id from the start.
    let task = draft.task_id.ok_or(Halt::Store(StoreError::Other))?;
    let held = match parent {
        Some(parent) => Some(rows::grants(work.tx, parent)?.ok_or(StoreError::Corrupt)?),
        None => None,
    };
    let (chain, summary) = match chain(engine, work, draft, &task, held.as_ref()) {
        Ok(chain) => chain,
        Err(failure) => return reject(engine, work, draft, &task, failure.code),
    };
    let mut payload = draft.payload();
    if let Some(payload) = payload.as_object_mut() {
        payload.insert("kind".into(), "task".into());
        payload.insert("delegation".into(), chain);
    }
    let prepared = outbound::prepare(engine, work, &draft.mail(&payload))?;
    let delivery = Delivery { stage: prepared.row.stage, code: None, at: work.wall() };
    let (mut row, contents) = record(work, draft, &task, &prepared.row, delivery);
    row.chain = Some(jcs::to_value(&summary)?);
    requester::begin(engine, work, &row, &contents)?;
    outbound::send(engine, work, prepared)
}

/// Signs this hop, and verifies the whole as the recipient will.
fn chain(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    draft: &Draft<'_>,
    task: &Ulid,
    held: Option<&Value>,
) -> Result<(Value, DelegationSummary), Failure> {
    let ready = engine.ready()?;
    let view = engine.realm.view().ok_or(Failure::new(Code::NotMember, "realm"))?;
    let realm = engine.realm.id().ok_or(Failure::new(Code::NotMember, "realm"))?;
    let agent = draft.to.agent.as_ref().ok_or(Failure::invalid("to"))?;
    let me = PersonId::from(&ready.me.person);
    let from = SessionAddress::new(&me, &draft.session.name, &ready.me.label);
    let to = SessionAddress::new(&draft.to.person, agent, &draft.to.label);
    let narrowed = draft.params.on_behalf_of.as_ref();
    let scope: Option<Vec<ScopeLabel>> =
        narrowed.and_then(|wish| wish.scope.as_ref()).map(|scope| scope.to_vec());
    let max_depth = narrowed.and_then(|wish| wish.max_depth);
    let request = GrantRequest {
        realm: *realm,
        task: *task,
        from: &from,
        to: &to,
        ts: work.wall(),
        exp: None,
        max_depth: max_depth.and_then(|depth| u8::try_from(depth.value()).ok()),
        scope,
    };
    extend_chain(held, &request, &ready.keys.identity.signing, &view, work.wall())
}

/// Records a request that is not sent.
fn reject(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    draft: &Draft<'_>,
    task: &Ulid,
    code: Code,
) -> Step<SentRow> {
    let sent = outbound::refused(work, &draft.mail(&Value::Null), code)?;
    let delivery = Delivery { stage: Stage::Rejected, code: Some(code), at: work.wall() };
    let (mut row, contents) = record(work, draft, task, &sent, delivery);
    let at = row.created_at;
    (row.state, row.status) = requester::undelivered(work, &row, Some(code), at);
    requester::begin(engine, work, &row, &contents)?;
    Ok(sent)
}

fn record(
    work: &Work<'_, '_>,
    draft: &Draft<'_>,
    task: &Ulid,
    sent: &SentRow,
    delivery: Delivery,
) -> (TaskRow, Contents) {
    let at = work.wall();
    let contents =
        Contents { request: draft.message(), follow_ups: Vec::new(), artifacts: Vec::new() };
    let status = tasks::submitted(at);
    let texts = draft.params.parts.iter().filter_map(|part| match part.content() {
        Some(Content::Text(text)) => Some(text),
        _ => None,
    });
    let row = TaskRow {
        id: *task,
        role: TaskRole::Requester,
        session: draft.session.id,
        session_name: draft.session.name.clone(),
        peer_person: draft.to.person.clone(),
        peer_device: draft.to.device,
        peer_label: draft.to.label.clone(),
        peer_agent: draft.to.agent.clone().unwrap_or_else(|| draft.session.name.clone()),
        context_id: draft.context_id.clone(),
        request_id: sent.id,
        title: tasks::title(texts),
        state: TaskState::Submitted,
        bytes: tasks::weight(&contents, &status),
        status,
        delivery: Some(delivery),
        chain: None,
        created_at: at,
        updated_at: at,
        touched_at: Ms(0),
    };
    (row, contents)
}
