//! `messaging task show`.
//! Spec: D6.4, §6.1 `followUps`

use std::path::PathBuf;

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{SessionName, Ulid};
use messaging_core::peer_text::one_line;
use messaging_core::stage::{Stage, Track};
use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::event::{Event, TaskChange};
use messaging_ipc::params::KeyOnly;
use messaging_ipc::params::task::Get;
use messaging_ipc::results::task::OneTask;
use messaging_ipc::shapes::{
    A2aObject, DelegationSummary, FollowUp, TaskRecord, TaskRole, TaskStatus,
};
use serde_json::{Map, Value};

use super::list::word;
use crate::commands::inbox::from;
use crate::commands::read::{attachments, save};
use crate::complete;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Facts, Report, behind, cut, line, when};
use crate::screen::Screen;

/// Show a task: how it stands, what was said, and what came of it
///
/// With --follow it stays and prints each change until the task ends, also when the daemon was away for a while; with
/// --json, each is a line.
///
/// Examples:
///   messaging task show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging task show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --follow
///   messaging task show 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --save results
///
/// See also: messaging task list, messaging task reply, messaging task cancel
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {
    /// The task
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::tasks))]
    id: Ulid,
    /// Stay, and print what changes
    #[arg(long)]
    follow: bool,
    /// Write the parts of its artifacts into this folder; nothing that is there is written over
    #[arg(long, value_name = "DIR", conflicts_with = "follow")]
    save: Option<PathBuf>,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

impl Show {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let mailbox = Mailbox::of(context, Some(&self.mailbox))?;
        if self.follow {
            return follow(context, &mailbox, self.id).await;
        }
        let link = context.connect().await?;
        let key = mailbox.open(&link).await?;
        let get = Get { key, task_id: self.id, role: None };
        let found = link.call::<call::TaskGet>(&get).await?;
        let mut report = report(&context.screen, &found);
        if let Some(folder) = &self.save {
            for name in save::save(folder, &results(&found.task))? {
                report.text += &format!("saved {}\n", line(&name));
            }
        }
        Ok(report)
    }
}

