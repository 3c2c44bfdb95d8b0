//! `messaging grant set`.
//! Spec: D6.4, §6.9

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::time::Ms;
use messaging_ipc::shapes::{AgentMail, Ask, ChatLevel};

use super::change;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Allow or refuse what a person, or a channel's members, may send
///
/// What is not named stays as it is; `default` takes a level back. Trust lets a person's requests run without
/// care, so it ends when their requests no longer run at once.
///
/// Examples:
///   messaging grant set bob --ask open
///   messaging grant set bob --chat muted --agent-mail blocked
///   messaging grant set bob --ask open --trusted-until 2027-01-31
///   messaging grant set '#ops' --ask request
///
/// See also: messaging grant list, messaging grant trust, messaging grant clear
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[group(id = "levels", required = true, multiple = true, args = ["chat", "agent_mail", "ask", "trust", "trusted_until"])]
pub(crate) struct Set {
    /// The person, or '#<channel>'
    #[arg(value_name = "SUBJECT", add = ArgValueCompleter::new(complete::rooms))]
    subject: String,
    /// Their own lines; persons only
    #[arg(long, value_name = "LEVEL")]
    chat: Option<Chat>,
    /// Their agents' lines
    #[arg(long, value_name = "LEVEL")]
    agent_mail: Option<Mail>,
    /// Messages and tasks for your agents
    #[arg(long, value_name = "LEVEL")]
    ask: Option<Asking>,
    /// Trust them for 30 days; persons only, with requests open
    #[arg(long, conflicts_with = "trusted_until")]
    trust: bool,
    /// Trust them until this day or moment, at most 90 days from now
    #[arg(long, value_name = "DATE", value_parser = moment)]
    trusted_until: Option<Ms>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Chat {
    Open,
    Muted,
    Blocked,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mail {
    Open,
    Blocked,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asking {
    Open,
    Request,
    No,
    Default,
}

impl Set {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| {
            if let Some(chat) = self.chat {
                grant.chat = match chat {
                    Chat::Open => Some(ChatLevel::Open),
                    Chat::Muted => Some(ChatLevel::Muted),
                    Chat::Blocked => Some(ChatLevel::Blocked),
                    Chat::Default => None,
                };
            }
            if let Some(mail) = self.agent_mail {
                grant.agent_mail = match mail {
                    Mail::Open => Some(AgentMail::Open),
                    Mail::Blocked => Some(AgentMail::Blocked),
                    Mail::Default => None,
                };
            }
            if let Some(ask) = self.ask {
                let ask = match ask {
                    Asking::Open => Some(Ask::Open),
                    Asking::Request => Some(Ask::Request),
                    Asking::No => Some(Ask::No),
                    Asking::Default => None,
                };
                change::ask(grant, ask);
            }
            if self.trust {
                grant.trusted_until = None;
                grant.trust = Some(true);
            }
            if self.trusted_until.is_some() {
                grant.trusted_until = self.trusted_until;
            }
        })
        .await
    }
}

/// A moment as RFC 3339 writes it, or a day, which ends at its midnight in UTC.
fn moment(text: &str) -> Result<Ms, &'static str> {
    let whole = if text.contains('T') { text.to_owned() } else { format!("{text}T23:59:59Z") };
    let time: jiff::Timestamp = whole.parse().map_err(|_| "not a date")?;
    u64::try_from(time.as_millisecond()).map(Ms).map_err(|_| "long past")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_lasts_until_its_end() {
        assert_eq!(moment("2026-01-01").unwrap(), Ms(1_767_311_999_000));
        assert_eq!(moment("2026-01-01T00:00:00Z").unwrap(), Ms(1_767_225_600_000));
        assert_eq!(moment("2026-01-01T01:00:00+01:00").unwrap(), Ms(1_767_225_600_000));
        for bad in ["", "tomorrow", "2026-13-01", "1960-01-01", "2026-01-01T"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
