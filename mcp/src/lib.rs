//! `messaging-mcp`: the MCP server through which a coding agent writes and reads messages.
//!
//! Spec: §11 "MCP server", D7.1
//!
//! This release has its command line and no server: it says so and ends. What will stand here speaks MCP on standard
//! input and output, and calls the daemon's agent socket.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

/// Tools with which a coding agent writes to other agents and reads what they write
///
/// A client starts this program and speaks MCP with it on standard input and output. This release cannot serve yet:
/// without an option it says so and ends with status 69. Agents can use the command line `messaging` in the meantime.
///
/// MESSAGING_HOME and MESSAGING_RUN name the daemon, as for `messaging`.
#[derive(Debug, Parser)]
#[command(name = "messaging-mcp", version, verbatim_doc_comment)]
struct Args {}

/// What the program says instead of serving.
const NOT_YET: &str = "invalid_state: this release of messaging-mcp cannot serve yet\n\
    Next: use the command line `messaging`, or install a later release.\n";

/// The service is not available (`EX_UNAVAILABLE`).
const UNAVAILABLE: u8 = 69;
/// The command line was not understood (`EX_USAGE`).
const USAGE: u8 = 64;

/// Runs the program. `args` begins with its name.
///
/// Exit statuses: 0 for `--help` and `--version`, 64 for an unknown option, 69 instead of serving.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Args::try_parse_from(args) {
        Ok(Args {}) => {
            // A client that closed stderr still sees the status.
            let _ = std::io::stderr().write_all(NOT_YET.as_bytes());
            ExitCode::from(UNAVAILABLE)
        }
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
        }
    }
}

/// The program's command line, for its manual page.
pub fn command() -> clap::Command {
    Args::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(args: &[&str]) -> String {
        let args = std::iter::once("messaging-mcp").chain(args.iter().copied());
        format!("{:?}", main(args.map(OsString::from)))
    }

    #[test]
    fn only_help_and_version_succeed() {
        let code = |code| format!("{:?}", ExitCode::from(code));
        assert_eq!(status(&["--version"]), code(0));
        assert_eq!(status(&["--help"]), code(0));
        assert_eq!(status(&[]), code(69));
        assert_eq!(status(&["--serve"]), code(64));
        assert_eq!(status(&["word"]), code(64));
    }

    #[test]
    fn it_says_what_to_do() {
        assert!(NOT_YET.lines().last().is_some_and(|line| line.starts_with("Next: ")));
    }
}
