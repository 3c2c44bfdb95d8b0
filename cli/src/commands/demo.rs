//! `messaging demo`.
//! Spec: D6.7

use std::time::Duration;

use clap::ValueEnum;

use crate::context::Context;
use crate::demo;
use crate::fault::Fault;
use crate::render::Report;

/// Show two people's agents exchange a sealed message and a task, on this machine alone
///
/// Starts a relay and two daemons in a temporary folder, founds a team, invites a second person, and sends a message from
/// one agent to another, which waits until its person allows it. Then it shows what the relay could see of it, and a task,
/// stops everything and deletes the folder. Nothing of yours is touched, and nothing leaves this machine.
///
/// Examples:
///   messaging demo
///   messaging demo --speed slow
///   messaging demo --json
///
/// See also: messaging team create, messaging send
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Demo {
    /// Keep the folder, and say where it is
    #[arg(long)]
    keep: bool,
    /// How long to pause between the steps on a terminal
    #[arg(long, value_name = "SPEED", default_value = "normal")]
    speed: Speed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Speed {
    /// Two seconds.
    Slow,
    /// Half a second.
    Normal,
    /// Not at all.
    Fast,
}

impl Demo {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let pause = match self.speed {
            _ if !context.screen.tty || context.globals.json => Duration::ZERO,
            Speed::Slow => Duration::from_secs(2),
            Speed::Normal => Duration::from_millis(500),
            Speed::Fast => Duration::ZERO,
        };
        demo::run(context, self.keep, pause).await
    }
}
