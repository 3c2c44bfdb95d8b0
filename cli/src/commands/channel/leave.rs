//! `messaging channel leave`.
//! Spec: D6.4, §6.8

use clap_complete::ArgValueCompleter;
use messaging_core::ids::ChannelName;
use messaging_ipc::call;
use messaging_ipc::params::channel::OneChannel;

use crate::address::channel;
use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// Leave a channel
///
/// Its lines are deleted from your machines. Somebody in it can add you again.
///
/// Examples:
///   messaging channel leave ops
///   messaging channel leave ops --yes
///
/// See also: messaging channel list, messaging grant set
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Leave {
    /// The channel
    #[arg(value_name = "NAME", value_parser = channel, add = ArgValueCompleter::new(complete::channels))]
    name: ChannelName,
}

impl Leave {
    pub(super) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let link = context.connect().await?;
        // Asked about before the question, so that nobody is asked about a channel that is not there.
        super::find(&link, &self.name).await?;
        let sentence = format!("Leave #{}: its lines are deleted from your machines.", self.name);
        if !context.confirm(&sentence).await? {
            return Ok(Report::declined());
        }
        let left = link.call::<call::ChannelLeave>(&OneChannel { name: self.name.clone() }).await?;
        Ok(Report::of(&left, format!("left #{}\n", self.name)))
    }
}
