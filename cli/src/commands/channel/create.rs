//! `messaging channel create`.
//! Spec: D6.4, §6.8

use clap_complete::ArgValueCompleter;
use messaging_core::ids::{ChannelName, PersonId};
use messaging_ipc::call;
use messaging_ipc::params::channel::Create as Params;
use messaging_ipc::scalars::List;

use crate::address::{channel, room_name};
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Found a channel and add people to it
///
/// Examples:
///   messaging channel create ops bob carol
///   messaging channel create notes
///
/// See also: messaging channel invite, messaging chat
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Create {
    /// Its name: letters, digits and `-`, at most 32
    #[arg(value_name = "NAME", value_parser = channel)]
    name: ChannelName,
    /// Who is in it, beside you; at most 31
    #[arg(value_name = "PERSON", add = ArgValueCompleter::new(complete::persons))]
    persons: Vec<PersonId>,
}

impl Create {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let persons = List::new(self.persons).map_err(|_| super::members::too_many())?;
        let link = context.connect().await?;
        let create = Params { name: self.name, persons };
        let created = link.call::<call::ChannelCreate>(&create).await?;
        let name = room_name(&created.channel.conversation);
        Ok(Report::of(&created, format!("created {name}\n")))
    }
}
