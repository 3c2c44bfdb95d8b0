//! What a requester says about a task after its request: corrections, answers, more input.
//! Spec: §6.1, D3.15 "Follow-up"

use messaging_core::code::{Code, Failure};
use messaging_core::ids::SessionName;
use messaging_store::StoreError;
use serde_json::Value;

use super::{EXECUTOR_BYTES, MOST_MESSAGES, REQUESTER_BYTES, executor};
use crate::engine::DaemonEngine;
use crate::store::tasks::{self, TaskRow};
use crate::subscriptions;
use crate::work::{Step, Work};

/// The messages of a task, with one more.
///
/// Errors: `too_large` past the bounds of a record that may weigh `most` bytes.
fn with(work: &Work<'_, '_>, row: &mut TaskRow, message: &Value, most: u64) -> Step<Vec<Value>> {
    let mut messages = tasks::contents(work.tx, row)?.follow_ups;
    messages.push(message.clone());
    row.bytes = row.bytes.saturating_add(super::length(message));
    // The request is the first of them.
    if messages.len() >= MOST_MESSAGES || row.bytes > most {
        return Err(Failure::new(Code::TooLarge, "the task's record is full").into());
    }
    Ok(messages)
}

/// A further message of a session of this machine, for the record of the task it asked for.
pub(crate) struct Sent {
    row: TaskRow,
    messages: Vec<Value>,
}

impl Sent {
    /// Makes room for a message that is about to be sent.
    ///
    /// Errors: `too_large`.
    pub(crate) fn prepare(work: &Work<'_, '_>, mut row: TaskRow, message: &Value) -> Step<Self> {
        let messages = with(work, &mut row, message, REQUESTER_BYTES)?;
        Ok(Self { row, messages })
    }

    /// Records it.
    pub(crate) fn write(mut self, work: &mut Work<'_, '_>) -> Result<(), StoreError> {
        self.row.updated_at = super::next_change(&self.row, work.wall());
        tasks::set_follow_ups(work.tx, &self.row, &self.messages)?;
        tasks::update(work.tx, &self.row)
    }
}

/// Whether a further message to `agent` may be taken for a task that this machine executes, and what its record then holds.
///
/// Errors: `invalid_state` for a task that has ended, `not_found` for another session's, `too_large`.
pub(crate) fn admit(
    work: &Work<'_, '_>,
    mut row: TaskRow,
    agent: &SessionName,
    message: &Value,
) -> Step<(TaskRow, Vec<Value>)> {
    if row.session_name != *agent {
        return Err(Failure::new(Code::NotFound, "to.agent").into());
    }
    if row.state.is_terminal() {
        return Err(Failure::new(Code::InvalidState, "the task has ended").into());
    }
    let messages = with(work, &mut row, message, EXECUTOR_BYTES)?;
    Ok((row, messages))
}

/// Records a further message that was taken.
pub(crate) fn arrived(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    (mut row, messages): (TaskRow, Vec<Value>),
) -> Result<(), StoreError> {
    tasks::set_follow_ups(work.tx, &row, &messages)?;
    executor::touch(work, &mut row)?;
    subscriptions::task(engine, work, &row, None, None)
}
