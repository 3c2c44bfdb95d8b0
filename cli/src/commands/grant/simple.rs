//! `messaging grant clear`, `mute`, `block`, `unblock`, `trust`, `untrust`, `discoverable`.
//! Spec: D6.4, §6.9

use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use messaging_core::limits::TRUST_MAX_MS;
use messaging_ipc::params::consent::{SetGrant, Subject};
use messaging_ipc::shapes::{Ask, ChatLevel};

use super::change;
use crate::address::own_person;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Take back everything that you said about a person or a channel
///
/// Examples:
///   messaging grant clear bob
///   messaging grant clear '#ops' --yes
///
/// See also: messaging grant list, messaging grant set
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Clear {
    /// The person, or '#<channel>'
    #[arg(value_name = "SUBJECT", add = ArgValueCompleter::new(complete::rooms))]
    subject: String,
}

/// Take a person's lines without telling you of each
///
/// Examples:
///   messaging grant mute bob
///   messaging grant mute bob --yes
///
/// See also: messaging grant unblock, messaging grant block
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Mute {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    subject: String,
}

/// Refuse everything that a person or their agents send
///
/// They are told `refused`. Blocking outlives the machine that you block from.
///
/// Examples:
///   messaging grant block mallory
///   messaging grant block mallory --yes
///
/// See also: messaging grant unblock, messaging request block
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Block {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    subject: String,
}

/// No longer block or mute a person
///
/// Their lines are by default again; what you said about their agents stays.
///
/// Examples:
///   messaging grant unblock bob
///   messaging grant unblock bob --yes
///
/// See also: messaging grant block, messaging grant mute, messaging grant clear
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Unblock {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    subject: String,
}

/// Let a person's requests run, and let your agents act on them freely
///
/// It ends by itself. A request that somebody else stands behind is not trusted with it.
///
/// Examples:
///   messaging grant trust bob
///   messaging grant trust bob --for 7d
///
/// See also: messaging grant untrust, messaging grant set
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trust {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    subject: String,
    /// For how long: a number and m, h or d; at most 90d
    #[arg(long = "for", value_name = "TIME", default_value = "30d")]
    span: String,
}

/// No longer trust a person; their requests go on running with care
///
/// Examples:
///   messaging grant untrust bob
///   messaging grant untrust bob --yes
///
/// See also: messaging grant trust, messaging grant set
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Untrust {
    /// The person
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    subject: String,
}

/// Whether people outside your organisation find you by your exact email
///
/// Examples:
///   messaging grant discoverable off
///   messaging grant discoverable on --yes
///
/// See also: messaging grant list, messaging request list
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Discoverable {
    /// Whether they do
    #[arg(value_name = "SETTING")]
    setting: Switch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Clear {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| {
            *grant = empty(grant.subject.clone());
        })
        .await
    }
}

impl Mute {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| grant.chat = Some(ChatLevel::Muted)).await
    }
}

impl Block {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| grant.chat = Some(ChatLevel::Blocked)).await
    }
}

impl Unblock {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| grant.chat = None).await
    }
}

impl Trust {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let span = span(&self.span).ok_or_else(|| {
            Fault::usage(
                "that is no time that trust lasts for",
                "write 30m, 12h or 30d; at most 90d.",
            )
        })?;
        let until = messaging_runtime::clock::wall().plus(span);
        change::change(context, &self.subject, |grant| {
            grant.ask = Some(Ask::Open);
            grant.trusted_until = Some(until);
        })
        .await
    }
}

impl Untrust {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        change::change(context, &self.subject, |grant| grant.trusted_until = None).await
    }
}

impl Discoverable {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        let own = Subject { person: Some(own_person(&link).await?), channel: None };
        let grant = SetGrant { discoverable: Some(self.setting == Switch::On), ..empty(own) };
        change::set(context, &link, grant).await
    }
}

fn empty(subject: Subject) -> SetGrant {
    SetGrant {
        subject,
        chat: None,
        agent_mail: None,
        ask: None,
        trusted_until: None,
        trust: None,
        discoverable: None,
    }
}

/// Milliseconds of a number and a unit; none for what is no such time, or out of bounds.
fn span(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at_checked(text.len().saturating_sub(1))?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 1_440,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    let ms = number.checked_mul(minutes * 60_000)?;
    (1..=TRUST_MAX_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_for_a_time_within_bounds() {
        for (text, ms) in [("1m", 60_000), ("2h", 7_200_000), ("90d", 7_776_000_000)] {
            assert_eq!(span(text).unwrap(), ms);
        }
        for bad in ["", "d", "0d", "91d", "30", "30s", "-1d", "é", "99999999999999999999d"] {
            assert!(span(bad).is_none(), "{bad}");
        }
    }
}
