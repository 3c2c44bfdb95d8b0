//! Tasks as clients see them.
//! Spec: D1.6 `TaskRecord`, §6.1 `followUps`

use messaging_core::limits::TASK_FOLLOW_UPS;
use messaging_core::peer_text::PeerText;
use messaging_ipc::shapes::{
    A2aObject, DelegationSummary, FollowUp, TaskDelivery, TaskListItem, TaskRecord, TaskRole,
    TaskStatus,
};
use messaging_store::{StoreError, View};
use serde::Deserialize;
use serde_json::Value;

use super::artifacts;
use crate::store::sent::{self, SentRow};
use crate::store::tasks::{self, TaskRow};
use crate::views;

/// A task in full.
pub(crate) fn record(view: &View<'_>, row: &TaskRow) -> Result<TaskRecord, StoreError> {
    let contents = tasks::contents(view, row)?;
    let request = object(&contents.request)?;
    let mut history = vec![request.clone()];
    for message in &contents.follow_ups {
        history.push(object(message)?);
    }
    let (follow_ups, delivery_history) = match row.role {
        TaskRole::Requester => {
            let sent = sent::get(view, &row.request_id)?;
            (Some(follow_ups(view, row)?), sent.as_ref().map(views::history))
        }
        TaskRole::Executor => (None, None),
    };
    let head = item(row)?;
    Ok(TaskRecord {
        id: head.id,
        context_id: head.context_id,
        role: head.role,
        session: head.session,
        peer: head.peer,
        title: head.title,
        status: head.status,
        request,
        history,
        artifacts: artifacts::whole(&contents.artifacts)
            .iter()
            .map(object)
            .collect::<Result<_, _>>()?,
        request_id: head.request_id,
        delivery: head.delivery,
        delivery_history,
        chain: head.chain,
        follow_ups,
        created_at: head.created_at,
        updated_at: head.updated_at,
    })
}

/// A task in a list.
pub(crate) fn item(row: &TaskRow) -> Result<TaskListItem, StoreError> {
    let agent = Some(&row.peer_agent);
    Ok(TaskListItem {
        id: row.id,
        context_id: PeerText::new(row.context_id.clone()),
        role: row.role,
        session: row.session_name.clone(),
        peer: views::peer(&row.peer_person, row.peer_device, &row.peer_label, agent),
        title: PeerText::new(row.title.clone()),
        status: status(&row.status)?,
        request_id: row.request_id,
        delivery: row.delivery.map(|delivery| TaskDelivery {
            stage: delivery.stage,
            code: delivery.code,
            at: delivery.at,
        }),
        // A summary that a later release wrote differently is left out.
        chain: row.chain.as_ref().and_then(|chain| DelegationSummary::deserialize(chain).ok()),
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

/// The status as clients see it.
pub(crate) fn status(status: &Value) -> Result<TaskStatus, StoreError> {
    TaskStatus::deserialize(status).map_err(|_| StoreError::Corrupt)
}

/// An A2A object of a record.
pub(crate) fn object(value: &Value) -> Result<A2aObject, StoreError> {
    match value {
        Value::Object(members) => Ok(A2aObject::new(members.clone())),
        _ => Err(StoreError::Corrupt),
    }
}

/// The newest further messages with how far each got, oldest first.
fn follow_ups(view: &View<'_>, row: &TaskRow) -> Result<Vec<FollowUp>, StoreError> {
    let mut sent = sent::follow_ups(view, &row.id, &row.request_id, TASK_FOLLOW_UPS)?;
    sent.reverse();
    Ok(sent.iter().map(follow_up).collect())
}

fn follow_up(row: &SentRow) -> FollowUp {
    FollowUp {
        envelope_id: row.id,
        message_id: PeerText::new(row.message_id.clone()),
        at: row.ts,
        stage: row.stage,
        stage_at: row.history.last().map_or(row.ts, |step| step.at),
        history: views::history(row),
    }
}
