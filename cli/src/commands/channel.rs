//! `messaging channel`.
//! Spec: D6.4, §6.8

mod create;
mod leave;
mod list;
mod members;
mod show;

use messaging_core::code::Code;
use messaging_core::ids::ChannelName;
use messaging_ipc::call;
use messaging_ipc::params::conv::ListConversations;
use messaging_ipc::scalars::{Count, Room};
use messaging_ipc::shapes::{ConversationKind, ConversationView};

use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::Report;

/// Conversations of several people
///
/// A channel is named by the name that this machine holds it under. Quote the `#`, which a shell takes for the start of
/// a comment, or leave it out.
///
/// Examples:
///   messaging channel create ops bob carol
///   messaging channel list
///   messaging channel invite ops dave
///
/// See also: messaging chat, messaging send, messaging grant set
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Channel {
    #[command(alias = "ls")]
    List(list::List),
    Show(show::Show),
    Create(create::Create),
    Invite(members::Invite),
    #[command(alias = "rm")]
    Remove(members::Remove),
    Leave(leave::Leave),
}

impl Channel {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Create(command) => command.run(context).await,
            Self::Invite(command) => command.run(context).await,
            Self::Remove(command) => command.run(context).await,
            Self::Leave(command) => command.run(context).await,
        }
    }
}

/// The channels that this person is in, the one with the newest line first.
async fn channels(link: &Link<'_>) -> Result<Vec<ConversationView>, Fault> {
    let list = ListConversations { limit: Count::clamped(u64::MAX) };
    let mut found = link.call::<call::ConvList>(&list).await?.conversations;
    found.retain(|view| view.kind == ConversationKind::Channel);
    Ok(found)
}

/// One channel.
async fn find(link: &Link<'_>, name: &ChannelName) -> Result<ConversationView, Fault> {
    let wanted = Room::Channel(name.clone());
    let found = channels(link).await?.into_iter().find(|view| view.conversation == wanted);
    found.ok_or_else(|| {
        Fault::new(Code::NotFound, "you are in no channel of that name")
            .next("check `messaging channel list`.")
    })
}
