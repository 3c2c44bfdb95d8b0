//! `messaging task list --follow`: the list, then each change as it happens.
//! Spec: D6.4, D2 `task`

use std::collections::BTreeMap;

use messaging_core::ids::Ulid;
use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::event::{Event, TaskChange};
use messaging_ipc::params::KeyOnly;
use messaging_ipc::params::task::ListTasks;
use messaging_ipc::results::task::TaskPage;
use messaging_ipc::scalars::{SessionKey, Str};
use messaging_ipc::shapes::{A2aObject, PeerRef, TaskListItem, TaskRole, TaskStatus};

use super::{Filter, table, word};
use crate::commands::inbox::from;
use crate::commands::task::show::piece;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Clock, Report, behind, cut, line, stamp};
use crate::screen::{Screen, Style};

/// A page of what changed while the daemon was away.
const PAGE: u64 = 100;

/// Tasks that are followed.
pub(super) struct Follow<'a> {
    context: &'a Context,
    mailbox: Mailbox,
    filter: Filter,
    clock: Clock,
    /// How each task stood when it was last shown.
    shown: BTreeMap<(Ulid, TaskRole), Shown>,
    /// When the newest change shown happened.
    newest: Ms,
}

/// How a task stood when it was shown.
struct Shown {
    at: Ms,
    status: TaskStatus,
    /// Whether by a list, which may be ahead of the events.
    listed: bool,
}

impl Shown {
    fn covers(&self, at: Ms, status: &TaskStatus) -> bool {
        at < self.at || at == self.at && *status == self.status
    }
}

/// A line about a change.
struct Change<'a> {
    id: Ulid,
    peer: &'a PeerRef,
    title: &'a str,
    at: Ms,
    ended: bool,
    what: &'static str,
    said: String,
}

/// Why nothing more is printed.
enum End {
    /// Nobody reads the output.
    Closed,
    /// It cannot go on.
    Failed(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> Self {
        Self::Closed
    }
}

impl<'a> Follow<'a> {
    /// Follows the tasks of a mailbox that a filter lets through.
    pub(super) fn new(context: &'a Context, mailbox: Mailbox, filter: Filter) -> Self {
        let (clock, shown, newest) = (Clock::local(), BTreeMap::new(), Ms(0));
        Self { context, mailbox, filter, clock, shown, newest }
    }

    /// Prints the list and what becomes of it, until nobody reads it any more.
    pub(super) async fn run(mut self, limit: u64) -> Result<Report, Fault> {
        match self.follow(limit).await {
            End::Closed => Ok(Report::printed()),
            End::Failed(fault) => Err(fault),
        }
    }

    async fn follow(&mut self, limit: u64) -> End {
        let mut link = match self.context.connect().await {
            Ok(link) => link,
            Err(fault) => return fault.into(),
        };
        let mut listed = false;
        loop {
            let done = if listed {
                self.again(&link).await
            } else {
                let begun = self.begin(&link, limit).await;
                listed = begun.is_ok();
                begun
            };
            match done {
                Ok(()) => {
                    while let Some(event) = link.events.next().await {
                        if let Err(end) = self.told(&event) {
                            return end;
                        }
                    }
                }
                Err(End::Failed(fault)) if fault.is_absence() => {}
                Err(end) => return end,
            }
            link = match self.context.connect_again().await {
                Ok(link) => link,
                Err(fault) => return fault.into(),
            };
        }
    }

    /// Opens the mailbox and subscribes. This comes before the look, so that no change can be missed.
    async fn subscribe(&self, link: &Link<'_>) -> Result<SessionKey, Fault> {
        let key = self.mailbox.open(link).await?;
        link.call::<call::EventsSubscribe>(&KeyOnly { key: key.clone() }).await?;
        Ok(key)
    }

    async fn begin(&mut self, link: &Link<'_>, limit: u64) -> Result<(), End> {
        let key = self.subscribe(link).await?;
        let list = self.filter.params(key, limit)?;
        let page = link.call::<call::TaskList>(&list).await?;
        let report = Report::of(&page, table(self.context, &page));
        self.context.print_event(&report.json, &report.text)?;
        if page.next_cursor.is_some() {
            self.context.note("There is more: list it with -n, or with --cursor and no --follow.");
        }
        for task in &page.tasks {
            self.know(task.id, task.role, task.updated_at, &task.status, true);
        }
        Ok(())
    }

