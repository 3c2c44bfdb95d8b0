//! The causal budget: how many messages agents of this machine may send on one beginning, with no person's act between.
//! Spec: §8.3 "Loop guard"
//!
//! The loop guard counts pairs, and a ring or a room of agents has many pairs. Here each message among agents goes back to a
//! root: the message with which it began, as far as this machine can see by `replyTo`, task, delegation and context. What an
//! agent sends to others than whoever it answers counts as its own doing since a person last acted, under one root however
//! often it is made to: that a ring passes through machines that this one cannot see does not help it. Nothing of this is on
//! the wire. See `docs/decisions/0012-a-causal-budget.md`.

use messaging_core::code::Code;
use messaging_core::ids::{MachineId, SessionName, Ulid};
use messaging_ipc::error::Refusal;
use messaging_ipc::shapes::TaskRole;
use messaging_store::{StoreError, View};
use serde_json::Value;

use crate::engine::DaemonEngine;
use crate::events::LogEvent;
use crate::outbound::Target;
use crate::store::ancestry::{self, NewTrace, Run, Trace};
use crate::store::inbox::InboxRow;
use crate::store::sent;
use crate::store::sessions::{self, SessionId, SessionRow};
use crate::store::tasks::{self, TaskRow};
use crate::work::{Step, Work};

/// What a message that is about to be sent has to do with earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ties<'a> {
    /// The task that it goes on with, or on whose behalf it asks for another.
    pub(crate) task: Option<&'a TaskRow>,
    /// The item, or the sent message, that it answers.
    pub(crate) reply_to: Option<&'a Ulid>,
    /// The context that its sender named.
    pub(crate) context: Option<&'a str>,
}

/// Where a message that is about to be sent belongs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its root; none when it is one.
    root: Option<Ulid>,
    /// The session that sends it, when it opens what the session does of its own accord.
    opens: Option<(SessionId, Run)>,
    /// Whether an agent sends it, and not a person at a terminal.
    counts: bool,
}

/// Finds where a message belongs, and whether there is room for it.
///
/// Errors: `loop_guard`, naming the root.
pub(crate) fn place(
    engine: &DaemonEngine,
    work: &mut Work<'_, '_>,
    session: &SessionRow,
    to: &Target,
    ties: &Ties<'_>,
) -> Step<Place> {
    if session.is_cli() {
        return Ok(Place { root: None, opens: None, counts: false });
    }
    let run = ancestry::run(work.tx, session.id)?;
    let known = named(work.tx, ties)?.filter(|trace| trace.at > run.since);
    let own = match &known {
        // A delegation carries its chain, which ends by itself.
        Some(trace) if ties.task.is_none() => forwards(work.tx, &trace.root, to)?,
        Some(_) => false,
        None => true,
    };
    let place = if own {
        let root = match (run.root, known) {
            (Some(root), _) => Some(root),
            (None, Some(trace)) => Some(trace.root),
            (None, None) => {
                ancestry::last_shown(work.tx, session.id, run.since)?.map(|trace| trace.root)
            }
        };
        let opens = run.root.is_none().then_some((session.id, Run { root, ..run }));
        Place { root, opens, counts: true }
    } else {
        Place { root: known.map(|trace| trace.root), opens: None, counts: true }
    };
    let limit = engine.config.causal_limit;
    if let (Some(root), Some(limit)) = (&place.root, limit)
        && ancestry::count(work.tx, root, limit)? >= limit
    {
        work.log(LogEvent::LoopRefused { session: session.name.clone(), root: *root });
        let words = format!(
            "agents of this machine sent {limit} messages that go back to {root}, and no person acted since"
        );
        return Err(Refusal::new(Code::LoopGuard, words).into());
    }
    Ok(place)
}

impl Place {
    /// Remembers the message as envelope `id`.
    pub(crate) fn write(
        &self,
        work: &mut Work<'_, '_>,
        id: &Ulid,
        context: &str,
    ) -> Result<(), StoreError> {
        let root = self.root.as_ref().unwrap_or(id);
        let at = work.wall();
        let context = daemon_named(context);
        ancestry::insert(work.tx, &NewTrace { id, root, context, counts: self.counts, at })?;
        if let Some((session, run)) = &self.opens {
            ancestry::set_run(work.tx, *session, &Run { root: Some(*root), ..*run })?;
        }
        Ok(())
    }
}

