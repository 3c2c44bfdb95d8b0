//! `messaging request`.
//! Spec: D6.4, §6.9

mod answer;
mod list;
mod show;

use crate::context::Context;
use crate::fault::Fault;
use crate::render::Report;

/// What others ask of you and your agents, and your answers
///
/// A message or task for one of your agents waits here until you allow it, unless a grant answers for you.
///
/// Examples:
///   messaging request list
///   messaging request once 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D
///   messaging request block 01JZ3V7H2Q4W8X9Y0Z1A2B3C4D --all
///
/// See also: messaging grant, messaging notices
#[derive(Debug, clap::Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Request {
    #[command(alias = "ls")]
    List(list::List),
    Show(show::Show),
    Once(answer::Once),
    Always(answer::Always),
    Accept(answer::Accept),
    Decline(answer::Decline),
    Block(answer::Block),
}

impl Request {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Once(command) => command.run(context).await,
            Self::Always(command) => command.run(context).await,
            Self::Accept(command) => command.run(context).await,
            Self::Decline(command) => command.run(context).await,
            Self::Block(command) => command.run(context).await,
        }
    }
}
