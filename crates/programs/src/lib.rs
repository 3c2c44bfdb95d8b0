//! One executable that can be all four programs: the name it is called by decides.
//! Spec: §8.10, D3.32
//!
//! A link or copy named `messaging`, `messagingd`, `messaging-relay` or `messaging-mcp` (any case, `.exe` too) is that
//! program. Under another name the first argument may say which; else the executable is what it was built as.
//! `messagingd cli …` is the command line.
#![forbid(unsafe_code)]

mod follow;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use messaging_cli::Siblings;
use messaging_runtime::fatal;
use messaging_runtime::log::{Level, Logger};

/// One of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `messaging`, the command line.
    CommandLine,
    /// `messagingd`, the daemon.
    Daemon,
    /// `messaging-relay`, the relay.
    Relay,
    /// `messaging-mcp`, the MCP server.
    Mcp,
}

impl Program {
    /// The program of a name; `None` for a name that is none of them.
    fn named(name: &OsStr) -> Option<Self> {
        let name = Path::new(name).file_name()?.to_str()?.to_ascii_lowercase();
        match name.strip_suffix(".exe").unwrap_or(&name) {
            "messaging" => Some(Self::CommandLine),
            "messagingd" => Some(Self::Daemon),
            "messaging-relay" => Some(Self::Relay),
            "messaging-mcp" => Some(Self::Mcp),
            _ => None,
        }
    }
}

/// Runs the program that the arguments name, `built_as` when they name none. `args` begins with the program's name.
pub fn main(built_as: Program, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (program, args) = choose(built_as, args.into_iter().collect());
    match program {
        Program::CommandLine => {
            fatal::exit_on_panic(Logger::stderr(Level::Error), "cli.fatal");
            messaging_cli::main(args, siblings())
        }
        Program::Daemon => {
            follow::parent_if_asked();
            messaging_daemon::run_as_program(args)
        }
        Program::Relay => {
            follow::parent_if_asked();
            messaging_relay::main(args)
        }
        Program::Mcp => messaging_mcp::main(args),
    }
}

/// Which program is meant, and its own arguments.
fn choose(built_as: Program, mut args: Vec<OsString>) -> (Program, Vec<OsString>) {
    let by_name = args.first().and_then(|name| Program::named(name));
    let first = args.get(1).cloned();
    match (by_name, first) {
        (Some(Program::Daemon), Some(word)) if word == "cli" => {
            args.remove(1);
            (Program::CommandLine, args)
        }
        (Some(program), _) => (program, args),
        (None, Some(word)) if Program::named(&word).is_some() => {
            args.remove(0);
            choose(built_as, args)
        }
        (None, Some(word)) if built_as == Program::Daemon && word == "cli" => {
            args.remove(1);
            (Program::CommandLine, args)
        }
        (None, _) => (built_as, args),
    }
}

/// The command lines of the other programs, for the manual pages.
fn siblings() -> Siblings {
    Siblings { commands: vec![("8", messaging_daemon::command()), ("1", messaging_mcp::command())] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(built_as: Program, line: &str, program: Program, rest: &str) {
        let args = line.split(' ').map(OsString::from).collect();
        let (chosen, args) = choose(built_as, args);
        let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert_eq!((chosen, args.join(" ").as_str()), (program, rest), "{line}");
    }

    #[test]
    fn the_name_decides() {
        use Program::*;
        for built_as in [CommandLine, Daemon] {
            check(built_as, "messaging status", CommandLine, "messaging status");
            check(
                built_as,
                "/usr/bin/messaging daemon start",
                CommandLine,
                "/usr/bin/messaging daemon start",
            );
            check(built_as, "MESSAGING.EXE status", CommandLine, "MESSAGING.EXE status");
            check(built_as, "/x/messagingd --home /h", Daemon, "/x/messagingd --home /h");
            check(built_as, "messagingd cli status", CommandLine, "messagingd status");
            check(built_as, "messaging-relay --version", Relay, "messaging-relay --version");
            check(built_as, "messaging-mcp", Mcp, "messaging-mcp");
        }
    }

    #[test]
    fn under_another_name_the_first_argument_does() {
        use Program::*;
        check(Daemon, "msg messaging-relay --db x", Relay, "messaging-relay --db x");
        check(Daemon, "msg messagingd cli status", CommandLine, "messagingd status");
        check(Daemon, "msg cli status", CommandLine, "msg status");
        check(CommandLine, "msg status", CommandLine, "msg status");
        check(Daemon, "msg --home /h", Daemon, "msg --home /h");
        check(Daemon, "", Daemon, "");
        check(CommandLine, "messaging cli", CommandLine, "messaging cli");
    }
}