/// Remembers an item that was filed. One that a person wrote at a terminal is a beginning, and its session's act.
pub(crate) fn arrived(
    work: &mut Work<'_, '_>,
    item: &InboxRow,
    grants: Option<&Value>,
    is_person: bool,
) -> Result<(), StoreError> {
    let since = ancestry::run(work.tx, item.session)?.since;
    let known = if is_person { None } else { behind(work.tx, item, grants)? };
    // What was before a person's act ended with it.
    let known = known.filter(|trace| trace.at > since);
    let root = known.map_or(item.id, |trace| trace.root);
    ancestry::insert(
        work.tx,
        &NewTrace {
            id: &item.id,
            root: &root,
            context: daemon_named(&item.context_id),
            counts: false,
            at: item.arrived_at,
        },
    )?;
    if is_person {
        acted(work, item.session)?;
    }
    Ok(())
}

/// A person acted on a session: what it does from now on is on a new beginning.
pub(crate) fn acted(work: &mut Work<'_, '_>, session: SessionId) -> Result<(), StoreError> {
    let run = Run { since: work.wall(), root: None };
    ancestry::set_run(work.tx, session, &run)
}

/// The person wrote where their own agents write to them: every agent of this machine begins anew.
pub(crate) fn person_spoke(work: &mut Work<'_, '_>) -> Result<(), StoreError> {
    for row in sessions::open(work.tx)?.into_iter().filter(|row| !row.is_cli()) {
        acted(work, row.id)?;
    }
    Ok(())
}

/// The newest trace that a message to be sent names.
fn named(view: &View<'_>, ties: &Ties<'_>) -> Result<Option<Trace>, StoreError> {
    if let Some(task) = ties.task
        && let Some(trace) = ancestry::get(view, &task.request_id)?
    {
        return Ok(Some(trace));
    }
    if let Some(id) = ties.reply_to
        && let Some(trace) = ancestry::get(view, id)?
    {
        return Ok(Some(trace));
    }
    match ties.context.and_then(daemon_named) {
        Some(context) => ancestry::in_context(view, context),
        None => Ok(None),
    }
}

/// Whether a message to `to` hands on what somebody else began at this machine.
fn forwards(view: &View<'_>, root: &Ulid, to: &Target) -> Result<bool, StoreError> {
    let same = |(device, agent): (MachineId, Option<SessionName>)| {
        device == to.device && agent == to.agent
    };
    Ok(ancestry::author(view, root)?.is_some_and(|author| !same(author)))
}

/// What an item goes back to, by what it names: only what this machine sent to its sender counts, and contexts.
fn behind(
    view: &View<'_>,
    item: &InboxRow,
    grants: Option<&Value>,
) -> Result<Option<Trace>, StoreError> {
    if let Some(id) = &item.reply_to
        && sent::get(view, id)?.is_some_and(|row| row.to_device == item.from_device)
        && let Some(trace) = ancestry::get(view, id)?
    {
        return Ok(Some(trace));
    }
    if let Some(task) = &item.task_id
        && let Some(row) = tasks::get(view, task, TaskRole::Executor)?
        && let Some(trace) = ancestry::get(view, &row.request_id)?
    {
        return Ok(Some(trace));
    }
    let chain = grants.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for grant in chain {
        let task = grant.get("task").and_then(Value::as_str).and_then(|id| Ulid::parse(id).ok());
        if let Some(task) = task
            && let Some(row) = tasks::get(view, &task, TaskRole::Requester)?
            && let Some(trace) = ancestry::get(view, &row.request_id)?
        {
            return Ok(Some(trace));
        }
    }
    match daemon_named(&item.context_id) {
        Some(context) => ancestry::in_context(view, context),
        None => Ok(None),
    }
}

/// A context that a daemon made up; a name like `main` stands for many conversations.
fn daemon_named(context: &str) -> Option<&str> {
    Ulid::parse(context).ok().map(|_| context)
}