/// Prints the task and what becomes of it until it ends. A daemon that goes away is waited for, and a task that changed
/// meanwhile is printed anew.
async fn follow(context: &Context, mailbox: &Mailbox, id: Ulid) -> Result<Report, Fault> {
    let mut link = context.connect().await?;
    let mut shown: Option<(Ms, TaskStatus)> = None;
    loop {
        let found = match look(&link, mailbox, id).await {
            Ok(found) => found,
            Err(fault) if fault.is_absence() => {
                link = context.connect_again().await?;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let role = found.task.role;
        let stands = Some((found.task.updated_at, found.task.status.clone()));
        if shown != stands {
            let first = report(&context.screen, &found);
            if context.print_event(&first.json, &first.text).is_err() {
                return Ok(Report::printed());
            }
        }
        let mut ended = found.task.status.state.is_terminal();
        shown = stands;
        while !ended {
            let Some(event) = link.events.next().await else { break };
            let Event::Task { task, update, .. } = &event else { continue };
            if task.id != id || task.role != role {
                continue;
            }
            ended = task.status.state.is_terminal();
            shown = Some((task.updated_at, task.status.clone()));
            let json = messaging_core::jcs::to_value(&event).unwrap_or_default();
            let mut text =
                update.as_ref().map(|update| changed(&context.screen, update)).unwrap_or_default();
            if ended {
                text += &unread(task);
            }
            if context.print_event(&json, &text).is_err() {
                return Ok(Report::printed());
            }
        }
        if ended {
            return Ok(Report::printed());
        }
        link = context.connect_again().await?;
    }
}

/// Subscribes, and then looks, so that no change can be missed.
async fn look(link: &Link<'_>, mailbox: &Mailbox, id: Ulid) -> Result<OneTask, Fault> {
    let key = mailbox.open(link).await?;
    link.call::<call::EventsSubscribe>(&KeyOnly { key: key.clone() }).await?;
    link.call::<call::TaskGet>(&Get { key, task_id: id, role: None }).await
}

fn changed(screen: &Screen, change: &TaskChange) -> String {
    match change {
        TaskChange::Status { status, .. } => said(screen, status),
        TaskChange::Artifact { artifact, append, last_chunk } => {
            let piece = piece(artifact, *append, *last_chunk);
            cut(&format!("artifact: {piece}"), screen.columns()) + "\n"
        }
    }
}

/// Which artifact an update brought, and how much of it.
pub(super) fn piece(artifact: &A2aObject, append: bool, last_chunk: bool) -> String {
    let more = if append { "more of " } else { "" };
    let whole = if last_chunk { ", whole now" } else { "" };
    format!("{more}{}{whole}", name(artifact))
}

fn said(screen: &Screen, status: &TaskStatus) -> String {
    let text = status.message.as_ref().map(A2aObject::text).unwrap_or_default();
    let colon = if text.is_empty() { "" } else { ": " };
    let head = format!("{}{colon}", word(status.state));
    behind(screen.columns(), &head, "  ", &text).join("\n") + "\n"
}

/// A task for a person, and as it came.
pub(in crate::commands) fn report(screen: &Screen, found: &OneTask) -> Report {
    let task = &found.task;
    let mut facts = Facts::default();
    facts.add("Task", task.id).add("State", word(task.status.state));
    let other = match task.role {
        TaskRole::Requester => "Asked of",
        TaskRole::Executor => "Asked by",
    };
    facts.add(other, from(&task.peer));
    facts.add("Since", when(screen, task.created_at));
    facts.add("Changed", when(screen, task.updated_at));
    if let Some(delivery) = &task.delivery {
        let code = delivery.code.map(|code| format!(", {code}")).unwrap_or_default();
        facts.add("Request", format!("{}{code}", delivery.stage.as_str()));
    }
    if let Some(summary) = &task.chain {
        chain(&mut facts, summary);
    }
    let mut text = facts.render(screen);
    let status = task.status.message.as_ref().map(A2aObject::text).unwrap_or_default();
    if !status.is_empty() {
        text += &block(screen, "Status", &status, "");
    }
    for (at, message) in task.history.iter().enumerate() {
        let head = if at == 0 { "Request" } else { "Then" };
        text += &block(screen, head, &message.text(), &attachments(screen, message));
    }
    for artifact in &task.artifacts {
        let head = cut(&format!("Artifact {}", name(artifact)), screen.columns());
        text += &block(screen, &head, &artifact.text(), &attachments(screen, artifact));
    }
    if task.status.state.is_terminal() {
        text += &unread(task);
    }
    Report::of(found, text)
}

/// Who asked whom, when that says more than who asks now.
pub(in crate::commands) fn chain(facts: &mut Facts, chain: &DelegationSummary) {
    if chain.depth < 2 && chain.scope.is_none() {
        return;
    }
    let addresses: Vec<String> = chain.addresses.iter().map(ToString::to_string).collect();
    facts.add("Chain", addresses.join(" > "));
    if let Some(scope) = &chain.scope {
        let labels: Vec<String> = scope.iter().map(ToString::to_string).collect();
        facts
            .add("Scope", if labels.is_empty() { "nothing".to_owned() } else { labels.join(", ") });
    }
}

/// A text under its head, behind a margin, so that no text can look like a head.
fn block(screen: &Screen, head: &str, text: &str, others: &str) -> String {
    let mut block = format!("\n{head}\n");
    if !text.is_empty() {
        block += &behind(screen.columns(), "  ", "  ", text).join("\n");
        block.push('\n');
    }
    block + others
}

/// An artifact's name, or its id. Both are its author's.
fn name(artifact: &A2aObject) -> String {
    let member = |name: &str| artifact.members().get(name).and_then(Value::as_str);
    let name = member("name").filter(|name| !name.is_empty()).or_else(|| member("artifactId"));
    one_line(name.unwrap_or_default(), 80)
}

/// What was said to an executor that ended without having read it.
fn unread(task: &TaskRecord) -> String {
    let is_unread = |sent: &&FollowUp| sent.stage.rank(Track::Mail) < Stage::Read.rank(Track::Mail);
    let unread: Vec<&FollowUp> = task.follow_ups.iter().flatten().filter(is_unread).collect();
    if unread.is_empty() {
        return String::new();
    }
    let mut text = "\nNot read before it ended\n".to_owned();
    for sent in unread {
        text += &format!("  {}  {}\n", sent.envelope_id, sent.stage.as_str());
    }
    text
}

/// Every part of every artifact, as one message.
fn results(task: &TaskRecord) -> A2aObject {
    let parts = task.artifacts.iter().flat_map(|artifact| {
        artifact.members().get("parts").and_then(Value::as_array).cloned().unwrap_or_default()
    });
    A2aObject::new(Map::from_iter([("parts".to_owned(), parts.collect())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn task(state: &str, more: Value) -> OneTask {
        let message =
            |text: &str| json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]});
        let mut task = json!({
            "id": ID, "contextId": "c", "role": "requester", "session": "cli",
            "peer": {"person": "bob", "device": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "label": "desk",
                "agent": "api", "address": "bob/api@desk"},
            "title": "find it", "status": {"state": state, "message": message("which \u{1b}[2Jone?")},
            "request": message("find it"), "history": [message("find it"), message("the blue one")],
            "artifacts": [{"artifactId": "a", "name": "report", "parts": [
                {"text": "line 1"}, {"text": "line 2"}, {"raw": "AAAA", "filename": "x.bin"}]}],
            "requestId": ID, "delivery": {"stage": "read", "at": 5}, "createdAt": 1, "updatedAt": 2,
            "followUps": [
                {"envelopeId": ID, "messageId": "m1", "at": 3, "stage": "read", "stageAt": 4},
                {"envelopeId": "01ARZ3NDEKTSV4RRFFQ69G5FAW", "messageId": "m2", "at": 4, "stage": "delivered",
                    "stageAt": 5}],
        });
        for (name, value) in more.as_object().unwrap() {
            task[name] = value.clone();
        }
        serde_json::from_value(json!({"task": task})).unwrap()
    }

    #[test]
    fn a_task_shows_what_was_said_and_what_came_of_it() {
        let shown = report(&Screen::pipe(), &task("TASK_STATE_INPUT_REQUIRED", json!({})));
        let expected = format!(
            "Task\t{ID}\nState\tinput-required\nAsked of\tbob/api@desk\nSince\t1970-01-01T00:00:00Z\n\
             Changed\t1970-01-01T00:00:00Z\nRequest\tread\n\nStatus\n  which [U+001B][2Jone?\n\nRequest\n  \
             find it\n\nThen\n  the blue one\n\nArtifact report\n  line 1\n  line 2\n  3  3 bytes  x.bin\n"
        );
        assert_eq!(shown.text, expected);
        assert_eq!(shown.json["task"]["id"], ID);
    }

    #[test]
    fn an_ended_task_names_what_was_never_read() {
        let shown = report(&Screen::pipe(), &task("TASK_STATE_COMPLETED", json!({})));
        let end = "\nNot read before it ended\n  01ARZ3NDEKTSV4RRFFQ69G5FAW  delivered\n";
        assert!(shown.text.ends_with(end), "{}", shown.text);
    }

    #[test]
    fn a_chain_is_shown_when_it_says_more_than_who_asks() {
        let chain = |depth: u8, scope: Option<Value>| {
            let mut chain = json!({"addresses": ["alice/api@a", "bob/api@desk", "carol/api@c"],
                "depth": depth, "maxDepth": 4, "exp": 9});
            if let Some(scope) = scope {
                chain["scope"] = scope;
            }
            report(&Screen::pipe(), &task("TASK_STATE_WORKING", json!({"chain": chain}))).text
        };
        assert!(!chain(1, None).contains("Chain"));
        let deep = chain(2, None);
        assert!(deep.contains("Chain\talice/api@a > bob/api@desk > carol/api@c\n"), "{deep}");
        assert!(!deep.contains("Scope"));
        assert!(chain(1, Some(json!(["read", "repo:x"]))).contains("Scope\tread, repo:x\n"));
        assert!(chain(1, Some(json!([]))).contains("Scope\tnothing\n"));
    }

    #[test]
    fn changes_are_a_line_each() {
        let status = TaskChange::Status {
            status: task("TASK_STATE_WORKING", json!({})).task.status,
            metadata: None,
        };
        assert_eq!(changed(&Screen::pipe(), &status), "working: which [U+001B][2Jone?\n");
        let artifact = A2aObject::new(json!({"artifactId": "a"}).as_object().unwrap().clone());
        let piece = TaskChange::Artifact { artifact, append: true, last_chunk: true };
        assert_eq!(changed(&Screen::pipe(), &piece), "artifact: more of a, whole now\n");
    }

    #[test]
    fn results_are_the_parts_of_every_artifact() {
        let results = results(&task("TASK_STATE_COMPLETED", json!({})).task);
        assert_eq!(results.parts().count(), 3);
    }
}
