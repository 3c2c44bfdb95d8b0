//! The program: from arguments to an exit status.
//! Spec: D6.1, D6.2

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::args::Cli;
use crate::commands::Command;
use crate::complete;
use crate::context::Context;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::reference;
use crate::render::{self, Report};
use crate::screen::{self, Screen};
use crate::usage;

/// The other programs that this executable can be: their command lines, for the manual pages.
#[derive(Clone, Debug, Default)]
pub struct Siblings {
    /// Each with the section of the manual it belongs to.
    pub commands: Vec<(&'static str, clap::Command)>,
}

/// Runs the command line. `args` begins with the program's name.
///
/// Exit statuses: D6.2, and 130 after Ctrl-C.
pub fn main(args: impl IntoIterator<Item = OsString>, siblings: Siblings) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if complete::answered(&args) {
        return Exit::Done.into();
    }
    let environment = Environment::read();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let status = usage::say(&error, &args);
            // A harness takes a hook's failure for its person's.
            let is_hook = usage::command_of(&args) == "messaging hook";
            return if is_hook { Exit::Done } else { status }.into();
        }
    };
    let screen = Screen::detect(&cli.globals, &environment);
    let context = Context { globals: cli.globals, environment, screen };
    if let Command::Hook(hook) = cli.command {
        // It is called at every step of an agent's work: no runtime is started for it.
        hook.run(&context);
        return Exit::Done.into();
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => {
            let fault =
                Fault::local("this machine gives no more threads or files", "try again later.");
            return finish(&context, Err(fault)).into();
        }
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = cli.command.run(&context, &siblings) => Some(outcome),
            _ = tokio::signal::ctrl_c() => None,
        }
    });
    // A read from a terminal cannot be called off: it ends with the process.
    runtime.shutdown_background();
    match outcome {
        Some(outcome) => finish(&context, outcome).into(),
        None => Exit::Interrupted.into(),
    }
}

/// The command line as clap knows it, its help taken from the doc comments.
pub(crate) fn command() -> clap::Command {
    reference::with_help(Cli::command(), screen::help_width())
}

/// Reads a command line.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches_from(args)?)
}

/// Prints what a command found, or why it failed.
fn finish(context: &Context, outcome: Result<Report, Fault>) -> Exit {
    match outcome {
        Ok(report) => match print(context, &report) {
            Ok(()) => report.exit,
            // Whoever read us has read enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => report.exit,
            Err(_) => {
                let fault =
                    Fault::local("the result could not be written", "check standard output.");
                finish(context, Err(fault))
            }
        },
        Err(fault) => {
            // A stderr that is gone leaves the status to tell.
            let _ = fault.write(&mut std::io::stderr(), context.globals.json);
            fault.exit
        }
    }
}

fn print(context: &Context, report: &Report) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if !context.globals.json {
        stdout.write_all(report.text.as_bytes())?;
        stdout.flush()?;
        if let Some(note) = &report.note {
            context.note(note);
        }
        return Ok(());
    }
    if !report.json.is_null() {
        writeln!(stdout, "{}", render::json(&report.json, context.screen.tty))?;
    }
    stdout.flush()
}
