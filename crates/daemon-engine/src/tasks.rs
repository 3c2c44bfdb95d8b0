//! Tasks: what each side remembers of work that one agent asked another to do, and how the two stay the same.
//! Spec: §6.1 to §6.3, D3.15
//!
//! Only the executor changes a task's state. Its machine writes the change and the envelopes that tell of it in one turn; the
//! requester's machine follows. Envelopes may arrive twice or out of order, so each change bears the time of its envelope,
//! which rises with every change of a task: what is older than what stands is taken for a straggler.

mod artifacts;
pub(crate) mod executor;
pub(crate) mod follow_ups;
pub(crate) mod requester;
pub(crate) mod view;

use messaging_core::a2a::Timestamp;
use messaging_core::ids::Ulid;
use messaging_core::json::utf16_cut;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::task::TaskState;
use messaging_core::time::Ms;
use messaging_ipc::line::LINE_BYTES;
use serde_json::{Map, Value, json};

use crate::store::tasks::{Contents, TaskRow};
use crate::work::Work;

/// The start of a request's text. Spec: D1.6 `title`
pub(crate) fn title<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let text = texts.collect::<Vec<_>>().join("\n");
    utf16_cut(&text, TITLE_UNITS).to_owned()
}

/// The status that every record begins with.
pub(crate) fn submitted(at: Ms) -> Value {
    json!({"state": TaskState::Submitted.as_str(), "timestamp": Timestamp::of(at).as_str()})
}

/// A status with a text of this daemon's, or with what its executor says.
fn status(state: TaskState, message: Option<Value>, at: Ms) -> Value {
    let mut status = Map::new();
    status.insert("state".into(), state.as_str().into());
    if let Some(message) = message {
        status.insert("message".into(), message);
    }
    status.insert("timestamp".into(), Timestamp::of(at).as_str().into());
    Value::Object(status)
}

/// The message of a status: parts that the executor's side wrote.
fn status_message(id: Ulid, row: &TaskRow, parts: Value) -> Value {
    json!({
        "messageId": id.as_str(), "contextId": row.context_id, "taskId": row.id.as_str(), "role": "ROLE_AGENT",
        "parts": parts,
    })
}

/// The status that this daemon writes by itself: a state and a fixed text.
fn own_status(
    work: &mut Work<'_, '_>,
    row: &TaskRow,
    state: TaskState,
    text: &str,
    at: Ms,
) -> Value {
    let message = status_message(work.ulid(), row, json!([{"text": text}]));
    status(state, Some(message), at)
}

/// The time of a task's next change: now, and later than its last one, so that what is sent of it stays in order.
///
/// A clock that was set back so far that nobody would take what bears the old time does not hold a task up: then now it is.
fn next_change(row: &TaskRow, now: Ms) -> Ms {
    let after = row.updated_at.plus(1);
    if after > now && after.since(now) <= AHEAD_MS { after } else { now }
}

/// What a new record weighs. The request counts twice: records show it alone and as the first of the history.
pub(crate) fn weight(contents: &Contents, status: &Value) -> u64 {
    let request = length(&contents.request);
    let follow_ups: u64 = contents.follow_ups.iter().map(length).sum();
    request.saturating_mul(2).saturating_add(follow_ups).saturating_add(length(status))
}

fn length(value: &Value) -> u64 {
    value.to_string().len() as u64
}

/// The length of a title, UTF-16 units.
const TITLE_UNITS: usize = 120;
/// How far ahead of the clock a task's changes may run, ms: what other machines put up with, and a minute for how theirs
/// differ.
const AHEAD_MS: u64 = CLOCK_SKEW_MS - 60_000;
/// Most artifacts of a task.
const MOST_ARTIFACTS: usize = 64;
/// Most messages of a task, its request among them.
const MOST_MESSAGES: usize = 100;
/// The most that a record on the executor's side may weigh: a record and a change fit one line to a client, or nobody could
/// read it.
const EXECUTOR_BYTES: u64 = 3 * 1_048_576;
/// The same on the requester's side, which takes what the executor's side could hold.
const REQUESTER_BYTES: u64 = (LINE_BYTES - 3 * 262_144) as u64;
