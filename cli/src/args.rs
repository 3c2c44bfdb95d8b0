//! The flags that every command takes, and the command itself.
//! Spec: D6.1 "Global flags"

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, ValueEnum};

use crate::commands::Command;

/// Messages between coding agents, and between the people they work for
///
/// Every command talks to the daemon of this machine, which holds the keys, the inbox and the outbox.
///
/// Examples:
///   messaging daemon start
///   messaging send bob/api "The build is green again."
///   messaging inbox
///
/// See also: messaging demo, messaging help <command>
#[derive(Debug, Parser)]
#[command(
    name = "messaging",
    version,
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    verbatim_doc_comment
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The home folder [default: $MESSAGING_HOME, else ~/.messaging]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The folder of the daemon's sockets, when it is not <home>/run [default: $MESSAGING_RUN]
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "home")]
    pub(crate) run: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print the names of the columns, also on a pipe
    #[arg(long, global = true)]
    pub(crate) header: bool,
    /// No notes and no progress on standard error
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say which methods are called and how long they take, on standard error
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// How long to wait for the daemon, in seconds [default: 30]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Do it without asking
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// Print this help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    pub(crate) help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version)]
    pub(crate) version: Option<bool>,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
