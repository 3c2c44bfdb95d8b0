//! `messaging task list`.
//! Spec: D6.4

mod follow;

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::ids::{SessionAddress, SessionName};
use messaging_core::task::TaskState;
use messaging_ipc::call;
use messaging_ipc::params::task::ListTasks;
use messaging_ipc::results::task::TaskPage;
use messaging_ipc::scalars::{Count, List as Bounded, SessionKey, Str};
use messaging_ipc::shapes::{PeerRef, TaskListItem, TaskRole};

use crate::commands::inbox::from;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::mailbox::Mailbox;
use crate::render::{Cell, Report, Table, when};
use crate::screen::Style;

/// List tasks, the most recently changed first
///
/// With --follow it stays and prints each change of them as it happens, also when the daemon was away for a while; with
/// --json, the list is a line and so is each change. Ctrl-C ends it.
///
/// Examples:
///   messaging task list
///   messaging task list --follow
///   messaging task list --state working --state input-required
///   messaging task list --with bob/api@desk --json
///
/// See also: messaging task show, messaging task send
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {
    /// Only those that this mailbox asked for, or was asked to do
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// Only those in this state; may be given again
    #[arg(long, value_name = "STATE")]
    state: Vec<State>,
    /// Only those with this agent, as <person>/<agent>@<label>
    #[arg(long = "with", value_name = "ADDRESS", add = ArgValueCompleter::new(complete::recipients))]
    peer: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
    /// Where the list before ended
    #[arg(long, value_name = "CURSOR", conflicts_with = "follow")]
    cursor: Option<String>,
    /// Stay, and print what changes
    #[arg(short = 'f', long)]
    follow: bool,
    /// The mailbox
    #[arg(long = "as", value_name = "NAME", default_value = "cli", add = ArgValueCompleter::new(complete::mailboxes))]
    mailbox: SessionName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Asked for from here.
    Mine,
    /// To be done here.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Canceled,
    Rejected,
}

impl State {
    const fn of(self) -> TaskState {
        match self {
            Self::Submitted => TaskState::Submitted,
            Self::Working => TaskState::Working,
            Self::InputRequired => TaskState::InputRequired,
            Self::AuthRequired => TaskState::AuthRequired,
            Self::Completed => TaskState::Completed,
            Self::Failed => TaskState::Failed,
            Self::Canceled => TaskState::Canceled,
            Self::Rejected => TaskState::Rejected,
        }
    }
}

/// Which tasks a list shows.
#[derive(Clone, Debug)]
struct Filter {
    role: Option<TaskRole>,
    states: Vec<TaskState>,
    peer: Option<SessionAddress>,
}

impl Filter {
    fn params(&self, key: SessionKey, limit: u64) -> Result<ListTasks, Fault> {
        let states = self.states.clone();
        Ok(ListTasks {
            key,
            role: self.role,
            state: if states.is_empty() { None } else { Some(Bounded::new(states)?) },
            context_id: None,
            peer: self.peer.clone(),
            updated_after: None,
            limit: Count::clamped(limit),
            cursor: None,
        })
    }

    /// Whether the daemon would list a task.
    fn fits(&self, role: TaskRole, state: TaskState, peer: &PeerRef) -> bool {
        self.role.is_none_or(|wanted| wanted == role)
            && (self.states.is_empty() || self.states.contains(&state))
            && (self.peer.is_none() || self.peer == peer.address)
    }
}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let filter = Filter {
            role: self.role.map(|role| match role {
                Role::Mine => TaskRole::Requester,
                Role::Asked => TaskRole::Executor,
            }),
            states: self.state.iter().map(|state| state.of()).collect(),
            peer: self.peer.as_deref().map(peer).transpose()?,
        };
        let mailbox = Mailbox::of(context, Some(&self.mailbox))?;
        if self.follow {
            return follow::Follow::new(context, mailbox, filter).run(self.limit).await;
        }
        let cursor = self.cursor.map(Str::new).transpose()?;
        let link = context.connect().await?;
        let key = mailbox.open(&link).await?;
        let list = ListTasks { cursor, ..filter.params(key, self.limit)? };
        let page = link.call::<call::TaskList>(&list).await?;
        let report = Report::of(&page, table(context, &page));
        Ok(match &page.next_cursor {
            Some(cursor) => report.noting(format!("There is more: --cursor {cursor}")),
            None => report,
        })
    }
}

fn table(context: &Context, page: &TaskPage) -> String {
    let mut table = Table::new(&["ID", "STATE", "WITH", "AGE", "TITLE"], "No tasks.");
    for task in &page.tasks {
        table.row(row(context, task));
    }
    table.render(&context.screen)
}

fn peer(text: &str) -> Result<SessionAddress, Fault> {
    SessionAddress::parse(text)
        .map_err(|_| Fault::usage("--with is no full address", "write <person>/<agent>@<label>."))
}

fn row(context: &Context, task: &TaskListItem) -> [Cell; 5] {
    let style = if task.status.state.is_terminal() { Style::Dim } else { Style::Plain };
    [
        Cell::id(task.id).styled(style),
        Cell::new(word(task.status.state)).styled(style),
        Cell::new(from(&task.peer)).styled(style),
        Cell::new(when(&context.screen, task.updated_at)).styled(style),
        Cell::peer(&task.title).styled(style),
    ]
}

/// A state as a person reads it.
pub(in crate::commands) const fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::InputRequired => "input-required",
        TaskState::AuthRequired => "auth-required",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::Rejected => "rejected",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_as_they_are_read() {
        for state in State::value_variants() {
            let name = state.to_possible_value().unwrap();
            assert_eq!(name.get_name(), word(state.of()));
        }
        assert_eq!(State::value_variants().len(), TaskState::ALL.len());
    }
}
