//! What a session has not seen yet, said once with the next result.
//! Spec: D7.3 "News", §11 "MCP server"

use std::collections::BTreeSet;

use messaging_core::ids::Ulid;
use messaging_core::random::Random;
use messaging_ipc::call::InboxList;
use messaging_ipc::event::{Event, Origin};
use messaging_ipc::params::inbox::ListItems;
use messaging_ipc::scalars::Count;

use crate::Tools;
use crate::link::{AgentLink, Session};

/// How much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Items not read.
    pub unread: u64,
    /// Tasks that the other side changed and nobody looked at since.
    pub tasks: usize,
}

impl News {
    /// The sentence.
    pub fn sentence(self) -> String {
        format!(
            "You have {} unread messages and {} changed tasks; call messaging_inbox or messaging_tasks.",
            self.unread, self.tasks
        )
    }
}

/// What changed since the last result that said so.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Something came in, or nothing was ever said.
    fresh: bool,
    tasks: BTreeSet<Ulid>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { fresh: true, tasks: BTreeSet::new() }
    }
}

/// Changed tasks that are kept in mind.
const TASKS: usize = 1_000;

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// Takes an event of the session.
    pub fn heard(&self, event: &Event) {
        let mut state = self.state();
        match event {
            Event::Inbox { .. } => state.changes.fresh = true,
            Event::Task { origin: Origin::Peer, task, .. } => {
                state.changes.fresh = true;
                if state.changes.tasks.len() < TASKS {
                    state.changes.tasks.insert(task.id);
                }
            }
            _ => {}
        }
    }

    /// Takes note that the link was down: events may have been missed.
    pub fn reconnected(&self) {
        self.state().changes.fresh = true;
    }

    /// A task was shown, so its change is no news.
    pub(crate) fn looked_at(&self, task: &Ulid) {
        self.state().changes.tasks.remove(task);
    }

    /// What is new since it was last said.
    pub(crate) async fn news(&self, session: &Session) -> Option<News> {
        if !self.state().changes.fresh {
            return None;
        }
        let params = ListItems {
            key: session.key.clone(),
            unread_only: true,
            limit: Count::clamped(1),
            before: None,
        };
        // A result is worth giving without its news.
        let unread = self.ask::<InboxList>(&params).await.ok()?.unread;
        let mut state = self.state();
        state.changes.fresh = false;
        let news = News { unread, tasks: state.changes.tasks.len() };
        (news.unread > 0 || news.tasks > 0).then_some(news)
    }
}
