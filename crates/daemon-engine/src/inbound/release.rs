//! An ask that the person let in: it passes the policy as any other would now, and becomes an item or a task.
//! Spec: §6.9 "Holds", D3.11

use messaging_core::code::Code;
use messaging_core::consent::ConsentClass;
use messaging_core::envelope::Checked;
use messaging_core::payload::{MessageKind, MessagePayload};
use messaging_store::StoreError;
use serde_json::Value;

use super::file::{Arrived, Filed, enter, keep};
use super::task;
use crate::engine::DaemonEngine;
use crate::tasks::executor;
use crate::work::Work;

/// An ask as it was held, and how far it may be acted on.
pub(crate) struct Released {
    pub(crate) envelope: Value,
    /// What was sealed in it.
    pub(crate) payload: Value,
    /// The same, read.
    pub(crate) message: MessagePayload,
    pub(crate) class: ConsentClass,
}

/// Lets an ask in. Its sender has heard that it is held, and hears next when an agent takes it.
///
/// The refusal is that of the policy, or of a chain that holds no longer; it has written nothing.
pub(crate) fn release(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    released: Released,
) -> Result<Filed, StoreError> {
    let Released { envelope, payload, message, class } = released;
    let checked = Checked::read(envelope).map_err(|_| StoreError::Corrupt)?;
    let envelope = checked.envelope();
    let to = envelope.to().and_then(|to| to.agent.as_ref());
    let (from, to) = envelope.from.agent.as_ref().zip(to).ok_or(StoreError::Corrupt)?;
    let letter =
        Arrived { envelope, wire: checked.raw(), raw: &payload, payload: &message, from, to };
    let Some(sender) = engine.realm.member(&envelope.from.device).cloned() else {
        return Ok(Err(Code::NotMember));
    };
    let task = match (message.kind, message.message.task_id) {
        (MessageKind::Task, Some(id)) => Some(id),
        _ => None,
    };
    if let Some(id) = &task
        && executor::of(work, id)?.is_some()
    {
        return Ok(Err(Code::InvalidRequest));
    }
    let admitted = match enter(engine, work, &letter, sender, class)? {
        Ok(admitted) => admitted,
        Err(code) => return Ok(Err(code)),
    };
    match task {
        Some(id) => task::begin(engine, work, &letter, admitted, &id, false),
        None => keep(engine, work, &letter, admitted, None, false).map(Ok),
    }
}
