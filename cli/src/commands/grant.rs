//! `messaging grant`: what others may send.
//! Spec: D6.4, §6.9

mod change;
mod list;
mod review;
mod set;
mod simple;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// What you allow each person, and each channel's members, to send you and your agents
///
/// A grant is signed on this machine and goes to your other machines. Each command changes what it names, keeps the
/// rest, and first says in one sentence what will then hold.
///
/// Examples:
///   messaging grant list
///   messaging grant set bob --ask open
///   messaging grant block mallory
///   messaging consent ls
///
/// See also: messaging request, messaging people show
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Grant {
    #[command(alias = "ls")]
    List(list::List),
    Review(review::Review),
    Set(set::Set),
    Clear(simple::Clear),
    Mute(simple::Mute),
    Block(simple::Block),
    Unblock(simple::Unblock),
    Trust(simple::Trust),
    Untrust(simple::Untrust),
    Discoverable(simple::Discoverable),
}

impl Grant {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Review(command) => command.run(context).await,
            Self::Set(command) => command.run(context).await,
            Self::Clear(command) => command.run(context).await,
            Self::Mute(command) => command.run(context).await,
            Self::Block(command) => command.run(context).await,
            Self::Unblock(command) => command.run(context).await,
            Self::Trust(command) => command.run(context).await,
            Self::Untrust(command) => command.run(context).await,
            Self::Discoverable(command) => command.run(context).await,
        }
    }
}
