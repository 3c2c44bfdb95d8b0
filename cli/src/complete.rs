//! Completions: of commands and flags from the parser, of names and ids from the daemon.
//! Spec: D6.1 "Completions"
//!
//! The script that `messaging completions <shell>` prints calls this program again with a variable set. A daemon that does
//! not answer at once is not waited for: then there are only fewer suggestions.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::time::Duration;

use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use messaging_client::{Client, Place, Socket};
use messaging_core::ids::{PersonId, SessionName};
use messaging_core::peer_text::terminal_safe;
use messaging_ipc::call;
use messaging_ipc::params::Nothing;
use messaging_ipc::params::conv::ListConversations;
use messaging_ipc::params::notice::ListNotices;
use messaging_ipc::params::task::ListTasks;
use messaging_ipc::scalars::{Count, Room, SessionKey};
use messaging_ipc::shapes::RequestView;

use crate::address::room_name;
use crate::environment::Environment;
use crate::mailbox::{DEFAULT, Mailbox};
use crate::program;

/// The variable by which the shell's script asks for completions.
const VARIABLE: &str = "MESSAGING_COMPLETE";
/// How long the daemon may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// Answers the shell when this is its question; false when it is a command to be run.
pub(crate) fn answered(args: &[OsString]) -> bool {
    let folder = std::env::current_dir().ok();
    CompleteEnv::with_factory(program::command)
        .var(VARIABLE)
        .bin("messaging")
        .try_complete(args.iter().cloned(), folder.as_deref())
        .unwrap_or(false)
}

/// The script for a shell; `None` for a shell that is not known.
pub(crate) fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer = shells.completer(shell)?;
    completer
        .write_registration(VARIABLE, "messaging", "messaging", "messaging", &mut script)
        .ok()?;
    script.flush().ok()?;
    Some(script)
}

/// Recipients: agents, persons and channels that the daemon knows.
pub(crate) fn recipients(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let contacts = client.call::<call::ContactsList>(&Nothing {}).await.ok()?;
        let agents = contacts.entries.iter().map(|entry| entry.address.to_string());
        let persons = contacts.reach.iter().map(|reach| reach.person.to_string());
        let rooms = contacts.conversations.iter().filter_map(|view| match &view.conversation {
            Room::Channel(name) => Some(format!("#{name}")),
            Room::Dm(_) => None,
        });
        Some(agents.chain(persons).chain(rooms).collect())
    })
}

/// Persons and channels.
pub(crate) fn rooms(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let contacts = client.call::<call::ContactsList>(&Nothing {}).await.ok()?;
        let persons = contacts.reach.iter().map(|reach| reach.person.to_string());
        let rooms = contacts.conversations.iter().map(|view| room_name(&view.conversation));
        Some(sorted(persons.chain(rooms)))
    })
}

/// Channels that the person is in.
pub(crate) fn channels(current: &OsStr) -> Vec<CompletionCandidate> {
    let marked = current.to_string_lossy().starts_with('#');
    matching(current, |client| async move {
        let list = ListConversations { limit: Count::clamped(u64::MAX) };
        let found = client.call::<call::ConvList>(&list).await.ok()?;
        let names = found.conversations.iter().filter_map(|view| match &view.conversation {
            Room::Channel(name) if marked => Some(format!("#{name}")),
            Room::Channel(name) => Some(name.to_string()),
            Room::Dm(_) => None,
        });
        Some(names.collect())
    })
}

/// What waits for the person's answer.
pub(crate) fn requests(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let waiting = client.call::<call::RequestList>(&Nothing {}).await.ok()?;
        let ids = waiting.requests.iter().map(|request| match request {
            RequestView::Message(held) | RequestView::Task(held) => held.id.to_string(),
            RequestView::Contact { id, .. } | RequestView::Suggestion { id, .. } => id.to_string(),
        });
        Some(ids.collect())
    })
}

/// Notices that are not acknowledged.
pub(crate) fn notices(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let list = ListNotices { lines: false, limit: Count::clamped(u64::MAX) };
        let found = client.call::<call::NoticeList>(&list).await.ok()?;
        Some(found.notices.into_iter().map(|notice| notice.id).collect())
    })
}

