//! Every command, one file each. A noun is a file with a folder of its verbs beside it.
//! Spec: D6.4

mod agents;
mod api;
mod channel;
mod chat;
mod completions;
mod config;
mod contact;
mod daemon;
mod demo;
mod device;
mod dm;
mod doctor;
mod export;
mod grant;
mod help;
mod hook;
mod identity;
mod inbox;
mod mail;
mod mailbox;
mod man;
mod notices;
mod people;
mod read;
mod request;
mod search;
mod send;
mod sent;
mod setup;
mod snapshot;
mod status;
mod task;
mod team;
mod version;

use clap::Subcommand;

use crate::context::Context;
use crate::fault::Fault;
use crate::program::Siblings;
use crate::render::Report;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Status(status::Status),
    Send(send::Send),
    Inbox(inbox::Inbox),
    Read(read::Read),
    Sent(sent::Sent),
    Chat(chat::Chat),
    Dm(dm::Dm),
    Search(search::Search),
    Notices(notices::Notices),
    #[command(subcommand)]
    Task(task::Task),
    #[command(subcommand)]
    People(people::People),
    #[command(subcommand)]
    Mail(mail::Mail),
    Export(export::Export),
    Snapshot(snapshot::Snapshot),
    #[command(subcommand)]
    Contact(contact::Contact),
    #[command(subcommand)]
    Request(request::Request),
    #[command(subcommand, alias = "consent")]
    Grant(grant::Grant),
    #[command(subcommand)]
    Channel(channel::Channel),
    Agents(agents::Agents),
    #[command(subcommand)]
    Team(team::Team),
    #[command(subcommand)]
    Daemon(daemon::Daemon),
    #[command(subcommand)]
    Device(device::Device),
    #[command(subcommand)]
    Identity(identity::Identity),
    #[command(name = "whoami", hide = true)]
    WhoAmI(identity::show::Show),
    #[command(subcommand)]
    Mailbox(mailbox::Mailbox),
    #[command(subcommand)]
    Config(config::Config),
    Setup(setup::Setup),
    Doctor(doctor::Doctor),
    Api(api::Api),
    Hook(hook::Hook),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::Man),
    Version(version::Version),
    Help(help::Help),
}

impl Command {
    /// Runs the command.
    pub(crate) async fn run(self, context: &Context, siblings: &Siblings) -> Result<Report, Fault> {
        match self {
            Self::Status(command) => command.run(context).await,
            Self::Send(command) => command.run(context).await,
            Self::Inbox(command) => command.run(context).await,
            Self::Read(command) => command.run(context).await,
            Self::Chat(command) => command.run(context).await,
            Self::Dm(command) => command.run(context).await,
            Self::Search(command) => command.run(context).await,
            Self::Notices(command) => command.run(context).await,
            Self::Sent(command) => command.run(context).await,
            Self::Mail(command) => command.run(context).await,
            Self::Export(command) => command.run(context).await,
            Self::Snapshot(command) => command.run(context).await,
            Self::Task(command) => command.run(context).await,
            Self::People(command) => command.run(context).await,
            Self::Contact(command) => command.run(context).await,
            Self::Request(command) => command.run(context).await,
            Self::Grant(command) => command.run(context).await,
            Self::Channel(command) => command.run(context).await,
            Self::Agents(command) => command.run(context).await,
            Self::Team(command) => command.run(context).await,
            Self::Daemon(command) => command.run(context).await,
            Self::Device(command) => command.run(context).await,
            Self::Identity(command) => command.run(context).await,
            Self::WhoAmI(command) => command.run(context).await,
            Self::Mailbox(command) => command.run(context).await,
            Self::Config(command) => command.run(context),
            Self::Setup(command) => command.run(context).await,
            Self::Doctor(command) => command.run(context).await,
            Self::Api(command) => command.run(context).await,
            Self::Hook(command) => {
                command.run(context);
                Ok(Report::printed())
            }
            Self::Demo(command) => command.run(context).await,
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(context, siblings),
            Self::Version(command) => Ok(command.run()),
            Self::Help(command) => command.run(),
        }
    }
}
