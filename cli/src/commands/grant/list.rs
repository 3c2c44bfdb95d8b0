//! `messaging grant list`.
//! Spec: D6.4, §6.9

use clap_complete::ArgValueCompleter;
use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::params::consent::ListGrants;
use messaging_ipc::shapes::{AgentMail, Ask, ChatLevel, GrantSubject, GrantView};

use crate::address::Recipient;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Cell, Report, Table, date, when};

/// List what you allow, newest first
///
/// What no grant says is by default: in a team, lines are taken, and requests to your agents wait for you.
///
/// Examples:
///   messaging grant list
///   messaging grant list bob --json
///   messaging grant list '#ops'
///
/// See also: messaging grant review, messaging grant set
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {
    /// Only about this person or channel
    #[arg(value_name = "SUBJECT", add = ArgValueCompleter::new(complete::rooms))]
    subject: Option<String>,
}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let whom = self.subject.as_deref().map(Recipient::parse).transpose()?;
        let link = context.connect().await?;
        let subject = match whom {
            Some(whom) => Some(whom.subject(&link).await?),
            None => None,
        };
        let grants = link.call::<call::GrantList>(&ListGrants { subject }).await?;
        let mut table = Table::new(
            &["SUBJECT", "LINES", "AGENTS' LINES", "REQUESTS", "TRUST", "SET"],
            "No grants: everything is by default.",
        );
        for grant in &grants.grants {
            table.row(row(context, grant));
        }
        let report = Report::of(&grants, table.render(&context.screen));
        Ok(if grants.review.is_empty() {
            report
        } else {
            report.noting("Some of what you allowed has lapsed: look at `messaging grant review`.")
        })
    }
}

fn row(context: &Context, grant: &GrantView) -> [Cell; 6] {
    let levels = Levels {
        chat: grant.chat,
        agent_mail: grant.agent_mail,
        ask: grant.ask,
        trusted_until: grant.trusted_until,
        discoverable: grant.discoverable,
    };
    let [lines, agents, requests, trust] = levels.cells(context.screen.now);
    let set = Cell::new(when(&context.screen, grant.ts));
    [Cell::new(subject(&grant.subject)), lines, agents, requests, trust, set]
}

/// The levels of a grant, or of what lapsed of one.
pub(super) struct Levels {
    pub(super) chat: Option<ChatLevel>,
    pub(super) agent_mail: Option<AgentMail>,
    pub(super) ask: Option<Ask>,
    pub(super) trusted_until: Option<Ms>,
    pub(super) discoverable: Option<bool>,
}

impl Levels {
    /// The columns for lines, agents' lines, requests, trust as it is at `now`.
    pub(super) fn cells(&self, now: Ms) -> [Cell; 4] {
        let lines = match (self.discoverable, self.chat) {
            (Some(true), _) => "can find you",
            (Some(false), _) => "cannot find you",
            (None, chat) => chat.map_or("default", chat_word),
        };
        [
            Cell::new(lines),
            Cell::new(match self.agent_mail {
                None => "default",
                Some(AgentMail::Open) => "open",
                Some(AgentMail::Blocked) => "blocked",
            }),
            Cell::new(match self.ask {
                None => "default",
                Some(Ask::Open) => "run at once",
                Some(Ask::Request) => "ask you first",
                Some(Ask::No) => "refused",
            }),
            Cell::new(match self.trusted_until {
                None => "off".to_owned(),
                Some(at) if at <= now => format!("ended {}", date(at)),
                Some(at) => format!("until {}", date(at)),
            }),
        ]
    }
}

const fn chat_word(level: ChatLevel) -> &'static str {
    match level {
        ChatLevel::Open => "open",
        ChatLevel::Muted => "muted",
        ChatLevel::Blocked => "blocked",
    }
}

/// Whom a grant is about: `bob`, `#ops`, or the id of a channel that is no longer here.
pub(super) fn subject(subject: &GrantSubject) -> String {
    match subject {
        GrantSubject::Person { person } => person.to_string(),
        GrantSubject::Channel { name: Some(name), .. } => format!("#{name}"),
        GrantSubject::Channel { channel, name: None } => format!("channel {channel}"),
    }
}