/// Agents of this machine.
pub(crate) fn own_agents(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let found = client.call::<call::AgentsList>(&Nothing {}).await.ok()?;
        Some(found.agents.iter().map(|agent| agent.agent.to_string()).collect())
    })
}

/// Persons of the team.
pub(crate) fn persons(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let team = client.call::<call::TeamList>(&Nothing {}).await.ok()?;
        let mut persons: Vec<PersonId> =
            team.members.iter().map(|member| PersonId::from(&member.person)).collect();
        persons.dedup();
        Some(persons.iter().map(ToString::to_string).collect())
    })
}

/// Machines of the team, as `person@label`.
pub(crate) fn machines(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let team = client.call::<call::TeamList>(&Nothing {}).await.ok()?;
        Some(team.members.iter().map(|m| format!("{}@{}", m.person, m.label)).collect())
    })
}

/// Open invites of the team.
pub(crate) fn invites(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, |client| async move {
        let team = client.call::<call::TeamList>(&Nothing {}).await.ok()?;
        Some(team.invites.iter().map(|invite| invite.invite_id.to_string()).collect())
    })
}

/// Tasks of the mailbox `cli`.
pub(crate) fn tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(key) = mailbox_key() else { return Vec::new() };
    matching(current, |client| async move {
        let register =
            Mailbox::registration(key.clone(), SessionName::parse(DEFAULT).ok()?).ok()?;
        client.call::<call::SessionRegister>(&register).await.ok()?;
        let list = ListTasks {
            key,
            role: None,
            state: None,
            context_id: None,
            peer: None,
            updated_after: None,
            limit: Count::clamped(100),
            cursor: None,
        };
        let page = client.call::<call::TaskList>(&list).await.ok()?;
        Some(page.tasks.iter().map(|task| task.id.to_string()).collect())
    })
}

/// The key of the mailbox `cli`, when there is one.
fn mailbox_key() -> Option<SessionKey> {
    let environment = Environment::read();
    let home = environment.home.or_else(|| environment.user.map(|user| user.join(".messaging")))?;
    let text = std::fs::read_to_string(home.join("cli").join(format!("{DEFAULT}.key"))).ok()?;
    SessionKey::parse(text.trim_end()).ok()
}

/// Methods of the table.
pub(crate) fn methods(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = messaging_ipc::methods::Method::ALL.iter().map(|method| method.name().to_owned());
    candidates(current, names.collect())
}

/// Mailboxes of the home.
pub(crate) fn mailboxes(current: &OsStr) -> Vec<CompletionCandidate> {
    let environment = Environment::read();
    let home = environment.home.or_else(|| environment.user.map(|user| user.join(".messaging")));
    let entries = home.and_then(|home| std::fs::read_dir(home.join("cli")).ok());
    let names = entries.into_iter().flatten().filter_map(Result::ok).filter_map(|entry| {
        let file = entry.file_name();
        SessionName::parse(file.to_str()?.strip_suffix(".key")?).ok().map(|name| name.to_string())
    });
    candidates(current, names.collect())
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

fn matching<F>(current: &OsStr, ask: impl FnOnce(Client) -> F) -> Vec<CompletionCandidate>
where
    F: Future<Output = Option<Vec<String>>>,
{
    let environment = Environment::read();
    let home =
        environment.home.clone().or_else(|| environment.user.map(|user| user.join(".messaging")));
    let place = match (environment.run, home) {
        (Some(run), _) => Place::run(&run),
        (None, Some(home)) => Place::home(&home),
        (None, None) => return Vec::new(),
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let found = runtime.block_on(async {
        let asking = async {
            let (client, _events) = Client::connect(&place, Socket::Admin).await.ok()?;
            ask(client).await
        };
        tokio::time::timeout(PATIENCE, asking).await.ok().flatten()
    });
    candidates(current, found.unwrap_or_default())
}

fn candidates(current: &OsStr, names: Vec<String>) -> Vec<CompletionCandidate> {
    let start = current.to_string_lossy();
    names
        .into_iter()
        .filter(|name| name.starts_with(&*start))
        .map(|name| CompletionCandidate::new(terminal_safe(&name)))
        .collect()
}
