//! `messaging-mcp`: the MCP server through which a coding agent writes and reads messages.
//!
//! Spec: §11 "MCP server", D7.1
//!
//! It speaks MCP on standard input and output and calls the daemon's agent socket; what the tools do stands in
//! `messaging-tools`. Nothing but MCP is ever written on standard output.
#![forbid(unsafe_code)]

mod args;
mod link;
mod parent;
mod server;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use messaging_core::{b64, random};
use messaging_harness::seat;
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::fatal;
use messaging_runtime::log::{Level, Logger};
use messaging_runtime::stop::StopSignal;
use messaging_tools::link::AgentLink as _;
use messaging_tools::{Options, Tools};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio_pipes;
use tokio::sync::mpsc;

use args::{Args, Environment};
use link::{DaemonLink, Heard, Wish};
use parent::Met;
use server::Server;

/// The command line was not understood (`EX_USAGE`).
const USAGE: u8 = 64;
/// The system gave no runtime to work with (`EX_OSERR`).
const SYSTEM: u8 = 71;
/// Things heard that may wait for the tools.
const HEARD: usize = 256;

/// Runs the program. `args` begins with its name.
///
/// Exit statuses: 0 after the end of input or a signal, and for `--help` and `--version`; 64 for options and variables
/// that cannot be; 70 after a panic.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let log = Logger::stderr(if args.verbose { Level::Info } else { Level::Warn });
    fatal::exit_on_panic(log.clone(), "mcp.fatal");
    let prepared = match Prepared::new(&args, &Environment::read(), log) {
        Ok(prepared) => prepared,
        Err(why) => return complain(USAGE, &format!("invalid_request: {why}")),
    };
    // One thread: the tools wait for the daemon, they do not compute.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return complain(SYSTEM, "internal: the system gives no runtime");
    };
    runtime.block_on(prepared.serve());
    // A read of standard input may still be waiting, and nobody waits for it.
    runtime.shutdown_timeout(Duration::ZERO);
    ExitCode::SUCCESS
}

/// The program's command line, for its manual page.
pub fn command() -> clap::Command {
    Args::command()
}

fn complain(status: u8, what: &str) -> ExitCode {
    // A host that closed stderr still sees the status.
    let _ = writeln!(std::io::stderr(), "{what}\nNext: run messaging-mcp --help.");
    ExitCode::from(status)
}

/// Everything that is known before the first message.
struct Prepared {
    tools: Arc<Tools<DaemonLink, SystemRandom>>,
    server: Server,
    met: Met,
    heard: mpsc::Receiver<Heard>,
}

impl Prepared {
    fn new(args: &Args, environment: &Environment, log: Logger) -> Result<Self, &'static str> {
        let (told, heard) = mpsc::channel(HEARD);
        let wish = Wish {
            name: args.name(environment)?,
            agent: args.agent.clone(),
            ticket_file: args.ticket_file(environment),
        };
        let fresh = seat::fresh_key(&mut SystemRandom).ok_or("no session key could be made")?;
        let link = DaemonLink::new(args.place(environment)?, wish, fresh, told, log);
        let options = Options {
            channels: args.channels.clone(),
            persons: false,
            answer_bytes: args.max_answer_bytes,
            instance: b64::encode(&random::bytes::<16>(&mut SystemRandom)),
        };
        let tools = Arc::new(Tools::new(link, SystemRandom, options));
        let met = Met::default();
        let server = Server::new(Arc::clone(&tools), &args.channels, met.clone());
        Ok(Self { tools, server, met, heard })
    }

    /// Serves until the host is gone or a signal comes.
    async fn serve(self) {
        let Self { tools, server, met, mut heard } = self;
        let listening = Arc::clone(&tools);
        tokio::spawn(async move {
            while let Some(what) = heard.recv().await {
                match what {
                    Heard::Connected => listening.reconnected(),
                    Heard::Event(event) => listening.heard(&event),
                }
            }
        });
        let session = async move {
            // A host that goes away before its first message leaves nothing to do.
            let Ok(running) = server.serve(stdio_pipes()).await else { return };
            // Others see the session from now on; a daemon that is not there is asked again by the first call.
            tokio::spawn(async move { drop(tools.link().session().await) });
            let _ = running.waiting().await;
        };
        let stopped = async {
            match StopSignal::listen() {
                Ok(mut stop) => stop.requested().await,
                // Without handlers the signals end the process by themselves.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = session => {}
            () = stopped => {}
            () = met.gone() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(args: &[&str]) -> String {
        let args = std::iter::once("messaging-mcp").chain(args.iter().copied());
        format!("{:?}", main(args.map(OsString::from)))
    }

    #[test]
    fn help_and_version_succeed_and_bad_options_do_not() {
        let code = |code| format!("{:?}", ExitCode::from(code));
        assert_eq!(status(&["--version"]), code(0));
        assert_eq!(status(&["--help"]), code(0));
        assert_eq!(status(&["--serve"]), code(64));
        assert_eq!(status(&["word"]), code(64));
        assert_eq!(status(&["--channel", "Not a channel"]), code(64));
    }
}
