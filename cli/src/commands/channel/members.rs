//! `messaging channel invite` and `remove`.
//! Spec: D6.4, §6.8

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{ChannelName, PersonId};
use messaging_ipc::call;
use messaging_ipc::params::channel::Members;
use messaging_ipc::results::conv::ChannelChanged;
use messaging_ipc::scalars::List;

use crate::address::{channel, room_name};
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Add people to a channel
///
/// They see what is written from now on.
///
/// Examples:
///   messaging channel invite ops dave
///   messaging channel invite '#ops' dave erin
///
/// See also: messaging channel show, messaging channel remove
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Invite {
    #[command(flatten)]
    who: Who,
}

/// Remove people from a channel
///
/// Whoever created the channel may, and the team's admins. The channel and its lines go from their machines.
///
/// Examples:
///   messaging channel remove ops dave
///   messaging channel rm ops dave erin
///
/// See also: messaging channel leave, messaging channel invite
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Remove {
    #[command(flatten)]
    who: Who,
}

#[derive(Debug, clap::Args)]
struct Who {
    /// The channel
    #[arg(value_name = "NAME", value_parser = channel, add = ArgValueCompleter::new(complete::channels))]
    name: ChannelName,
    /// Whom
    #[arg(value_name = "PERSON", required = true, add = ArgValueCompleter::new(complete::persons))]
    persons: Vec<PersonId>,
}

impl Who {
    fn members(self) -> Result<Members, Fault> {
        let persons = List::new(self.persons).map_err(|_| too_many())?;
        Ok(Members { name: self.name, persons })
    }
}

/// A channel holds the person and 31 others.
pub(super) fn too_many() -> Fault {
    Fault::usage("there are more than 31 persons", "name fewer.")
}

impl Invite {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let members = self.who.members()?;
        let link = context.connect().await?;
        let changed = link.call::<call::ChannelInvite>(&members).await?;
        Ok(report(&changed, "added", &members.persons))
    }
}

impl Remove {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let members = self.who.members()?;
        let link = context.connect().await?;
        let changed = link.call::<call::ChannelRemove>(&members).await?;
        Ok(report(&changed, "removed", &members.persons))
    }
}

fn report(changed: &ChannelChanged, done: &str, persons: &[PersonId]) -> Report {
    let names: Vec<&str> = persons.iter().map(PersonId::as_str).collect();
    let channel = room_name(&changed.channel.conversation);
    Report::of(changed, format!("{done} {}: {channel}\n", names.join(", ")))
}