    /// Prints what changed while the daemon was away, oldest first.
    async fn again(&mut self, link: &Link<'_>) -> Result<(), End> {
        let key = self.subscribe(link).await?;
        let mut missed = Vec::new();
        let mut cursor: Option<Str<1, 512>> = None;
        loop {
            let list = self.filter.params(key.clone(), PAGE)?;
            // A task that left the states asked for is told too, as it is while the daemon is there.
            let updated_after = Some(self.newest);
            let list = ListTasks { cursor: cursor.take(), updated_after, state: None, ..list };
            let page = link.call::<call::TaskList>(&list).await?;
            missed.extend(page.tasks.into_iter().filter(|task| self.is_missed(task)));
            match page.next_cursor.map(Str::new) {
                Some(Ok(next)) => cursor = Some(next),
                _ => break,
            }
        }
        missed.reverse();
        if missed.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for task in &missed {
            self.know(task.id, task.role, task.updated_at, &task.status, true);
            let change = Change {
                id: task.id,
                peer: &task.peer,
                title: task.title.as_untrusted(),
                at: task.updated_at,
                ended: task.status.state.is_terminal(),
                what: word(task.status.state),
                said: said(&task.status),
            };
            text += &change.text(&self.context.screen, &self.clock);
        }
        let total = u64::try_from(missed.len()).unwrap_or(u64::MAX);
        let page = TaskPage { tasks: missed, total, next_cursor: None };
        let json = messaging_core::jcs::to_value(&page).unwrap_or_default();
        Ok(self.context.print_event(&json, &text)?)
    }

    fn told(&mut self, event: &Event) -> Result<(), End> {
        let Event::Task { task, update, .. } = event else { return Ok(()) };
        let shown = self.shown.get(&(task.id, task.role));
        let listed = shown.filter(|shown| shown.listed);
        if listed.is_some_and(|shown| shown.covers(task.updated_at, &task.status))
            || shown.is_none() && !self.filter.fits(task.role, task.status.state, &task.peer)
        {
            return Ok(());
        }
        self.know(task.id, task.role, task.updated_at, &task.status, false);
        let (what, said) = match update {
            Some(TaskChange::Artifact { artifact, append, last_chunk }) => {
                ("artifact", piece(artifact, *append, *last_chunk))
            }
            Some(TaskChange::Status { status, .. }) => (word(status.state), said(status)),
            None => (word(task.status.state), said(&task.status)),
        };
        let change = Change {
            id: task.id,
            peer: &task.peer,
            title: task.title.as_untrusted(),
            at: task.updated_at,
            ended: task.status.state.is_terminal(),
            what,
            said,
        };
        let json = messaging_core::jcs::to_value(event).unwrap_or_default();
        Ok(self.context.print_event(&json, &change.text(&self.context.screen, &self.clock))?)
    }

    /// Whether a task changed unseen: one that was asked for, or was shown.
    fn is_missed(&self, task: &TaskListItem) -> bool {
        match self.shown.get(&(task.id, task.role)) {
            Some(shown) => !shown.covers(task.updated_at, &task.status),
            None => self.filter.fits(task.role, task.status.state, &task.peer),
        }
    }

    fn know(&mut self, id: Ulid, role: TaskRole, at: Ms, status: &TaskStatus, listed: bool) {
        self.shown.insert((id, role), Shown { at, status: status.clone(), listed });
        self.newest = self.newest.max(at);
    }
}

/// The text of a status.
fn said(status: &TaskStatus) -> String {
    status.message.as_ref().map(A2aObject::text).unwrap_or_default()
}

impl Change<'_> {
    /// The columns of the list and what was said: one row on a pipe; at a terminal the text stands below, behind a margin.
    fn text(&self, screen: &Screen, clock: &Clock) -> String {
        let peer = from(self.peer);
        if !screen.tty {
            let id = self.id.to_string();
            let at = stamp(self.at);
            let cells = [&id, self.what, &peer, &at, self.title, &self.said];
            return cells.map(line).join("\t") + "\n";
        }
        let (at, id, title) = (clock.minute(self.at), self.id, line(self.title));
        let head = format!("{at}  {id}  {}  {}  {title}", self.what, line(&peer));
        let mut out = cut(&head, screen.columns());
        if !self.said.is_empty() {
            for row in behind(screen.columns(), "       ", "       ", &self.said) {
                out.push('\n');
                out += &row;
            }
        }
        let style = if self.ended { Style::Dim } else { Style::Plain };
        let painted: Vec<String> = out.split('\n').map(|row| screen.paint(style, row)).collect();
        painted.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change<'a>(peer: &'a PeerRef, what: &'static str, said: &str) -> Change<'a> {
        let id = Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        let title = "find\u{1b}[2J\nit";
        Change { id, peer, title, at: Ms(60_000), ended: false, what, said: said.to_owned() }
    }

    fn peer() -> PeerRef {
        let device = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let peer = json!({"person": "bob", "device": device, "label": "desk", "agent": "api",
            "address": "bob/api@desk"});
        serde_json::from_value(peer).unwrap()
    }

    #[test]
    fn a_change_is_one_row_on_a_pipe_and_text_of_others_stays_behind_its_margin_at_a_terminal() {
        let peer = peer();
        let change = change(&peer, "working", "one\n14:05  two");
        assert_eq!(
            change.text(&Screen::pipe(), &Clock::utc()),
            "01ARZ3NDEKTSV4RRFFQ69G5FAV\tworking\tbob/api@desk\t1970-01-01T00:01:00Z\t\
             find[U+001B][2J⏎it\tone⏎14:05  two\n"
        );
        let shown = change.text(&Screen::terminal(), &Clock::utc());
        let head = "00:01  01ARZ3NDEKTSV4RRFFQ69G5FAV  working  bob/api@desk  find[U+001B][2J⏎it\n";
        assert_eq!(shown, format!("{head}       one\n       14:05  two\n"));
    }
}
